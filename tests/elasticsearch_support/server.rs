//! An HTTP server that does as it is told: answers, waits, hangs up, goes down and comes back on the same port.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// When it was read to its end.
    pub at: Instant,
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let name = name.to_lowercase();
        self.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    pub fn is_bulk(&self) -> bool {
        self.method == "POST" && self.path().ends_with("/_bulk")
    }
}

/// What to do with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    Http {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Hang up without a word.
    Close,
    /// Reset the connection after a piece of the answer.
    Reset,
    /// Send these bytes as they are, and hang up.
    Raw(Vec<u8>),
    /// Answer later.
    Late(Duration, Box<Reply>),
}

impl Reply {
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::Http { status, headers: vec![], body: body.to_string().into_bytes() }
    }

    pub fn status(status: u16) -> Self {
        Self::Http { status, headers: vec![], body: vec![] }
    }
}

type Handler = Box<dyn FnMut(&Request) -> Reply + Send>;

struct Shared {
    tls: Option<Arc<ServerConfig>>,
    handler: Mutex<Handler>,
    seen: Mutex<Vec<Request>>,
    open: Mutex<Vec<TcpStream>>,
}

/// A running server.
pub struct Server {
    host: &'static str,
    pub port: u16,
    shared: Arc<Shared>,
    listening: Mutex<Option<Arc<AtomicBool>>>,
}

impl Server {
    pub fn start(handler: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::start_with(("127.0.0.1", 0), None, handler)
    }

    /// Listens at another address of this machine.
    pub fn start_at(place: (&'static str, u16), handler: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::start_with(place, None, handler)
    }

    /// Speaks TLS.
    pub fn start_tls(tls: Arc<ServerConfig>, handler: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::start_with(("127.0.0.1", 0), Some(tls), handler)
    }

    fn start_with(
        place: (&'static str, u16),
        tls: Option<Arc<ServerConfig>>,
        handler: impl FnMut(&Request) -> Reply + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(place).unwrap();
        let shared =
            Shared { tls, handler: Mutex::new(Box::new(handler)), seen: Mutex::default(), open: Mutex::default() };
        let server = Self {
            host: place.0,
            port: listener.local_addr().unwrap().port(),
            shared: Arc::new(shared),
            listening: Mutex::new(None),
        };
        server.listen(listener);
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}:{}", self.host, self.port)
    }

    /// Closes the port and all connections.
    pub fn down(&self) {
        if let Some(on) = self.listening.lock().unwrap().take() {
            on.store(false, Ordering::SeqCst);
            // Wakes the thread that waits for a connection, which then closes the port.
            let _ = TcpStream::connect((self.host, self.port));
        }
        for stream in self.shared.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        thread::sleep(Duration::from_millis(20));
    }

    /// Opens the port again.
    pub fn up(&self) {
        let bound = (0..100).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            TcpListener::bind((self.host, self.port)).ok()
        });
        self.listen(bound.expect("the port is free again"));
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The bulk requests so far.
    pub fn bulks(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_bulk).collect()
    }

    fn listen(&self, listener: TcpListener) {
        let on = Arc::new(AtomicBool::new(true));
        *self.listening.lock().unwrap() = Some(on.clone());
        let shared = self.shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if !on.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let shared = shared.clone();
                shared.open.lock().unwrap().push(stream.try_clone().unwrap());
                thread::spawn(move || match &shared.tls {
                    None => serve(&shared, &stream, &stream),
                    Some(tls) => {
                        let session = ServerConnection::new(tls.clone()).unwrap();
                        serve(&shared, StreamOwned::new(session, &stream), &stream)
                    }
                });
            }
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down();
    }
}

/// `stream` carries the words, `socket` is what lies below.
fn serve(shared: &Shared, stream: impl Read + Write, socket: &TcpStream) -> Option<()> {
    let _ = socket.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    loop {
        let request = read(&mut reader)?;
        let reply = (shared.handler.lock().unwrap())(&request);
        let head = request.method == "HEAD";
        shared.seen.lock().unwrap().push(request);
        answer(reader.get_mut(), reply, head).or_else(|| {
            let _ = socket.shutdown(Shutdown::Both);
            None
        })?;
    }
}

/// `None` when the connection is to be closed.
fn answer(stream: &mut impl Write, reply: Reply, head: bool) -> Option<()> {
    match reply {
        Reply::Close => None,
        Reply::Reset => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"errors\"");
            None
        }
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes).and_then(|()| stream.flush());
            None
        }
        Reply::Late(delay, reply) => {
            thread::sleep(delay);
            answer(stream, *reply, head)
        }
        Reply::Http { status, headers, body } => {
            let mut out = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                out.push_str(&format!("{name}: {value}\r\n"));
            }
            let mut out = format!("{out}\r\n").into_bytes();
            if !head {
                out.extend_from_slice(&body);
            }
            stream.write_all(&out).and_then(|()| stream.flush()).ok()
        }
    }
}

fn read(reader: &mut BufReader<impl Read>) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Request { at: Instant::now(), method, target, headers, body })
}
