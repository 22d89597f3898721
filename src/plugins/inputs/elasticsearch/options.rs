//! The options of the input.

use std::path::PathBuf;
use std::time::Duration;

use super::cursor::Cursor;
use super::hit::Places;
use super::query::Query;
use crate::event::FieldRef;
use crate::plugins::elasticsearch::connections::{self, Patience};
use crate::plugins::elasticsearch::http::Agent;
use crate::plugins::elasticsearch::search::Searcher;
use crate::plugins::schedule::Schedule;
use crate::plugins::{Ecs, Options};

const AGENT: Agent =
    Agent { plugin: "logstash-input-elasticsearch/5.2.1", origin: Some("logstash-input-elasticsearch") };
/// `tracking_field_seed` unless given.
const SEED: &str = "1970-01-01T00:00:00.000000000Z";

/// `response_type`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    Hits,
    Aggregations,
}

/// `search_api`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchApi {
    Auto,
    SearchAfter,
    Scroll,
}

/// What the input was told.
pub(super) struct Settings {
    pub index: String,
    pub query: Query,
    pub response: Response,
    pub search_api: SearchApi,
    /// Hits of a page.
    pub size: i64,
    /// How long the server keeps a search for the next page, as it writes times.
    pub keep_alive: String,
    /// Parts that are asked for at once; 1 for all in one.
    pub slices: i64,
    /// How often one question is asked again.
    pub retries: i64,
    pub places: Places,
    pub schedule: Option<Schedule>,
    /// Whether a run that was due during another one follows it at once.
    pub schedule_overlap: bool,
}

/// Reads them. `None` when one that everything else needs is wrong; every mistake is reported.
pub(super) fn read(options: &mut Options<'_>) -> Option<(Settings, Searcher, Option<Cursor>)> {
    options.idle_codec("documents are JSON");
    let searcher = searcher(options);
    let ecs = Ecs::read(options);
    let index = options
        .string("index")
        .doc("Index, alias or pattern to search; several with commas.")
        .default("logstash-*".to_owned());
    let query = query(options);
    let response = options.word("response_type", &["hits", "aggregations"]);
    let response = response.doc("`aggregations` makes one event of them.").default("hits".to_owned());
    let size = options.integer("size").doc("Hits of a page.").default(1000);
    let api = options.word("search_api", &["auto", "search_after", "scroll"]);
    let api = api
        .doc("How pages follow each other. `auto` is search_after with Elasticsearch 8 and newer, else scroll.")
        .default("auto".to_owned());
    let keep_alive = options
        .string("scroll")
        .doc("How long the server keeps a search for the next page, such as 1m.")
        .default("1m".to_owned());
    let slices = options.integer("slices").doc("So many parts of the search run at once.").optional();
    let retries = options.integer("retries").doc("How often a page that failed is asked for again.").default(0);
    let docinfo = docinfo(options, ecs);
    let target = options.field("target").doc("Field that takes the document; else it is the event.").optional();
    let schedule = schedule(options);
    let schedule_overlap = options
        .boolean("schedule_overlap")
        .doc("Whether a run that was due during another one follows it at once; false leaves it out.")
        .default(true);
    let cursor = cursor(options);
    for (name, value, least) in [("size", size, 1), ("slices", slices.unwrap_or(1), 1), ("retries", retries, 0)] {
        if value < least {
            options.invalid(name, format!("`{name}` is at least {least}, and not {value}"));
        }
    }
    if cursor.is_some() && slices.is_some_and(|slices| slices > 1) {
        options.invalid("slices", "with `slices` there is no last document, which `tracking_field` needs");
    }
    if keep_alive.is_empty() || !keep_alive.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        options.invalid("scroll", "`scroll` is a time as the server writes them, such as 1m or 30s");
    }
    let settings = Settings {
        index,
        query: query?,
        response: if response == "hits" { Response::Hits } else { Response::Aggregations },
        search_api: match api.as_str() {
            "scroll" => SearchApi::Scroll,
            "search_after" => SearchApi::SearchAfter,
            _ => SearchApi::Auto,
        },
        size,
        keep_alive,
        slices: slices.unwrap_or(1),
        retries,
        places: Places { target, docinfo },
        schedule: schedule?,
        schedule_overlap,
    };
    Some((settings, searcher?, cursor))
}

fn searcher(options: &mut Options<'_>) -> Option<Searcher> {
    let asking = connections::asking(options);
    let mut seconds = |name, doc, default| options.seconds(name).doc(doc).default(Duration::from_secs(default));
    let connect = seconds("connect_timeout_seconds", "Longest time until a connection is there.", 10);
    let request = seconds("request_timeout_seconds", "Longest time of a request as a whole.", 60);
    let silence = seconds("socket_timeout_seconds", "Longest silence of a server.", 60);
    for (name, instead) in [
        ("ssl", "Set `ssl_enabled` instead."),
        ("ca_file", "Set `ssl_certificate_authorities` instead."),
        ("ssl_certificate_verification", "Set `ssl_verification_mode` instead."),
    ] {
        options.obsolete(name, instead);
    }
    asking.searcher(options, AGENT, Patience { connect, silence, request })
}

fn query(options: &mut Options<'_>) -> Option<Query> {
    let kind = options.word("query_type", &["dsl", "esql"]).doc("Language of `query`.").default("dsl".to_owned());
    let text = options
        .string("query")
        .doc("What to ask. `:last_value` and `:present` (30 s ago) are replaced in it.")
        .default("{ \"sort\": [ \"_doc\" ] }".to_owned());
    let query = if kind == "dsl" {
        Query::Dsl(text)
    } else {
        for name in ["index", "size", "slices", "search_api", "docinfo", "response_type"] {
            if options.is_set(name) {
                options.invalid(name, format!("`{name}` has no meaning with `query_type => esql`"));
            }
        }
        if !options.is_set("query") {
            options.invalid("query", "`query_type => esql` needs a `query`");
        }
        Query::Esql(text)
    };
    query.check().map_err(|why| options.invalid("query", why)).ok()?;
    Some(query)
}

fn docinfo(options: &mut Options<'_>, ecs: Ecs) -> Option<(FieldRef, Vec<String>)> {
    let on = options.boolean("docinfo").doc("Whether events get what the server says of the document.").default(false);
    let target = options
        .field("docinfo_target")
        .doc("Field that takes it: `[@metadata]` without ECS, else `[@metadata][input][elasticsearch]`.")
        .optional();
    let names = options
        .strings("docinfo_fields")
        .doc("What of it.")
        .default(["_index", "_type", "_id"].map(str::to_owned).to_vec());
    let way: &[&str] = if ecs.is_disabled() { &["@metadata"] } else { &["@metadata", "input", "elasticsearch"] };
    on.then(|| (target.unwrap_or_else(|| FieldRef::path_of(way)), names))
}

/// The outer `None` means a wrong one.
fn schedule(options: &mut Options<'_>) -> Option<Option<Schedule>> {
    let text = options
        .string("schedule")
        .doc("When to ask, in cron's words, with a time zone if need be: `*/5 * * * * UTC`. Once without it.")
        .optional();
    let schedule = text.map(|text| Schedule::parse(&text)).transpose();
    schedule.map_err(|why| options.invalid("schedule", why)).ok()
}

fn cursor(options: &mut Options<'_>) -> Option<Cursor> {
    let field = options
        .field("tracking_field")
        .doc("Field of the event whose value in the last document takes the place of `:last_value` in the next run.")
        .optional();
    let seed = options.string("tracking_field_seed").doc("That value before the first run.").default(SEED.to_owned());
    let file = options
        .string("last_run_metadata_path")
        .doc("File that keeps the value; plugins/inputs/elasticsearch/<pipeline id>/last_run_value in `path.data` unless given.")
        .optional();
    let context = options.context();
    let own = || {
        let folder = context.path_data.join("plugins/inputs/elasticsearch").join(&*context.pipeline_id);
        folder.join("last_run_value")
    };
    let file = file.map_or_else(own, PathBuf::from);
    if file.is_dir() {
        options.invalid("last_run_metadata_path", "`last_run_metadata_path` is a file, and this is a directory");
    }
    field.map(|field| Cursor::new(field, file, seed))
}
