//! The object as text: decimals as plain numbers, times as asked, never longer than allowed.

use super::TimeForm;
use crate::event::{Decimal, Map, Text, Timestamp, Value, json, text_form};

/// Zeros beyond which a decimal keeps its exponent: a number of a few bytes must not become one of gigabytes.
const MOST_ZEROS: i64 = 1000;

/// The object as compact JSON.
pub(super) fn compact(object: &Map) -> Text {
    let mut out = Vec::with_capacity(256);
    json::write_map_with(object, &mut out, write_decimal);
    Text::from(text_form::utf8(out))
}

/// Any value as compact JSON, in the form that it has in an object.
pub(in crate::plugins::filters) fn compact_value(value: &Value) -> Text {
    let mut out = Vec::new();
    json::write_value_with(value, &mut out, write_decimal);
    Text::from(text_form::utf8(out))
}

/// Appends a decimal without an exponent.
fn write_decimal(decimal: &Decimal, out: &mut Vec<u8>) {
    let scale = i64::from(decimal.scale());
    if scale.abs() > MOST_ZEROS {
        return decimal.write(out);
    }
    let digits = decimal.unscaled().to_string();
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
    out.extend_from_slice(sign.as_bytes());
    let Ok(scale) = usize::try_from(scale) else {
        out.extend_from_slice(digits.as_bytes());
        if digits != "0" {
            out.resize(out.len() + scale.unsigned_abs() as usize, b'0');
        }
        return;
    };
    if scale == 0 {
        return out.extend_from_slice(digits.as_bytes());
    }
    let whole = digits.len().saturating_sub(scale);
    let (before, behind) = digits.split_at(whole);
    out.extend_from_slice(if before.is_empty() { b"0" } else { before.as_bytes() });
    out.push(b'.');
    out.resize(out.len() + scale - behind.len(), b'0');
    out.extend_from_slice(behind.as_bytes());
}

/// A time in the wanted form.
pub(super) fn time(at: Timestamp, form: TimeForm) -> Value {
    match form {
        TimeForm::Iso8601 => Value::Timestamp(at),
        TimeForm::EpochMillis => Value::Integer(at.millis()),
        TimeForm::Sql => {
            let iso = at.to_string();
            let iso = iso.strip_suffix('Z').unwrap_or(&iso).replacen('T', " ", 1);
            let (seconds, fraction) = iso.split_once('.').unwrap_or((&iso, "000"));
            match fraction.get(..3) {
                Some("000") | None => Value::from(format!("{seconds}Z")),
                Some(millis) => Value::from(format!("{seconds}.{millis}Z")),
            }
        }
    }
}

/// A value with all times in it in the wanted form.
pub(super) fn with_times(value: Value, form: TimeForm) -> Value {
    match value {
        Value::Timestamp(at) => time(at, form),
        Value::Array(list) => Value::Array(list.into_iter().map(|value| with_times(value, form)).collect()),
        Value::Map(map) => Value::Map(map.into_iter().map(|(name, value)| (name, with_times(value, form))).collect()),
        other => other,
    }
}

/// Cuts the raw text of an object, or else its longest one, so that the object has at most so many bytes as text.
/// Whether that was necessary.
pub(super) fn shorten(object: &mut Map, raw: Option<&'static str>, most: usize) -> bool {
    let length = compact(object).len();
    if length <= most {
        return false;
    }
    object.insert(Text::borrowed("truncated"), true);
    let excess = length + r#","truncated":true"#.len() - most;
    let longest = object.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.len())));
    let longest = longest.max_by_key(|(_, length)| *length).map(|(name, _)| name);
    let name = raw.map(Text::borrowed).filter(|name| object.contains_key(name)).or(longest);
    let Some(Value::String(text)) = name.and_then(|name| object.get_mut(&name)) else { return true };
    let mut written = Vec::with_capacity(text.len() + 2);
    json::write_string(text, &mut written);
    let room = written.len().saturating_sub(2).saturating_sub(excess);
    let mut used = 0;
    let mut end = 0;
    for c in text.chars() {
        written.clear();
        json::write_string(c.encode_utf8(&mut [0; 4]), &mut written);
        used += written.len() - 2;
        if used > room {
            break;
        }
        end += c.len_utf8();
    }
    *text = text.piece(0..end);
    true
}
