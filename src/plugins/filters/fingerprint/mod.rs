//! `fingerprint`: a hash of fields, the same for the same content.

mod canonical;
pub(super) mod hash;

use canonical::write_canonical;
use hash::{Algorithm, Hash};
use uuid::Uuid;

use crate::event::{Event, FieldError, FieldRef, Text, Value, text_form};
use crate::plugins::network::Network;
use crate::plugins::{Ecs, Filter, FilterBatch, FilterPlugin, Options, Outcome, Secret};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "fingerprint", summary: "Puts a hash of fields into a field.", build };

const METHODS: &[&str] =
    &["SHA1", "SHA256", "SHA384", "SHA512", "MD5", "MURMUR3", "MURMUR3_128", "IPV4_NETWORK", "UUID", "PUNCTUATION"];

struct Fingerprint {
    sources: Sources,
    target: FieldRef,
    method: Method,
}

/// What a fingerprint is made of.
enum Sources {
    /// Each field by itself; that of the last one stays.
    Each(Vec<FieldRef>),
    /// Fields and their names, sorted by name.
    Together(Vec<FieldRef>),
    /// All top-level fields.
    All,
}

/// What makes it.
enum Method {
    Hash(Hash),
    /// The network of that prefix length.
    Network(u32),
    /// The characters that are punctuation or symbols.
    Punctuation(regex::Regex),
    Uuid,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let target = if Ecs::read(options).is_disabled() {
        FieldRef::top("fingerprint")
    } else {
        FieldRef::path_of(&["event", "hash"])
    };
    let given = options.fields("source").doc("Fields to hash.").optional();
    let target = options.field("target").doc("Field that takes the fingerprint.").default(target);
    let method = options.word("method", METHODS).doc("How to hash.").default("SHA1".to_owned());
    let key = options.password("key").doc("Key of an HMAC; for IPV4_NETWORK the length of the prefix.").optional();
    let base64 = options.boolean("base64encode").doc("Whether a hash is written in base64.").default(false);
    let together = options.boolean("concatenate_sources").doc("Whether all sources make one fingerprint.");
    let together = together.default(false);
    let all = options.boolean("concatenate_all_fields").doc("Whether all fields make one fingerprint.").default(false);
    if all && given.is_some() {
        options.warn("source", "no-effect", "`source` is not looked at, since `concatenate_all_fields` is true");
    }
    let mut fields = given.unwrap_or_else(|| vec![FieldRef::top("message")]);
    if together || method == "PUNCTUATION" {
        fields.sort_by(|a, b| a.text().cmp(b.text()));
    }
    if fields.len() > 1 && !together && !all && method != "UUID" {
        let message =
            "each source replaces the fingerprint of the one before; `concatenate_sources` hashes them together";
        options.warn("source", "no-effect", message);
    }
    let method = read_method(options, &method, key.as_ref(), base64);
    let sources = match (&method, all, together) {
        (Method::Punctuation(_), ..) => Sources::Each(fields),
        (_, true, _) => Sources::All,
        (_, false, true) => Sources::Together(fields),
        (_, false, false) => Sources::Each(fields),
    };
    Box::new(Fingerprint { sources, target, method })
}

fn read_method(options: &mut Options<'_>, name: &str, key: Option<&Secret>, base64: bool) -> Method {
    let key = key.map(|key| key.reveal());
    let algorithm = match name {
        "UUID" => return Method::Uuid,
        "PUNCTUATION" => match regex::Regex::new(r"[\p{P}\p{S}]+") {
            Ok(marks) => return Method::Punctuation(marks),
            Err(error) => {
                options.invalid("method", error.to_string());
                return Method::Uuid;
            }
        },
        "IPV4_NETWORK" => return Method::Network(prefix_length(options, key)),
        "SHA256" => Algorithm::Sha256,
        "SHA384" => Algorithm::Sha384,
        "SHA512" => Algorithm::Sha512,
        "MD5" => Algorithm::Md5,
        "MURMUR3" => Algorithm::Murmur3,
        "MURMUR3_128" => Algorithm::Murmur3Long,
        _ => Algorithm::Sha1,
    };
    Method::Hash(Hash::new(algorithm, key.map(str::as_bytes), base64))
}

fn prefix_length(options: &mut Options<'_>, key: Option<&str>) -> u32 {
    match key.map(|key| key.trim().parse()) {
        Some(Ok(length)) if length <= 32 => length,
        Some(_) => {
            options.invalid("key", "with IPV4_NETWORK the key is the prefix length, a number up to 32");
            0
        }
        None => {
            options.invalid("method", "Key value is empty. Please fill in a subnet prefix length as `key`");
            0
        }
    }
}

impl Filter for Fingerprint {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let mut text = Vec::new();
        batch.each(|event| match self.apply(event, &mut text) {
            Ok(()) => Outcome::Matched,
            Err(error) => {
                tracing::warn!(target: "logstash.filters.fingerprint", target = %self.target, "{error}");
                Outcome::Unmatched
            }
        });
    }
}

impl Fingerprint {
    fn apply(&self, event: &mut Event, text: &mut Vec<u8>) -> Result<(), FieldError> {
        text.clear();
        if matches!(self.method, Method::Uuid) {
            return event.set(&self.target, Uuid::new_v4().to_string());
        }
        let fields = match &self.sources {
            Sources::Each(fields) => {
                for field in fields {
                    if let Some(print) = event.get(field).and_then(|value| self.method.of_source(value, text)) {
                        event.set(&self.target, print)?;
                    }
                }
                return Ok(());
            }
            Sources::Together(fields) => {
                fields.iter().for_each(|field| write_named(field.text(), event.get(field), text));
                text.push(b'|');
                text
            }
            Sources::All => {
                let mut fields: Vec<(&Text, &Value)> = event.fields().iter().collect();
                fields.sort_by_key(|(name, _)| *name);
                fields.into_iter().for_each(|(name, value)| write_named(name, Some(value), text));
                text.push(b'|');
                text
            }
        };
        match self.method.of_text(fields) {
            Some(print) => event.set(&self.target, print),
            None => Ok(()),
        }
    }
}

fn write_named(name: &str, value: Option<&Value>, out: &mut Vec<u8>) {
    out.push(b'|');
    out.extend_from_slice(name.as_bytes());
    out.push(b'|');
    if let Some(value) = value {
        write_canonical(value, out);
    }
}

impl Method {
    /// Of a field; of a list one for each element.
    fn of_source(&self, value: &Value, text: &mut Vec<u8>) -> Option<Value> {
        match (self, value) {
            (Self::Punctuation(marks), Value::String(text)) => {
                Some(Value::from(marks.find_iter(text).map(|found| found.as_str()).collect::<String>()))
            }
            (Self::Punctuation(_), other) => {
                let kind = other.kind();
                tracing::warn!(target: "logstash.filters.fingerprint", "PUNCTUATION needs text, the source is {kind}");
                None
            }
            (_, Value::Array(list)) => {
                let print = |element| self.of_value(element, text).unwrap_or(Value::Null);
                Some(Value::Array(list.iter().map(print).collect()))
            }
            (_, value) => self.of_value(value, text),
        }
    }

    fn of_value(&self, value: &Value, text: &mut Vec<u8>) -> Option<Value> {
        if let (Self::Hash(hash), Value::Integer(n)) = (self, value)
            && let Some(print) = hash.of_integer(*n)
        {
            return Some(print);
        }
        text.clear();
        write_canonical(value, text);
        self.of_text(text)
    }

    /// `None` for a text that has none.
    fn of_text(&self, text: &[u8]) -> Option<Value> {
        match self {
            Self::Hash(hash) => Some(hash.of_bytes(text)),
            Self::Network(prefix) => {
                let text = String::from_utf8_lossy(text);
                let network = Network::parse(&text).and_then(|address| address.masked(*prefix));
                if network.is_none() {
                    tracing::warn!(target: "logstash.filters.fingerprint", "no IP address: {text:?}");
                }
                network.map(|network| Value::from(network.first().to_string()))
            }
            Self::Punctuation(_) | Self::Uuid => Some(Value::from(text_form::utf8(text.to_vec()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered, warnings};

    fn print(options: &str, event: &str) -> String {
        let config = format!(r#"filter {{ fingerprint {{ target => "print" {options} add_tag => ["t"] }} }}"#);
        let out = filtered(&config, &[event]).remove(0);
        assert!(out.contains(r#""tags":["t"]"#), "always matched: {out}");
        out.split_once(r#""print":"#)
            .map_or(String::new(), |(_, print)| print.split(r#","tags""#).next().unwrap().to_owned())
    }

    #[test]
    fn several_sources_without_concatenation_only_the_last_counts() {
        let alone = print(r#"source => "b""#, r#"{"b":"y"}"#);
        assert_eq!(print(r#"source => ["a", "b"]"#, r#"{"a":"x","b":"y"}"#), alone);
        assert_eq!(print(r#"source => ["b", "a"]"#, r#"{"b":"y"}"#), alone, "a missing source changes nothing");
        assert_eq!(print(r#"source => "c""#, r#"{"b":"y"}"#), "");
        let warned = warnings(r#"filter { fingerprint { source => ["a", "b"] } }"#);
        assert!(warned.contains("concatenate_sources"), "{warned}");
        assert_eq!(warnings(r#"filter { fingerprint { source => ["a", "b"] concatenate_sources => true } }"#), "");
    }

    #[test]
    fn a_source_that_is_ignored_with_all_fields_is_warned_of() {
        let warned = warnings(r#"filter { fingerprint { source => "a" concatenate_all_fields => true } }"#);
        assert!(warned.contains("`source`"), "{warned}");
    }

    #[test]
    fn the_hash_of_nested_maps_does_not_hang_on_the_order_of_keys() {
        let options = r#"source => ["m"] concatenate_sources => true"#;
        let one = print(options, r#"{"m":{"a":1,"b":{"c":[1,{"y":1,"x":2}],"d":null}}}"#);
        assert_eq!(one, print(options, r#"{"m":{"b":{"d":null,"c":[1,{"x":2,"y":1}]},"a":1}}"#));
        assert_ne!(one, print(options, r#"{"m":{"b":{"d":null,"c":[{"x":2,"y":1},1]},"a":1}}"#));
        let all = "concatenate_all_fields => true";
        let event = |order: &str| format!(r#"{{"@timestamp":"2020-01-01T00:00:00.000Z",{order}}}"#);
        assert_eq!(print(all, &event(r#""a":1,"b":2"#)), print(all, &event(r#""b":2,"a":1"#)));
    }

    #[test]
    fn an_address_that_is_none_leaves_the_event_alone() {
        let options = r#"source => "ip" method => "IPV4_NETWORK" key => "16""#;
        assert_eq!(print(options, r#"{"ip":"192.0.2.77"}"#), r#""192.0.0.0""#);
        assert_eq!(print(options, r#"{"ip":["192.0.2.77","x"]}"#), r#"["192.0.0.0",null]"#);
        assert_eq!(print(options, r#"{"ip":"x"}"#), "");
    }

    #[test]
    fn a_uuid_needs_no_source() {
        let options = r#"method => "UUID""#;
        assert_eq!(print(options, "{}").len(), 38);
        assert_ne!(print(options, "{}"), print(options, "{}"));
    }

    #[test]
    fn keys_are_text_and_a_prefix_length_is_needed() {
        for (options, word) in [
            (r#"key => 24"#, "`key`"),
            (r#"method => "IPV4_NETWORK""#, "prefix length"),
            (r#"method => "IPV4_NETWORK" key => "33""#, "prefix length"),
            (r#"method => "SHA3""#, "SHA3"),
        ] {
            let errors = compiled(&format!("filter {{ fingerprint {{ {options} }} }}")).err().unwrap();
            assert!(errors.contains(word), "{errors}");
        }
    }
}
