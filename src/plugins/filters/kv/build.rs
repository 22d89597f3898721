//! From the options of a `kv` block to the filter.

use std::time::Duration;

use super::Kv;
use super::characters::Cutter;
use super::pairs::{Edits, Names, Rules};
use super::scanner::{Scanner, Separator, Separators};
use crate::event::{FieldRef, Template, Text};
use crate::plugins::filters::text::{self, Change};
use crate::plugins::{Ecs, Filter, FilterBatch, Options, convert};
use crate::regexp::RegexpError;

pub(super) fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    // The names are the same with and without ECS.
    let _ = Ecs::read(options);
    let source = options.field("source").doc("Field that holds the text.").default(FieldRef::top("message"));
    let target = options.field("target").doc("Field that takes all pairs; without it the whole event.").optional();
    let scanner = scanner(options);
    let rules = rules(options);
    let mut default_keys = options.hash("default_keys").doc("Values of keys that the text lacks.").default(Vec::new());
    convert::walk_order(&mut default_keys, |(key, _)| key);
    let timeout = options
        .integer("timeout_millis")
        .doc("How long the pairs of one event may take; 0 is without end, up to the limit of steps of the engine.")
        .default(30_000);
    let tag_on_timeout = options
        .string("tag_on_timeout")
        .doc("Tag of an event whose pairs took too long.")
        .default("_kv_filter_timeout".to_owned());
    let tag_on_failure = options
        .strings("tag_on_failure")
        .doc("Tags of an event whose pairs cannot be stored.")
        .default(vec!["_kv_filter_error".to_owned()]);
    let Some(scanner) = scanner else { return Box::new(Unbuilt) };
    Box::new(Kv {
        source,
        target,
        scanner,
        rules,
        default_keys: default_keys.into_iter().map(|(key, value)| (Text::from(key), value)).collect(),
        timeout: u64::try_from(timeout).ok().filter(|millis| *millis > 0).map(Duration::from_millis),
        tag_on_timeout,
        tag_on_failure,
        escape_style: options.context().escape_style,
    })
}

fn scanner(options: &mut Options<'_>) -> Option<Scanner> {
    let field = separator(
        options,
        ("field_split", "Characters that separate pairs.", " "),
        ("field_split_pattern", "Regular expression that separates pairs."),
    );
    let value = separator(
        options,
        ("value_split", "Characters that separate a key from its value.", "="),
        ("value_split_pattern", "Regular expression that separates a key from its value."),
    );
    let whitespace = options
        .word("whitespace", &["lenient", "strict"])
        .doc("Whether blanks around the separator of key and value belong to it.")
        .default("lenient".to_owned());
    let has_brackets =
        options.boolean("include_brackets").doc("Whether brackets around values are taken off.").default(true);
    let separators = Separators { field, value, is_lenient: whitespace == "lenient", has_brackets };
    let scanner = Scanner::new(&separators).map_err(|error| {
        let is_pattern = |separator: &Separator| matches!(separator, Separator::Pattern(_));
        let option = match () {
            () if is_pattern(&separators.field) => "field_split_pattern",
            () if is_pattern(&separators.value) => "value_split_pattern",
            () if options.is_set("field_split") => "field_split",
            () => "value_split",
        };
        options.invalid(option, format!("`{option}` makes no regular expression: {error}"));
    });
    scanner.ok()
}

/// The stand-in of a filter that could not be built; its pipeline never starts.
struct Unbuilt;

impl Filter for Unbuilt {
    fn filter(&self, _: &mut FilterBatch<'_>) {}
}

/// A separator by its set of characters, or by its pattern, which wins.
fn separator(
    options: &mut Options<'_>,
    (set, set_doc, default): (&'static str, &'static str, &'static str),
    (pattern, pattern_doc): (&'static str, &'static str),
) -> Separator {
    let class = options.string(set).doc(set_doc).default(default.to_owned());
    let given = options.string(pattern).doc(pattern_doc).optional();
    for (name, text) in [(set, Some(&class)), (pattern, given.as_ref())] {
        if text.is_some_and(String::is_empty) {
            options.invalid(name, format!("`{name}` cannot be empty"));
        }
    }
    let class = if class.is_empty() { default.to_owned() } else { class };
    given.filter(|pattern| !pattern.is_empty()).map_or(Separator::Class(class), Separator::Pattern)
}

fn rules(options: &mut Options<'_>) -> Rules {
    let key = edits(
        options,
        ("trim_key", "Characters to take off both ends of keys."),
        ("remove_char_key", "Characters to take out of keys."),
        ("transform_key", "Letter case of keys."),
    );
    let value = edits(
        options,
        ("trim_value", "Characters to take off both ends of values."),
        ("remove_char_value", "Characters to take out of values."),
        ("transform_value", "Letter case of values."),
    );
    let include = options.templates("include_keys").doc("Keys to keep; without it all.").optional();
    let exclude = options.templates("exclude_keys").doc("Keys to leave out.").optional();
    Rules {
        key,
        value,
        include: Names::new(include.unwrap_or_default()),
        exclude: Names::new(exclude.unwrap_or_default()),
        prefix: options.template("prefix").doc("What all keys begin with.").default(Template::default()),
        allow_duplicate_values: options
            .boolean("allow_duplicate_values")
            .doc("Whether a key keeps a value that it has already.")
            .default(true),
        allow_empty_values: options.boolean("allow_empty_values").doc("Whether empty values are kept.").default(false),
        is_recursive: options.boolean("recursive").doc("Whether pairs are looked for in values.").default(false),
    }
}

fn edits(
    options: &mut Options<'_>,
    trim: (&'static str, &'static str),
    remove: (&'static str, &'static str),
    transform: (&'static str, &'static str),
) -> Edits {
    let trim = cutter(options, trim, Cutter::ends);
    let remove = cutter(options, remove, Cutter::everywhere);
    let (name, doc) = transform;
    let word = options.word(name, &["lowercase", "uppercase", "capitalize"]).doc(doc).optional();
    let transform: Option<Change> = word.map(|word| match word.as_str() {
        "lowercase" => text::lowercase as Change,
        "uppercase" => text::uppercase,
        _ => text::capitalize,
    });
    Edits { trim, remove, transform }
}

fn cutter(
    options: &mut Options<'_>,
    (name, doc): (&'static str, &'static str),
    make: fn(&str) -> Result<Cutter, RegexpError>,
) -> Option<Cutter> {
    let class = options.string(name).doc(doc).optional()?;
    make(&class).map_err(|error| options.invalid(name, format!("`{name}` is no set of characters: {error}"))).ok()
}
