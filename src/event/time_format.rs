//! Time formats in templates: Joda-Time patterns (`%{+YYYY.MM.dd}`) and Java patterns (`%{{yyyy-MM-dd}}`).

use super::Timestamp;

/// A Joda-Time pattern, compiled.
#[derive(Clone, Debug)]
pub struct JodaFormat;

/// A `java.time` pattern, compiled.
#[derive(Clone, Debug)]
pub struct JavaFormat;

impl JodaFormat {
    /// Compiles a pattern; the error says which letter is unknown.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        Err(format!("time format `{pattern}` is not supported"))
    }

    /// Appends `at` in UTC.
    pub fn write(&self, _at: Timestamp, _out: &mut Vec<u8>) {}
}

impl JavaFormat {
    /// Compiles a pattern; the error says which letter is unknown.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        Err(format!("time format `{pattern}` is not supported"))
    }

    /// Appends `at` in UTC.
    pub fn write(&self, _at: Timestamp, _out: &mut Vec<u8>) {}
}
