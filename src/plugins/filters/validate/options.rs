//! From options to rules. Every mistake of every rule is reported, with the rule it stands in.

mod rules;

use super::cast::Cast;
use super::check::Verdict;
use super::message::Message;
use super::parsed::Parsing;
use super::report::Report;
use super::schema::Schema;
use super::{Counters, Validate};
use crate::event::{EscapeStyle, FieldRef, METADATA, Text};
use crate::plugins::Options;
use crate::plugins::filters::failure::OnFailure;
use rules::RuleReader;

/// Reads the whole block.
pub(super) fn read(options: &mut Options<'_>) -> Validate {
    let (parsing, target) = read_parsing(options);
    let cast = options.word("cast", &["strict", "sql"]);
    let cast = cast.doc("Whether values must be of their type already, or are cast as `TRY_CAST` does.");
    let cast = if cast.default("strict".to_owned()) == "sql" { Cast::Sql } else { Cast::Strict };
    let mode = options.word("mode", &["first", "all"]).doc("Whether the first failing check is reported, or all.");
    let all = mode.default("first".to_owned()) == "all";
    let given = options.list("rules").doc("What is wanted of fields, a list of hashes; see the documentation.");
    let given = given.optional().unwrap_or_default();
    let mut reader = RuleReader::new(options.context(), cast, target);
    let rules = given.iter().enumerate().filter_map(|(at, rule)| reader.read(at, rule)).collect();
    reader.faults.iter().for_each(|fault| options.invalid("rules", fault.as_str()));
    reader.secrets.iter().for_each(|secret| options.hide("rules", secret));
    let schema = read_schema(options);
    let metrics = options.context().metrics.clone();
    let counter = |name| metrics.counter(name);
    let counters = Counters {
        valid: counter("valid"),
        invalid: counter("invalid"),
        parse_errors: counter("parse_errors"),
        dlq: counter("dlq"),
        dropped: counter("dropped"),
    };
    let report = read_report(options, parsing.as_ref());
    let tag_on_failure = options.strings("tag_on_failure").doc("Tags of an event that is not valid.");
    let tag_on_failure = tag_on_failure.default(vec!["_validatefailure".to_owned()]);
    let on_failure = OnFailure::read(options);
    let fields = options.word("failure_fields", &["keep", "remove"]);
    let fields = fields.doc("Whether parsed members stay on an event that is not valid.").default("keep".to_owned());
    Validate {
        parsing,
        rules,
        all,
        schema,
        report,
        tag_on_failure,
        on_failure,
        keeps_fields: fields == "keep",
        counters,
    }
}

/// How the text is read, and the target of its members.
fn read_parsing(options: &mut Options<'_>) -> (Option<Parsing>, Option<FieldRef>) {
    let source = options.field("source").doc("Field that holds the raw text.").default(FieldRef::top("message"));
    let parse = options.word("parse", &["json", "none"]);
    let parse = parse.doc("Reads the text as JSON, or looks at the event as it is.").default("json".to_owned());
    let target = options.field("target").doc("Field that takes the members; without it the event.").optional();
    let words = &["error", "missing"];
    let parse_error = options.word("parse_error", words);
    let parse_error = parse_error.doc("Whether broken text is an error of its own, or has no members.");
    let broken_ends = parse_error.default("error".to_owned()) == "error";
    let non_object = options.word("non_object", words).doc("The same for a text that is JSON and no object.");
    let non_object_ends = non_object.default("missing".to_owned()) == "error";
    if parse == "none" {
        return (None, None);
    }
    let of_record = |name| FieldRef::path_of(&[METADATA, "kafka", name]);
    let (tombstone, bytes) = (of_record("tombstone"), of_record("value_base64"));
    (Some(Parsing { source, target: target.clone(), broken_ends, non_object_ends, tombstone, bytes }), target)
}

fn read_report(options: &mut Options<'_>, parsing: Option<&Parsing>) -> Report {
    let raw_target = options.field("raw_target").doc("Takes the raw text, also of a valid event.");
    let raw_target = raw_target.default(FieldRef::path_of(&[METADATA, "validate", "raw"]));
    let target = options.field("error_target").doc("Takes the result.");
    let target = target.default(FieldRef::path_of(&[METADATA, "validate"]));
    let most_message = length(options, "max_message_length", "Most characters of a message.", 1000);
    let most_value = length(options, "max_value_length", "Most characters of a value in a message.", 200);
    Report {
        target,
        raw_target,
        most_message,
        most_value,
        validator: Text::from(&*options.context().plugin_id),
        no_json: built_in(options, "parse", "JSON_PARSE_ERROR"),
        no_text: built_in(options, "encoding", "ENCODING_ERROR"),
        source: parsing.map(|parsing| parsing.source.text().clone()).unwrap_or_default(),
    }
}

fn length(options: &mut Options<'_>, name: &'static str, doc: &'static str, usual: i64) -> usize {
    let given = options.integer(name).doc(doc).default(usual);
    usize::try_from(given).unwrap_or_else(|_| {
        options.invalid(name, format!("`{name}` is not negative"));
        0
    })
}

fn read_schema(options: &mut Options<'_>) -> Option<Schema> {
    let path =
        options.path("json_schema").doc("JSON Schema (2020-12) that the document must follow, behind the rules.");
    let path = path.optional()?;
    let verdict = built_in(options, "schema", "SCHEMA_VIOLATION");
    Schema::read(&path, verdict).map_err(|message| options.invalid("json_schema", message)).ok()
}

/// What is told of a check that the configuration does not name.
fn built_in(options: &Options<'_>, check: &'static str, code: &'static str) -> Verdict {
    Verdict {
        check,
        code: Text::borrowed(code),
        message: Message::compile("", EscapeStyle::None).unwrap_or_default(),
        limit: Text::new(),
        counter: options.context().metrics.counter_at(["codes", code]),
    }
}
