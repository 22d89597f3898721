//! `extractnumbers`: the words of a text that are numbers, as Ruby reads numbers.

use num_bigint::BigInt;

use crate::event::{FieldRef, Text, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "extractnumbers", summary: "Sets the numbers of a text as fields.", build };

/// Longer words are none: converting takes quadratic time.
const LONGEST: usize = 1000;

struct ExtractNumbers {
    source: FieldRef,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let source = options.field("source").doc("Field with the text.").default(FieldRef::top("message"));
    Box::new(ExtractNumbers { source })
}

impl Filter for ExtractNumbers {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let Some(text) = event.get(&self.source).and_then(Value::as_text).cloned() else {
                return Outcome::Unmatched;
            };
            let (mut integers, mut floats) = (0, 0);
            for word in text.split_ascii_whitespace().filter(|word| word.len() <= LONGEST) {
                let (value, kind, count) = match (integer(word), float(word)) {
                    (Some(integer), _) => (integer, "int", &mut integers),
                    (None, Some(float)) => (Value::Float(float), "float", &mut floats),
                    (None, None) => continue,
                };
                *count += 1;
                event.fields_mut().insert(Text::from(format!("{kind}{count}")), value);
            }
            // As in Logstash, which never reports a match here.
            Outcome::Unmatched
        });
    }
}

/// Ruby's `Integer()`: `10`, `-3`, `1_000`, `0x1f`, `0b11`, `0o17`, `017`.
fn integer(word: &str) -> Option<Value> {
    let (sign, digits) = signed(word);
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..)?),
        Some("0b") => (2, lower.get(2..)?),
        Some("0o") => (8, lower.get(2..)?),
        Some("0d") => (10, lower.get(2..)?),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower.get(1..)?.trim_start_matches('_')),
        _ => (10, lower.as_str()),
    };
    let digits = without_underscores(digits, |c| c.is_digit(base))?;
    BigInt::parse_bytes(format!("{sign}{digits}").as_bytes(), base).map(Value::from_big)
}

/// Ruby's `Float()`: digits on both sides of the point, and an exponent.
fn float(word: &str) -> Option<f64> {
    let (sign, number) = signed(word);
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    };
    let decimal = |c: char| c.is_ascii_digit();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let mut text =
        format!("{sign}{}.{}", without_underscores(whole, decimal)?, without_underscores(fraction, decimal)?);
    if let Some(exponent) = exponent {
        let (sign, digits) = signed(exponent);
        text.push_str(&format!("e{sign}{}", without_underscores(digits, decimal)?));
    }
    text.parse().ok()
}

fn signed(word: &str) -> (&str, &str) {
    match word.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    }
}

/// Digits; single underscores may stand between two of them.
fn without_underscores(text: &str, is_digit: impl Fn(char) -> bool) -> Option<String> {
    let is_number = text.split('_').all(|part| !part.is_empty() && part.chars().all(&is_digit));
    is_number.then(|| text.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::filtered;

    #[test]
    fn words_that_ruby_takes_for_numbers() {
        let words = "1 x7 -3 1_000 0x1F 0b11 017 08 1__0 _1 1.5 .5 5. 1e3 -1.5E-1 1_0.2_5 99999999999999999999 1,5";
        let seen = filtered(
            "filter { extractnumbers { source => \"m\" add_tag => [\"t\"] } }",
            &[&format!(r#"{{"m":"{words}"}}"#)],
        );
        assert_eq!(
            seen[0].replace(words, ""),
            concat!(
                r#"{"m":"","int1":1,"int2":-3,"int3":1000,"int4":31,"int5":3,"int6":15,"float1":8.0,"float2":1.5,"#,
                r#""float3":1000.0,"float4":-0.15,"float5":10.25,"int7":99999999999999999999}"#
            )
        );
        assert_eq!(filtered("filter { extractnumbers { } }", &[r#"{"message":5}"#]), [r#"{"message":5}"#]);
    }
}
