//! `spillway test --watch`: runs the cases again that a changed file touches.
//!
//! Files are looked at ten times a second, which sees every way in which an editor saves, needs no help of the
//! system, and costs next to nothing for the few files of a project.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use rustix::termios::{self, LocalModes, OptionalActions, Termios};

use super::super::{OK, print, say};
use super::request::Request;
use super::{entries, run_cases, update};
use crate::event::Value;
use crate::testing::Entry;

/// How often files are looked at.
const EVERY: Duration = Duration::from_millis(50);

/// The files that were looked at, with what changes when they are saved.
type Seen = BTreeMap<PathBuf, (SystemTime, u64)>;

/// Runs until the user has enough.
pub(super) fn run(request: &Request) -> Result<u8, String> {
    let _terminal = Keyboard::open();
    let keys = keys();
    let mut all = entries::read(request)?;
    // Looked at before the cases run: what is saved meanwhile is a change.
    let mut seen = look(request, &all);
    let mut failed = run_some(request, &all)?;
    loop {
        let key = match keys.recv_timeout(EVERY) {
            Ok(key) => Some(key),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                std::thread::sleep(EVERY);
                None
            }
        };
        let now = look(request, &all);
        let is_failed = |entry: &&Entry| failed.iter().any(|(file, name)| **file == *entry.file && *name == entry.name);
        let chosen: Vec<Entry> = match key {
            Some(b'q') => return Ok(OK),
            Some(b'a') => all.clone(),
            Some(b'f') => all.iter().filter(is_failed).cloned().collect(),
            Some(b'u') => {
                let chosen: Vec<&Entry> = all.iter().filter(is_failed).collect();
                update::rewrite(request, &chosen)?;
                continue;
            }
            _ if now == seen => continue,
            _ => {
                let changed = changed(&settled(request, &all, now), &seen);
                match entries::read(request) {
                    Ok(entries) => all = entries,
                    // A file that is being written may make no sense yet.
                    Err(message) => {
                        say(&format!("{message}\n"));
                        seen = look(request, &all);
                        continue;
                    }
                }
                all.iter().filter(|entry| touched(request, entry, &changed)).cloned().collect()
            }
        };
        seen = look(request, &all);
        if !chosen.is_empty() {
            failed = run_some(request, &chosen)?;
        }
    }
}

/// The cases that failed.
fn run_some(request: &Request, entries: &[Entry]) -> Result<Vec<(PathBuf, String)>, String> {
    let (results, _) = run_cases(request, entries)?;
    print("watching: a all, f failed, u update, q quit\n");
    Ok(results.failed().map(|entry| (entry.file.to_path_buf(), entry.name.clone())).collect())
}

/// Waits until nothing changes any more.
fn settled(request: &Request, all: &[Entry], mut before: Seen) -> Seen {
    loop {
        std::thread::sleep(EVERY);
        let now = look(request, all);
        if now == before {
            return now;
        }
        before = now;
    }
}

fn changed(now: &Seen, before: &Seen) -> Vec<PathBuf> {
    let news = now.iter().filter(|(path, state)| before.get(*path) != Some(*state)).map(|(path, _)| path.clone());
    let gone = before.keys().filter(|path| !now.contains_key(*path)).cloned();
    news.chain(gone).collect()
}

/// Where a case takes its configuration from; files, folders or the folders of globs.
fn roots(request: &Request, entry: &Entry) -> Vec<PathBuf> {
    let text = |key: &str| entry.keys.get(key).and_then(Value::as_str);
    let beside = text("file").map(|path| entry.file.parent().unwrap_or(Path::new("")).join(path));
    let own = entry.keys.contains_key("config") || beside.is_some();
    let shared = request.defaults.config.as_ref().map(PathBuf::from).filter(|_| !own);
    let settings = request.defaults.settings_directory.clone();
    [beside, shared, settings].into_iter().flatten().map(plain).collect()
}

/// The folder of a glob.
fn plain(path: PathBuf) -> PathBuf {
    let is_glob = |path: &Path| path.to_string_lossy().contains(['*', '?', '[', '{']);
    path.ancestors().find(|path| !is_glob(path)).map_or_else(|| path.clone(), Path::to_path_buf)
}

fn touched(request: &Request, entry: &Entry, changed: &[PathBuf]) -> bool {
    // Files of mocks and of pipelines elsewhere belong to all cases.
    let roots = roots(request, entry);
    changed.iter().any(|path| **path == *entry.file || roots.iter().any(|root| path.starts_with(root)))
}

fn look(request: &Request, all: &[Entry]) -> Seen {
    let mut seen = Seen::new();
    let files = all.iter().map(|entry| entry.file.to_path_buf());
    let mut roots: Vec<PathBuf> = all.iter().flat_map(|entry| roots(request, entry)).chain(files).collect();
    roots.extend(request.cases.iter().filter(|path| path.is_dir()).cloned());
    roots.sort();
    roots.dedup();
    for root in roots {
        let inside = std::fs::read_dir(&root).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        for path in inside.chain([root.clone()]) {
            let Ok(metadata) = std::fs::metadata(&path) else { continue };
            if let (true, Ok(at)) = (metadata.is_file(), metadata.modified()) {
                seen.insert(path, (at, metadata.len()));
            }
        }
    }
    seen
}

/// Keys as they are pressed.
fn keys() -> mpsc::Receiver<u8> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for key in std::io::stdin().lock().bytes() {
            let sent = key.map(|key| sender.send(key));
            if !matches!(sent, Ok(Ok(()))) {
                break;
            }
        }
    });
    receiver
}

/// A terminal that gives each key at once; as it was before when this is dropped.
struct Keyboard(Option<Termios>);

impl Keyboard {
    fn open() -> Self {
        let stdin = std::io::stdin();
        let before = stdin.is_terminal().then(|| termios::tcgetattr(&stdin).ok()).flatten();
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            // Keys then need Enter; nothing else is lost.
            let _ = termios::tcsetattr(&stdin, OptionalActions::Now, &raw);
        }
        Self(before)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}
