//! Dictionaries in files: YAML, JSON or CSV by the name of the file, read again while the pipeline runs.
//!
//! A dictionary is read once for all filters of the process that want the same, however many there are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use indexmap::IndexMap;

use super::csv;
use super::dictionary::{Dictionary, Matching};
use crate::event::json::{Numbers, Reader};
use crate::event::{Text, Value};
use crate::plugins::refresh::{Every, Refreshed};
use crate::plugins::{Options, yaml};

/// Up to this interval a file is only read when it changed.
const LONGEST_WATCH: i64 = 300;
/// Characters that a YAML file may have.
const CODE_POINTS: i64 = 134_217_728;

/// A file and how it is read.
pub(super) struct DictionaryFile {
    reading: Reading,
    every: Every,
    opened: OnceLock<Arc<Refreshed<Dictionary>>>,
}

/// All that decides what comes out of a file.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    path: PathBuf,
    format: Format,
    matching: Matching,
    /// Whether entries that a new version lacks are kept.
    merges: bool,
    code_points: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Yaml,
    Json,
    Csv,
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        let name = path.to_string_lossy();
        [(".yaml", Self::Yaml), (".yml", Self::Yaml), (".json", Self::Json), (".csv", Self::Csv)]
            .into_iter()
            .find_map(|(ending, format)| name.ends_with(ending).then_some(format))
    }
}

impl DictionaryFile {
    /// Declares and reads the options.
    pub fn read(options: &mut Options<'_>, matching: Matching) -> Option<Self> {
        let path =
            options.path("dictionary_path").doc("File with the dictionary: .yml, .yaml, .json or .csv.").optional();
        let interval = options.integer("refresh_interval").doc("Seconds between two looks at the file; 0 for never.");
        let interval = interval.default(300);
        let behaviour = options.word("refresh_behaviour", &["merge", "replace"]);
        let behaviour = behaviour.doc("Whether a new version adds to the entries or replaces them all.");
        let merges = behaviour.default("merge".to_owned()) == "merge";
        let code_points = options.integer("yaml_dictionary_code_point_limit").doc("Most characters of a YAML file.");
        let code_points = code_points.optional();
        let strategy = options.word("yaml_load_strategy", &["one_shot", "streaming"]);
        // Files are always read entry by entry; the result is the same.
        let _ = strategy.doc("Both read a file in the same way.").default("one_shot".to_owned());
        let path = path?;
        let format = Format::of(&path);
        if format.is_none() {
            let message = format!(
                "Translate: Dictionary {} has a non valid format: its name must end in .yml, .yaml, \
                .json or .csv",
                path.display()
            );
            options.invalid("dictionary_path", message);
        }
        match code_points {
            Some(..=0) => options.invalid("yaml_dictionary_code_point_limit", "the limit must be a positive number"),
            Some(_) if format.is_some_and(|format| format != Format::Yaml) => options
                .invalid("yaml_dictionary_code_point_limit", "the limit is for YAML files, and the dictionary is none"),
            _ => {}
        }
        let every = match interval {
            ..=0 => Every::Never,
            1..=LONGEST_WATCH => Every::IfChanged(Duration::from_secs(interval.unsigned_abs())),
            _ => Every::Always(Duration::from_secs(interval.unsigned_abs())),
        };
        let code_points = usize::try_from(code_points.unwrap_or(CODE_POINTS)).unwrap_or(0);
        let reading = Reading { path, format: format?, matching, merges, code_points };
        Some(Self { reading, every, opened: OnceLock::new() })
    }

    /// Reads the dictionary, unless another filter did.
    pub fn open(&self) -> Result<(), String> {
        let (reading, every) = (self.reading.clone(), self.every);
        let file = Refreshed::shared(format!("{reading:?} {every:?}"), || {
            let path = reading.path.clone();
            Refreshed::open(&path, every, move |_, before| reading.read(before))
        })?;
        let _ = self.opened.set(file);
        Ok(())
    }

    /// The version that is there.
    pub fn current(&self) -> Arc<Dictionary> {
        self.opened.get().map(|file| file.current()).unwrap_or_default()
    }
}

impl Reading {
    /// Reads the file whole before anything changes.
    fn read(&self, before: Option<&Dictionary>) -> Result<Dictionary, String> {
        let failed =
            |error: String| format!("Translate: error when loading dictionary file {}: {error}", self.path.display());
        let text = std::fs::read_to_string(&self.path).map_err(|error| failed(error.to_string()))?;
        let read = self.entries(text.strip_prefix('\u{feff}').unwrap_or(&text)).map_err(failed)?;
        let mut entries = match before {
            Some(before) if self.merges => before.entries().clone(),
            _ => IndexMap::with_capacity(read.len()),
        };
        let mut unusable = 0;
        for (key, value) in read {
            match key {
                Value::String(key) => {
                    entries.insert(key, value);
                }
                _ => unusable += 1,
            }
        }
        if unusable > 0 {
            tracing::warn!(target: "logstash.filters.translate", path = %self.path.display(),
                "{unusable} keys of the dictionary are numbers, booleans or null and never match; put them in quotes");
        }
        Dictionary::new(entries, self.matching).map_err(failed)
    }

    fn entries(&self, text: &str) -> Result<Vec<(Value, Value)>, String> {
        match self.format {
            Format::Yaml if text.len() > self.code_points && text.chars().count() > self.code_points => Err(format!(
                "the file has more characters than yaml_dictionary_code_point_limit => {}",
                self.code_points
            )),
            Format::Yaml => yaml::entries(text),
            Format::Json => json(text),
            Format::Csv => csv::entries(text),
        }
    }
}

fn json(text: &str) -> Result<Vec<(Value, Value)>, String> {
    let text = Text::from(text);
    match Reader::new(&text, Numbers::Decimal).next_value().map_err(|error| error.to_string())? {
        Some(Value::Map(map)) => Ok(map.into_iter().map(|(key, value)| (Value::String(key), value)).collect()),
        Some(other) => Err(format!("expected an object, got {}", other.kind())),
        None => Ok(Vec::new()),
    }
}
