//! Outputs that speak over the network: what the other side gets.

mod network_support;
#[path = "support/process.rs"]
mod process;
mod program;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use network_support::certificates::Certificates;
use process::Process;
use program::Place;
use rustls::{ServerConnection, StreamOwned};

/// The program with that output, fed by lines.
fn sender(output: &str) -> (Process, Place) {
    let place = Place::new();
    let conf = format!("input {{ stdin {{ }} }} output {{ {output} }}");
    std::fs::write(place.join("main.conf"), conf).unwrap();
    (Process::running(place.command("-f main.conf --path.data data --api.enabled false")), place)
}

const LINE: &str = "codec => line { format => \"%{message}\" }";

fn lines(stream: impl Read, count: usize) -> Vec<String> {
    BufReader::new(stream).lines().take(count).map(Result::unwrap).collect()
}

#[test]
fn tcp_a_server_that_starts_again_gets_what_follows() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let (mut sender, _place) =
        sender(&format!("tcp {{ host => \"127.0.0.1\" port => {port} reconnect_interval => 0.1 {LINE} }}"));
    sender.feed("one\n");
    let (first, _) = server.accept().unwrap();
    assert_eq!(lines(&first, 1), ["one"]);
    // The server ends in order; what comes after that must not go into the dead connection.
    drop(first);
    std::thread::sleep(Duration::from_millis(200));
    sender.feed("two\n");
    let (second, _) = server.accept().unwrap();
    assert_eq!(lines(&second, 1), ["two"]);
    sender.end_input();
    assert_eq!(sender.end().code, 0);
}

#[test]
fn tcp_by_tls_the_name_of_the_server_counts() {
    let made = Certificates::make();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let options = format!("ssl_enabled => true ssl_certificate_authorities => \"{}\"", made.path("authority.crt"));
    let (mut sender, _place) =
        sender(&format!("tcp {{ host => \"localhost\" port => {port} reconnect_interval => 0.1 {options} {LINE} }}"));
    sender.feed("secret\n").end_input();
    let config = made.server();
    let (stream, _) = server.accept().unwrap();
    let stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    assert_eq!(lines(stream, 1), ["secret"]);
    assert_eq!(sender.end().code, 0);
}

#[test]
fn tcp_a_stranger_is_not_trusted() {
    let made = Certificates::make();
    let other = Certificates::make();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let options = format!("ssl_enabled => true ssl_certificate_authorities => \"{}\"", made.path("authority.crt"));
    let (mut sender, _place) =
        sender(&format!("tcp {{ host => \"localhost\" port => {port} reconnect_interval => 0.1 {options} {LINE} }}"));
    sender.feed("secret\n");
    let (stream, _) = server.accept().unwrap();
    let mut stream = StreamOwned::new(ServerConnection::new(other.server()).unwrap(), stream);
    assert!(stream.read(&mut [0; 10]).is_err());
    sender.until_err("connecting again");
    drop(sender.stop());
}

#[test]
fn tcp_as_a_server_every_client_gets_every_event() {
    let (mut sender, _place) = sender(&format!("tcp {{ mode => server host => \"127.0.0.1\" port => 0 {LINE} }}"));
    let port = sender.until("the port", || {
        let err = sender.err();
        let (_, rest) = err.split_once("127.0.0.1:")?;
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u16>().ok()
    });
    let clients: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(300));
    sender.feed("one\ntwo\n").end_input();
    for client in clients {
        let mut text = String::new();
        (&client).read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
    }
    assert_eq!(sender.end().code, 0);
}

#[test]
fn http_by_tls_and_every_failure_before_an_answer_is_tried_again() {
    let made = Certificates::make();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let options = format!("ssl_certificate_authorities => \"{}\"", made.path("authority.crt"));
    let (mut sender, _place) = sender(&format!(
        "http {{ url => \"https://localhost:{port}/\" http_method => post automatic_retries => 0 format => message
                 message => \"%{{message}}\" {options} }}"
    ));
    sender.feed("hello\n").end_input();
    // The first connection ends before anything is said.
    drop(server.accept().unwrap());
    let (stream, _) = server.accept().unwrap();
    let mut stream = BufReader::new(StreamOwned::new(ServerConnection::new(made.server()).unwrap(), stream));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        stream.read_line(&mut head).unwrap();
    }
    let mut body = [0; 5];
    stream.read_exact(&mut body).unwrap();
    assert_eq!(&body, b"hello");
    stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!(sender.end().code, 0);
}
