//! What happens when the program itself is wrong: it says so, says where, and leaves a file to attach to a report.

use std::backtrace::Backtrace;
use std::fs;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::version;

/// Where crash files go, and which places of the program were reported already.
static STATE: Mutex<State> = Mutex::new(State { directory: None, reported: Vec::new() });

struct State {
    directory: Option<PathBuf>,
    reported: Vec<String>,
}

/// A program that breaks at more places than this is not worth more files.
const MAX_REPORTS: usize = 20;

/// From now on a broken invariant is reported.
pub(super) fn install() {
    std::panic::set_hook(Box::new(report));
}

/// From now on crash files are written there.
pub(super) fn write_files_to(directory: PathBuf) {
    STATE.lock().directory = Some(directory);
}

/// Uses no logging: what broke may hold its locks.
fn report(info: &PanicHookInfo<'_>) {
    let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let directory = {
        let mut state = STATE.lock();
        // A filter may break on each event; its pipeline goes on, and one report is enough.
        if state.reported.len() >= MAX_REPORTS || state.reported.contains(&place) {
            return;
        }
        state.reported.push(place.clone());
        state.directory.clone()
    };
    let message = info.payload_as_str().unwrap_or("no message");
    super::say(&write_up(&place, message, directory.as_deref()));
}

/// What is said, after the file was written.
fn write_up(place: &str, message: &str, directory: Option<&Path>) -> String {
    let head = format!("this is a bug in spillway {} at {place}: {message}", version::SPILLWAY);
    match directory.and_then(|directory| write_file(&head, directory)) {
        Some(path) => format!("{head}\nplease report it with {}\n", path.display()),
        None => format!("{head}\n"),
    }
}

fn write_file(head: &str, directory: &Path) -> Option<PathBuf> {
    fs::create_dir_all(directory).ok()?;
    let time = jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H-%M-%S%.3f").to_string();
    let path = directory.join(format!("crash-{time}.txt"));
    let thread = std::thread::current().name().unwrap_or("-").to_owned();
    fs::write(&path, format!("{head}\nthread: {thread}\n\n{}\n", Backtrace::force_capture())).ok()?;
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_called_one_and_leaves_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let said = write_up("src/x.rs:1:2", "index out of bounds", Some(&dir.path().join("logs")));
        assert!(said.starts_with("this is a bug in spillway "), "{said}");
        let path = said.trim_end().rsplit(' ').next().unwrap();
        let file = fs::read_to_string(path).unwrap();
        assert!(file.contains("at src/x.rs:1:2: index out of bounds") && file.contains("thread: "), "{file}");
        assert_eq!(write_up("p", "m", Some(Path::new("/proc/none"))).lines().count(), 1);
    }
}
