//! What a case sends to an input.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use spillway::event::{Map, Value};
use spillway::testing::{Entry, Finding};

use crate::scenario::Stopped;

/// Between the pieces of a stream, so that they are read apart.
const PAUSE: Duration = Duration::from_millis(100);
/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends everything; findings about the answers.
pub fn send(entry: &Entry, port: u16) -> Result<Vec<Finding>, Stopped> {
    let mut connection = None;
    let list = |key: &str| entry.keys.get(key).and_then(Value::as_array).unwrap_or_default();
    for step in list("send") {
        let step = step.as_map().ok_or_else(|| Stopped::Failed("a step of `send` must be a map".into()))?;
        send_step(step, port, &mut connection)?;
    }
    let mut findings = Vec::new();
    for request in list("http") {
        let request = request.as_map().ok_or_else(|| Stopped::Failed("a request must be a map".into()))?;
        findings.extend(ask(request, port).map_err(|e| Stopped::Failed(e.to_string()))?);
    }
    Ok(findings)
}

fn send_step(step: &Map, port: u16, connection: &mut Option<TcpStream>) -> Result<(), Stopped> {
    let failed = |e: std::io::Error| Stopped::Failed(e.to_string());
    for (word, what) in step.iter() {
        match (word.as_str(), what) {
            ("udp", Value::String(text)) => {
                let socket = UdpSocket::bind("127.0.0.1:0").map_err(failed)?;
                socket.send_to(text.as_bytes(), ("127.0.0.1", port)).map_err(failed)?;
                std::thread::sleep(PAUSE);
            }
            ("tcp", Value::Array(pieces)) => {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
                for piece in pieces.iter().filter_map(Value::as_str) {
                    stream.write_all(piece.as_bytes()).map_err(failed)?;
                    std::thread::sleep(PAUSE);
                }
                *connection = Some(stream);
            }
            ("close", Value::Bool(true)) => *connection = None,
            ("tcp_hex", Value::String(hex)) => {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).map_err(failed)?;
                stream.write_all(&from_hex(hex)?).map_err(failed)?;
                *connection = Some(stream);
            }
            ("within_s", _) => {}
            (expected, what) if expected.starts_with("expect_") => {
                let stream = connection.as_mut().ok_or_else(|| Stopped::Failed("nothing was sent".into()))?;
                expect_bytes(stream, expected, what, step)?;
            }
            (other, _) => return Err(Stopped::Unknown(format!("`send` with `{other}` is not known to this runner"))),
        }
    }
    Ok(())
}

/// Reads an answer until it is what is expected; `expect_close`: the connection ends without one.
fn expect_bytes(stream: &mut TcpStream, expected: &str, what: &Value, step: &Map) -> Result<(), Stopped> {
    let patience = step.get("within_s").and_then(Value::as_integer).map_or(PATIENCE, |s| Duration::from_secs(s as u64));
    let end = Instant::now() + patience;
    let (wanted, mut got) = (from_hex(what.as_str().unwrap_or_default())?, Vec::new());
    let fits = |got: &[u8]| match expected {
        "expect_hex" => got == wanted,
        "expect_hex_prefix" => got.len() >= wanted.len() && got.starts_with(&wanted),
        "expect_hex_suffix" => got.ends_with(&wanted),
        _ => false,
    };
    while !fits(&got) {
        let left = end.saturating_duration_since(Instant::now());
        let mut piece = [0; 64];
        // An answer that takes too long is read with a limit of one tick, which finds nothing.
        stream
            .set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .map_err(|e| Stopped::Failed(e.to_string()))?;
        match stream.read(&mut piece) {
            Ok(count @ 1..) => got.extend_from_slice(&piece[..count]),
            Ok(0) | Err(_) if expected == "expect_close" && got.is_empty() && !left.is_zero() => return Ok(()),
            _ => return Err(Stopped::Failed(format!("{expected} {what:?}: the answer was {got:02x?}"))),
        }
    }
    Ok(())
}

fn from_hex(text: &str) -> Result<Vec<u8>, Stopped> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| Stopped::Failed(format!("`{text}` is no hex")))
}

/// Sends a request; what is wrong with its answer.
fn ask(request: &Map, port: u16) -> std::io::Result<Vec<Finding>> {
    let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default();
    let body = text("body");
    let mut head = format!("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n", text("method"), text("path"));
    for (name, value) in request.get("headers").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        head.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap_or_default()));
    }
    head.push_str(&format!("Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let Some(expected) = request.get("expect").and_then(Value::as_map) else { return Ok(Vec::new()) };
    let mut wrong = Vec::new();
    if let Some(status) = expected.get("status").and_then(Value::as_integer)
        && !head.starts_with(&format!("HTTP/1.1 {status} "))
    {
        wrong.push(format!("the status is not {status}"));
    }
    if let Some(text) = expected.get("body").and_then(Value::as_str)
        && text != body
    {
        wrong.push(format!("the body is not `{text}`"));
    }
    let lower = head.to_lowercase();
    for (name, value) in expected.get("headers").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        let line = format!("{}: {}", name.to_lowercase(), value.as_str().unwrap_or_default().to_lowercase());
        if !lower.lines().any(|given| given == line) {
            wrong.push(format!("there is no `{line}`"));
        }
    }
    Ok(wrong.into_iter().map(|what| Finding::Message(format!("{what}; the answer is\n{answer}"))).collect())
}
