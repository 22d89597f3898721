//! `dissect`: cuts text at fixed delimiters into fields.

mod conversion;
mod dissection;
mod mapping;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use conversion::Conversion;
use dissection::{Captures, Dissection};
use mapping::{Mapped, Mapping};

use crate::event::{EscapeStyle, Event, FieldRef, Value};
use crate::metrics::Counter;
use crate::plugins::common::OnMatch;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome, convert};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "dissect", summary: "Cuts text at fixed delimiters into fields.", build };

struct Dissect {
    mappings: Vec<Mapping>,
    conversions: Vec<Conversion>,
    tag_on_failure: Vec<String>,
    matches: Arc<Counter>,
    failures: Arc<Counter>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let style = options.context().escape_style;
    let mappings = pairs(options, "mapping", "Fields, each with the dissection that takes its text apart.");
    let mappings =
        mappings.into_iter().filter_map(|(name, pattern)| mapping(options, &name, &pattern, style)).collect();
    let conversions = pairs(options, "convert_datatype", "Fields that become `int` or `float`.");
    let conversions = conversions.into_iter().filter_map(|(name, wanted)| {
        let field = field(options, "convert_datatype", &name, style)?;
        let conversion = Conversion::new(field, &name, &wanted);
        conversion.map_err(|message| options.invalid("convert_datatype", message)).ok()
    });
    let conversions = conversions.collect();
    let metrics = &options.context().metrics;
    let (matches, failures) = (metrics.counter("matches"), metrics.counter("failures"));
    let tag_on_failure = options
        .strings("tag_on_failure")
        .doc("Tags of an event whose text does not fit.")
        .default(vec!["_dissectfailure".to_owned()]);
    Box::new(Dissect { mappings, conversions, tag_on_failure, matches, failures })
}

/// A hash option of texts in the order in which Logstash walks it.
fn pairs(options: &mut Options<'_>, name: &'static str, doc: &'static str) -> Vec<(String, String)> {
    let mut pairs = options.hash(name).doc(doc).optional().unwrap_or_default();
    convert::walk_order(&mut pairs, |(key, _)| key);
    let mut texts = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        match value {
            Value::String(text) => texts.push((key, text.to_string())),
            other => options.invalid(name, format!("`{key}` takes one text, got a {}", other.kind())),
        }
    }
    texts
}

fn field(options: &mut Options<'_>, option: &'static str, name: &str, style: EscapeStyle) -> Option<FieldRef> {
    FieldRef::parse(name, style).map_err(|error| options.invalid(option, error.to_string())).ok()
}

fn mapping(options: &mut Options<'_>, name: &str, pattern: &str, style: EscapeStyle) -> Option<Mapping> {
    if pattern.is_empty() {
        return None;
    }
    let source = field(options, "mapping", name, style)?;
    let dissection = Dissection::compile(pattern, style);
    dissection
        .map(|dissection| Mapping { source, dissection })
        .map_err(|message| options.invalid("mapping", message))
        .ok()
}

impl Filter for Dissect {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let (mut matches, mut failures) = (0, 0);
        let mut captures = Captures::default();
        batch.each_with_common(|event, common| {
            let mut outcome = Outcome::Unmatched;
            for mapping in &self.mappings {
                // The common options run after each mapping that fits; those of the last one are left to the batch.
                if outcome == Outcome::Matched {
                    common.apply(event);
                    outcome = Outcome::Unmatched;
                }
                match mapping.run(event, &mut captures) {
                    Mapped::Fits => {
                        matches += 1;
                        outcome = Outcome::Matched;
                    }
                    Mapped::NoSource => failures += 1,
                    Mapped::Fails => {
                        failures += 1;
                        self.tag_on_failure.iter().for_each(|tag| event.tag(tag));
                    }
                }
            }
            if !self.conversions.is_empty() {
                outcome = self.convert(event, common, outcome);
            }
            outcome
        });
        self.matches.add(matches);
        self.failures.add(failures);
    }
}

impl Dissect {
    /// Conversions come after the common options of all mappings.
    fn convert(&self, event: &mut Event, common: &OnMatch, outcome: Outcome) -> Outcome {
        if outcome == Outcome::Matched {
            common.apply(event);
        }
        self.conversions.iter().for_each(|conversion| conversion.run(event));
        Outcome::Unmatched
    }
}
