//! `tld`: the parts of a domain name, by the public suffix list.

use crate::event::{FieldRef, Map, Text, Value};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "tld", summary: "Takes domain names apart.", build };

struct Tld {
    source: FieldRef,
    target: FieldRef,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let source = options.field("source").doc("Field with the domain name.").default(FieldRef::top("message"));
    let target = options.field("target").doc("Field that takes the parts.").default(FieldRef::top("tld"));
    Box::new(Tld { source, target })
}

impl Filter for Tld {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let Some(parts) = event.get(&self.source).and_then(Value::as_str).and_then(parts) else {
                return Outcome::Unmatched;
            };
            match event.set(&self.target, parts) {
                Ok(()) => Outcome::Matched,
                Err(error) => {
                    tracing::warn!(target: "logstash.filters.tld", target = %self.target, "{error}");
                    Outcome::Unmatched
                }
            }
        });
    }
}

/// `None` for what is no domain below a public suffix.
fn parts(name: &str) -> Option<Map> {
    let name = name.trim();
    let name = name.strip_suffix('.').unwrap_or(name).to_lowercase();
    if name.split('.').any(str::is_empty) || name.contains(char::is_whitespace) {
        return None;
    }
    let domain = psl::domain_str(&name)?;
    let suffix = psl::suffix_str(domain)?;
    let second = domain.strip_suffix(suffix)?.strip_suffix('.')?;
    let third = name.strip_suffix(domain)?.strip_suffix('.');
    let text = |text: &str| Value::from(text);
    let optional = |part: Option<&str>| part.map_or(Value::Null, Value::from);
    let parts = [
        ("tld", text(suffix)),
        ("sld", text(second)),
        ("trd", optional(third)),
        ("domain", text(domain)),
        ("subdomain", optional(third.map(|_| name.as_str()))),
        ("top_level_domain", text(suffix)),
    ];
    Some(parts.into_iter().map(|(key, value)| (Text::borrowed(key), value)).collect())
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::filtered;

    fn tld(name: &str) -> String {
        let seen = filtered(
            "filter { tld { source => \"d\" target => \"t\" remove_field => [\"d\"] } }",
            &[&format!(r#"{{"d":{name}}}"#)],
        );
        seen[0].clone()
    }

    #[test]
    fn names_below_a_public_suffix() {
        assert_eq!(
            tld(r#"" Example.CO.UK.""#),
            r#"{"t":{"tld":"co.uk","sld":"example","trd":null,"domain":"example.co.uk","subdomain":null,"top_level_domain":"co.uk"}}"#
        );
        assert_eq!(
            tld(r#""a.b.example.notlisted""#),
            r#"{"t":{"tld":"notlisted","sld":"example","trd":"a.b","domain":"example.notlisted","subdomain":"a.b.example.notlisted","top_level_domain":"notlisted"}}"#
        );
    }

    #[test]
    fn what_is_no_domain() {
        for name in [r#""localhost""#, r#""co.uk""#, r#""""#, r#"".com""#, r#""a..com""#, r#""a b.com""#, "5", "null"] {
            assert_eq!(tld(name), format!(r#"{{"d":{name}}}"#));
        }
    }
}
