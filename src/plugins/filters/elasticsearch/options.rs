//! The options of the filter.

use std::time::Duration;

use super::Lookup;
use super::found::{Destinations, Pairs};
use super::question::{Body, Param, Question};
use crate::event::{FieldRef, Template, Text, Value};
use crate::plugins::Options;
use crate::plugins::elasticsearch::connections::{self, Patience};
use crate::plugins::elasticsearch::http::Agent;
use crate::plugins::elasticsearch::search::Searcher;

const AGENT: Agent =
    Agent { plugin: "logstash-filter-elasticsearch/4.3.1", origin: Some("logstash-filter-elasticsearch") };
/// Longest time until a connection is there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest silence of a server, and longest request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Reads them. `None` when one that everything else needs is wrong; every mistake is reported.
pub(super) fn read(options: &mut Options<'_>) -> Option<Lookup> {
    let searcher = searcher(options);
    let question = question(options);
    let target = options.field("target").doc("Field that takes everything; else it goes into the event.").optional();
    let destinations = Destinations {
        fields: pairs(options, "fields", "Fields of the documents, and the fields that take them.", target.as_ref()),
        docinfo: pairs(
            options,
            "docinfo_fields",
            "What the server says of the documents (`_id`), and the fields that take it.",
            target.as_ref(),
        ),
        aggregations: pairs(
            options,
            "aggregation_fields",
            "Aggregations, and the fields that take them.",
            target.as_ref(),
        ),
        target,
    };
    let retries =
        options.integer("retry_on_failure").doc("How often a question that failed is asked again.").default(0);
    let retry_on = options
        .integers("retry_on_status")
        .doc("Statuses of answers after which that happens.")
        .default(vec![500, 502, 503, 504]);
    let tags = options
        .strings("tag_on_failure")
        .doc("Tags of an event without an answer.")
        .default(vec!["_elasticsearch_lookup_failure".to_owned()]);
    Some(Lookup {
        searcher: searcher?,
        question: question?,
        destinations,
        retries: u32::try_from(retries).unwrap_or(0),
        retry_on,
        tags: tags.into_iter().map(Text::from).collect(),
    })
}

fn searcher(options: &mut Options<'_>) -> Option<Searcher> {
    let asking = connections::asking(options);
    for (name, instead) in [
        ("ssl", "Set `ssl_enabled` instead."),
        ("ca_file", "Set `ssl_certificate_authorities` instead."),
        ("keystore", "Set `ssl_keystore_path` instead."),
        ("keystore_password", "Set `ssl_keystore_password` instead."),
    ] {
        options.obsolete(name, instead);
    }
    let patience = Patience { connect: CONNECT_TIMEOUT, silence: TIMEOUT, request: TIMEOUT };
    asking.searcher(options, AGENT, patience)
}

fn question(options: &mut Options<'_>) -> Option<Question> {
    let style = options.context().escape_style;
    let kind = options.word("query_type", &["dsl", "esql"]).doc("Language of `query`.").default("dsl".to_owned());
    let index = options
        .template("index")
        .doc("Index, alias or pattern to search; several with commas, all of them when empty.")
        .default(Template::constant(""));
    let words = options
        .template("query")
        .doc("What to ask, in the query string language, or in ES|QL with `query_type => esql`.")
        .optional();
    let file =
        options.path("query_template").doc("JSON file with the body of the search; instead of `query`.").optional();
    let params = options
        .hash("query_params")
        .doc("Parameters that a query in ES|QL names: a field such as `[user][id]`, or a value.")
        .default(Vec::new());
    let sort = options.string("sort").doc("Order of the hits of `query`.").default("@timestamp:desc".to_owned());
    let enable_sort = options.boolean("enable_sort").doc("Whether they are sorted.").default(true);
    let size = options.integer("result_size").doc("Hits of `query`.").default(1);
    if kind == "esql" {
        let Some(query) = words.filter(|_| file.is_none()) else {
            options.invalid("query", "`query_type => esql` needs a `query`, and takes no `query_template`");
            return None;
        };
        let param = |(name, value): &(String, Value)| Some((name.clone(), Param::new(value, style)));
        let mut compiled = Vec::new();
        for (name, param) in params.iter().filter_map(param) {
            match param {
                Ok(param) => compiled.push((name, param)),
                Err(why) => options.invalid("query_params", why),
            }
        }
        return Some(Question::Esql { query: query.source().to_string(), params: compiled });
    }
    if options.is_set("query_params") {
        options.invalid("query_params", "`query_params` are for `query_type => esql`");
    }
    match (words, file) {
        (Some(words), None) => Some(Question::Words { index, words, size, sort: enable_sort.then_some(sort) }),
        (None, Some(file)) => {
            let body = Body::read(&file, style).map_err(|why| options.invalid("query_template", why)).ok()?;
            Some(Question::Body { index, body })
        }
        (words, _) => {
            let what = if words.is_some() { "and only one of them" } else { "and there is none" };
            options.invalid("query", format!("give `query` or `query_template`, {what}"));
            None
        }
    }
}

/// A hash of source and destination, or a list of such pairs; a name alone is both.
fn pairs(options: &mut Options<'_>, name: &'static str, doc: &'static str, target: Option<&FieldRef>) -> Pairs {
    let style = options.context().escape_style;
    let given = options.value(name).doc(doc).optional();
    let mut named: Vec<(String, String)> = Vec::new();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let of_map = |value: &Value| -> Option<Vec<(String, String)>> {
        value.as_map()?.iter().map(|(from, to)| Some((from.to_string(), text(to)?))).collect()
    };
    let of_item = |value: &Value| -> Option<Vec<(String, String)>> {
        match value.as_array() {
            Some([from, to]) => Some(vec![(text(from)?, text(to)?)]),
            Some(_) => None,
            None => of_map(value).or_else(|| Some(vec![(text(value)?, text(value)?)])),
        }
    };
    let read = given.as_ref().map(|value| match value.as_array() {
        Some(items) => items.iter().map(of_item).collect::<Option<Vec<_>>>().map(|pairs| pairs.concat()),
        None => of_item(value),
    });
    match read {
        None => {}
        Some(Some(pairs)) => named = pairs,
        Some(None) => options.invalid(name, format!("`{name}` is a hash of names: {{ \"from\" => \"to\" }}")),
    }
    let mut pairs = Pairs::new();
    for (from, to) in named {
        match (FieldRef::parse(&from, style), FieldRef::parse(&to, style)) {
            (Ok(from), Ok(to)) => pairs.push((from, inside(target, to))),
            (Err(error), _) | (_, Err(error)) => options.invalid(name, error.to_string()),
        }
    }
    pairs
}

fn inside(target: Option<&FieldRef>, field: FieldRef) -> FieldRef {
    let Some(target) = target else { return field };
    let names: Vec<&str> = field.path().iter().map(|segment| segment.name.as_str()).collect();
    target.child(&names)
}
