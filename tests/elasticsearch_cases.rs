//! The scenarios of `cases/elasticsearch-output.yml`: the program against a scripted server.

mod elasticsearch_support;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value as Json;

use elasticsearch_support::{scenario, yaml};

/// Scenarios of what the output does otherwise on purpose, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("es-out.start-not-elasticsearch", "OpenSearch is accepted, see elasticsearch_servers.rs"),
    ("es-out.second-subrequest-fails-all-resent", "what was accepted is not sent again, see elasticsearch_delivery.rs"),
];

/// Scenarios at a time; most of their time is waiting.
const AT_A_TIME: usize = 12;

#[test]
fn scenarios() {
    let cases = yaml::cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/elasticsearch-output.yml"));
    let only = std::env::var("SPILLWAY_CASE").ok();
    let name = |case: &Json| case["case"].as_str().unwrap().to_owned();
    for (otherwise, _) in OTHERWISE {
        assert!(cases.iter().any(|case| name(case) == *otherwise), "{otherwise} is no scenario any more");
    }
    let chosen = |case: &&Json| match &only {
        Some(only) => name(case).contains(only.as_str()),
        None => OTHERWISE.iter().all(|(otherwise, _)| *otherwise != name(case)),
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
    println!("{} passed, {} failed, {} otherwise", cases.len() - failed.len(), failed.len(), OTHERWISE.len());
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
