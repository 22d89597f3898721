//! What listens to an output while a case runs, and what it must have got.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use spillway::event::{Map, Text, Value};
use spillway::testing::{Entry, Finding};

use crate::program;
use crate::scenario::Stopped;

/// How long what was sent may be on its way after the program has ended.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

/// Bytes of one datagram or of all connections.
type Gathered = Arc<Mutex<Vec<Vec<u8>>>>;

/// Everything that listens for a case.
#[derive(Default)]
pub struct Receivers {
    datagrams: Option<UdpSocket>,
    streams: Gathered,
    requests: Arc<Mutex<Vec<Request>>>,
}

struct Request {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    body: String,
}

impl Receivers {
    /// Listens to what the case wants to see.
    pub fn start(entry: &Entry, port: u16) -> Result<Self, Stopped> {
        let failed = |e: std::io::Error| Stopped::Failed(e.to_string());
        let has = |key: &str| entry.keys.contains_key(key);
        let mut receivers = Self::default();
        if has("receive_udp") {
            let socket = UdpSocket::bind(("127.0.0.1", port)).map_err(failed)?;
            socket.set_read_timeout(Some(ON_ITS_WAY)).map_err(failed)?;
            receivers.datagrams = Some(socket);
        }
        if has("receive_tcp") {
            let wait = entry.keys.get("listen_after_s").and_then(Value::as_integer).unwrap_or(0);
            let gathered = receivers.streams.clone();
            let listen = move || TcpListener::bind(("127.0.0.1", port));
            if wait == 0 {
                let listener = listen().map_err(failed)?;
                std::thread::spawn(move || gather(&listener, &gathered));
            } else {
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_secs(u64::try_from(wait).unwrap_or(0)));
                    gather(&listen().unwrap(), &gathered);
                });
            }
        }
        if has("requests") || has("request_counts") || has("replies") {
            let listener = TcpListener::bind(("127.0.0.1", port)).map_err(failed)?;
            let replies = Replies::of(entry);
            let requests = receivers.requests.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let (replies, requests) = (replies.clone(), requests.clone());
                    std::thread::spawn(move || serve(stream, &replies, &requests));
                }
            });
        }
        Ok(receivers)
    }

    /// Holds what came against what the case expects.
    pub fn judge(&self, entry: &Entry) -> Result<Vec<Finding>, String> {
        let mut findings = Vec::new();
        if let (Some(expected), Some(socket)) = (entry.keys.get("receive_udp"), &self.datagrams) {
            let mut got = Vec::new();
            let mut buffer = [0; 65_536];
            while let Ok(length) = socket.recv(&mut buffer) {
                got.push(Value::from(String::from_utf8_lossy(&buffer[..length]).into_owned()));
            }
            findings.extend(program::compared(expected, &Value::Array(got))?);
        }
        if let Some(expected) = entry.keys.get("receive_tcp") {
            std::thread::sleep(ON_ITS_WAY);
            let got = self.streams.lock().unwrap().concat();
            let got = Value::from(String::from_utf8_lossy(&got).into_owned());
            findings.extend(program::compared(expected, &got)?);
        }
        let requests = self.requests.lock().unwrap();
        if let Some(expected) = entry.keys.get("requests").and_then(Value::as_array) {
            let got: Vec<Value> = requests.iter().map(Request::as_value).collect();
            if got.len() != expected.len() {
                findings.push(Finding::Message(format!("{} requests came, not {}", got.len(), expected.len())));
            }
            for (expected, got) in expected.iter().zip(&got) {
                findings.extend(program::compared_part(expected, got)?);
            }
        }
        for (path, count) in entry.keys.get("request_counts").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            let got = requests.iter().filter(|request| request.path == path.as_str()).count();
            if Some(got as i64) != count.as_integer() {
                findings.push(Finding::Message(format!("{got} requests to {path}, not {count:?}")));
            }
        }
        Ok(findings)
    }
}

fn gather(listener: &TcpListener, into: &Gathered) {
    for mut stream in listener.incoming().map_while(Result::ok) {
        let into = into.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            into.lock().unwrap().push(bytes);
        });
    }
}

/// Statuses by path, one after the other, the last one for ever.
#[derive(Clone)]
struct Replies(Arc<Mutex<HashMap<String, Vec<i64>>>>);

impl Replies {
    fn of(entry: &Entry) -> Self {
        let given = entry.keys.get("replies").and_then(Value::as_map).into_iter().flat_map(Map::iter);
        let codes = |list: &Value| list.as_array().unwrap_or_default().iter().filter_map(Value::as_integer).collect();
        Self(Arc::new(Mutex::new(given.map(|(path, list)| (path.to_string(), codes(list))).collect())))
    }

    fn next(&self, path: &str) -> i64 {
        let mut replies = self.0.lock().unwrap();
        match replies.get_mut(path) {
            Some(codes) if codes.len() > 1 => codes.remove(0),
            Some(codes) => codes.first().copied().unwrap_or(200),
            None => 200,
        }
    }
}

/// Answers the requests of a connection.
fn serve(stream: TcpStream, replies: &Replies, requests: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let status = replies.next(&request.path);
        requests.lock().unwrap().push(request);
        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut words = lines.first()?.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: HashMap<String, String> = lines
        .iter()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

impl Request {
    fn as_value(&self) -> Value {
        let headers = self.headers.iter().map(|(name, value)| (Text::from(name), Value::from(value.as_str())));
        let json = program::documents(&self.body).ok().and_then(|mut documents| documents.pop()).unwrap_or_default();
        let fields = [
            ("method", Value::from(self.method.as_str())),
            ("path", Value::from(self.path.as_str())),
            ("headers", Value::Map(Map::from_iter(headers.collect::<Vec<_>>()))),
            ("body", Value::from(self.body.as_str())),
            ("body_json", json),
        ];
        Value::Map(Map::from_iter(fields))
    }
}
