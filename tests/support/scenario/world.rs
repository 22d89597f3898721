//! The directory, ports and processes of one scenario.

use std::path::Path;

use spillway::dead_letter::entry::NewEntry;
use spillway::dead_letter::record;
use spillway::event::cbor::Encoder;
use spillway::event::{Map, Timestamp, Value};
use spillway::testing::{timestamp, typed_event};

use super::program::{self, Background, Said, until};
use super::{Outcome, Stopped, http};
use crate::ports::free_port;

/// Where a scenario takes place.
pub struct World {
    directory: tempfile::TempDir,
    /// `$API`
    pub api_port: u16,
    /// `$ES`
    es_port: u16,
    background: Option<Background>,
    /// What the programs said that were run, in order.
    pub said: Vec<Said>,
}

impl World {
    /// With the files and dead letters that the scenario starts from.
    pub fn new(keys: &Map) -> Outcome<Self> {
        let directory = tempfile::tempdir().map_err(broken)?;
        let world = Self { directory, api_port: free_port(), es_port: free_port(), background: None, said: Vec::new() };
        std::fs::create_dir_all(world.directory()).map_err(broken)?;
        for (name, text) in keys.get("files").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            let path = world.directory().join(name.as_str());
            std::fs::create_dir_all(path.parent().unwrap_or(world.directory())).map_err(broken)?;
            std::fs::write(path, world.fill_in(text.as_str().unwrap_or_default())).map_err(broken)?;
        }
        for (pipeline, entries) in keys.get("dlq").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            world.write_queue(pipeline, entries.as_array().unwrap_or_default())?;
        }
        Ok(world)
    }

    /// `$W`: where programs run.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// `$D`: beside `$W`, so that `$W` has nothing in it but the scenario's files.
    fn data(&self) -> String {
        format!("{}.data", self.directory().display())
    }

    /// Puts in what `$W`, `$D`, `$API`, `$ES` and `$PID` stand for.
    pub fn fill_in(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let end = from[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(from.len(), |end| end + 1);
            let (name, behind) = from.split_at(end);
            match name {
                "$W" => out.push_str(&self.directory().display().to_string()),
                "$D" => out.push_str(&self.data()),
                "$API" => out.push_str(&self.api_port.to_string()),
                "$ES" => out.push_str(&self.es_port.to_string()),
                "$PID" => out.push_str(&self.background.as_ref().map(Background::id).unwrap_or_default().to_string()),
                other => out.push_str(other),
            }
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    /// A sealed segment with these entries.
    fn write_queue(&self, pipeline: &str, entries: &[Value]) -> Outcome {
        let mut segment = vec![record::VERSION];
        for entry in entries {
            let entry = entry.as_map().ok_or_else(|| Stopped::Failed("a `dlq` entry must be a map".into()))?;
            let count = entry.get("count").and_then(Value::as_integer);
            for n in 1..=count.unwrap_or(1) {
                let bytes = encoded(entry, count.map(|_| n))?;
                record::frame(&bytes, segment.len() as u64, &mut segment);
            }
        }
        let queue = Path::new(&self.data()).join("dead_letter_queue").join(pipeline);
        std::fs::create_dir_all(&queue).map_err(broken)?;
        std::fs::write(queue.join("1.log"), segment).map_err(broken)
    }

    /// Starts the program in the background.
    pub fn start(&mut self, arguments: &str) -> Outcome {
        let words = program::words(&format!("spillway {}", self.fill_in(arguments)))?;
        self.background = Some(Background::start(program::command(&words, self.directory())?)?);
        Ok(())
    }

    /// Ends the program in the background, which must give that exit status.
    pub fn stop(&mut self, expected: Option<i64>) -> Outcome {
        let Some(mut background) = self.background.take() else {
            return Err(Stopped::Failed("nothing was started".into()));
        };
        let status = background.terminate().map(i64::from);
        if status == expected {
            return Ok(());
        }
        let said = background.err.text();
        Err(Stopped::Failed(format!("expected exit {expected:?} after SIGTERM, got {status:?}\n{said}")))
    }

    /// Waits until a sentence holds that this runner knows.
    pub fn wait_until(&self, sentence: &str) -> Outcome {
        let Some(background) = &self.background else {
            return Err(Stopped::Failed("nothing was started".into()));
        };
        let log = || format!("{}{}", background.err.text(), background.out.text());
        let runs = sentence.strip_prefix("pipeline ").and_then(|rest| rest.strip_suffix(" runs"));
        let holds = match (sentence.strip_prefix("the log has: "), runs) {
            (Some(text), _) => until(|| log().contains(text).then_some(())),
            (None, Some(id)) => until(|| {
                let path = format!("/_node/stats/pipelines/{id}");
                http::request("GET", &path, self.api_port).ok().filter(|answer| answer.status == 200).map(|_| ())
            }),
            (None, None) => return Err(Stopped::Unknown(format!("does not know how to wait until: {sentence}"))),
        };
        holds.ok_or_else(|| Stopped::Failed(format!("did not come true: {sentence}\n{}", log())))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The process must be gone before its files are.
        self.background = None;
        let _ = std::fs::remove_dir_all(self.data());
    }
}

fn broken(error: std::io::Error) -> Stopped {
    Stopped::Failed(error.to_string())
}

/// An entry as the dead letter queue stores it; repeated ones are numbered in the field `n`.
fn encoded(entry: &Map, number: Option<i64>) -> Outcome<Vec<u8>> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let part = |key: &str| entry.get(key).and_then(Value::as_map).cloned().unwrap_or_default();
    let mut event = typed_event(part("event")).map_err(Stopped::Failed)?;
    if let Some(number) = number {
        event.fields_mut().insert("n", number);
    }
    let mut bytes = Vec::new();
    let new = NewEntry {
        entry_time: timestamp(text("entry_time")).unwrap_or_else(Timestamp::now),
        fields: event.fields(),
        metadata: &part("metadata"),
        plugin_type: text("plugin_type"),
        plugin_id: text("plugin_id"),
        reason: text("reason"),
    };
    new.encode(&mut Encoder::default(), &mut bytes).map_err(|e| Stopped::Failed(e.to_string()))?;
    Ok(bytes)
}
