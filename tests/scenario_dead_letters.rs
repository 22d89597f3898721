//! Scenarios of `cases/dead-letter-queue.yml` that take whole pipelines. Each test has the name of its case.

mod elasticsearch_support;
#[path = "support/ports.rs"]
mod ports;
#[path = "support/scenario/mod.rs"]
#[allow(dead_code, reason = "only the processes are used here")]
mod scenario;

use std::path::{Path, PathBuf};
use std::time::Duration;

use elasticsearch_support::bulk;
use elasticsearch_support::server::{Reply, Request, Server};
use scenario::program::{Background, command, until};
use serde_json::{Value as Json, json};
use spillway::dead_letter::{DeadLetter, Reader, Start};

/// A settings folder with pipelines, and the process that runs them.
struct Run {
    folder: tempfile::TempDir,
    port: u16,
    process: Option<Background>,
}

impl Run {
    /// Pipelines by id: settings of `pipelines.yml`, and the configuration.
    fn prepare(settings: &Json, pipelines: &[(&str, Json, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut list = Vec::new();
        for (id, own, config) in pipelines {
            let path = folder.path().join(format!("{id}.conf"));
            std::fs::write(&path, config).unwrap();
            let mut entry = json!({ "pipeline.id": id, "path.config": path, "pipeline.workers": 1 });
            entry.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            list.push(entry);
        }
        let port = ports::free_port();
        let mut process = json!({
            "path.data": folder.path().join("data"), "log.rate_limit": "0s", "api.http.port": port,
            "pipeline.ecs_compatibility": "disabled",
        });
        process.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        // JSON is YAML.
        std::fs::write(folder.path().join("logstash.yml"), process.to_string()).unwrap();
        std::fs::write(folder.path().join("pipelines.yml"), Json::from(list).to_string()).unwrap();
        std::fs::create_dir_all(folder.path().join("data/dead_letter_queue")).unwrap();
        Self { folder, port, process: None }
    }

    fn start(&mut self) {
        let words = ["spillway", "--path.settings", self.folder.path().to_str().unwrap()].map(str::to_owned);
        let Ok(command) = command(&words, self.folder.path()) else { panic!("no command") };
        let Ok(process) = Background::start(command) else { panic!("not started") };
        self.process = Some(process);
    }

    fn log(&self) -> String {
        self.process.as_ref().map(|process| process.err.text()).unwrap_or_default()
    }

    /// Waits until something holds; shows the log when it never does.
    fn wait<T>(&self, what: &str, look: impl FnMut() -> Option<T>) -> T {
        until(look).unwrap_or_else(|| panic!("never: {what}; the log:\n{}", self.log()))
    }

    fn wait_for_log(&self, text: &str) {
        self.wait(text, || self.log().contains(text).then_some(()));
    }

    /// Asks it to end, which it must do in order.
    fn stop(&mut self) -> String {
        let mut process = self.process.take().unwrap();
        let status = process.terminate();
        assert_eq!(status, Some(0), "{}", process.err.text());
        process.err.text()
    }

    fn queue(&self, pipeline: &str) -> PathBuf {
        self.folder.path().join("data/dead_letter_queue").join(pipeline)
    }

    fn get(&self, path: &str) -> Json {
        use std::io::{Read, Write};
        let mut stream = self.wait("the API", || std::net::TcpStream::connect(("127.0.0.1", self.port)).ok());
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// The `documents` counters of a pipeline's only output.
    fn documents(&self, pipeline: &str) -> Json {
        let stats = self.get(&format!("/_node/stats/pipelines/{pipeline}"));
        stats.pointer(&format!("/pipelines/{pipeline}/plugins/outputs/0/documents")).cloned().unwrap_or_default()
    }
}

fn letters(queue: &Path) -> Vec<DeadLetter> {
    let mut reader = Reader::new(queue, Start::Beginning);
    std::iter::from_fn(|| reader.next(Duration::ZERO)).collect()
}

fn output(server: &Server) -> String {
    format!("output {{ elasticsearch {{ id => \"es-1\" hosts => [\"{}\"] index => \"logs\" }} }}\n", server.url())
}

/// Gives the lines as events, once.
fn generator(lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("'{line}'")).collect();
    format!(
        "input {{ generator {{ lines => [{}] count => 1 codec => json }} heartbeat {{ interval => 3600 }} }}\n\
             filter {{ if [message] == \"ok\" {{ drop {{ }} }} }}\n",
        lines.join(", ")
    )
}

fn dlq_on() -> Json {
    json!({ "dead_letter_queue.enable": true })
}

#[test]
fn es_bulk_400() {
    let server = bulk::elasticsearch(|request: &Request| {
        let items = [
            bulk::item(201, "", ""),
            bulk::item(400, "mapper_parsing_exception", "failed to parse field [port]"),
            bulk::item(409, "version_conflict_engine_exception", "exists"),
            bulk::item(404, "index_not_found_exception", "no such index"),
        ];
        bulk::sorted(request, &items)
    });
    let events = [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#, r#"{"n":4}"#];
    // The four events, and the beat that keeps the pipeline alive and is dropped by the filter.
    let mut run = Run::prepare(
        &json!({ "pipeline.batch.delay": 5000, "pipeline.batch.size": 5 }),
        &[("main", dlq_on(), format!("{}{}", generator(&events), output(&server)))],
    );
    run.start();
    run.wait("both are counted", || (run.documents("main")["dlq_routed"] == 2).then_some(()));
    let documents = run.documents("main");
    assert_eq!(documents["successes"], 1, "{documents}");
    assert_eq!(documents["non_retryable_failures"], 1, "{documents}");
    run.stop();
    let letters = letters(&run.queue("main"));
    let numbers: Vec<_> = letters.iter().map(|letter| letter.event.fields().get("n").unwrap().as_integer()).collect();
    assert_eq!(numbers, [Some(2), Some(4)]);
    assert!(letters.iter().all(|letter| letter.plugin_type == "elasticsearch" && letter.plugin_id == "es-1"));
    let reason = letters[0].reason.as_str();
    assert!(
        reason.starts_with("Could not index event to Elasticsearch. status: 400, action: [\"index\", "),
        "{reason}"
    );
    assert!(reason.contains("mapper_parsing_exception"), "{reason}");
}

#[test]
fn es_bad_index() {
    let server = bulk::elasticsearch(bulk::accepted);
    let config = output(&server).replace("\"logs\"", "\"logs-%{[missing]}\"");
    let mut run = Run::prepare(&json!({}), &[("main", dlq_on(), generator(&[r#"{"a":1}"#]) + &config)]);
    run.start();
    run.wait("it is counted", || (run.documents("main")["non_retryable_failures"] == 1).then_some(()));
    let documents = run.documents("main");
    assert!(documents["dlq_routed"].is_null() || documents["dlq_routed"] == 0, "{documents}");
    run.stop();
    assert_eq!(server.bulks().len(), 0);
    let letters = letters(&run.queue("main"));
    assert_eq!(letters.len(), 1);
    let reason = "Badly formatted index, after interpolation still contains placeholder: [logs-%{[missing]}]";
    assert!(letters[0].reason.starts_with(reason), "{}", letters[0].reason);
}

#[test]
fn guard_skip() {
    let refusing = || {
        bulk::elasticsearch(|request: &Request| -> Reply {
            bulk::statuses(request, &vec![400; bulk::docs(request).len()])
        })
    };
    let (first, second) = (refusing(), refusing());
    let replay = |queue: &Path| {
        format!(
            "input {{ dead_letter_queue {{ path => \"{}\" pipeline_id => \"main\" }} }}\n{}",
            queue.display(),
            output(&second)
        )
    };
    let main = ("main", dlq_on(), format!("{}{}", generator(&[r#"{"n":1}"#, r#"{"n":2}"#]), output(&first)));
    let mut run = Run::prepare(&json!({ "dead_letter_queue.flush_interval": 1000 }), &[main]);
    // The path of the queue is known only now.
    let queues = run.folder.path().join("data/dead_letter_queue");
    std::fs::write(run.folder.path().join("replay.conf"), replay(&queues)).unwrap();
    let entry = json!({ "pipeline.id": "replay", "path.config": run.folder.path().join("replay.conf"),
        "dead_letter_queue.enable": true, "dead_letter_queue.loop_guard": "skip" });
    let list = run.folder.path().join("pipelines.yml");
    let mut pipelines: Vec<Json> = serde_json::from_slice(&std::fs::read(&list).unwrap()).unwrap();
    pipelines.push(entry);
    std::fs::write(&list, Json::from(pipelines).to_string()).unwrap();
    run.start();
    run.wait("both are replayed", || (run.documents("replay")["dlq_routed"] == 2).then_some(()));
    let log = run.stop();
    assert_eq!(letters(&run.queue("main")).len(), 2);
    assert_eq!(letters(&run.queue("replay")).len(), 0);
    assert!(log.contains("previously submitted"), "{log}");
}

#[test]
fn stats_shape() {
    let idle = || "input { heartbeat { interval => 3600 } }\noutput { null { } }\n".to_owned();
    let mut run = Run::prepare(&json!({}), &[("main", dlq_on(), idle()), ("b", json!({}), idle())]);
    run.start();
    run.wait_for_log("started 2 of 2 pipelines");
    let stats = run.get("/_node/stats/pipelines");
    let names: Vec<&str> =
        stats["pipelines"]["main"]["dead_letter_queue"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [
            "dropped_events",
            "expired_events",
            "last_error",
            "max_queue_size_in_bytes",
            "queue_size_in_bytes",
            "storage_policy",
        ]
    );
    assert!(stats["pipelines"]["b"].get("dead_letter_queue").is_none());
    let pipelines = &run.get("/_node/pipelines")["pipelines"];
    assert_eq!(pipelines["main"]["dead_letter_queue_enabled"], true);
    let path = pipelines["main"]["dead_letter_queue_path"].as_str().unwrap();
    assert!(path.starts_with('/') && path.ends_with("/main"), "{path}");
    assert_eq!(pipelines["b"]["dead_letter_queue_enabled"], false);
    assert!(pipelines["b"].get("dead_letter_queue_path").is_none());
    run.stop();
}

#[test]
fn seal_flush_floor() {
    let config = "input { heartbeat { interval => 3600 } }\noutput { null { } }\n".to_owned();
    let mut run = Run::prepare(&json!({ "dead_letter_queue.flush_interval": 100 }), &[("main", dlq_on(), config)]);
    run.start();
    run.wait_for_log("started 1 of 1 pipelines");
    let log = run.stop();
    let warnings: Vec<&str> =
        log.lines().filter(|l| l.contains("WARN") && l.contains("dead_letter_queue.flush_interval")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("1000 ms"), "{log}");
}

#[test]
fn input_pipeline_dir_missing() {
    let mut run = Run::prepare(&json!({}), &[("replay", json!({}), String::new())]);
    let (queues, out) = (run.folder.path().join("data/dead_letter_queue"), run.folder.path().join("out.jsonl"));
    let config = format!(
        "input {{ dead_letter_queue {{ path => \"{}\" pipeline_id => \"main\" }} }}\n\
         filter {{ mutate {{ add_field => {{ \"why\" => \"%{{[@metadata][dead_letter_queue][reason]}}\" }} }} }}\n\
         output {{ file {{ path => \"{}\" codec => line {{ format => \"%{{why}}\" }} }} }}\n",
        queues.display(),
        out.display()
    );
    std::fs::write(run.folder.path().join("replay.conf"), config).unwrap();
    run.start();
    run.wait_for_log("started 1 of 1 pipelines");
    let warnings =
        |log: &str| log.lines().filter(|l| l.contains("WARN") && l.contains("dead_letter_queue/main")).count();
    run.wait("a warning about the queue that is not there", || (warnings(&run.log()) == 1).then_some(()));
    std::fs::create_dir(queues.join("main")).unwrap();
    std::fs::write(queues.join("main/1.log"), five()).unwrap();
    let read = || std::fs::read_to_string(&out).unwrap_or_default();
    run.wait("all five are read", || (read() == "r0\nr1\nr2\nr3\nr4\n").then_some(()));
    assert_eq!(warnings(&run.stop()), 1);
}

/// The segment of the case `dlq.segment.five`.
fn five() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/dead-letter-queue.yml");
    let entries = spillway::testing::file::read(&path).unwrap();
    let five = entries.iter().find(|entry| entry.name == "dlq.segment.five").unwrap();
    let hex = five.keys.get("hex").unwrap().as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
