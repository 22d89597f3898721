//! `anonymize`: values are replaced by a hash with a key.

use crate::event::{Event, FieldRef, Value, text_form};
use crate::plugins::filters::fingerprint::hash::{Algorithm, Hash};
use crate::plugins::network::Network;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "anonymize", summary: "Replaces values by their hash with a key.", build };

const ALGORITHMS: &[&str] = &["SHA1", "SHA256", "SHA384", "SHA512", "MD5", "MURMUR3", "IPV4_NETWORK"];

struct Anonymize {
    fields: Vec<FieldRef>,
    method: Method,
}

enum Method {
    Hash(Hash),
    /// The network of that prefix length.
    Network(u32),
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let fields = options.fields("fields").doc("Fields whose values are replaced.").required();
    let key = options.string("key").doc("Key of the hash; for IPV4_NETWORK the length of the prefix.").required();
    let name = options.word("algorithm", ALGORITHMS).doc("How to hash.").default("SHA1".to_owned());
    let algorithm = match name.as_str() {
        "IPV4_NETWORK" => None,
        "SHA256" => Some(Algorithm::Sha256),
        "SHA384" => Some(Algorithm::Sha384),
        "SHA512" => Some(Algorithm::Sha512),
        "MD5" => Some(Algorithm::Md5),
        "MURMUR3" => Some(Algorithm::Murmur3),
        _ => Some(Algorithm::Sha1),
    };
    let method = match algorithm {
        Some(algorithm) => Method::Hash(Hash::new(algorithm, Some(key.as_bytes()), false)),
        None => Method::Network(key.trim().parse().ok().filter(|length| *length <= 32).unwrap_or_else(|| {
            options.invalid("key", "with IPV4_NETWORK the key is the prefix length, a number up to 32");
            0
        })),
    };
    Box::new(Anonymize { fields, method })
}

impl Filter for Anonymize {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            self.fields.iter().for_each(|field| self.replace(event, field));
            // As in Logstash, which never reports a match here.
            Outcome::Unmatched
        });
    }
}

impl Anonymize {
    fn replace(&self, event: &mut Event, field: &FieldRef) {
        let hidden = match event.get(field) {
            None => return,
            Some(Value::Array(list)) => Value::Array(list.iter().map(|value| self.hidden(value)).collect()),
            Some(value) => self.hidden(value),
        };
        if let Err(error) = event.set(field, hidden) {
            tracing::warn!(target: "logstash.filters.anonymize", field = %field, "the field is removed: {error}");
            event.remove(field);
        }
    }

    fn hidden(&self, value: &Value) -> Value {
        let mut text = Vec::new();
        match (&self.method, value) {
            (Method::Hash(hash), Value::Integer(n)) => {
                if let Some(hidden) = hash.of_integer(*n) {
                    return hidden;
                }
                text_form::write_ruby(value, &mut text);
                hash.of_bytes(&text)
            }
            (Method::Hash(hash), value) => {
                text_form::write_ruby(value, &mut text);
                hash.of_bytes(&text)
            }
            // What is no address must not stay either.
            (Method::Network(prefix), value) => value
                .as_str()
                .and_then(Network::parse)
                .and_then(|address| address.masked(*prefix))
                .map_or(Value::Null, |network| Value::from(network.first().to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    fn anonymize(options: &str, event: &str) -> String {
        filtered(&format!("filter {{ anonymize {{ fields => [\"u\"] {options} }} }}"), &[event]).remove(0)
    }

    #[test]
    fn values_are_replaced_and_no_match_is_reported() {
        let options = r#"key => "k" add_tag => ["x"]"#;
        assert_eq!(anonymize(options, r#"{"u":"alice"}"#), r#"{"u":"027efa8d42043d6f16d21ae2f288078ec4135283"}"#);
        assert_eq!(anonymize(options, r#"{"v":"alice"}"#), r#"{"v":"alice"}"#);
        assert_ne!(anonymize(options, r#"{"u":5}"#), anonymize(r#"key => "l""#, r#"{"u":5}"#));
    }

    #[test]
    fn networks_hide_hosts() {
        let options = r#"key => 24 algorithm => "IPV4_NETWORK""#;
        assert_eq!(anonymize(options, r#"{"u":["192.0.2.7","x"]}"#), r#"{"u":["192.0.2.0",null]}"#);
        assert!(compiled(r#"filter { anonymize { fields => "a" key => "x" algorithm => "IPV4_NETWORK" } }"#).is_err());
    }

    #[test]
    fn a_key_is_needed() {
        let errors = compiled(r#"filter { anonymize { fields => "a" } }"#).err().unwrap();
        assert!(errors.contains("`key`"), "{errors}");
    }
}
