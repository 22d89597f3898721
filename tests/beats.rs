//! The `beats` input as its senders see it.

mod network_support;
#[path = "support/process.rs"]
mod process;
mod program;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use network_support::Receiver;
use network_support::certificates::Certificates;
use process::{Process, lines};
use program::Place;

/// Events of one window.
const WINDOW: u32 = 50;

/// A sender that sends a window again until it is acknowledged, as Beats do.
struct Beat {
    port: u16,
    connection: Option<TcpStream>,
}

impl Beat {
    fn connect(&mut self) -> std::io::Result<&mut TcpStream> {
        if self.connection.is_none() {
            let stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            self.connection = Some(stream);
        }
        Ok(self.connection.as_mut().unwrap())
    }

    fn try_window(&mut self, first: u32) -> std::io::Result<()> {
        let mut bytes = frame(b'W', &[WINDOW]);
        for n in 0..WINDOW {
            let json = format!(r#"{{"message":"line {}","@metadata":{{"beat":"test"}}}}"#, first + n);
            bytes.extend(frame(b'J', &[n + 1, json.len() as u32]));
            bytes.extend(json.as_bytes());
        }
        let stream = self.connect()?;
        stream.write_all(&bytes)?;
        loop {
            let mut answer = [0; 6];
            stream.read_exact(&mut answer)?;
            assert_eq!(answer[..2], *b"2A");
            if answer[2..] == WINDOW.to_be_bytes() {
                return Ok(());
            }
        }
    }

    fn window(&mut self, first: u32) {
        let end = Instant::now() + Duration::from_secs(60);
        while let Err(error) = self.try_window(first) {
            self.connection = None;
            assert!(Instant::now() < end, "window {first}: {error}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn frame(kind: u8, numbers: &[u32]) -> Vec<u8> {
    [b'2', kind].into_iter().chain(numbers.iter().flat_map(|number| number.to_be_bytes())).collect()
}

/// A port that stays free while nobody listens: below those that the system gives to connections.
fn quiet_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 5_000) as u16;
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed));
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// `SPILLWAY_VOLUME=200000 cargo test --test beats` sends so many events.
#[test]
fn what_was_acknowledged_is_delivered_although_the_program_is_killed() {
    let events: u32 = std::env::var("SPILLWAY_VOLUME").map_or(5_000, |number| number.parse().unwrap());
    let (place, port) = (Place::new(), quiet_port());
    let out = place.join("out");
    let config = format!(
        "input {{ beats {{ host => \"127.0.0.1\" port => {port} }} }}
         output {{ file {{ path => \"{}\" codec => line {{ format => \"%{{message}}\" }} flush_interval => 0 }} }}",
        out.display()
    );
    std::fs::write(place.join("main.conf"), config).unwrap();
    let start = || Process::running(place.command("-f main.conf --path.data data --api.enabled false"));
    let mut running = start();
    let windows = events / WINDOW;
    let sender = std::thread::spawn(move || {
        let mut beat = Beat { port, connection: None };
        (0..windows).for_each(|window| beat.window(window * WINDOW));
    });
    for kill in 1..=3 {
        running.until_file(&out, (events / 4 * kill) as usize);
        running.kill();
        running = start();
    }
    sender.join().unwrap();
    assert_eq!(running.stop().code, 0);
    // What was delivered and not yet acknowledged when the program was killed comes again.
    let got: BTreeSet<String> = lines(&out).into_iter().collect();
    let missing: Vec<u32> = (0..windows * WINDOW).filter(|n| !got.contains(&format!("line {n}"))).collect();
    assert!(missing.is_empty(), "{} are missing: {missing:?}", missing.len());
}

#[test]
fn a_sender_that_is_silent_is_closed_and_another_one_is_served() {
    let place = Place::new();
    let port = quiet_port();
    let config = format!(
        "input {{ beats {{ host => \"127.0.0.1\" port => {port} client_inactivity_timeout => 1 }} }} output {{ stdout {{ }} }}"
    );
    std::fs::write(place.join("main.conf"), config).unwrap();
    let process = Process::running(place.command("-f main.conf --path.data data --api.enabled false"));
    let mut silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
    silent.write_all(&frame(b'W', &[2])).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(silent.read(&mut [0; 6]).unwrap_or(0), 0);
    Beat { port, connection: None }.window(0);
    process.until_err("nothing came for 1 s");
}

#[test]
fn the_certificate_of_a_sender_is_told_with_its_events() {
    let (made, place) = (Certificates::make(), Place::new());
    let out = place.join("out");
    let inputs = format!(
        "beats {{ host => \"127.0.0.1\" port => 0 enrich => all ssl_enabled => true ssl_certificate => \"{}\"
                  ssl_key => \"{}\" ssl_certificate_authorities => \"{}\" }}",
        made.path("server.crt"),
        made.path("server.key"),
        made.path("authority.crt")
    );
    let tls = "[@metadata][input][beats][tls]";
    let outputs = format!(
        "file {{ path => \"{}\" flush_interval => 0 codec => line {{ format =>
            \"%{{[@metadata][tls_peer][status]}} %{{{tls}[version_protocol]}} %{{{tls}[cipher]}} %{{{tls}[client][subject]}}\" }} }}",
        out.display()
    );
    let receiver = Receiver::start_with(&inputs, &outputs);
    let mut stranger = receiver.connect_tls(made.client(false));
    let _ = stranger.write_all(b"2W\0\0\0\x01");
    assert!(stranger.read_to_end(&mut Vec::new()).is_err());
    let mut known = receiver.connect_tls(made.client(true));
    known.write_all(b"2W\0\0\0\x012J\0\0\0\x01\0\0\0\x0f{\"message\":\"m\"}").unwrap();
    let mut answer = [0; 6];
    known.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"2A\0\0\0\x01");
    receiver.stop();
    let told = lines(&out);
    assert!(told[0].starts_with("verified TLSv1.3 TLS_") && told[0].contains("CN="), "{told:?}");
}
