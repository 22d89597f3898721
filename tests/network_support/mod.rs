//! The program with one input on a free port, whose events come out as lines of JSON.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod certificates;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value as Json;

use crate::process::Process;
use crate::program::{Place, Said};

/// The running program.
pub struct Receiver {
    process: Process,
    place: Place,
}

impl Receiver {
    /// Starts it with these inputs; `port => 0` stands for any free port.
    pub fn start(inputs: &str) -> Self {
        Self::start_with(inputs, "stdout { codec => json_lines }")
    }

    /// As [`Receiver::start`], with these outputs.
    pub fn start_with(inputs: &str, outputs: &str) -> Self {
        let place = Place::new();
        std::fs::write(place.join("main.conf"), format!("input {{ {inputs} }}\noutput {{ {outputs} }}\n")).unwrap();
        let process = Process::running(place.command("-f main.conf -w 1 --path.data data --api.enabled false"));
        Self { process, place }
    }

    /// The directory that it runs in.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The port that the system chose.
    pub fn port(&self) -> u16 {
        self.process.until("the port", || {
            let err = self.process.err();
            let (_, rest) = err.split_once("127.0.0.1:")?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
    }

    /// A connection to it.
    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port())).unwrap()
    }

    /// A connection with TLS to it.
    pub fn connect_tls(&self, config: Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
        let client = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
        StreamOwned::new(client, self.connect())
    }

    /// Sends text in a connection of its own.
    pub fn send(&self, text: &[u8]) {
        self.connect().write_all(text).unwrap();
    }

    /// Sends a request, and gives all of the answer.
    pub fn ask(&self, head: &str, body: &[u8]) -> String {
        let mut stream = self.connect();
        let head = format!("{head}\r\nHost: web1:80\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        // One who refuses a body may close before it has it.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Waits until so many events came out.
    #[track_caller]
    pub fn until_events(&self, count: usize) -> Vec<Json> {
        self.process.until_lines(count);
        self.process.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until the log says something.
    #[track_caller]
    pub fn until_log(&self, text: &str) {
        self.process.until_err(text);
    }

    /// Asks it to stop, and waits for the end.
    #[track_caller]
    pub fn stop(self) -> Said {
        let said = self.process.stop();
        assert_eq!(said.code, 0, "{}", said.err);
        said
    }
}

/// The messages of events.
pub fn messages(events: &[Json]) -> Vec<&str> {
    events.iter().map(|event| event["message"].as_str().unwrap_or_default()).collect()
}
