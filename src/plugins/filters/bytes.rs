//! `bytes`: sizes such as `1.5 kB` to numbers of bytes.

use crate::event::{FieldRef, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "bytes", summary: "Turns sizes into numbers of bytes.", build };

struct ByteSizes {
    source: FieldRef,
    target: FieldRef,
    /// 1024 or 1000.
    base: f64,
    decimal_separator: char,
    tag_on_failure: Vec<String>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let source = options.field("source").doc("Field with the size.").default(FieldRef::top("message"));
    let target = options.field("target").doc("Field that takes the number.").required();
    let method = options.word("conversion_method", &["binary", "metric"]);
    let method = method.doc("Whether a k is 1024 or 1000.").default("binary".to_owned());
    let separator = options.word("decimal_separator", &[".", ","]);
    let separator = separator.doc("What stands before the fraction.").default(".".to_owned());
    let tag_on_failure = options.strings("tag_on_failure").doc("Tags of an event whose size is none.");
    let tag_on_failure = tag_on_failure.default(vec!["_bytesparsefailure".to_owned()]);
    Box::new(ByteSizes {
        source,
        target,
        base: if method == "metric" { 1000.0 } else { 1024.0 },
        decimal_separator: if separator == "," { ',' } else { '.' },
        tag_on_failure,
    })
}

impl Filter for ByteSizes {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let size = event.get(&self.source).and_then(|value| self.size(value));
            if let Some(size) = size
                && event.set(&self.target, size).is_ok()
            {
                return Outcome::Matched;
            }
            self.tag_on_failure.iter().for_each(|tag| event.tag(tag));
            Outcome::Unmatched
        });
    }
}

impl ByteSizes {
    fn size(&self, value: &Value) -> Option<i64> {
        match value {
            Value::Integer(n) => Some(*n),
            Value::Float(f) => whole(*f),
            Value::String(text) => self.size_of_text(text),
            _ => None,
        }
    }

    /// A number, whose digits may be grouped, and a unit: `k`, `mb`, … in any case.
    fn size_of_text(&self, text: &str) -> Option<i64> {
        let text = text.trim();
        let end = text.rfind(|c: char| c.is_ascii_digit() || c == self.decimal_separator)? + 1;
        let (number, unit) = text.split_at_checked(end)?;
        let unit = unit.trim().to_ascii_lowercase();
        let prefix = unit.strip_suffix('b').unwrap_or(&unit);
        let power = ["", "k", "m", "g", "t", "p", "e"].iter().position(|known| *known == prefix)?;
        let plain: String = number.chars().filter(|c| !self.groups(*c)).collect();
        let plain = plain.replace(self.decimal_separator, ".");
        if !plain.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return None;
        }
        let number: f64 = plain.parse().ok()?;
        whole(number * self.base.powi(i32::try_from(power).ok()?))
    }

    /// Whether a character only stands between digits to be read better.
    fn groups(&self, c: char) -> bool {
        c != self.decimal_separator && matches!(c, ' ' | '_' | ',' | '.')
    }
}

/// The nearest whole number, if it is one that a field can hold.
fn whole(number: f64) -> Option<i64> {
    let rounded = number.round();
    (rounded.abs() < 9.2e18).then_some(rounded as i64)
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    fn size(options: &str, text: &str) -> String {
        let config = format!(r#"filter {{ bytes {{ source => "s" target => "n" {options} }} }}"#);
        filtered(&config, &[&format!(r#"{{"s":{text}}}"#)]).remove(0).replace(&format!(r#"{{"s":{text}"#), "")
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            (r#""10""#, "10"),
            (r#""1k""#, "1024"),
            (r#""1.5 kB""#, "1536"),
            (r#""1,024.5 Mb""#, "1074266112"),
            (r#""1 000 b""#, "1000"),
            (r#""1_000""#, "1000"),
            (r#"" 2 g ""#, "2147483648"),
            ("5", "5"),
            ("1.5", "2"),
            (r#""0.4""#, "0"),
        ] {
            assert_eq!(size("", text), format!(r#","n":{expected}}}"#), "{text}");
        }
        assert_eq!(size("conversion_method => metric", r#""1.5 k""#), r#","n":1500}"#);
        assert_eq!(size(r#"decimal_separator => ",""#, r#""1.024,5k""#), r#","n":1049088}"#);
    }

    #[test]
    fn what_is_no_size_is_tagged() {
        for text in [r#""""#, r#""kb""#, r#""x5""#, r#""5 x""#, r#""1.2.3""#, r#""-5""#, "null", "[]", r#""99e""#] {
            assert_eq!(size("", text), r#","tags":["_bytesparsefailure"]}"#, "{text}");
        }
        assert!(compiled("filter { bytes { } }").is_err_and(|errors| errors.contains("`target`")));
    }
}
