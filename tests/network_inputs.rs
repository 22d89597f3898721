//! Inputs that listen to the network: what senders do, and what comes out.

mod network_support;
#[path = "support/process.rs"]
mod process;
mod program;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use network_support::certificates::Certificates;
use network_support::{Receiver, messages};
use program::Place;
use serde_json::json;

const FLAT: &str = "ecs_compatibility => disabled host => \"127.0.0.1\" port => 0";

/// Refused at the start with these words.
#[track_caller]
fn refused(config: &str, words: &str) {
    let place = Place::new();
    std::fs::write(place.join("main.conf"), config).unwrap();
    let said = place.run("-f main.conf --path.data data --api.enabled false");
    assert_ne!(said.code, 0, "{config}");
    assert!(said.err.contains(words), "{config}\n{}", said.err);
}

#[test]
fn tcp_each_connection_has_its_own_unfinished_line() {
    let receiver = Receiver::start(&format!("tcp {{ {FLAT} }}"));
    let (mut first, mut second) = (receiver.connect(), receiver.connect());
    first.write_all(b"one\nleft").unwrap();
    receiver.until_events(1);
    second.write_all(b"two\n").unwrap();
    receiver.until_events(2);
    drop(first);
    let events = receiver.until_events(3);
    assert_eq!(messages(&events), ["one", "two", "left"]);
    assert!(events[0]["port"].is_u64() && events[0]["host"].is_string());
    drop(second);
    receiver.stop();
}

#[test]
fn tcp_json_is_read_by_lines() {
    let receiver = Receiver::start(&format!("tcp {{ {FLAT} codec => json }}"));
    receiver.send(b"{\"a\":1}\n{\"a\":");
    receiver.send(b"{\"a\":2}");
    let events = receiver.until_events(3);
    let mut seen: Vec<String> = events.iter().map(|event| format!("{}{}", event["a"], event["message"])).collect();
    seen.sort();
    assert_eq!(seen, ["1null", "2null", "null\"{\\\"a\\\":\""]);
    receiver.stop();
}

#[test]
fn tcp_lines_of_an_event_are_whole_wherever_reads_end_and_the_last_event_comes_after_a_while() {
    let codec = "multiline { pattern => \"^ \" what => \"previous\" auto_flush_interval => 0.3 }";
    let receiver = Receiver::start(&format!("tcp {{ {FLAT} codec => {codec} }}"));
    let mut sender = receiver.connect();
    sender.write_all(b"trace\n at fi").unwrap();
    sender.flush().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    sender.write_all(b"rst\n at second\n").unwrap();
    assert_eq!(messages(&receiver.until_events(1)), ["trace\n at first\n at second"]);
    sender.write_all(b"next\n").unwrap();
    drop(sender);
    assert_eq!(messages(&receiver.until_events(2))[1], "next");
    receiver.stop();
}

#[test]
fn tcp_a_line_without_end_goes_on_in_pieces_and_so_does_the_connection() {
    let receiver = Receiver::start(&format!("tcp {{ {FLAT} }}"));
    let mut sender = receiver.connect();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..22 {
        sender.write_all(&piece).unwrap();
    }
    sender.write_all(b"\nnext\n").unwrap();
    let events = receiver.until_events(3);
    assert_eq!(events[0]["tags"], json!(["_linetoobigfailure"]));
    let lengths: Vec<usize> = events.iter().map(|event| event["message"].as_str().unwrap().len()).collect();
    assert!(lengths[0] > 20 << 20, "{lengths:?}");
    assert_eq!((lengths[0] + lengths[1], lengths[2]), (22 << 20, 4));
    receiver.stop();
}

#[test]
fn tcp_a_port_in_use_is_refused_at_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    refused(&format!("input {{ tcp {{ host => \"127.0.0.1\" port => {port} }} }}"), "cannot listen on 127.0.0.1");
    refused("input { tcp { host => \"127.0.0.1\" port => 70000 } }", "between 0 and 65535");
    refused("input { tcp { port => 1 ssl_enable => true } }", "ssl_enabled");
}

#[test]
fn tcp_a_proxy_tells_who_is_behind_it() {
    let receiver = Receiver::start(&format!("tcp {{ {FLAT} proxy_protocol => true }}"));
    receiver.send(b"PROXY TCP4 10.1.1.1 10.2.2.2 4000 5000\r\nhello\n");
    receiver.send(b"GET / HTTP/1.1\r\n\r\n");
    let events = receiver.until_events(1);
    let event = &events[0];
    assert_eq!(event["message"], "hello");
    assert_eq!((&event["host"], &event["port"]), (&json!("10.1.1.1"), &json!("4000")));
    assert_eq!((&event["proxy_host"], &event["proxy_port"]), (&json!("10.2.2.2"), &json!("5000")));
    receiver.until_log("no PROXY line");
    receiver.stop();
}

#[test]
fn tcp_tls_clients_have_to_show_a_certificate_where_that_is_required() {
    let made = Certificates::make();
    let receiver = Receiver::start(&format!(
        "tcp {{ {FLAT} ssl_enabled => true ssl_certificate => \"{}\" ssl_key => \"{}\"
                ssl_certificate_authorities => \"{}\" }}",
        made.path("server.crt"),
        made.path("server.key"),
        made.path("authority.crt")
    ));
    // What is no TLS, and one without a certificate, disturb nobody.
    receiver.send(b"\x00\xff garbage that is no handshake\n");
    let mut stranger = receiver.connect_tls(made.client(false));
    let _ = stranger.write_all(b"stranger\n");
    let mut rest = Vec::new();
    assert!(stranger.read_to_end(&mut rest).is_err());
    let mut known = receiver.connect_tls(made.client(true));
    known.write_all(b"known\n").unwrap();
    let events = receiver.until_events(1);
    assert_eq!(events[0]["message"], "known");
    let subject = events[0]["sslsubject"].as_str().unwrap();
    assert!(subject.contains("CN=the client") && subject.contains("O=Tests"), "{subject}");
    assert!(!receiver.stop().out.contains("stranger"));
}

#[test]
fn tcp_tls_without_authorities_nobody_is_asked() {
    let made = Certificates::make();
    let receiver = Receiver::start(&format!(
        "tcp {{ {FLAT} ssl_enabled => true ssl_keystore_path => \"{}\" ssl_keystore_password => \"secret\"
                ssl_supported_protocols => [\"TLSv1.3\"] ssl_cipher_suites => [\"TLS_AES_128_GCM_SHA256\"] }}",
        made.path("server.p12")
    ));
    let mut sender = receiver.connect_tls(made.client(false));
    sender.write_all(b"hello\n").unwrap();
    assert_eq!(messages(&receiver.until_events(1)), ["hello"]);
    let suite = sender.conn.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(format!("{suite:?}"), "TLS13_AES_128_GCM_SHA256");
    receiver.stop();
}

#[test]
fn tcp_tls_files_that_do_not_fit_are_refused() {
    let made = Certificates::make();
    let (certificate, key, store) = (made.path("server.crt"), made.path("client.key"), made.path("server.p12"));
    for (options, words) in [
        (format!("ssl_certificate => \"{certificate}\""), "needs `ssl_key`"),
        (format!("ssl_certificate => \"{certificate}\" ssl_key => \"{key}\""), "its own private key"),
        (format!("ssl_keystore_path => \"{store}\""), "needs `ssl_keystore_password`"),
        (format!("ssl_keystore_path => \"{store}\" ssl_keystore_password => \"x\""), "opens with this password"),
        (format!("ssl_keystore_path => \"{store}\" ssl_keystore_type => jks"), "keytool -importkeystore"),
        (String::new(), "needs `ssl_certificate`"),
        (
            format!(
                "ssl_keystore_path => \"{store}\" ssl_keystore_password => secret ssl_client_authentication => required"
            ),
            "needs `ssl_certificate_authorities`",
        ),
        (
            format!("ssl_keystore_path => \"{store}\" ssl_keystore_password => secret ssl_verification_mode => full"),
            "a server has no `ssl_verification_mode`",
        ),
        ("ssl_supported_protocols => \"TLSv1.1\"".to_owned(), "TLSv1.1 is broken"),
        ("ssl_cipher_suites => \"TLS_RSA_WITH_AES_128_CBC_SHA\"".to_owned(), "is not built in"),
    ] {
        refused(&format!("input {{ tcp {{ port => 0 ssl_enabled => true {options} }} }}"), words);
    }
}

#[test]
fn tcp_as_a_client_connects_again() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let receiver = Receiver::start(&format!("tcp {{ mode => client host => \"127.0.0.1\" port => {port} }}"));
    for text in ["one\n", "two"] {
        server.accept().unwrap().0.write_all(text.as_bytes()).unwrap();
    }
    assert_eq!(messages(&receiver.until_events(2)), ["one", "two"]);
    receiver.stop();
}

#[test]
fn tcp_many_connections_that_say_nothing_hold_up_neither_others_nor_the_stop() {
    let receiver = Receiver::start(&format!("tcp {{ {FLAT} }}"));
    let silent: Vec<TcpStream> = (0..400).map(|_| receiver.connect()).collect();
    let mut half: Vec<TcpStream> = (0..100).map(|_| receiver.connect()).collect();
    half.iter_mut().for_each(|stream| stream.write_all(b"half a line").unwrap());
    receiver.send(b"whole\n");
    receiver.until_events(1);
    let said = receiver.stop();
    assert_eq!(said.out.lines().filter(|line| line.contains("half a line")).count(), 100);
    drop((silent, half));
}

#[test]
fn udp_each_datagram_is_decoded_for_itself() {
    let receiver =
        Receiver::start(&format!("udp {{ {FLAT} codec => line {{ ecs_compatibility => disabled }} workers => 1 }}"));
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for text in ["a\nb", "", "c"] {
        sender.send_to(text.as_bytes(), ("127.0.0.1", receiver.port())).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let events = receiver.until_events(3);
    assert_eq!(messages(&events), ["a", "b", "c"]);
    assert!(events.iter().all(|event| event["host"] == "127.0.0.1"));
    receiver.stop();
}

#[test]
fn udp_a_burst_comes_whole_and_under_the_field_that_was_asked_for() {
    let receiver = Receiver::start(
        "udp { host => \"127.0.0.1\" port => 0 source_ip_fieldname => \"[from]\" receive_buffer_bytes => 4000000
               add_field => { \"x\" => \"y\" } }",
    );
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for n in 0..500 {
        sender.send_to(format!("message {n}").as_bytes(), ("127.0.0.1", receiver.port())).unwrap();
        if n % 50 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let events = receiver.until_events(500);
    assert!(events.iter().all(|event| event["from"] == "127.0.0.1" && event["x"] == "y"), "{}", events[0]);
    receiver.stop();
}

#[test]
fn unix_the_socket_goes_with_the_program_and_a_strange_one_is_not_touched() {
    let receiver = Receiver::start("unix { path => \"in.sock\" ecs_compatibility => disabled data_timeout => 1 }");
    let path = receiver.place().join("in.sock");
    let (mut first, mut second) = (UnixStream::connect(&path).unwrap(), UnixStream::connect(&path).unwrap());
    first.write_all(b"from one").unwrap();
    second.write_all(b"from two\n").unwrap();
    // The first is silent for too long, and closed; its line goes on as it is.
    let events = receiver.until_events(2);
    assert_eq!(messages(&events), ["from two", "from one"]);
    assert_eq!(events[0]["path"], "in.sock");
    let mut rest = Vec::new();
    assert_eq!(first.read_to_end(&mut rest).unwrap(), 0);
    receiver.stop();
    assert!(!path.exists());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("there.sock");
    let _there = UnixListener::bind(&path).unwrap();
    refused(&format!("input {{ unix {{ path => \"{}\" }} }}", path.display()), "is there already");
    assert!(path.exists());
}

#[test]
fn syslog_lines_come_by_tcp_and_udp_at_the_same_port() {
    let receiver = Receiver::start("syslog { host => \"127.0.0.1\" port => 0 timezone => UTC }");
    receiver.send(b"<134>2020-01-02T03:04:05Z web1 sshd[42]: by tcp\n");
    receiver.until_events(1);
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(b"<13>2020-01-02T03:04:06Z web2 app: by udp", ("127.0.0.1", receiver.port())).unwrap();
    let events = receiver.until_events(2);
    assert_eq!(messages(&events), ["by tcp", "by udp"]);
    assert_eq!(events[0]["@timestamp"], "2020-01-02T03:04:05.000Z");
    assert_eq!(events[0]["process"], json!({"name": "sshd", "pid": 42}));
    assert_eq!(events[1]["host"], json!({"ip": "127.0.0.1", "hostname": "web2"}));
    receiver.stop();
}

#[test]
fn http_the_media_type_chooses_the_codec_and_bodies_may_be_compressed() {
    let receiver = Receiver::start("http { host => \"127.0.0.1\" port => 0 max_content_length => 1000 }");
    let answer =
        receiver.ask("POST /x?y=1 HTTP/1.1\r\nContent-Type: application/json; charset=utf-8", b"[{\"a\":1},{\"a\":2}]");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nok"), "{answer}");
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let gzipped = "PUT / HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Encoding: gzip";
    assert!(receiver.ask(gzipped, &gzip(b"compressed")).starts_with("HTTP/1.1 200 "));
    assert!(receiver.ask(gzipped, b"no gzip").starts_with("HTTP/1.1 400 "));
    // A small body that becomes a large one.
    assert!(receiver.ask(gzipped, &gzip(&vec![b'x'; 100_000])).starts_with("HTTP/1.1 413 "));
    assert!(receiver.ask("POST / HTTP/1.1", &vec![b'x'; 2000]).starts_with("HTTP/1.1 413 "));
    let latin = receiver.ask("POST / HTTP/1.1\r\nContent-Type: text/plain; charset=ISO-8859-1", b"caf\xe9");
    assert!(latin.starts_with("HTTP/1.1 200 "), "{latin}");
    assert!(receiver.ask("POST / HTTP/1.1", b"").starts_with("HTTP/1.1 200 "));
    let events = receiver.until_events(5);
    // Several workers write them.
    let mut seen = messages(&events);
    seen.sort_unstable();
    assert_eq!(seen, ["", "", "", "café", "compressed"]);
    let document = events.iter().find(|event| event["a"] == 1).unwrap();
    assert_eq!(document["url"], json!({"domain": "web1", "port": 80, "path": "/x?y=1"}));
    assert_eq!(document["http"]["request"]["body"]["bytes"], "17");
    assert!(events.iter().any(|event| event["a"] == 2));
    receiver.stop();
}

#[test]
fn http_only_the_user_may_send_and_credentials_are_no_fields() {
    let receiver = Receiver::start(
        "http { host => \"127.0.0.1\" port => 0 user => \"u\" password => \"p\" response_code => 204
                ecs_compatibility => disabled response_headers => { \"X-Y\" => \"z\" } }",
    );
    let absent = receiver.ask("POST / HTTP/1.1", b"x");
    assert!(absent.starts_with("HTTP/1.1 401 "), "{absent}");
    assert!(absent.to_lowercase().contains("www-authenticate: basic realm=\"logstash http input\""), "{absent}");
    let wrong = receiver.ask("POST / HTTP/1.1\r\nAuthorization: Basic eDp5", b"x");
    assert!(wrong.starts_with("HTTP/1.1 401 ") && !wrong.to_lowercase().contains("www-authenticate"), "{wrong}");
    let known = receiver.ask("POST /p HTTP/1.1\r\nAuthorization: Basic dTpw\r\nUser-Agent: t/1", b"x");
    assert!(known.starts_with("HTTP/1.1 204 ") && known.to_lowercase().contains("x-y: z"), "{known}");
    let events = receiver.until_events(1);
    let headers = &events[0]["headers"];
    assert_eq!(headers["http_user_agent"], "t/1");
    assert_eq!((&headers["http_accept"], &headers["request_path"]), (&json!(null), &json!("/p")));
    assert!(headers.get("authorization").is_none(), "{headers}");
    assert_eq!(events[0]["host"], "127.0.0.1");
    receiver.stop();
}

#[test]
fn http_answers_after_the_events_are_delivered_when_asked_to() {
    let receiver = Receiver::start("http { host => \"127.0.0.1\" port => 0 \"spillway.ack\" => true }");
    let answer = receiver.ask("POST / HTTP/1.1", b"hello");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(messages(&receiver.until_events(1)), ["hello"]);
    receiver.stop();
    // An output that cannot deliver: the sender hears that its event was not taken.
    let receiver = Receiver::start_with(
        "http { host => \"127.0.0.1\" port => 0 \"spillway.ack\" => true }",
        "tcp { host => \"127.0.0.1\" port => 1 codec => json_lines }",
    );
    let mut sender = receiver.connect();
    sender.write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx").unwrap();
    receiver.until_log("connecting again");
    let answered = std::thread::spawn(move || {
        let mut answer = Vec::new();
        let _ = sender.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    });
    receiver.stop();
    let answer = answered.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
}

/// logstash-input-http#60
#[test]
fn http_headers_of_one_request_with_the_body_of_another() {
    let receiver = Receiver::start("http { host => \"127.0.0.1\" port => 0 ecs_compatibility => disabled }");
    let requests = 200;
    std::thread::scope(|scope| {
        for sender in 0..8 {
            let receiver = &receiver;
            scope.spawn(move || {
                for n in (sender..requests).step_by(8) {
                    let answer = receiver.ask(&format!("POST /{n} HTTP/1.1\r\nX-N: {n}"), n.to_string().as_bytes());
                    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
                }
            });
        }
    });
    let events = receiver.until_events(requests);
    for event in &events {
        let (n, headers) = (event["message"].as_str().unwrap(), &event["headers"]);
        assert_eq!((&headers["x_n"], &headers["request_path"]), (&json!(n), &json!(format!("/{n}"))));
    }
    receiver.stop();
}

/// logstash-input-http#66
#[test]
fn http_requests_pile_up_while_the_output_is_down() {
    let receiver = Receiver::start_with(
        "http { host => \"127.0.0.1\" port => 0 threads => 1 max_pending_requests => 0 }",
        "tcp { host => \"127.0.0.1\" port => 1 codec => json_lines }",
    );
    // More than the queue holds: one is with the worker and one in the queue, so that there is no room for a third,
    // and a fourth is not even let in.
    let events = format!("[{}]", vec!["{\"a\":1}"; 20_000].join(","));
    let head = "POST / HTTP/1.1\r\nContent-Type: application/json";
    for _ in 0..2 {
        assert!(receiver.ask(head, events.as_bytes()).starts_with("HTTP/1.1 200 "));
    }
    let address = ("127.0.0.1", receiver.port());
    let (answered, answers) = std::sync::mpsc::channel();
    for _ in 0..2 {
        let answered = answered.clone();
        std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            let request = "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            answered.send(String::from_utf8_lossy(&answer).into_owned()).unwrap();
        });
    }
    let first = answers.recv().unwrap();
    assert!(first.starts_with("HTTP/1.1 429 "), "{first}");
    receiver.stop();
    let second = answers.recv().unwrap();
    assert!(second.starts_with("HTTP/1.1 500 "), "{second}");
}

/// logstash#18855
#[test]
fn http_a_request_is_cut_off_by_the_stop() {
    let receiver = Receiver::start("http { host => \"127.0.0.1\" port => 0 }");
    let mut sender = receiver.connect();
    let head = b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    sender.write_all(head).unwrap();
    let mut go_on = [0; 25];
    sender.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    let answered = std::thread::spawn(move || {
        let mut answer = Vec::new();
        let _ = sender.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    });
    let said = receiver.stop();
    // The sender hears that its event was not taken, and none was.
    let answer = answered.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(said.out, "");
}

#[test]
fn http_by_tls() {
    let made = Certificates::make();
    let receiver = Receiver::start(&format!(
        "http {{ host => \"127.0.0.1\" port => 0 ssl_enabled => true ssl_certificate => \"{}\" ssl_key => \"{}\" }}",
        made.path("server.crt"),
        made.path("server.key")
    ));
    let mut sender = receiver.connect_tls(made.client(false));
    sender.write_all(b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello").unwrap();
    let mut answer = Vec::new();
    let _ = sender.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(messages(&receiver.until_events(1)), ["hello"]);
    receiver.stop();
}

#[test]
fn http_garbage_slow_heads_and_bodies_that_never_come_hold_up_nobody() {
    let receiver = Receiver::start("http { host => \"127.0.0.1\" port => 0 }");
    receiver.send(b"\x00\x01\x02 garbage\r\n\r\n");
    let mut slow: Vec<TcpStream> = (0..100).map(|_| receiver.connect()).collect();
    for (n, stream) in slow.iter_mut().enumerate() {
        let text: &[u8] =
            if n % 2 == 0 { b"POST / HT" } else { b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf" };
        stream.write_all(text).unwrap();
    }
    assert!(receiver.ask("POST / HTTP/1.1", b"whole").starts_with("HTTP/1.1 200 "));
    assert_eq!(messages(&receiver.until_events(1)), ["whole"]);
    receiver.stop();
    drop(slow);
}
