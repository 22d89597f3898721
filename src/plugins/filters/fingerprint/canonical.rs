//! One text for one content: maps sorted by key, so that neither their order nor the writer shows.

use crate::event::{Text, Value, text_form};

/// Appends the text of a value: a text as it is, a map as `k|v|k2|v2`, a list as `a|b`, the rest as Ruby prints it.
pub(super) fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Map(map) => {
            let mut entries: Vec<(&Text, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(b'|');
                }
                out.extend_from_slice(key.as_bytes());
                out.push(b'|');
                write_canonical(value, out);
            }
        }
        Value::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    out.push(b'|');
                }
                write_canonical(value, out);
            }
        }
        scalar => text_form::write_ruby(scalar, out),
    }
}
