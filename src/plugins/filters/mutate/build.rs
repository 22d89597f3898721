//! From the options of a `mutate` block to its operations.

use super::convert::Conversion;
use super::gsub::Gsub;
use super::merge::Merge;
use super::operation::Operation;
use crate::event::{FieldName, FieldRef, Template, Text, Value, text_form};
use crate::plugins::filters::text::{self, Change};
use crate::plugins::{Options, convert};

/// All operations of a block, in the order in which they run.
pub(super) fn operations(options: &mut Options<'_>) -> Vec<Operation> {
    let mut all = Vec::new();
    coerce(options, &mut all);
    rename(options, &mut all);
    update_and_replace(options, &mut all);
    conversions(options, &mut all);
    gsub(options, &mut all);
    changes(options, &mut all);
    split_and_join(options, &mut all);
    merge(options, &mut all);
    copy(options, &mut all);
    all
}

fn coerce(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    for (name, value) in pairs(options, "coerce", "Texts for fields that are null.") {
        if let (Some(field), Some(text)) = (field(options, "coerce", &name), template(options, "coerce", &value)) {
            all.push(Operation::Coerce(field, text));
        }
    }
}

fn rename(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    for (from, to) in pairs(options, "rename", "New names of fields.") {
        let Some(from) = name(options, "rename", &Value::from(from)) else { continue };
        if let Value::Array(_) = to {
            all.push(Operation::Rename(from, None));
        } else if let Some(to) = name(options, "rename", &to) {
            all.push(Operation::Rename(from, Some(to)));
        }
    }
}

fn update_and_replace(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    for (name, value) in pairs(options, "update", "New texts of fields that exist.") {
        if let (Some(field), Some(text)) = (field(options, "update", &name), template(options, "update", &value)) {
            all.push(Operation::Update(field, text));
        }
    }
    for (name, value) in pairs(options, "replace", "New texts of fields, made when missing.") {
        if let (Some(field), Some(text)) = (field(options, "replace", &name), template(options, "replace", &value)) {
            all.push(Operation::Replace(field, text));
        }
    }
}

fn conversions(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    for (name, value) in pairs(options, "convert", "New types of fields.") {
        let wanted = config_text(&value);
        let Some(conversion) = Conversion::named(&wanted) else {
            let message = format!("Invalid conversion type '{wanted}', expected one of {}", Conversion::NAMES);
            options.invalid("convert", message);
            continue;
        };
        if let Some(field) = field(options, "convert", &name) {
            all.push(Operation::Convert(field, conversion));
        }
    }
}

fn gsub(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    let list = options.list("gsub").doc("Triples of field, regular expression and replacement.").optional();
    let list = list.unwrap_or_default();
    let style = options.context().escape_style;
    let triples = list.chunks_exact(3);
    if !triples.remainder().is_empty() {
        let message = "Invalid gsub configuration: it takes field, pattern and replacement, three texts for each rule";
        options.invalid("gsub", message);
    }
    for triple in triples {
        let [name, pattern, replacement] = triple else { continue };
        let Some(field) = field(options, "gsub", &config_text(name)) else { continue };
        match Gsub::new(field, &config_text(pattern), &config_text(replacement), style) {
            Ok(gsub) => all.push(Operation::Gsub(gsub)),
            Err(message) => options.invalid("gsub", message),
        }
    }
}

fn changes(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    let changes: [(&'static str, &'static str, Change); 3] = [
        ("uppercase", "Fields whose text is put in capitals.", text::uppercase),
        ("capitalize", "Fields whose text gets a capital first letter and is lower case behind it.", text::capitalize),
        ("lowercase", "Fields whose text is put in lower case.", text::lowercase),
    ];
    for (name, doc, change) in changes {
        let fields = options.fields(name).doc(doc).optional().unwrap_or_default();
        all.extend(fields.into_iter().map(|field| Operation::Change(field, change)));
    }
    let fields = options.fields("strip").doc("Fields whose text loses white space at both ends.").optional();
    all.extend(fields.unwrap_or_default().into_iter().map(Operation::Strip));
}

fn split_and_join(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    for (name, separator) in pairs(options, "split", "Separators at which texts are split into lists.") {
        if let Some(field) = field(options, "split", &name) {
            all.push(Operation::Split(field, Text::from(config_text(&separator))));
        }
    }
    for (name, separator) in pairs(options, "join", "Separators with which lists are joined to texts.") {
        if let Some(field) = field(options, "join", &name) {
            all.push(Operation::Join(field, Text::from(config_text(&separator))));
        }
    }
}

fn merge(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    for (destination, sources) in pairs(options, "merge", "Fields that take in one or more others.") {
        let sources = match sources {
            Value::Array(list) => list,
            one => vec![one],
        };
        let Some(destination) = field(options, "merge", &destination) else { continue };
        let sources = sources.iter().filter_map(|source| field(options, "merge", &config_text(source))).collect();
        all.push(Operation::Merge(Merge { destination, sources }));
    }
}

fn copy(options: &mut Options<'_>, all: &mut Vec<Operation>) {
    for (from, to) in pairs(options, "copy", "Copies of fields.") {
        let Some(from) = field(options, "copy", &from) else { continue };
        if let Value::Array(_) = to {
            all.push(Operation::Copy(from, None));
        } else if let Some(to) = field(options, "copy", &config_text(&to)) {
            all.push(Operation::Copy(from, Some(to)));
        }
    }
}

/// A hash option in the order in which Logstash walks it.
fn pairs(options: &mut Options<'_>, name: &'static str, doc: &'static str) -> Vec<(String, Value)> {
    let mut pairs = options.hash(name).doc(doc).optional().unwrap_or_default();
    convert::walk_order(&mut pairs, |(key, _)| key);
    pairs
}

fn field(options: &mut Options<'_>, option: &'static str, text: &str) -> Option<FieldRef> {
    FieldRef::parse(text, options.context().escape_style)
        .map_err(|error| options.invalid(option, error.to_string()))
        .ok()
}

fn template(options: &mut Options<'_>, option: &'static str, value: &Value) -> Option<Template> {
    Template::compile(&config_text(value), options.context().escape_style)
        .map_err(|error| options.invalid(option, error.to_string()))
        .ok()
}

fn name(options: &mut Options<'_>, option: &'static str, value: &Value) -> Option<FieldName> {
    let template = template(options, option, value)?;
    FieldName::compile(template, options.context().escape_style)
        .map_err(|error| options.invalid(option, error.to_string()))
        .ok()
}

/// A value of the configuration as text; lists and maps in Ruby's form.
fn config_text(value: &Value) -> String {
    let mut out = Vec::new();
    match value {
        Value::Array(_) | Value::Map(_) => text_form::write_inspect(value, &mut out),
        scalar => text_form::write_template(scalar, &mut out),
    }
    text_form::utf8(out)
}
