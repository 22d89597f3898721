//! `translate`: a value that a dictionary has for the value of a field.

mod csv;
mod dictionary;
mod file;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use dictionary::{Dictionary, Matching};
use file::DictionaryFile;
use indexmap::IndexMap;

use crate::event::{Event, FieldError, FieldRef, Template, Text, Value, text_form};
use crate::plugins::{Ecs, Filter, FilterBatch, FilterPlugin, Options, Outcome, PluginError, convert};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "translate", summary: "Looks values up in a dictionary.", build };

struct Translate {
    source: FieldRef,
    target: FieldRef,
    /// Whether they are the same field.
    in_place: bool,
    over: Over,
    /// Whether a target that is there is replaced.
    overrides: bool,
    fallback: Option<Template>,
    dictionary: Source,
}

/// What is translated.
enum Over {
    /// The value of the source.
    Value,
    /// Each element of the source.
    Elements,
    /// The source in each map of this list.
    Maps(FieldRef),
}

enum Source {
    Given(Arc<Dictionary>),
    File(DictionaryFile),
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let is_flat = Ecs::read(options).is_disabled();
    let source = renamed(options, "source", "field", "Field whose value is looked up.", true).unwrap_or_default();
    let target = renamed(options, "target", "destination", "Field that takes what was found.", false);
    let target = target.unwrap_or_else(|| if is_flat { FieldRef::top("translation") } else { source.clone() });
    let in_place = same_place(&source, &target);
    let overrides = options.boolean("override").doc("Whether a target that is there is replaced.").optional();
    if overrides == Some(false) && in_place {
        options.invalid("override", "`override => false` cannot be, since the target is the source itself");
    }
    let iterate_on = options.field("iterate_on").doc("List whose elements, or the maps in it, are translated.");
    let over = match iterate_on.optional() {
        None => Over::Value,
        Some(list) if same_place(&list, &source) => Over::Elements,
        Some(list) => Over::Maps(list),
    };
    let fallback = options.template("fallback").doc("What the target is set to when nothing was found.").optional();
    let dictionary = dictionary(options);
    let overrides = overrides.unwrap_or(in_place);
    Box::new(Translate { source, target, in_place, over, overrides, fallback, dictionary })
}

/// An option and the name that it had before.
fn renamed(
    options: &mut Options<'_>,
    name: &'static str,
    old: &'static str,
    doc: &'static str,
    is_required: bool,
) -> Option<FieldRef> {
    let is_required = is_required && !options.is_set(old);
    let value = options.field(name).doc(doc);
    let value = if is_required { Some(value.required()) } else { value.optional() };
    let instead = if name == "source" { "write `source` instead" } else { "write `target` instead" };
    let before = options.field(old).doc(doc).deprecated(instead).optional();
    if value.is_some() && before.is_some() {
        options.invalid(old, format!("`{old}` is the old name of `{name}`: remove one of the two"));
    }
    value.or(before)
}

fn same_place(a: &FieldRef, b: &FieldRef) -> bool {
    (a.root(), a.path()) == (b.root(), b.path())
}

fn dictionary(options: &mut Options<'_>) -> Source {
    let given = options.hash("dictionary").doc("Keys and values.").optional();
    let is_exact =
        options.boolean("exact").doc("Whether the whole value must be a key, or keys inside of it are replaced.");
    let is_exact = is_exact.default(true);
    let is_regex = options.boolean("regex").doc("Whether keys are patterns; only when `exact` is true.").default(false);
    let matching = match (is_exact, is_regex) {
        (true, false) => Matching::Exact,
        (true, true) => Matching::Patterns,
        (false, _) => Matching::Parts,
    };
    let file = DictionaryFile::read(options, matching);
    if let Some(file) = file {
        if given.is_some() {
            options.invalid(
                "dictionary_path",
                "The configuration options `dictionary` and `dictionary_path` are mutually exclusive",
            );
        }
        return Source::File(file);
    }
    let mut given = given.unwrap_or_default();
    convert::walk_order(&mut given, |(key, _)| key);
    let entries: IndexMap<Text, Value> = given.into_iter().map(|(key, value)| (Text::from(key), value)).collect();
    let dictionary = Dictionary::new(entries, matching).unwrap_or_else(|error| {
        options.invalid("dictionary", error);
        Dictionary::default()
    });
    Source::Given(Arc::new(dictionary))
}

impl Filter for Translate {
    fn register(&self) -> Result<(), PluginError> {
        match &self.dictionary {
            Source::File(file) => file.open().map_err(PluginError::new),
            Source::Given(_) => Ok(()),
        }
    }

    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let dictionary = match &self.dictionary {
            Source::Given(dictionary) => dictionary.clone(),
            Source::File(file) => file.current(),
        };
        let mut key = Vec::new();
        batch.each(|event| match self.translate(event, &dictionary, &mut key) {
            Ok(true) => Outcome::Matched,
            Ok(false) => Outcome::Unmatched,
            Err(error) => {
                tracing::error!(target: "logstash.filters.translate", target = %self.target,
                    "Something went wrong when attempting to translate from dictionary: {error}");
                Outcome::Unmatched
            }
        });
    }
}

impl Translate {
    /// Whether there was something to set; in place a source that is there is enough.
    fn translate(&self, event: &mut Event, dictionary: &Dictionary, key: &mut Vec<u8>) -> Result<bool, FieldError> {
        if let Over::Maps(list) = &self.over {
            return self.in_maps(event, list, dictionary, key);
        }
        if !self.overrides && event.includes(&self.target) {
            return Ok(false);
        }
        let Some(value) = event.get(&self.source) else { return Ok(false) };
        let found = match &self.over {
            Over::Elements => self.elements(event, value, dictionary, key),
            _ => self.look_up(event, value, dictionary, key),
        };
        match found {
            Some(found) => event.set(&self.target, found).map(|()| true),
            None => Ok(self.in_place),
        }
    }

    /// What the dictionary has, or the fallback.
    fn look_up(&self, event: &Event, value: &Value, dictionary: &Dictionary, key: &mut Vec<u8>) -> Option<Value> {
        let found = dictionary.find(text_of(value, key));
        found.or_else(|| self.fallback.as_ref().map(|fallback| Value::String(fallback.render(event))))
    }

    /// A list of what was found for each element, null for those without; `None` when all are.
    fn elements(&self, event: &Event, value: &Value, dictionary: &Dictionary, key: &mut Vec<u8>) -> Option<Value> {
        let elements = value.as_array().unwrap_or(std::slice::from_ref(value));
        let found: Vec<_> = elements.iter().map(|element| self.look_up(event, element, dictionary, key)).collect();
        let is_match = found.iter().any(Option::is_some);
        is_match.then(|| Value::Array(found.into_iter().map(Option::unwrap_or_default).collect()))
    }

    fn in_maps(
        &self,
        event: &mut Event,
        list: &FieldRef,
        dictionary: &Dictionary,
        key: &mut Vec<u8>,
    ) -> Result<bool, FieldError> {
        let count = event.get(list).and_then(Value::as_array).map_or(0, <[Value]>::len);
        let mut is_match = false;
        for at in 0..count {
            let element = list.child(&[&at.to_string()]);
            let Some(value) = event.get(&below(&element, &self.source)) else { continue };
            if let Some(found) = self.look_up(event, value, dictionary, key) {
                event.set(&below(&element, &self.target), found)?;
                is_match = true;
            }
        }
        Ok(is_match)
    }
}

/// A field inside of another one.
fn below(outer: &FieldRef, inner: &FieldRef) -> FieldRef {
    let names: Vec<&str> = inner.path().iter().map(|segment| segment.name.as_str()).collect();
    outer.child(&names)
}

/// The text to look up: that of the value, or of the first element of a list.
fn text_of<'a>(value: &'a Value, buffer: &'a mut Vec<u8>) -> &'a str {
    let value = match value {
        Value::Array(list) => list.first().unwrap_or(&Value::Null),
        other => other,
    };
    if let Value::String(text) = value {
        return text;
    }
    buffer.clear();
    text_form::write_ruby(value, buffer);
    // Everything that is printed is UTF-8.
    std::str::from_utf8(buffer).unwrap_or_default()
}
