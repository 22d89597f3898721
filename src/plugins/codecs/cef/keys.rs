//! The keys of extensions, and the fields that they stand for.
//!
//! `keys.tsv` has in each line: the short key, the long name, the name without ECS where that is another one, the ECS
//! field, and `time` for times. `DEVICE` in a field is `observer` or `host`; two fields with a bar between them are
//! for one each.

use std::collections::HashMap;

use crate::event::FieldRef;
use crate::plugins::Ecs;

const TABLE: &str = include_str!("keys.tsv");
/// Custom fields of each kind.
const CUSTOM: u32 = 15;

/// The fields of one way to name them.
pub(super) struct Keys {
    /// In the order of the header.
    pub header: [FieldRef; 7],
    /// For what stands before the message.
    pub syslog: FieldRef,
    extensions: HashMap<String, Known>,
    /// The keys that a field is written with: long and short.
    written: HashMap<String, (String, String)>,
}

/// A key that is in the table.
pub(super) struct Known {
    pub field: FieldRef,
    pub is_time: bool,
}

impl Keys {
    /// With or without ECS; `device` is `observer` or `host`.
    pub fn new(ecs: Ecs, device: &str) -> Self {
        let mut keys = Self::header(ecs);
        for line in TABLE.lines() {
            let mut columns = line.split('\t');
            let mut column = || columns.next().unwrap_or_default();
            let (short, long, legacy, fields, kind) = (column(), column(), column(), column(), column());
            let (observer, host) = fields.split_once('|').unwrap_or((fields, fields));
            let field = if device == "host" { host } else { observer }.replace("DEVICE", device);
            let legacy = if legacy.is_empty() { long } else { legacy };
            keys.add(ecs, [short, long, legacy], &field, kind == "time");
        }
        for number in 1..=CUSTOM {
            for (short, long, field) in [
                ("cfp", "FloatingPoint", "floating_point"),
                ("c6a", "IPv6Address", "ipv6_address"),
                ("cn", "Number", "number"),
                ("cs", "String", "string"),
            ] {
                let (short, long) = (format!("{short}{number}"), format!("deviceCustom{long}{number}"));
                let field = format!("[cef][device_custom_{field}_{number}]");
                keys.add(ecs, [&short, &long, &long], &format!("{field}[value]"), false);
                let (short, long) = (format!("{short}Label"), format!("{long}Label"));
                keys.add(ecs, [&short, &long, &long], &format!("{field}[label]"), false);
            }
        }
        keys
    }

    fn header(ecs: Ecs) -> Self {
        let fields = if ecs.is_disabled() {
            ["cefVersion", "deviceVendor", "deviceProduct", "deviceVersion", "deviceEventClassId", "name", "severity"]
        } else {
            [
                "[cef][version]",
                "[observer][vendor]",
                "[observer][product]",
                "[observer][version]",
                "[event][code]",
                "[cef][name]",
                "[event][severity]",
            ]
        };
        let syslog = if ecs.is_disabled() { "syslog" } else { "[log][syslog][header]" };
        Self { header: fields.map(field), syslog: field(syslog), extensions: HashMap::new(), written: HashMap::new() }
    }

    /// A line of the table: short key, long name, name without ECS.
    fn add(&mut self, ecs: Ecs, names: [&str; 3], ecs_field: &str, is_time: bool) {
        let [short, long, legacy] = names;
        let place = if ecs.is_disabled() { legacy } else { ecs_field };
        for key in names.into_iter().filter(|key| !key.is_empty()) {
            let known = Known { field: field(place), is_time: is_time && !ecs.is_disabled() };
            self.extensions.entry(key.to_owned()).or_insert(known);
        }
        let short = if short.is_empty() { long } else { short };
        let name = if ecs.is_disabled() { legacy } else { long };
        // Of several keys for one field the first is written.
        self.written.entry(bare(place).to_owned()).or_insert_with(|| (name.to_owned(), short.to_owned()));
    }

    /// What a key of an extension means.
    pub fn find(&self, key: &str) -> Option<&Known> {
        self.extensions.get(key)
    }

    /// The long and the short key to write a field with, if it is in the table.
    pub fn written(&self, field: &str) -> Option<(&str, &str)> {
        self.written.get(bare(field)).map(|(long, short)| (long.as_str(), short.as_str()))
    }
}

/// A field that is not nested can be written with or without brackets.
fn bare(field: &str) -> &str {
    let inner = field.strip_prefix('[').and_then(|field| field.strip_suffix(']'));
    inner.filter(|inner| !inner.contains('[')).unwrap_or(field)
}

/// A field of the table.
fn field(text: &str) -> FieldRef {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    FieldRef::path_of(&inner.split("][").collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_whole() {
        for line in TABLE.lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            assert!((4..=5).contains(&columns.len()), "{line}");
            assert!(!columns[1].is_empty() && !columns[3].is_empty(), "{line}");
            assert!(columns.get(4).is_none_or(|kind| *kind == "time"), "{line}");
        }
    }

    #[test]
    fn keys_lead_to_fields_and_back() {
        let keys = Keys::new(Ecs::V8, "observer");
        for (key, field) in [
            ("dvc", "[observer][ip]"),
            ("deviceExternalId", "[observer][name]"),
            ("cs15", "[cef][device_custom_string_15][value]"),
        ] {
            assert_eq!(keys.find(key).unwrap().field.text(), super::field(field).text(), "{key}");
        }
        assert_eq!(
            keys.written("[destination][registered_domain]"),
            Some(("destinationDnsDomain", "destinationDnsDomain"))
        );
        assert_eq!(keys.written("@timestamp"), Some(("deviceReceiptTime", "rt")));
        let keys = Keys::new(Ecs::Disabled, "host");
        assert_eq!(keys.written("[sourceAddress]"), Some(("sourceAddress", "src")));
        assert!(!keys.find("rt").unwrap().is_time);
        assert!(keys.find("cs16").is_none());
    }
}
