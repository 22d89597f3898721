//! Lines taken apart by a grok pattern of the user's own (`grok_pattern`), as a `grok` filter would.

use std::cell::RefCell;
use std::time::Duration;

use super::line::Dialect;
use crate::event::{EscapeStyle, Event, FieldRef, Text, Value};
use crate::plugins::filters::grok::capture::Storage;
use crate::plugins::filters::grok::library::Library;
use crate::plugins::filters::grok::pattern::Pattern;
use crate::plugins::{Ecs, Options};
use crate::regexp::{Groups, TimeLimit};

/// What the input does without the option, and faster than by a pattern.
const USUAL_OLD: &str = "<%{POSINT:priority}>%{SYSLOGLINE}";
const USUAL_ECS: &str = "<%{POSINT:[log][syslog][priority]:int}>%{SYSLOGLINE}";

/// Longest time for one line, as in the filter.
const LONGEST_TRY: Duration = Duration::from_secs(30);
/// Tag of a line that took longer.
const TIMEOUT: &str = "_groktimeout";

/// A pattern, and the fields in which it may leave what the input goes on with.
pub(super) struct OwnPattern {
    pattern: Pattern,
    priority: FieldRef,
    time: FieldRef,
    /// Where the old pattern set puts times in ISO 8601.
    iso_time: Option<FieldRef>,
}

/// What a line's pattern found that the input goes on with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// `None` without a field for it.
    pub priority: Option<i64>,
    pub time: Option<Text>,
}

thread_local! {
    /// The memory of the matcher, for all lines of a worker.
    static GROUPS: RefCell<Groups> = RefCell::default();
}

impl OwnPattern {
    /// Declares and reads `grok_pattern`; `None` when lines are to be read in the usual way.
    pub fn read(options: &mut Options<'_>, dialect: Dialect) -> Option<Self> {
        let (usual, ecs) = match dialect {
            Dialect::Old => (USUAL_OLD, Ecs::Disabled),
            Dialect::Ecs => (USUAL_ECS, Ecs::V8),
        };
        let text = options
            .string("grok_pattern")
            .doc("Pattern that takes the line apart. `message` is replaced by what it captures as such.")
            .default(usual.to_owned());
        if text == usual {
            return None;
        }
        let library = Library::bundled(ecs);
        let storage = Storage { overwrite: vec!["message".to_owned()], ..Storage::default() };
        let field = |name| FieldRef::parse(name, EscapeStyle::default()).unwrap_or_else(|_| FieldRef::top(name));
        match Pattern::compile(&text, &library, false, &storage) {
            Ok(pattern) => Some(Self {
                pattern,
                priority: field(if dialect == Dialect::Old { "priority" } else { "[log][syslog][priority]" }),
                time: FieldRef::top("timestamp"),
                iso_time: (dialect == Dialect::Old).then(|| FieldRef::top("timestamp8601")),
            }),
            Err(error) => {
                options.wrong_text("grok_pattern", &text, error.place(), error.code(), &error, error.help(&library));
                None
            }
        }
    }

    /// Puts what the pattern captures into the event; `None` when the line does not match. Its end is not part of it.
    pub fn take_apart(&self, event: &mut Event, line: &Text) -> Option<Found> {
        let line = &line.part(line.strip_suffix('\n').unwrap_or(line));
        GROUPS.with_borrow_mut(|groups| {
            let mut limit = TimeLimit::new(Some(LONGEST_TRY));
            let Ok(matched) = self.pattern.matches(line, groups, &mut limit) else {
                event.tag(TIMEOUT);
                return None;
            };
            if !matched {
                return None;
            }
            if let Err(error) = self.pattern.store(event, line, groups) {
                tracing::warn!(target: "logstash.inputs.syslog", "a part of the line was not stored: {error}");
            }
            Some(self.found(event))
        })
    }

    fn found(&self, event: &mut Event) -> Found {
        if let Some(iso) = &self.iso_time
            && let Some(time) = event.get(iso).cloned()
            && let Err(error) = event.set(&self.time, time)
        {
            tracing::debug!(target: "logstash.inputs.syslog", "the time was not copied: {error}");
        }
        let priority = match event.get(&self.priority) {
            Some(Value::Integer(number)) => Some(*number),
            Some(Value::String(text)) => text.parse().ok(),
            _ => None,
        };
        let time = event.get(&self.time).and_then(Value::as_text).cloned();
        Found { priority: priority.filter(|number| *number >= 0), time }
    }

    /// The field that the time is taken from.
    pub fn time(&self) -> &FieldRef {
        &self.time
    }
}
