//! What is done with a file of read mode once all its events are dealt with.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use super::identity::Identity;
use super::settings::Completed;
use super::watched::Watched;
use crate::plugins::PluginError;

/// Logs and deletes files that were read.
pub(super) struct Completion {
    settings: Completed,
    log: Option<File>,
}

impl Completion {
    /// Opens the list of files that are done.
    pub fn open(settings: Completed) -> Result<Self, PluginError> {
        let log = settings.log.as_ref().map(|path| {
            OpenOptions::new().append(true).create(true).open(path).map_err(|error| {
                PluginError(format!("cannot write to file_completed_log_path {}: {error}", path.display()))
            })
        });
        Ok(Self { log: log.transpose()?, settings })
    }

    /// Whether files are deleted.
    pub fn deletes(&self) -> bool {
        self.settings.delete
    }

    /// The file was read up to `end`, and its events are dealt with. `false` when it has grown meanwhile and would be
    /// deleted with lines that nobody has read.
    pub fn complete(&mut self, identity: Identity, file: &Watched, end: u64) -> bool {
        let path = &file.path;
        let now = fs::metadata(path).ok().filter(|now| Identity::of(now) == identity);
        if self.settings.delete && now.as_ref().is_some_and(|now| now.len() > end) {
            return false;
        }
        if let Some(log) = &mut self.log {
            let line = [path.as_os_str().as_bytes(), b"\n"].concat();
            if let Err(error) = log.write_all(&line) {
                tracing::error!(target: "logstash.inputs.file",
                    "cannot log that {} was read: {error}", path.display());
            }
        }
        if self.settings.delete
            && now.is_some()
            && let Err(error) = fs::remove_file(path)
        {
            tracing::error!(target: "logstash.inputs.file", "cannot delete {}, which was read: {error}", path.display());
        }
        true
    }
}
