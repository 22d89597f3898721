//! Time formats in templates: Joda-Time patterns (`%{+YYYY.MM.dd}`) and `java.time` patterns (`%{{yyyy-MM-dd}}`).
//!
//! Both are compiled once to the same [`items`](item); they differ in what their letters mean and in how fine their
//! clock is. Joda-Time patterns also read: [`JodaParser`].

mod item;
mod java;
mod joda;
mod moment;

pub use java::JavaFormat;
pub use joda::{JodaFormat, JodaParser, Locale, Reading, TextZone, read_iso8601};

/// How often the first letter is repeated at the beginning of a pattern.
fn run_length(pattern: &str, letter: char) -> usize {
    pattern.chars().take_while(|c| *c == letter).count()
}
