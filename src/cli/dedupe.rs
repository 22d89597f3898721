//! `spillway dedupe`: looks into the keys of a dedupe filter that does not run, and carries them to another place.
//!
//! Keys travel as text: a line of JSON with the seed that they are hashed with, then one line for each key, its hash in
//! hexadecimal digits and when it was seen.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::Path;

use super::{FAILED, OK, USAGE, print, say};
use crate::plugins::filters::dedupe::exchange::{self, Line};
use crate::plugins::filters::dedupe::log::Log;
use crate::plugins::filters::dedupe::segment::Record;

const HELP: &str = "\
Looks into the keys that a dedupe filter has seen, and carries them elsewhere.
The filter must not run meanwhile.

usage: spillway dedupe stats FOLDER
       spillway dedupe export FOLDER > keys.txt
       spillway dedupe import FOLDER < keys.txt

FOLDER is PATH.DATA/plugins/filters/dedupe/PIPELINE/NAME. Keys are hashes with
a seed of their own: they can be imported into a folder without keys, or into
one that they came from.

Exit code: 0 done, 1 it could not be done, 2 called wrongly.
";

/// Keys that are written at a time.
const CHUNK: usize = 1 << 16;

/// Runs the subcommand with what follows its name.
pub(super) fn run(arguments: &[String]) -> u8 {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["-h" | "--help"] => return print(HELP),
        ["stats", folder] => stats(Path::new(folder)),
        ["export", folder] => export(Path::new(folder)),
        ["import", folder] => import(Path::new(folder)),
        _ => {
            say("ERROR: say what to do with which folder\nSee: spillway dedupe --help\n");
            return USAGE;
        }
    };
    match outcome {
        Ok(()) => OK,
        Err(message) => {
            say(&format!("ERROR: {message}\n"));
            FAILED
        }
    }
}

/// The newest time of each key.
fn read(folder: &Path) -> Result<(Log, HashMap<u128, i64>), String> {
    if !folder.is_dir() {
        return Err(format!("{} is no folder", folder.display()));
    }
    let mut keys: HashMap<u128, i64> = HashMap::new();
    let log = Log::open(folder, i64::MAX, |(hash, seen)| {
        keys.entry(hash).and_modify(|newest| *newest = seen.max(*newest)).or_insert(seen);
    });
    Ok((log.map_err(|e| e.to_string())?, keys))
}

fn stats(folder: &Path) -> Result<(), String> {
    let (log, keys) = read(folder)?;
    let time = |millis: Option<&i64>| {
        let at = millis.and_then(|millis| crate::event::Timestamp::from_millis(*millis));
        at.map_or_else(|| "none".to_owned(), |at| at.to_string())
    };
    print(&format!(
        "keys {}\nsegments {}\nbytes {}\noldest {}\nnewest {}\n",
        keys.len(),
        log.segments(),
        log.bytes(),
        time(keys.values().min()),
        time(keys.values().max())
    ));
    Ok(())
}

fn export(folder: &Path) -> Result<(), String> {
    let (log, keys) = read(folder)?;
    let mut keys: Vec<Record> = keys.into_iter().collect();
    keys.sort_unstable_by_key(|(hash, seen)| (*seen, *hash));
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut write = || -> std::io::Result<()> {
        writeln!(out, "{}", exchange::head(&log.seed()))?;
        keys.iter().try_for_each(|key| writeln!(out, "{}", exchange::line(key)))?;
        out.flush()
    };
    write().map_err(|e| e.to_string())
}

fn import(folder: &Path) -> Result<(), String> {
    let mut log = Log::open(folder, i64::MAX, |_| {}).map_err(|e| e.to_string())?;
    let mut pending: Vec<Record> = Vec::new();
    let mut has_seed = false;
    let mut count = 0_usize;
    for (at, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|e| e.to_string())?;
        match exchange::parse(&line) {
            Some(Line::Head(seed)) if at == 0 => {
                has_seed = log.adopt(seed);
                if !has_seed {
                    return Err(format!("{} has keys with another seed", folder.display()));
                }
            }
            Some(Line::Key(key)) if has_seed => pending.push(key),
            _ => return Err(format!("line {} is none that `spillway dedupe export` writes", at + 1)),
        }
        if pending.len() == CHUNK {
            count += pending.len();
            log.append(&pending, 0).map_err(|e| e.to_string())?;
            pending.clear();
        }
    }
    count += pending.len();
    log.append(&pending, 0).and_then(|()| log.sync()).map_err(|e| e.to_string())?;
    print(&format!("{count} keys\n"));
    Ok(())
}
