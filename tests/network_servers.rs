//! Programs that people use, talking to the network plugins: rsyslog and logger send, curl posts, nginx takes.
//!
//! `SPILLWAY_REAL_PEERS=1 cargo test --test network_servers` installs and starts what it needs by `tests/services`;
//! without that variable nothing is tested.

#[path = "support/ports.rs"]
mod ports;
#[path = "support/process.rs"]
mod process;
mod program;

use std::path::Path;
use std::process::{Command, Stdio};

use ports::free_port;
use process::{Process, records};
use program::Place;
use serde_json::{Value as Json, json};

fn is_wanted() -> bool {
    let wanted = std::env::var_os("SPILLWAY_REAL_PEERS").is_some();
    if !wanted {
        println!("skipped: SPILLWAY_REAL_PEERS is not set");
    }
    wanted
}

/// A service of `tests/services` that runs as long as this lives.
struct Service {
    script: &'static str,
    env: Vec<(&'static str, String)>,
}

impl Service {
    fn start(script: &'static str, env: &[(&'static str, &str)]) -> Self {
        let service = Self { script, env: env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect() };
        assert!(service.call("start"), "{script} did not start");
        service
    }

    fn call(&self, verb: &str) -> bool {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services").join(self.script);
        let mut command = Command::new(script);
        command.arg(verb).envs(self.env.iter().map(|(name, value)| (*name, value))).stdin(Stdio::null());
        command.status().unwrap().success()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.call("stop");
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Spillway with that input, writing to `out` in its directory.
fn receiver(place: &Place, input: &str) -> Process {
    let conf = format!("input {{ {input} }} output {{ file {{ path => \"{}\" }} }}", place.join("out").display());
    std::fs::write(place.join("main.conf"), conf).unwrap();
    Process::running(place.command("-f main.conf -w 1 --path.data data --api.enabled false"))
}

/// rsyslog in front of the syslog input: what `logger` hands it arrives with all its parts.
fn through_rsyslog(protocol: &'static str) {
    let place = Place::new();
    let (port, own) = (free_port().to_string(), free_port().to_string());
    let spillway = receiver(&place, &format!("syslog {{ host => \"127.0.0.1\" port => {port} }}"));
    let data = place.join("rsyslog");
    let data = data.to_str().unwrap();
    let instance = format!("test-{own}");
    let _rsyslog = Service::start(
        "rsyslog.sh",
        &[
            ("RSYSLOG_INSTANCE", &instance),
            ("RSYSLOG_PORT", &own),
            ("RSYSLOG_TARGET", &port),
            ("RSYSLOG_PROTO", protocol),
            ("RSYSLOG_FORMAT", "rfc3164"),
            ("RSYSLOG_DATA", data),
        ],
    );
    for n in 0..20 {
        let text = format!("message {n} of twenty");
        run("logger", &["-u", &format!("{data}/log.sock"), "-p", "auth.warning", "-t", "gate", &text]);
    }
    spillway.until_file(&place.join("out"), 20);
    let seen = records(&place.join("out"));
    for (n, event) in seen.iter().enumerate() {
        assert_eq!(event["message"], format!("message {n} of twenty"), "{event}");
        assert_eq!(event["process"]["name"], "gate", "{event}");
        assert_eq!(event["log"]["syslog"]["severity"], json!({"code": 4, "name": "Warning"}), "{event}");
        assert_eq!(event["log"]["syslog"]["facility"], json!({"code": 4, "name": "security/authorization"}), "{event}");
        assert!(event["tags"].is_null(), "{event}");
    }
}

#[test]
fn rsyslog_forwards_by_tcp() {
    if is_wanted() {
        through_rsyslog("tcp");
    }
}

#[test]
fn rsyslog_forwards_by_udp() {
    if is_wanted() {
        through_rsyslog("udp");
    }
}

#[test]
fn logger_sends_by_tcp_and_udp() {
    if !is_wanted() {
        return;
    }
    let place = Place::new();
    let port = free_port().to_string();
    let spillway = receiver(&place, &format!("syslog {{ host => \"127.0.0.1\" port => {port} }}"));
    for (n, protocol) in ["-T", "-d"].into_iter().enumerate() {
        let target = ["-n", "127.0.0.1", "-P", &port, protocol, "--rfc3164", "-p", "local3.err", "-t", "app", protocol];
        // logger takes a text that begins with a dash only behind `--`.
        let (text, options) = target.split_last().unwrap();
        run("logger", &[options, &["--", text]].concat());
        spillway.until_file(&place.join("out"), n + 1);
    }
    for (event, text) in records(&place.join("out")).iter().zip(["-T", "-d"]) {
        assert_eq!(event["message"].as_str().map(str::trim_end), Some(text), "{event}");
        assert_eq!(event["log"]["syslog"]["priority"], 155, "{event}");
        assert!(event["tags"].is_null(), "{event}");
    }
}

#[test]
fn curl_posts_documents_lines_and_compressed_bodies() {
    if !is_wanted() {
        return;
    }
    let place = Place::new().file("body.txt", "compressed text");
    let port = free_port();
    let spillway = receiver(
        &place,
        &format!("http {{ host => \"127.0.0.1\" port => {port} user => \"me\" password => \"secret\" }}"),
    );
    let url = format!("http://127.0.0.1:{port}/some/path?q=1");
    let code = |more: &[&str]| {
        let show = ["-s", "-o", "/dev/null", "-w", "%{http_code}", &url];
        run("curl", &[&show, more].concat())
    };
    assert_eq!(code(&["-d", "x"]), "401");
    assert_eq!(code(&["-u", "me:wrong", "-d", "x"]), "401");
    let user = ["-u", "me:secret"];
    let as_json = [&user[..], &["-H", "Content-Type: application/json", "-d", r#"[{"n":1},{"n":2}]"#]].concat();
    assert_eq!(code(&as_json), "200");
    run("gzip", &["-k", place.join("body.txt").to_str().unwrap()]);
    let zipped = format!("@{}", place.join("body.txt.gz").display());
    let compressed = ["-H", "Content-Encoding: gzip", "-H", "Content-Type: text/plain", "--data-binary", &zipped];
    assert_eq!(code(&[&user[..], &compressed].concat()), "200");
    let broken = ["-H", "Content-Encoding: gzip", "-H", "Content-Type: text/plain", "-d", "no gzip"];
    assert_eq!(code(&[&user[..], &broken].concat()), "400");
    spillway.until_file(&place.join("out"), 3);
    let seen = records(&place.join("out"));
    assert_eq!([&seen[0]["n"], &seen[1]["n"], &seen[2]["message"]], [&json!(1), &json!(2), &json!("compressed text")]);
    assert_eq!(seen[0]["url"]["path"], "/some/path?q=1", "{}", seen[0]);
    assert_eq!(seen[0]["http"]["method"], "POST", "{}", seen[0]);
}

#[test]
fn nginx_keeps_each_event_and_what_it_refuses_is_a_dead_letter() {
    if !is_wanted() {
        return;
    }
    let port = free_port().to_string();
    let instance = format!("test-{port}");
    let place = Place::new();
    let data = place.join("nginx");
    let _nginx = Service::start(
        "nginx.sh",
        &[("NGINX_INSTANCE", &instance), ("NGINX_PORT", &port), ("NGINX_DATA", data.to_str().unwrap())],
    );
    let conf = format!(
        r#"input {{ stdin {{ codec => json_lines }} }}
        output {{
          http {{ url => "http://127.0.0.1:{port}/%{{where}}/%{{n}}.json" http_method => "put"
                  mapping => {{ "n" => "%{{n}}" }} }}
        }}"#
    );
    std::fs::write(place.join("main.conf"), conf).unwrap();
    let settings = "dead_letter_queue.enable: true\napi.enabled: false\n";
    let place = place.file("settings/logstash.yml", settings);
    let input: String = (0..30)
        .map(|n| {
            let place = if n % 10 == 3 { "refused" } else { "docs" };
            format!("{{\"n\":{n},\"where\":\"{place}\"}}\n")
        })
        .collect();
    let said = place.run_with_input("--path.settings settings -f main.conf --path.data data", &input);
    assert_eq!(said.code, 0, "{}", said.err);
    for n in (0..30).filter(|n| n % 10 != 3) {
        let kept = std::fs::read_to_string(data.join(format!("docs/{n}.json"))).unwrap();
        assert_eq!(serde_json::from_str::<Json>(&kept).unwrap(), json!({"n": n.to_string()}));
    }
    let dead = process::dead_letters(&place.join("data/dead_letter_queue/main"));
    assert_eq!(dead.len(), 3);
    assert!(dead.iter().all(|letter| letter.reason.contains("400")), "{:?}", dead[0].reason);
}
