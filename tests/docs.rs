//! What the documentation shows is what happens: the commands in its `console` blocks are run, in order, in a copy of
//! the folders that they name, and must print what stands below them. Log lines do not count; `...` stands for the
//! rest of an output.

#[path = "support/console.rs"]
mod console;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use console::{Shown, output, shown};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A directory with what a checkout has, and a `bin` with `spillway` in it.
fn checkout() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["examples", "pipelines", "data", "tests/fixtures"] {
        copy(&Path::new(ROOT).join(folder), &dir.path().join(folder));
    }
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(env!("CARGO_BIN_EXE_spillway"), bin.join("spillway")).unwrap();
    // `cargo run --release -- ARGUMENTS`
    fs::write(bin.join("cargo"), "#!/bin/sh\nshift 3\nexec spillway \"$@\"\n").unwrap();
    fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// Copies a folder, without what earlier runs of the examples left in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else if !is_kept_state(&entry.path()) {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn is_kept_state(path: &Path) -> bool {
    let below_data = path.strip_prefix(Path::new(ROOT).join("data")).ok();
    below_data.is_some_and(|path| path.components().count() > 1 && !path.ends_with(".gitkeep"))
}

fn check(file: &str) {
    let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
    let place = checkout();
    for Shown { command, output: mut promised } in shown(&text) {
        let mut printed = output(&command, place.path(), &place.path().join("bin"));
        if promised.last().is_some_and(|line| line == "...") {
            promised.pop();
            printed.truncate(promised.len());
        }
        // Pipelines print side by side.
        let (mut in_any_order, mut expected) = (printed.clone(), promised);
        in_any_order.sort();
        expected.sort();
        assert_eq!(in_any_order, expected, "{file}: $ {command}\nprinted:\n{}", printed.join("\n"));
    }
}

#[test]
fn the_readme_is_true() {
    check("README.md");
}

#[test]
fn the_page_on_dead_letters_is_true() {
    check("docs/dead-letters.md");
}

#[test]
fn the_page_on_differences_is_true() {
    check("docs/differences.md");
}

#[test]
fn links_between_pages_lead_somewhere() {
    let inside = |folder: &str| fs::read_dir(Path::new(ROOT).join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let pages = inside("docs").chain(inside("docs/plugins")).filter(|path| path.extension().is_some_and(|e| e == "md"));
    for page in pages.chain([Path::new(ROOT).join("README.md")]) {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap();
            let leads = link.starts_with("http") || page.parent().unwrap().join(target).exists();
            assert!(leads, "{}: {link}", page.display());
        }
    }
}

/// The text of all files below a folder that end like this.
fn texts(folder: &str, end: &str, into: &mut String) {
    for entry in fs::read_dir(Path::new(ROOT).join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let below = path.strip_prefix(ROOT).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            texts(&below, end, into);
        } else if below.ends_with(end) {
            into.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_bug_report_has_its_test() {
    let (mut code, mut cases) = (String::new(), String::new());
    texts("src", ".rs", &mut code);
    texts("tests", ".rs", &mut code);
    texts("tests/cases", ".yml", &mut cases);
    let page = fs::read_to_string(Path::new(ROOT).join("tests/bug-reports.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && line.contains('`')).collect();
    assert!(rows.len() > 60, "{} rows", rows.len());
    for row in rows {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for name in tests.split(", ").map(|name| name.trim_matches('`')) {
            let is_there =
                code.contains(&format!("fn {name}()")) || cases.lines().any(|line| line == format!("- case: {name}"));
            assert!(is_there, "no test `{name}`, as tests/bug-reports.md says for {row}");
        }
    }
}

#[test]
fn every_dependency_is_explained() {
    let explained = fs::read_to_string(Path::new(ROOT).join("docs/dependencies.md")).unwrap();
    let mut inside = false;
    for line in fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap().lines() {
        match line.strip_prefix('[') {
            Some(section) => inside = section.ends_with("dependencies]"),
            None if !inside => {}
            None => {
                let Some((name, _)) = line.split_once(" = ") else { continue };
                assert!(explained.contains(&format!("| `{name}` |")), "docs/dependencies.md does not explain `{name}`");
            }
        }
    }
}
