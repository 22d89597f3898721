use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::acknowledgement::Lease;
use crate::plugins::testing::{compiled, deliver, event};
use crate::plugins::{GivenBack, OutputBatch, Stop};

/// What a server got, and what it answers: by path, one status after the other, the last one for ever.
#[derive(Clone, Default)]
struct Server {
    port: u16,
    statuses: Arc<Mutex<HashMap<String, Vec<u16>>>>,
    got: Arc<Mutex<Vec<Request>>>,
}

/// First line, headers, body.
type Request = (String, Vec<String>, Vec<u8>);

impl Server {
    async fn start(statuses: &[(&str, &[u16])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let statuses = statuses.iter().map(|(path, codes)| ((*path).to_owned(), codes.to_vec())).collect();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, statuses: Arc::new(Mutex::new(statuses)), got: Arc::default() };
        let running = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(running.clone().serve(stream));
            }
        });
        server
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        loop {
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                    return;
                }
                if line == "\r\n" {
                    break;
                }
                head.push(line.trim_end().to_owned());
            }
            let length =
                head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).await.unwrap();
            let request = head.remove(0);
            let path = request.split(' ').nth(1).unwrap().to_owned();
            self.got.lock().push((request, head, body));
            let status = self
                .statuses
                .lock()
                .get_mut(&path)
                .map_or(200, |codes| if codes.len() > 1 { codes.remove(0) } else { codes[0] });
            let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 3\r\n\r\nwhy");
            stream.get_mut().write_all(answer.as_bytes()).await.unwrap();
        }
    }

    fn requests(&self) -> Vec<String> {
        self.got.lock().iter().map(|(request, ..)| request.clone()).collect()
    }

    fn body(&self, at: usize) -> String {
        String::from_utf8(self.got.lock()[at].2.clone()).unwrap()
    }
}

#[tokio::test]
async fn an_event_is_a_request() {
    let server = Server::start(&[]).await;
    let config = format!(
        r#"output {{ http {{ url => "http://127.0.0.1:{}/in/%{{id}}" http_method => "post"
            headers => {{ "X-Id" => "%{{id}}" "content-type" => "x/y" }}
            mapping => {{ "a" => "%{{m}}" "n" => {{ "k" => "%{{id}}" }} "l" => ["%{{m}}", 5] }} }} }}"#,
        server.port
    );
    assert!(deliver(&config, &[r#"{"id":1,"m":"x"}"#]).await.is_empty());
    assert_eq!(server.requests(), ["POST /in/1 HTTP/1.1"]);
    assert_eq!(server.body(0), r#"{"a":"x","n":{"k":"1"},"l":["x","5"]}"#);
    let head = server.got.lock()[0].1.join("\n").to_lowercase();
    assert!(head.contains("x-id: 1") && head.contains("content-type: application/json"), "{head}");
    assert!(!head.contains("x/y"), "{head}");
}

#[tokio::test]
async fn a_batch_is_a_list_and_a_form_is_encoded() {
    let server = Server::start(&[]).await;
    let url = format!("url => \"http://127.0.0.1:{}/%{{b}}\"", server.port);
    let batch = format!(
        r#"output {{ http {{ {url} http_method => put format => json_batch mapping => {{ "m" => "%{{m}}" }} }} }}"#
    );
    assert!(deliver(&batch, &[r#"{"m":1}"#, r#"{"m":2}"#]).await.is_empty());
    assert_eq!(server.body(0), r#"[{"m":"1"},{"m":"2"}]"#);
    let form = format!(
        r#"output {{ http {{ {url} http_method => post format => form mapping => {{ "a b" => "%{{m}}" }} }} }}"#
    );
    assert!(deliver(&form, &[r#"{"m":"x&y é","b":1}"#]).await.is_empty());
    assert_eq!(server.body(1), "a+b=x%26y+%C3%A9");
    assert_eq!(server.requests()[0], "PUT /%%7Bb%7D HTTP/1.1");
    assert_eq!(server.requests()[1], "POST /1 HTTP/1.1");
}

#[tokio::test]
async fn what_may_go_better_is_tried_again_and_the_rest_is_dead() {
    let server = Server::start(&[("/a", &[503, 200]), ("/b", &[400]), ("/c", &[404]), ("/d", &[302])]).await;
    let config = format!(
        r#"output {{ http {{ url => "http://u:secret@127.0.0.1:{}/%{{p}}" http_method => "post" format => "message"
            message => "%{{p}}" ignorable_codes => [404] }} }}"#,
        server.port
    );
    let dead = deliver(&config, &[r#"{"p":"a"}"#, r#"{"p":"b"}"#, r#"{"p":"c"}"#, r#"{"p":"d"}"#]).await;
    let place = format!("http: POST http://127.0.0.1:{}", server.port);
    assert_eq!(
        dead,
        [format!("{place}/b was answered with 400: why"), format!("{place}/d was answered with 302: why")]
    );
    // The others did not wait for the first.
    let paths: Vec<String> = server.requests().iter().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(paths, ["/a", "/b", "/c", "/d", "/a"]);
}

/// What a server does to the first request that it gets.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Reset,
    Silent,
    HalfAnAnswer,
}

/// logstash-output-http#28
#[tokio::test]
async fn a_refused_connection_loses_no_event() {
    let dead = delivered_after(None).await;
    assert!(dead.is_empty(), "{dead:?}");
}

/// logstash-output-http#115
#[tokio::test]
async fn a_reset_a_timeout_and_half_an_answer_lose_no_event() {
    let faults = [Fault::Reset, Fault::Silent, Fault::HalfAnAnswer];
    let dead = futures_util::future::join_all(faults.map(|fault| delivered_after(Some(fault)))).await;
    for (fault, dead) in faults.iter().zip(dead) {
        assert!(dead.is_empty(), "{fault:?}: {dead:?}");
    }
}

/// Delivers an event to a server that has a fault first, or is not there yet, and then takes it. What is dead.
async fn delivered_after(fault: Option<Fault>) -> Vec<String> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    let config = format!(
        r#"output {{ http {{ url => "http://127.0.0.1:{port}/" http_method => post format => message message => "x"
            socket_timeout => 1 }} }}"#
    );
    let server = async {
        if fault.is_none() {
            // Until it listens, the system refuses.
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        let listener = socket.listen(8).unwrap();
        let silent = match fault {
            Some(fault) => fail(&listener, fault).await,
            None => None,
        };
        let (mut stream, _) = listener.accept().await.unwrap();
        until_body(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        drop(silent);
    };
    tokio::join!(deliver(&config, &["{}"]), server).0
}

/// Takes a request and fails. The connection, if it stays open.
async fn fail(listener: &TcpListener, fault: Fault) -> Option<TcpStream> {
    let (mut stream, _) = listener.accept().await.unwrap();
    until_body(&mut stream).await;
    match fault {
        Fault::Silent => Some(stream),
        Fault::HalfAnAnswer => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
            None
        }
        Fault::Reset => {
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
            None
        }
    }
}

/// Reads a request whose body is `x`.
async fn until_body(stream: &mut TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\nx") {
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn with_retry_failed_off_a_failure_is_final() {
    let server = Server::start(&[("/a", &[503])]).await;
    for port in [server.port, 1] {
        let config = format!(
            r#"output {{ http {{ url => "http://127.0.0.1:{port}/a" http_method => "post" retry_failed => false }} }}"#
        );
        let dead = deliver(&config, &["{}"]).await;
        assert_eq!(dead.len(), 1, "{dead:?}");
        assert!(dead[0].starts_with(&format!("http: POST http://127.0.0.1:{port}/a")), "{dead:?}");
    }
}

#[tokio::test]
async fn bodies_can_be_compressed() {
    let server = Server::start(&[]).await;
    let config = format!(
        r#"output {{ http {{ url => "http://127.0.0.1:{}/" http_method => "post" http_compression => true
            format => message message => "text" user => "u" password => "p" }} }}"#,
        server.port
    );
    assert!(deliver(&config, &["{}"]).await.is_empty());
    let (_, head, body) = server.got.lock()[0].clone();
    let head = head.join("\n").to_lowercase();
    assert!(head.contains("content-encoding: gzip") && head.contains("authorization: basic dtpw"), "{head}");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(body.as_slice()), &mut text).unwrap();
    assert_eq!(text, "text");
}

#[test]
fn options_that_are_wrong() {
    for (options, words) in [
        ("format => message", "needs the option `message`"),
        ("user => \"u\"", "needs `password`"),
        ("ssl_verification_mode => whatever", "expected one of full, none"),
        ("cacert => \"x\"", "is obsolete"),
        ("proxy => \"::\"", "the proxy is a URL"),
        ("pool_max => 0", "at least 1"),
    ] {
        let config = format!("output {{ http {{ url => \"http://h/\" http_method => post {options} }} }}");
        let error = compiled(&config).err().unwrap();
        assert!(error.contains(words), "{options}: {error}");
    }
    for url in ["nope", ""] {
        let config = format!("output {{ http {{ url => '{url}' http_method => post }} }}");
        assert!(compiled(&config).err().unwrap().contains("is no URL"));
    }
}

#[tokio::test]
async fn a_server_that_never_answers_holds_up_no_stop_and_is_no_endless_loop() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let config = format!(
        r#"output {{ http {{ url => "http://127.0.0.1:{port}/" http_method => post request_timeout => 3600 socket_timeout => 3600 }} }}"#
    );
    let compiled = compiled(&config).unwrap();
    let (event, lease, stop) = (event("{}"), Lease::unclaimed(), Stop::new());
    stop.cancel();
    let batch = OutputBatch { events: &[&event, &event], lease: &lease };
    let given_back = compiled.plan.outputs[0].output.write(&batch, &stop).await;
    assert!(matches!(given_back, Err(GivenBack)));
}
