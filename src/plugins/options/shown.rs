//! How documentation shows the default values of options.

use std::time::Duration;

use crate::event::{FieldRef, Template, Value};

/// A default value as documentation shows it.
pub trait Shown {
    /// As it would be written in a `.conf`.
    fn shown(&self) -> String;
}

impl Shown for String {
    fn shown(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Shown for bool {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for i64 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for u64 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for f64 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for Duration {
    fn shown(&self) -> String {
        self.as_secs_f64().to_string()
    }
}

impl Shown for Template {
    fn shown(&self) -> String {
        format!("\"{}\"", self.source())
    }
}

impl Shown for FieldRef {
    fn shown(&self) -> String {
        format!("\"{self}\"")
    }
}

impl Shown for Vec<String> {
    fn shown(&self) -> String {
        format!("[{}]", self.iter().map(Shown::shown).collect::<Vec<_>>().join(", "))
    }
}

impl Shown for Vec<i64> {
    fn shown(&self) -> String {
        format!("[{}]", self.iter().map(Shown::shown).collect::<Vec<_>>().join(", "))
    }
}

impl Shown for Vec<(String, Value)> {
    fn shown(&self) -> String {
        if self.is_empty() { "{}".to_owned() } else { format!("{} entries", self.len()) }
    }
}

impl<T> Shown for Vec<(Template, T)> {
    fn shown(&self) -> String {
        "{}".to_owned()
    }
}
