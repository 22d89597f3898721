//! `cidr`: whether an address is in one of some networks.
//!
//! Networks that are the same for every event are sorted once, so that their number hardly matters.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::event::{Event, FieldRef, Template, Value};
use crate::plugins::network::{Network, NetworkSet};
use crate::plugins::refresh::{Every, Refreshed};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome, PluginError};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "cidr", summary: "Checks whether addresses are in networks.", build };

struct Cidr {
    addresses: Addresses,
    networks: Networks,
}

enum Addresses {
    Templates(Vec<Template>),
    Field(FieldRef),
}

enum Networks {
    /// Those that are the same for every event, and the others.
    Given(Arc<NetworkSet>, Vec<Template>),
    File(NetworkFile),
}

struct NetworkFile {
    path: PathBuf,
    every: Every,
    separator: String,
    opened: OnceLock<Arc<Refreshed<NetworkSet>>>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let address = options.templates("address").doc("Addresses to check.").optional();
    let field = options.field("address_field").doc("Field with the address, or a list of them.").optional();
    if address.is_some() && field.is_some() {
        options
            .invalid("address_field", "The configuration options `address` and `address_field` are mutually exclusive");
    }
    let network = options.templates("network").doc("Networks, each `ADDRESS/BITS` or several with commas.").optional();
    let path = options.path("network_path").doc("File with networks.").optional();
    let interval = options.integer("refresh_interval").doc("Seconds between two looks at the file.").default(600);
    let separator = options.string("separator").doc("What stands between two networks of the file.");
    let separator = separator.default("\n".to_owned());
    if network.is_some() && path.is_some() {
        options
            .invalid("network_path", "The configuration options `network` and `network_path` are mutually exclusive");
    }
    let networks = match path {
        Some(path) => {
            let every = Every::IfChanged(Duration::from_secs(u64::try_from(interval).unwrap_or(0).max(1)));
            Networks::File(NetworkFile { path, every, separator, opened: OnceLock::new() })
        }
        None => given(network.unwrap_or_default(), options),
    };
    let addresses = field.map_or_else(|| Addresses::Templates(address.unwrap_or_default()), Addresses::Field);
    Box::new(Cidr { addresses, networks })
}

fn given(networks: Vec<Template>, options: &mut Options<'_>) -> Networks {
    let (fixed, per_event): (Vec<_>, Vec<_>) = networks.into_iter().partition(|n| n.as_constant().is_some());
    let mut wrong = Vec::new();
    let known = fixed.iter().filter_map(Template::as_constant).flat_map(|list| entries(list)).filter_map(|entry| {
        let network = Network::parse(entry);
        if network.is_none() {
            wrong.push(entry.to_owned());
        }
        network
    });
    let known = Arc::new(known.collect());
    for entry in wrong {
        options.warn("network", "no-effect", format!("`{entry}` is no network and is passed over"));
    }
    Networks::Given(known, per_event)
}

/// The networks of an entry of `network`.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

impl Filter for Cidr {
    fn register(&self) -> Result<(), PluginError> {
        match &self.networks {
            Networks::File(file) => file.open().map_err(PluginError::new),
            Networks::Given(..) => Ok(()),
        }
    }

    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let (known, per_event) = match &self.networks {
            Networks::Given(known, per_event) => (known.clone(), per_event.as_slice()),
            Networks::File(file) => (file.opened.get().map(|file| file.current()).unwrap_or_default(), &[][..]),
        };
        batch.each(|event| {
            let own: NetworkSet = per_event.iter().flat_map(|template| rendered(template, event)).collect();
            let is_inside = self.addresses.any(event, |address| known.contains(address) || own.contains(address));
            if is_inside { Outcome::Matched } else { Outcome::Unmatched }
        });
    }
}

/// The networks that a template gives for an event.
fn rendered(template: &Template, event: &Event) -> Vec<Network> {
    let text = template.render(event);
    entries(&text).filter_map(|entry| parsed(entry, "network")).collect()
}

fn parsed(text: &str, what: &str) -> Option<Network> {
    let network = Network::parse(text);
    if network.is_none() {
        tracing::warn!(target: "logstash.filters.cidr", "Invalid IP {what}, skipping: {text:?}");
    }
    network
}

impl Addresses {
    fn any(&self, event: &Event, mut is_inside: impl FnMut(Network) -> bool) -> bool {
        let mut check = |text: &str| parsed(text, "address").is_some_and(&mut is_inside);
        match self {
            Self::Templates(templates) => templates.iter().any(|template| check(&template.render(event))),
            Self::Field(field) => match event.get(field) {
                None => false,
                Some(Value::Array(list)) => list.iter().any(|value| text_of(value).is_some_and(&mut check)),
                Some(value) => text_of(value).is_some_and(check),
            },
        }
    }
}

fn text_of(value: &Value) -> Option<&str> {
    let text = value.as_str();
    if text.is_none() {
        let kind = value.kind();
        tracing::warn!(target: "logstash.filters.cidr", "Invalid IP address, skipping: it is no text but {kind}");
    }
    text
}

impl NetworkFile {
    fn open(&self) -> Result<(), String> {
        let separator = self.separator.clone();
        let file = Refreshed::open(&self.path, self.every, move |path, before| read(path, &separator, before))?;
        let _ = self.opened.set(file);
        Ok(())
    }
}

/// An empty file is one that is being written: the networks before stay.
fn read(path: &Path, separator: &str, before: Option<&NetworkSet>) -> Result<NetworkSet, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if text.is_empty() {
        return Ok(before.cloned().unwrap_or_default());
    }
    let text = text.strip_suffix(separator).unwrap_or(&text);
    Ok(text.split(separator).filter_map(|entry| parsed(entry, "network")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{compiled, filtered, warnings};

    fn is_in(options: &str, event: &str) -> bool {
        let config = format!("filter {{ cidr {{ {options} add_tag => [\"in\"] }} }}");
        filtered(&config, &[event])[0].contains(r#""tags":["in"]"#)
    }

    #[test]
    fn networks_may_come_from_the_event() {
        let options = r#"address => "%{ip}" network => ["%{net}", "203.0.113.0/24"]"#;
        assert!(is_in(options, r#"{"ip":"10.1.1.1","net":"192.0.2.0/24, 10.0.0.0/8"}"#));
        assert!(is_in(options, r#"{"ip":"203.0.113.9"}"#));
        assert!(!is_in(options, r#"{"ip":"10.1.1.1","net":"192.0.2.0/24"}"#));
    }

    #[test]
    fn what_is_no_text_is_passed_over() {
        let options = r#"address_field => "ip" network => "192.0.2.0/24""#;
        for ip in ["5", "null", r#"{"a":"192.0.2.1"}"#, "[5]", "[]"] {
            assert!(!is_in(options, &format!(r#"{{"ip":{ip}}}"#)), "{ip}");
        }
        assert!(is_in(options, r#"{"ip":[5,"192.0.2.1"]}"#));
    }

    #[test]
    fn a_file_of_networks() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "192.0.2.0/24; 10.0.0.0/8;203.0.113.0/24").unwrap();
        let options = format!(r#"address => "%{{ip}}" network_path => "{}" separator => ";""#, file.path().display());
        assert!(is_in(&options, r#"{"ip":"203.0.113.9"}"#));
        assert!(!is_in(&options, r#"{"ip":"10.0.0.1"}"#), "entries are not stripped");
    }

    #[test]
    fn a_file_that_is_empty_or_broken_later_keeps_the_networks() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "192.0.2.0/24\n").unwrap();
        let networks = read(file.path(), "\n", None).unwrap();
        std::fs::write(file.path(), "").unwrap();
        let kept = read(file.path(), "\n", Some(&networks)).unwrap();
        assert!(kept.contains(Network::parse("192.0.2.9").unwrap()));
        std::fs::write(file.path(), b"\xff").unwrap();
        assert!(read(file.path(), "\n", Some(&networks)).is_err());
    }

    #[test]
    fn networks_that_are_none_are_warned_of_and_passed_over() {
        let options = r#"address => "192.0.2.1" network => ["192.0.2.0/24, 10.0.0.0/99", ""]"#;
        assert!(is_in(options, "{}"));
        let warned = warnings(&format!("filter {{ cidr {{ {options} }} }}"));
        assert!(warned.contains("`10.0.0.0/99`") && warned.contains("``"), "{warned}");
    }

    #[test]
    fn options_that_exclude_each_other() {
        for options in [r#"address => "a" address_field => "a""#, r#"network => "::/0" network_path => "/""#] {
            let errors = compiled(&format!("filter {{ cidr {{ {options} }} }}")).err().unwrap();
            assert!(errors.contains("mutually exclusive"), "{errors}");
        }
    }
}
