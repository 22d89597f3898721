//! The scenarios of `cases/elasticsearch-output.yml`: the program against a scripted server.

mod elasticsearch_support;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value as Json;

use elasticsearch_support::{scenario, yaml};

/// Scenarios of what the output does not do yet, and why.
const LATER: &[(&str, &str)] = &[
    ("es-out.update-upsert-json", "upsert"),
    ("es-out.update-script-inline", "scripts"),
    ("es-out.update-script-stored-no-lang", "scripts"),
    ("es-out.join-parent", "join fields"),
    ("es-out.version-external", "versions"),
    ("es-out.ingest-document-metadata", "the default index"),
    ("es-out.start-sequence-plain", "index templates"),
    ("es-out.start-default-ilm", "index lifecycle management"),
    ("es-out.start-data-stream-default", "data streams"),
    ("es-out.data-stream-routing", "data streams"),
    ("es-out.data-stream-index-disables", "index templates"),
    ("es-out.template-exists-kept", "index templates"),
    ("es-out.template-legacy-on-7", "index templates"),
    ("es-out.template-400-stops-pipeline", "index templates"),
    ("es-out.template-429-retried", "index templates"),
    ("es-out.start-401", "the default index"),
    ("es-out.start-403", "the default index"),
    ("es-out.start-not-elasticsearch", "never: OpenSearch is accepted, see elasticsearch_servers.rs"),
    (
        "es-out.second-subrequest-fails-all-resent",
        "never: what was accepted is not sent again, see elasticsearch_delivery.rs",
    ),
    ("es-out.serverless-header", "index templates"),
    ("es-out.cfg-version-external-alone", "versions"),
    ("es-out.cfg-datastream-ambiguous", "data streams"),
    ("es-out.cfg-datastream-ecs-disabled", "data streams"),
    ("os-out.basic", "the opensearch output"),
    ("os-out.item-400-dlq", "the opensearch output"),
];

/// Scenarios at a time; most of their time is waiting.
const AT_A_TIME: usize = 12;

#[test]
fn scenarios() {
    let cases = yaml::cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/elasticsearch-output.yml"));
    let only = std::env::var("SPILLWAY_CASE").ok();
    let name = |case: &Json| case["case"].as_str().unwrap().to_owned();
    for (later, _) in LATER {
        assert!(cases.iter().any(|case| name(case) == *later), "{later} is no scenario any more");
    }
    let chosen = |case: &&Json| match &only {
        Some(only) => name(case).contains(only.as_str()),
        None => LATER.iter().all(|(later, _)| *later != name(case)),
    };
    let cases: Vec<&Json> = cases.iter().filter(chosen).collect();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(cases.len()) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = scenario::run(case) {
                        failed.lock().unwrap().push(format!("{}: {why}", name(case)));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    println!("{} passed, {} failed, {} for later", cases.len() - failed.len(), failed.len(), LATER.len());
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
