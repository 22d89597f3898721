//! Requests to the API of the process in the background.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use spillway::event::{Map, Value};

use super::program::{plain, until};
use super::{Outcome, Stopped};

/// What the API answered.
pub struct Answer {
    pub status: i64,
    pub head: String,
    pub body: String,
}

/// Asks, once somebody listens.
pub fn request(method: &str, path: &str, port: u16) -> Outcome<Answer> {
    let connected = until(|| TcpStream::connect(("127.0.0.1", port)).ok());
    let mut stream = connected.ok_or_else(|| Stopped::Failed(format!("nobody listens on port {port}")))?;
    let failed = |error: std::io::Error| Stopped::Failed(format!("{method} {path}: {error}"));
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(failed)?;
    // With version 1.0 the answer comes in one piece and ends with the connection.
    let request = format!("{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(failed)?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| Stopped::Failed(format!("{method} {path}: no HTTP answer: {head}")))?;
    Ok(Answer { status, head: head.to_lowercase(), body: body.to_owned() })
}

/// Holds an answer against the step's `status`, `body` and `headers`.
pub fn check(answer: &Answer, step: &Map) -> Outcome {
    let failed = |message: String| Err(Stopped::Failed(format!("{message}\n{}\n{}", answer.head, answer.body)));
    if let Some(Value::Integer(status)) = step.get("status")
        && answer.status != *status
    {
        return failed(format!("expected status {status}, got {}", answer.status));
    }
    let texts = |key: &str| step.get(key).and_then(Value::as_array).unwrap_or_default().iter().map(plain);
    for text in texts("body") {
        if !answer.body.contains(&text) {
            return failed(format!("`{text}` is missing in the body"));
        }
    }
    for header in texts("headers") {
        if !answer.head.contains(&format!("\r\n{}:", header.to_lowercase())) {
            return failed(format!("the header {header} is missing"));
        }
    }
    Ok(())
}
