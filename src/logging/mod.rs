//! Log lines as Logstash writes them, so that people's scripts and eyes find what they look for.
//!
//! Callers use `tracing`'s macros with a logger name as target:
//! `tracing::warn!(target: "spillway.grok", count = 3, "no match")`. Fields become the details behind the message.
//! Some names are special:
//!
//! - `pipeline.id`, `plugin.id` and `place` (`file:line`), mostly fields of the span around the call, say where a line
//!   comes from. In an event, `pipeline.id` is shown as a detail too.
//! - `fatal = true` makes an error a `FATAL` line.
//! - `always = true` exempts a line from the rate limit; lines that say that something stops need it.
//! - `event` is cut to `log.event_max_chars`; `code` is a stable name of the kind of mistake, for JSON.
//!
//! Levels can be changed while running, see [`Levels`].

mod json;
mod layer;
mod levels;
mod limit;
mod plain;
mod record;
mod rolling;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::layer::SubscriberExt;

pub use levels::Levels;

use crate::settings::{LogConsole, LogFormat, LogSettings};
use layer::LogLayer;
use limit::Limiter;
use record::Record;
use rolling::RollingFile;

/// The running log.
#[derive(Clone, Debug)]
pub struct Logging {
    levels: Arc<Levels>,
    output: Arc<Output>,
    limiter: Arc<Limiter>,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The directory or file of the log cannot be made.
    #[error("path.logs: {path} cannot be written: {error}; make it writable, or name another directory")]
    File {
        /// What cannot be made.
        path: std::path::PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Something else in this process takes the log lines already.
    #[error("logging was set up before")]
    SetTwice,
}

impl Logging {
    /// Starts logging for the whole process.
    pub fn start(settings: &LogSettings) -> Result<Self, LoggingError> {
        let (logging, layer) = Self::build(settings)?;
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::set_global_default(subscriber).map_err(|_| LoggingError::SetTwice)?;
        limit::report_in_background(logging.limiter.clone(), logging.output.clone());
        Ok(logging)
    }

    fn build(settings: &LogSettings) -> Result<(Self, LogLayer), LoggingError> {
        let levels = Arc::new(Levels::new(settings.level));
        let output = Arc::new(Output::open(settings)?);
        let limiter = Arc::new(Limiter::new(settings.rate_limit));
        let layer = LogLayer {
            levels: levels.clone(),
            output: output.clone(),
            limiter: limiter.clone(),
            event_max_chars: settings.event_max_chars,
        };
        Ok((Self { levels, output, limiter }, layer))
    }

    /// The levels of all loggers, to be shown and changed.
    pub fn levels(&self) -> Arc<Levels> {
        self.levels.clone()
    }

    /// Opens the log file anew, after something else has moved it away.
    pub fn reopen(&self) {
        if let Some(file) = &self.output.file {
            file.lock().reopen();
        }
    }

    /// Says how many lines are still held back. The last call before the process ends.
    pub fn finish(&self) {
        for record in self.limiter.drain() {
            self.output.write(&record);
        }
    }
}

/// Where lines go.
#[derive(Debug)]
struct Output {
    format: LogFormat,
    console: LogConsole,
    file: Option<Mutex<RollingFile>>,
}

impl Output {
    fn open(settings: &LogSettings) -> Result<Self, LoggingError> {
        let stem = match settings.format {
            LogFormat::Plain => "logstash-plain",
            LogFormat::Json => "logstash-json",
        };
        let file = match &settings.directory {
            Some(directory) => Some(
                RollingFile::open(directory, stem)
                    .map_err(|error| LoggingError::File { path: directory.join(format!("{stem}.log")), error })?,
            ),
            None => None,
        };
        Ok(Self { format: settings.format, console: settings.console, file: file.map(Mutex::new) })
    }

    /// A line that cannot be written is lost: a full log disk must never stop events.
    fn write(&self, record: &Record) {
        let line = match self.format {
            LogFormat::Plain => plain::line(record),
            LogFormat::Json => json::line(record),
        };
        let _lost = match self.console {
            LogConsole::Stderr => std::io::stderr().lock().write_all(line.as_bytes()),
            LogConsole::Stdout => std::io::stdout().lock().write_all(line.as_bytes()),
            LogConsole::Off => Ok(()),
        };
        if let Some(file) = &self.file {
            file.lock().write(line.as_bytes(), &record.time);
        }
    }
}
