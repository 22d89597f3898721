//! Cases that are told in prose are tests of their own, named after the case: `dlq.start.torn-tail` is the test
//! `start_torn_tail`. Here they are only looked up, so that a case without a test is noticed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tests of this repository by their name, and the file each is in.
pub struct NamedTests(BTreeMap<String, PathBuf>);

impl NamedTests {
    /// Reads the sources.
    pub fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut tests = BTreeMap::new();
        for folder in ["src", "tests"] {
            walk(&root.join(folder), &mut |path, text| {
                let path = path.strip_prefix(root).unwrap_or(path);
                tests.extend(names(text).map(|name| (name, path.to_owned())));
            });
        }
        Self(tests)
    }

    /// Where the test of a case is.
    pub fn find(&self, case: &str) -> Option<&Path> {
        let words: Vec<&str> = case.split(['.', '-']).collect();
        // With or without the name of the area.
        (0..=1).find_map(|from| self.0.get(&words.get(from..)?.join("_"))).map(PathBuf::as_path)
    }
}

fn walk(folder: &Path, visit: &mut impl FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, visit);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            visit(&path, &text);
        }
    }
}

/// Functions with a test attribute above them.
fn names(text: &str) -> impl Iterator<Item = String> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line.starts_with("#[") {
            is_test |= line.contains("test]") || line.contains("test(");
            return None;
        }
        let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        let name = function.and_then(|rest| rest.split('(').next()).filter(|_| is_test);
        is_test = false;
        name.map(str::to_owned)
    })
}
