//! One log line before it is laid out.

use std::fmt;

use jiff::ZonedDateTime;
use tracing::field::{Field, Visit};

use crate::settings::LogLevel;

/// One log line before it is laid out.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// When, in local time.
    pub time: ZonedDateTime,
    /// How bad.
    pub level: LogLevel,
    /// By whom.
    pub logger: String,
    /// In which thread.
    pub thread: String,
    /// Where.
    pub context: Context,
    /// What happened.
    pub message: String,
    /// Details, in order.
    pub details: Vec<(String, Detail)>,
}

/// Where a line comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Context {
    /// The pipeline.
    pub pipeline: Option<String>,
    /// The plugin in it.
    pub plugin: Option<String>,
    /// `file:line` in its configuration.
    pub place: Option<String>,
}

/// The value of a detail.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Detail {
    /// A text, quoted when laid out.
    Text(String),
    /// Something that was formatted by the caller, laid out as it is.
    Formatted(String),
    /// A number.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// A truth.
    Bool(bool),
}

/// Everything that the fields of an event or span say.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The `message`.
    pub message: String,
    /// Where.
    pub context: Context,
    /// The others, in order.
    pub details: Vec<(String, Detail)>,
    /// `fatal = true`.
    pub fatal: bool,
    /// `always = true`.
    pub always: bool,
}

impl Fields {
    fn add(&mut self, field: &Field, detail: Detail) {
        let place = match field.name() {
            "message" => {
                self.message = detail.into_text();
                return;
            }
            "fatal" | "always" => {
                let on = detail == Detail::Bool(true);
                *(if field.name() == "fatal" { &mut self.fatal } else { &mut self.always }) = on;
                return;
            }
            "pipeline.id" => {
                self.details.push((field.name().to_owned(), Detail::Text(detail.clone().into_text())));
                &mut self.context.pipeline
            }
            "plugin.id" => &mut self.context.plugin,
            "place" => &mut self.context.place,
            name => {
                self.details.push((name.to_owned(), detail));
                return;
            }
        };
        *place = Some(detail.into_text());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, Detail::Formatted(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, Detail::Text(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, Detail::Integer(value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, Detail::Integer(value.into()));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.add(field, Detail::Integer(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Detail::Float(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, Detail::Bool(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.add(field, Detail::Text(value.to_string()));
    }
}

impl Detail {
    pub(super) fn into_text(self) -> String {
        match self {
            Detail::Text(text) | Detail::Formatted(text) => text,
            Detail::Integer(n) => n.to_string(),
            Detail::Float(n) => n.to_string(),
            Detail::Bool(b) => b.to_string(),
        }
    }
}

impl Context {
    /// This place, more exactly.
    pub(super) fn refine(&mut self, inner: &Context) {
        for (outer, inner) in
            [(&mut self.pipeline, &inner.pipeline), (&mut self.plugin, &inner.plugin), (&mut self.place, &inner.place)]
        {
            if inner.is_some() {
                outer.clone_from(inner);
            }
        }
    }
}

/// The text of an event, cut: `"GET /…" (4.1 KiB)` says how much there was.
pub(super) fn cut_event(detail: Detail, max_chars: usize) -> Detail {
    let text = detail.into_text();
    match text.char_indices().nth(max_chars) {
        None => Detail::Text(text),
        Some((at, _)) => {
            let mut shown = String::new();
            super::plain::quote(&format!("{}…", text.get(..at).unwrap_or_default()), &mut shown);
            Detail::Formatted(format!("{shown} ({:.1} KiB)", text.len() as f64 / 1024.0))
        }
    }
}
