//! Joda-Time patterns, to print and to read. `YYYY` is the year, `xxxx` the year that the ISO week belongs to.
//!
//! [`pattern`] takes a pattern apart. [`JodaFormat`] prints by the parts; [`JodaParser`] compiles them to a list of
//! steps over bytes, which note numbers in [`fields`], of which comes a local time at the end.

mod fields;
mod input;
mod iso8601;
mod locale;
mod names;
mod offset;
mod parser;
mod pattern;
mod print;
#[cfg(test)]
mod tests;
mod zone_text;

use jiff::tz::TimeZone;

pub use iso8601::read_iso8601;
pub use locale::Locale;
pub use parser::JodaParser;
pub use print::JodaFormat;

/// What a text says of an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Milliseconds since 1970 began, on the clock of the place that the text was written at.
    pub local_millis: i64,
    /// Where that place is, if the text says so.
    pub zone: TextZone,
}

/// The zone that a text names.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TextZone {
    /// None.
    #[default]
    Missing,
    /// So many milliseconds before UTC.
    Offset(i32),
    /// A zone with rules.
    Named(TimeZone),
}
