//! `useragent`: browser, device and operating system from a `User-Agent` header.

mod agent;
mod rules;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent::{Agent, Version};
use quick_cache::sync::Cache;
use rules::Rules;

use crate::event::{Event, FieldError, FieldRef, Text, Value};
use crate::plugins::{Ecs, Filter, FilterBatch, FilterPlugin, Options, Outcome, PluginError};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "useragent", summary: "Takes User-Agent headers apart.", build };

/// Longer texts are not remembered: the cache is bounded by their number, and nobody sends them twice by chance.
const LONGEST_REMEMBERED: usize = 1024;

struct UserAgent {
    source: FieldRef,
    /// Whether the source goes before the target is set, since it is the same field.
    in_place: bool,
    places: Places,
    file: Option<PathBuf>,
    rules: OnceLock<Arc<Rules>>,
    known: Cache<Text, Arc<Agent>>,
}

/// Where each part goes.
struct Places {
    name: FieldRef,
    device: FieldRef,
    version: VersionPlaces,
    os_full: FieldRef,
    os_name: FieldRef,
    /// The name of the operating system once more, without ECS.
    os: Option<FieldRef>,
    os_version: VersionPlaces,
}

struct VersionPlaces {
    full: FieldRef,
    major: FieldRef,
    minor: FieldRef,
    patch: FieldRef,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let is_flat = Ecs::read(options).is_disabled();
    let source = options.field("source").doc("Field with the header.").required();
    let target = options.field("target").doc("Field that takes the parts; without ECS the event itself.").optional();
    let prefix = options.string("prefix").doc("What the names of the parts begin with; without ECS only.");
    let prefix = prefix.default(String::new());
    let file = options.path("regexes").doc("File with other rules, in the format of uap-core.").optional();
    let size = options.integer("lru_cache_size").doc("How many headers are remembered.").default(100_000);
    let size = usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or_else(|| {
        options.invalid("lru_cache_size", "the size of the cache must be a positive number");
        1
    });
    if !is_flat && !prefix.is_empty() {
        options.warn("prefix", "no-effect", "`prefix` is not looked at, since the names are those of ECS");
    }
    let in_place = target.as_ref().is_some_and(|t| (t.root(), t.path()) == (source.root(), source.path()));
    let places = if is_flat {
        Places::flat(target.as_ref(), &prefix)
    } else {
        Places::ecs(&target.unwrap_or_else(|| FieldRef::top("user_agent")))
    };
    Box::new(UserAgent { source, in_place, places, file, rules: OnceLock::new(), known: Cache::new(size) })
}

impl Places {
    fn flat(target: Option<&FieldRef>, prefix: &str) -> Self {
        let place = |name: &str| {
            let name = format!("{prefix}{name}");
            target.map_or_else(|| FieldRef::top(&name), |target| target.child(&[&name]))
        };
        let version = |prefix: &str| VersionPlaces {
            full: place(&format!("{prefix}version")),
            major: place(&format!("{prefix}major")),
            minor: place(&format!("{prefix}minor")),
            patch: place(&format!("{prefix}patch")),
        };
        Self {
            name: place("name"),
            device: place("device"),
            version: version(""),
            os_full: place("os_full"),
            os_name: place("os_name"),
            os: Some(place("os")),
            os_version: version("os_"),
        }
    }

    fn ecs(target: &FieldRef) -> Self {
        let numbers = FieldRef::path_of(&[crate::event::METADATA, "filter", "user_agent"]);
        let version = |above: &[&str]| {
            let number = |name: &str| numbers.child(above).child(&["version", name]);
            VersionPlaces {
                full: target.child(above).child(&["version"]),
                major: number("major"),
                minor: number("minor"),
                patch: number("patch"),
            }
        };
        Self {
            name: target.child(&["name"]),
            device: target.child(&["device", "name"]),
            version: version(&[]),
            os_full: target.child(&["os", "full"]),
            os_name: target.child(&["os", "name"]),
            os: None,
            os_version: version(&["os"]),
        }
    }

    fn set(&self, event: &mut Event, agent: &Agent) -> Result<(), FieldError> {
        event.set(&self.name, agent.name.clone())?;
        event.set(&self.device, agent.device.clone())?;
        self.version.set(event, &agent.version)?;
        event.set(&self.os_full, agent.os_full.clone())?;
        event.set(&self.os_name, agent.os_name.clone())?;
        if let Some(os) = &self.os {
            event.set(os, agent.os_name.clone())?;
        }
        self.os_version.set(event, &agent.os_version)
    }
}

impl VersionPlaces {
    fn set(&self, event: &mut Event, version: &Version) -> Result<(), FieldError> {
        let Version { full, major, minor, patch } = version;
        for (place, part) in [(&self.full, full), (&self.major, major), (&self.minor, minor), (&self.patch, patch)] {
            if let Some(part) = part {
                event.set(place, part.clone())?;
            }
        }
        Ok(())
    }
}

impl Filter for UserAgent {
    fn register(&self) -> Result<(), PluginError> {
        let rules = match &self.file {
            None => Rules::bundled(),
            Some(path) => Rules::read(path).map(Arc::new),
        };
        let _ = self.rules.set(rules.map_err(PluginError::new)?);
        Ok(())
    }

    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let Some(rules) = self.rules.get() else { return };
        batch.each(|event| {
            let Some(header) = header(event.get(&self.source)) else { return Outcome::Unmatched };
            let agent = self.agent(&header, rules);
            if self.in_place {
                event.remove(&self.source);
            }
            match self.places.set(event, &agent) {
                Ok(()) => Outcome::Matched,
                Err(error) => {
                    tracing::warn!(target: "logstash.filters.useragent", source = %self.source, "{error}");
                    Outcome::Unmatched
                }
            }
        });
    }
}

/// The text of a value; of a list that of its first element.
fn header(value: Option<&Value>) -> Option<Text> {
    let first = match value? {
        Value::Array(list) => list.first()?,
        other => other,
    };
    first.as_text().filter(|text| !text.is_empty()).cloned()
}

impl UserAgent {
    fn agent(&self, header: &Text, rules: &Rules) -> Arc<Agent> {
        if let Some(agent) = self.known.get(header.as_str()) {
            return agent;
        }
        let agent = Arc::new(rules.apply(header));
        if header.len() <= LONGEST_REMEMBERED {
            // A copy, so that the cache does not keep the chunk that the event was read with.
            self.known.insert(Text::from(header.as_str()), agent.clone());
        }
        agent
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, filtered};

    const FIREFOX: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:109.0) Gecko/20100101 Firefox/119.0";

    fn parts(options: &str, event: &str) -> String {
        let config = format!(
            r#"filter {{ useragent {{ source => "m" {options} add_tag => ["t"] }}
                mutate {{ rename => {{ "[@metadata][filter]" => "numbers" }} }} }}"#
        );
        filtered(&config, &[event]).remove(0)
    }

    #[test]
    fn names_of_the_common_schema() {
        assert_eq!(
            parts("target => \"m\"", &format!(r#"{{"m":"{FIREFOX}"}}"#)),
            concat!(
                r#"{"m":{"name":"Firefox","device":{"name":"Mac"},"version":"119.0","#,
                r#""os":{"full":"Mac OS X 10.15","name":"Mac OS X","version":"10.15"}},"tags":["t"],"#,
                r#""numbers":{"user_agent":{"version":{"major":"119","minor":"0"},"#,
                r#""os":{"version":{"major":"10","minor":"15"}}}}}"#
            )
        );
    }

    #[test]
    fn flat_names() {
        let flat = concat!(
            r#""x_name":"Firefox","x_device":"Mac","x_version":"119.0","x_major":"119","x_minor":"0","#,
            r#""x_os_full":"Mac OS X 10.15","x_os_name":"Mac OS X","x_os":"Mac OS X","x_os_version":"10.15","#,
            r#""x_os_major":"10","x_os_minor":"15""#
        );
        let event = format!(r#"{{"m":["{FIREFOX}"]}}"#);
        let options = r#"ecs_compatibility => disabled prefix => "x_""#;
        assert_eq!(parts(options, &event), event.replace("]}", &format!("],{flat},\"tags\":[\"t\"]}}")));
        let options = r#"ecs_compatibility => disabled prefix => "x_" target => "[a][b]" remove_field => ["m"]"#;
        assert_eq!(parts(options, &event), format!(r#"{{"a":{{"b":{{{flat}}}}},"tags":["t"]}}"#));
    }

    #[test]
    fn what_no_rule_knows_is_other() {
        let other = r#"{"name":"Other","device":{"name":"Other"},"os":{"full":"Other","name":"Other"}}"#;
        assert_eq!(parts("target => \"m\"", r#"{"m":"x"}"#), format!(r#"{{"m":{other},"tags":["t"]}}"#));
        for m in [r#""""#, "[]", "null", "5", r#"[""]"#] {
            let event = format!(r#"{{"m":{m}}}"#);
            assert_eq!(parts("", &event), event);
        }
    }

    #[test]
    fn rules_of_ones_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let rules = concat!(
            "user_agent_parsers:\n  - regex: '(my)-agent/(\\d+)'\n    family_replacement: 'The $1'\n    v2_replacement: 7\n",
            "os_parsers:\n  - regex: 'on (\\w+)-(\\w+)'\n    os_replacement: '$1 $2'\n    os_v1_replacement: Vista\n",
            "device_parsers:\n  - regex: 'TOASTER (.)'\n    regex_flag: 'i'\n    device_replacement: ' T $1 '\n",
        );
        std::fs::write(file.path(), rules).unwrap();
        let options = format!(r#"regexes => "{}" target => "m""#, file.path().display());
        let seen = parts(&options, r#"{"m":"my-agent/5 on a-b toaster 9"}"#);
        for part in [
            r#""name":"The my""#,
            r#""version":"5.7""#,
            r#""device":{"name":"T 9"}"#,
            r#""os":{"full":"a b Vista","name":"a b","version":"Vista"}"#,
        ] {
            assert!(seen.contains(part), "{seen} lacks {part}");
        }
        std::fs::write(file.path(), "os_parsers:\n  - regex: '('\n").unwrap();
        let compiled = compiled(&format!(r#"filter {{ useragent {{ source => "m" {options} }} }}"#)).unwrap();
        let refused = compiled.plan.filters[0].filter.register().unwrap_err().to_string();
        assert!(refused.contains("os_parsers"), "{refused}");
    }
}
