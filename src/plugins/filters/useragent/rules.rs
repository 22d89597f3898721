//! The rules: those of uap-core, which are part of the program, or a file in the same format.
//!
//! `regexes.yaml` is version 0.18.0 of <https://github.com/ua-parser/uap-core>, Apache License 2.0, unchanged.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use ua_parser::{Extractor, device, os, user_agent};

use super::agent::{Agent, Version};
use crate::event::{Map, Text, Value, text_form};
use crate::plugins::yaml;

const BUNDLED: &str = include_str!("regexes.yaml");
/// The name of whatever no rule knows.
const OTHER: Text = Text::borrowed("Other");

/// Compiled rules.
pub(super) struct Rules(Extractor<'static>);

impl Rules {
    /// The rules of the program, compiled once for all filters.
    pub fn bundled() -> Result<Arc<Self>, String> {
        static RULES: Mutex<Option<Arc<Rules>>> = Mutex::new(None);
        let mut rules = RULES.lock();
        if let Some(rules) = &*rules {
            return Ok(rules.clone());
        }
        let compiled = Arc::new(Self::parse(BUNDLED)?);
        *rules = Some(compiled.clone());
        Ok(compiled)
    }

    /// The rules of a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| Self::parse(&text)).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let Value::Map(lists) = yaml::value(text)? else { return Err("expected lists of rules".to_owned()) };
        let ua = rules(&lists, "user_agent_parsers")?
            .into_iter()
            .try_fold(user_agent::Builder::new(), |builder, rule| {
                builder.push(user_agent_rule(&rule)).map_err(|error| rule.wrong(&error.to_string()))
            })?;
        let os = rules(&lists, "os_parsers")?.into_iter().try_fold(os::Builder::new(), |builder, rule| {
            builder.push(os_rule(&rule)).map_err(|error| rule.wrong(&error.to_string()))
        })?;
        let dev = rules(&lists, "device_parsers")?.into_iter().try_fold(device::Builder::new(), |builder, rule| {
            builder.push(device_rule(&rule)).map_err(|error| rule.wrong(&error.to_string()))
        })?;
        Ok(Self(Extractor {
            ua: ua.build().map_err(|error| error.to_string())?,
            os: os.build().map_err(|error| error.to_string())?,
            dev: dev.build().map_err(|error| error.to_string())?,
        }))
    }

    /// Takes a header apart.
    pub fn apply(&self, header: &str) -> Agent {
        let (ua, os, device) = self.0.extract(header);
        let (name, version) = ua.map_or((OTHER, Version::default()), |ua| {
            let version = Version::new([ua.major, ua.minor, ua.patch, ua.patch_minor]);
            (named(&ua.family), version.extended(header))
        });
        let (os_name, os_version) = os.map_or((OTHER, Version::default()), |os| {
            let parts = [&os.major, &os.minor, &os.patch, &os.patch_minor];
            (named(&os.os), Version::new(parts.map(|part| part.as_deref())))
        });
        let os_full = match &os_version.full {
            Some(version) => Text::from(format!("{os_name} {version}")),
            None => os_name.clone(),
        };
        let device = device.map_or(OTHER, |device| named(&device.device));
        Agent { name, device, version, os_full, os_name, os_version }
    }
}

fn named(name: &str) -> Text {
    if name.is_empty() { OTHER } else { Text::from(name) }
}

/// One entry of a list of rules.
struct Rule<'m> {
    list: &'static str,
    entries: &'m Map,
}

fn rules<'m>(lists: &'m Map, list: &'static str) -> Result<Vec<Rule<'m>>, String> {
    let Some(value) = lists.get(list) else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or_else(|| format!("{list} is no list"))?;
    let rule = |value: &'m Value| {
        let entries = value.as_map().filter(|entries| entries.contains_key("regex"));
        entries.map(|entries| Rule { list, entries }).ok_or_else(|| format!("an entry of {list} has no regex"))
    };
    items.iter().map(rule).collect()
}

impl Rule<'_> {
    /// The text of an entry. A number that stands without quotes is text too.
    fn text(&self, key: &str) -> Option<Cow<'static, str>> {
        let mut out = Vec::new();
        text_form::write_ruby(self.entries.get(key)?, &mut out);
        Some(Cow::Owned(text_form::utf8(out)))
    }

    fn wrong(&self, error: &str) -> String {
        format!("{}: the regex `{}`: {error}", self.list, self.text("regex").unwrap_or_default())
    }
}

fn user_agent_rule(rule: &Rule<'_>) -> user_agent::Parser<'static> {
    user_agent::Parser {
        regex: rule.text("regex").unwrap_or_default(),
        family_replacement: rule.text("family_replacement"),
        v1_replacement: rule.text("v1_replacement"),
        v2_replacement: rule.text("v2_replacement"),
        v3_replacement: rule.text("v3_replacement"),
        v4_replacement: rule.text("v4_replacement"),
    }
}

fn os_rule(rule: &Rule<'_>) -> os::Parser<'static> {
    os::Parser {
        regex: rule.text("regex").unwrap_or_default(),
        os_replacement: rule.text("os_replacement"),
        os_v1_replacement: rule.text("os_v1_replacement"),
        os_v2_replacement: rule.text("os_v2_replacement"),
        os_v3_replacement: rule.text("os_v3_replacement"),
        os_v4_replacement: rule.text("os_v4_replacement"),
    }
}

fn device_rule(rule: &Rule<'_>) -> device::Parser<'static> {
    device::Parser {
        regex: rule.text("regex").unwrap_or_default(),
        regex_flag: rule.text("regex_flag").filter(|flag| flag == "i").map(|_| device::Flag::IgnoreCase),
        device_replacement: rule.text("device_replacement"),
        brand_replacement: None,
        model_replacement: None,
    }
}
