//! Which loggers say how much; may be changed while running.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::RwLock;
use tracing::Metadata;

use crate::settings::LogLevel;

/// The levels of all loggers.
///
/// A logger without a level of its own has that of its nearest parent (`logstash` is one of `logstash.agent`), at
/// last that of the root, whose name is empty. The slow log does not follow the root.
#[derive(Debug)]
pub struct Levels {
    configured: LogLevel,
    now: RwLock<Now>,
    known: RwLock<BTreeSet<String>>,
}

#[derive(Debug)]
struct Now {
    root: LogLevel,
    own: BTreeMap<String, LogLevel>,
}

/// Libraries say much at debug and trace, secrets included; their loggers follow the root only down to this.
const MOST_OF_LIBRARIES: LogLevel = LogLevel::Warn;

const OURS: [&str; 4] = ["logstash", "spillway", "deprecation", "org"];
const SLOWLOG: &str = "slowlog";

impl Levels {
    /// All loggers at one level.
    pub fn new(configured: LogLevel) -> Self {
        let now = Now { root: configured, own: BTreeMap::new() };
        Self { configured, now: RwLock::new(now), known: RwLock::default() }
    }

    /// Every logger that ever spoke and its level, the root first.
    pub fn all(&self) -> BTreeMap<String, LogLevel> {
        let now = self.now.read();
        let known = self.known.read();
        let names = known.iter().chain(now.own.keys()).map(String::as_str);
        names.chain([""]).map(|name| (name.to_owned(), now.level(name))).collect()
    }

    /// Sets the level of a logger and of its children that have none of their own.
    pub fn set(&self, logger: &str, level: LogLevel) {
        let mut now = self.now.write();
        if logger.is_empty() {
            now.root = level;
        } else {
            now.own.insert(logger.to_owned(), level);
        }
        drop(now);
        tracing::callsite::rebuild_interest_cache();
    }

    /// Back to the settings.
    pub fn reset(&self) {
        *self.now.write() = Now { root: self.configured, own: BTreeMap::new() };
        tracing::callsite::rebuild_interest_cache();
    }

    /// The level of one logger.
    pub fn level(&self, logger: &str) -> LogLevel {
        self.now.read().level(logger)
    }

    /// Whether a call may speak, as far as its place in the program tells.
    pub(super) fn allow(&self, metadata: &Metadata<'_>) -> bool {
        let logger = logger_name(metadata.target());
        let level = self.level(&logger);
        // An error may turn out to be fatal.
        level_of(metadata.level()) <= level || (*metadata.level() == tracing::Level::ERROR && level == LogLevel::Fatal)
    }

    /// Remembers that there is such a logger.
    pub(super) fn know(&self, metadata: &Metadata<'_>) {
        let logger = logger_name(metadata.target());
        if OURS.contains(&first(&logger)) {
            self.known.write().insert(logger);
        }
    }
}

impl Now {
    fn level(&self, logger: &str) -> LogLevel {
        let mut name = logger;
        loop {
            if let Some(level) = self.own.get(name) {
                return *level;
            }
            match name.rfind('.') {
                Some(at) => name = name.get(..at).unwrap_or_default(),
                None => break,
            }
        }
        match first(logger) {
            SLOWLOG => LogLevel::Trace,
            "" => self.root,
            ours if OURS.contains(&ours) => self.root,
            _ => self.root.min(MOST_OF_LIBRARIES),
        }
    }
}

fn first(logger: &str) -> &str {
    logger.split('.').next().unwrap_or_default()
}

/// The logger of a target; calls that name none have the path of their module.
pub(super) fn logger_name(target: &str) -> String {
    target.replace("::", ".")
}

/// The level of a call.
pub(super) fn level_of(level: &tracing::Level) -> LogLevel {
    match *level {
        tracing::Level::ERROR => LogLevel::Error,
        tracing::Level::WARN => LogLevel::Warn,
        tracing::Level::INFO => LogLevel::Info,
        tracing::Level::DEBUG => LogLevel::Debug,
        tracing::Level::TRACE => LogLevel::Trace,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_follow_their_nearest_parent() {
        let levels = Levels::new(LogLevel::Info);
        levels.set("logstash", LogLevel::Debug);
        levels.set("logstash.agent", LogLevel::Error);
        levels.set("", LogLevel::Warn);
        for (logger, level) in [
            ("logstash.runner", LogLevel::Debug),
            ("logstash.agent", LogLevel::Error),
            ("logstash.agent.x", LogLevel::Error),
            ("logstashx", LogLevel::Warn),
            ("spillway.grok", LogLevel::Warn),
            ("slowlog.grok", LogLevel::Trace),
            ("", LogLevel::Warn),
        ] {
            assert_eq!(levels.level(logger), level, "{logger}");
        }
        levels.reset();
        assert_eq!(levels.level("logstash.agent"), LogLevel::Info);
    }

    #[test]
    fn libraries_stay_quiet_unless_asked() {
        let levels = Levels::new(LogLevel::Trace);
        assert_eq!(levels.level("hyper.proto"), LogLevel::Warn);
        levels.set("hyper", LogLevel::Debug);
        assert_eq!(levels.level("hyper.proto"), LogLevel::Debug);
    }

    #[test]
    fn the_root_is_listed_under_the_empty_name() {
        let levels = Levels::new(LogLevel::Info);
        levels.set("logstash.agent", LogLevel::Debug);
        let all: Vec<_> = levels.all().into_iter().collect();
        assert_eq!(all, [(String::new(), LogLevel::Info), ("logstash.agent".into(), LogLevel::Debug)]);
    }
}
