//! What the tests of the elasticsearch output share: a scripted bulk server, the program under test, case files.

#![allow(dead_code, reason = "every test binary uses its own part")]

pub mod breaking;
pub mod bulk;
pub mod direct;
pub mod program;
pub mod scenario;
pub mod server;
pub mod store;
pub mod tls;
pub mod yaml;

use std::time::{Duration, Instant};

/// Waits until something is true, at most so long; tells whether it came true.
pub fn eventually(limit: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is_true() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the tests exist that a table in the documentation of a test file names, between backquotes in its last column.
pub fn tests_exist(source: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = String::new();
    let mut folders = vec![folder.join("tests"), folder.join("src/plugins")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                all.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let rows = source.lines().filter_map(|line| line.strip_prefix("//! | "));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let names: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        assert!(all.contains(&format!("fn {name}(")), "there is no test `{name}`");
    }
}
