//! `path.config` to the files it names: one file, a directory, a glob, or several of these with commas between.

mod pattern;

use std::path::{Path, PathBuf};

use super::diagnostic::{Diagnostic, Diagnostics};
pub(crate) use pattern::alternatives;

/// The files of a `path.config`, each pattern's sorted by the bytes of their paths; directories are left out, names
/// that look like backups are warned about.
pub(super) fn find(path_config: &str, diagnostics: &mut Diagnostics) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for part in parts(path_config) {
        if part.starts_with("http://") || part.starts_with("https://") {
            let message = format!("`{part}`: a configuration cannot be fetched over the network");
            diagnostics.push(Diagnostic::global("not-readable", message).help("download it and name the file"));
            continue;
        }
        let part = part.strip_prefix("file://").unwrap_or(part);
        for file in matches(part, diagnostics) {
            if files.contains(&file) {
                let message = format!("`{}` is named twice by `{path_config}` and read once", file.display());
                diagnostics.push(Diagnostic::global_warning("same-file-twice", message));
                continue;
            }
            if usable(&file, diagnostics) {
                files.push(file);
            }
        }
    }
    if files.is_empty() && !diagnostics.has_errors() {
        let message = format!("no configuration found: `{path_config}` names no file");
        let help =
            "name a file, a directory, or a glob such as `/etc/logstash/conf.d/*.conf`; hidden files do not count";
        diagnostics.push(Diagnostic::global("not-readable", message).help(help));
    }
    files
}

/// The list split at commas, except in `{a,b}` and where a file of that very name exists.
fn parts(path_config: &str) -> Vec<&str> {
    if Path::new(path_config).exists() {
        return vec![path_config];
    }
    let mut parts = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    for (at, c) in path_config.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(path_config.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(path_config.get(start..));
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The files that one pattern matches, sorted.
fn matches(pattern: &str, diagnostics: &mut Diagnostics) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    if path.is_dir() {
        let visible = |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
        return match std::fs::read_dir(path) {
            Ok(entries) => {
                let mut files: Vec<PathBuf> =
                    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(visible).collect();
                sort(&mut files);
                files
            }
            Err(error) => {
                diagnostics.push(Diagnostic::global("not-readable", format!("cannot list `{pattern}`: {error}")));
                Vec::new()
            }
        };
    }
    if path.exists() {
        return vec![path.to_owned()];
    }
    let mut files = Vec::new();
    for one in alternatives(pattern) {
        match pattern::glob(&one) {
            Ok(found) => files.extend(found),
            Err(error) => {
                let message = format!("`{pattern}` is no valid glob: {error}");
                diagnostics.push(Diagnostic::global("not-readable", message));
            }
        }
    }
    sort(&mut files);
    files.dedup();
    files
}

fn sort(files: &mut [PathBuf]) {
    files.sort_by(|a, b| a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes()));
}

/// Whether a match is read. Directories and names that end in `~` are not.
fn usable(file: &Path, diagnostics: &mut Diagnostics) -> bool {
    if file.is_dir() {
        return false;
    }
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.ends_with('~') {
        let message = format!("`{}` is skipped: its name says that it is a backup", file.display());
        diagnostics.push(Diagnostic::global_warning("backup-file", message));
        return false;
    }
    const BACKUPS: [&str; 8] = [".bak", ".orig", ".swp", ".old", ".save", ".rpmsave", ".rpmnew", ".dpkg-old"];
    if BACKUPS.iter().any(|ending| name.ends_with(ending)) {
        let message = format!("`{}` looks like a backup and is read as part of the pipeline", file.display());
        let help = "move it elsewhere, or name the files by a glob such as `*.conf`";
        diagnostics.push(Diagnostic::global_warning("backup-file", message).help(help));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path_config: &str) -> (Vec<String>, Vec<&'static str>) {
        let mut diagnostics = Diagnostics::default();
        let files = find(path_config, &mut diagnostics);
        let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
        (files.iter().map(name).collect(), diagnostics.0.iter().map(|d| d.code).collect())
    }

    #[test]
    fn files_are_found_in_the_order_of_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| format!("{}/{name}", dir.path().display());
        std::fs::create_dir(at("sub")).unwrap();
        for file in ["b.conf", "a.conf", "B.conf", ".hidden", "c.txt", "d.conf~", "e.bak", "sub/f.conf", "a,b"] {
            std::fs::write(at(file), "").unwrap();
        }
        let all = ["B.conf", "a,b", "a.conf", "b.conf", "c.txt", "e.bak"].map(str::to_owned).to_vec();
        assert_eq!(names(&at("")), (all.clone(), vec!["backup-file", "backup-file"]));
        assert_eq!(names(&at("*")), (all, vec!["backup-file", "backup-file"]));
        let found = |pattern: &str| names(&at(pattern)).0.join(" ");
        assert_eq!(found("a.conf"), "a.conf");
        assert_eq!(found("a,b"), "a,b");
        assert_eq!(found("*.conf"), "B.conf a.conf b.conf");
        assert_eq!(found("[^a].conf"), "B.conf b.conf");
        assert_eq!(found("{b,a}.conf"), "a.conf b.conf");
        assert_eq!(found("{a,{b,c}}.{conf,txt}"), "a.conf b.conf c.txt");
        assert_eq!(found("**/*.conf"), "B.conf a.conf b.conf f.conf");
        assert_eq!(found("?.txt"), "c.txt");
        assert_eq!(found(".h*"), ".hidden");
        assert_eq!(names(&format!("file://{}", at("a.conf"))).0.join(" "), "a.conf");
        assert_eq!(names(&format!("{},{}", at("c.txt"), at("*.conf"))).0.join(" "), "c.txt B.conf a.conf b.conf");
        assert_eq!(names(&format!("{},{}", at("a.conf"), at("a.*"))), (vec!["a.conf".into()], vec!["same-file-twice"]));
        assert_eq!(names(&at("nothing*")), (vec![], vec!["not-readable"]));
        assert_eq!(names("https://example.org/x.conf"), (vec![], vec!["not-readable"]));
    }
}
