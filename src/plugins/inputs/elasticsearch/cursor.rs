//! How far earlier runs came: the value of a field of the last document, in a file that outlives the program.
//!
//! The file holds the value of the last document that the pipeline has dealt with; the next run of the same program
//! begins behind the last one that it was given.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::PathBuf;

use parking_lot::Mutex;

use super::LOG;
use super::query::instant;
use crate::event::{Event, FieldRef, Value, text_form};
use crate::plugins::{Lease, PluginError, Progress};

/// What is remembered.
pub(super) struct Cursor {
    field: FieldRef,
    file: PathBuf,
    last_value: String,
    given: Mutex<Given>,
    progress: Progress<u64>,
    /// What the file does not hold yet.
    unsaved: Option<String>,
}

/// The values of what was given to the pipeline.
#[derive(Default)]
struct Given {
    count: u64,
    /// Of the last document of the present run.
    newest: Option<String>,
    /// With their numbers, those that the pipeline has not dealt with yet.
    waiting: VecDeque<(u64, String)>,
}

impl Cursor {
    /// Nothing is read yet. `seed` is the value before the first run.
    pub fn new(field: FieldRef, file: PathBuf, seed: String) -> Self {
        Self { field, file, last_value: seed, given: Mutex::default(), progress: Progress::new(), unsaved: None }
    }

    /// Reads the file of an earlier program.
    pub fn open(&mut self) -> Result<(), PluginError> {
        let failed = |error: io::Error| PluginError(format!("{}: {error}", self.file.display()));
        if let Some(folder) = self.file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        match std::fs::read_to_string(&self.file) {
            // Logstash writes it as YAML.
            Ok(text) => {
                let text = text.trim().trim_start_matches("---").trim().trim_matches(['\'', '"']);
                if !text.is_empty() {
                    text.clone_into(&mut self.last_value);
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    /// What takes the place of `:last_value`.
    pub fn last_value(&self) -> &str {
        &self.last_value
    }

    /// A lease for events whose last one moves the cursor.
    pub fn lend(&self, events: &[Event]) -> Option<Lease> {
        let value = events.iter().rev().find_map(|event| self.value(event))?;
        let mut given = self.given.lock();
        given.count += 1;
        given.newest = Some(value.clone());
        let number = given.count;
        given.waiting.push_back((number, value));
        Some(self.progress.lend(number))
    }

    fn value(&self, event: &Event) -> Option<String> {
        match event.get(&self.field)? {
            Value::Null => None,
            Value::Timestamp(at) => Some(instant(*at)),
            value => {
                let mut out = Vec::new();
                text_form::write_template(value, &mut out);
                Some(text_form::utf8(out))
            }
        }
    }

    /// The next run begins behind the present one.
    pub fn use_newest(&mut self) {
        if let Some(newest) = self.given.get_mut().newest.take() {
            self.last_value = newest;
        }
    }

    /// Writes down how far the pipeline has dealt with documents. A disk that does not take it is tried again next
    /// time.
    pub fn save(&mut self) {
        if let Some(reached) = self.progress.take_reached() {
            let waiting = &mut self.given.get_mut().waiting;
            while let Some((_, value)) = waiting.pop_front_if(|(number, _)| *number <= reached) {
                self.unsaved = Some(value);
            }
        }
        let Some(value) = &self.unsaved else { return };
        match self.write(value) {
            Ok(()) => self.unsaved = None,
            Err(error) => {
                tracing::warn!(target: LOG, path = %self.file.display(), "the last value could not be saved: {error}");
            }
        }
    }

    /// The old content stays until the new one is there as a whole.
    fn write(&self, value: &str) -> io::Result<()> {
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| ".".as_ref()))?;
        new.write_all(value.as_bytes())?;
        new.as_file().sync_data()?;
        new.persist(&self.file)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EscapeStyle;
    use crate::plugins::testing::event;

    fn cursor(file: &std::path::Path) -> Cursor {
        let field = FieldRef::parse("[n]", EscapeStyle::None).unwrap();
        let mut cursor = Cursor::new(field, file.to_owned(), "0".to_owned());
        cursor.open().unwrap();
        cursor
    }

    #[test]
    fn the_file_moves_once_the_pipeline_has_dealt_with_documents() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/last");
        let mut first = cursor(&file);
        assert_eq!(first.last_value(), "0");
        let lease = first.lend(&[event(r#"{"n":5}"#), event(r#"{"n":7}"#), event("{}")]).unwrap();
        first.use_newest();
        first.save();
        assert_eq!(first.last_value(), "7", "the next run begins behind what was given");
        assert_eq!(cursor(&file).last_value(), "0", "another program at what was dealt with");
        lease.settle();
        first.save();
        assert_eq!(cursor(&file).last_value(), "7");
    }

    #[test]
    fn a_file_of_logstash_is_understood() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("last");
        std::fs::write(&file, "--- '2026-03-01T10:00:00.000000001Z'\n").unwrap();
        assert_eq!(cursor(&file).last_value(), "2026-03-01T10:00:00.000000001Z");
    }
}
