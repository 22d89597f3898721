//! The options of the output, read into [`Settings`].

mod old_names;
mod servers;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use super::buffers::Limits;
use super::client::Connections;
use super::pack::Compression;
use super::request::Requests;
use super::row::RowForm;
use super::sink::Manner;
use super::table::TableNames;
use super::watch::Watch;
use crate::event::{FieldRef, Text, Value, text_form};
use crate::plugins::Options;

use self::old_names::OldNames;

/// Everything that the options say.
pub(super) struct Settings {
    pub connections: Connections,
    pub requests: Requests,
    pub table: TableNames,
    pub rows: RowForm,
    pub limits: Limits,
    pub manner: Manner,
    pub watch: Watch,
    pub writers: usize,
}

/// The option `delivery`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Events are acknowledged once their rows are stored.
    AtLeastOnce,
    /// Events are acknowledged once their rows are buffered.
    AtMostOnce,
}

/// What becomes of rows whose retries are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exhausted {
    /// They are tried again.
    Keep,
    /// They are dead letters.
    DeadLetters,
    /// They go to a file in `save_dir`.
    Save,
    /// They are dropped.
    Drop,
}

impl Settings {
    /// Declares and reads all options. `None` when something is wrong that everything else needs; every mistake is
    /// reported.
    pub fn read(options: &mut Options<'_>) -> Option<Self> {
        let old = OldNames::read(options);
        let seeds = servers::seeds(options, &old);
        let connections = servers::connections(options, seeds.as_deref().unwrap_or_default());
        let database = options.string("database").doc("Database of the tables.").default("default".to_owned());
        let table = table(options);
        let (requests, answers_early) = requests(options, database);
        let rows = rows(options);
        let (limits, writers) = limits(options, &old);
        let watch = servers::watch(options, seeds.clone().unwrap_or_default());
        let manner = manner(options, &old, watch.cluster.is_some());
        let _ = options
            .word("format", &["json_each_row"])
            .doc("How rows travel; there is no other way yet.")
            .default("json_each_row".to_owned());
        if answers_early && manner.0.delivery == Delivery::AtLeastOnce {
            options.invalid(
                "wait_for_async_insert",
                "without `wait_for_async_insert` errors of the server are lost: set `delivery => at_most_once` as well, \
                 or leave it out",
            );
        }
        let (connections, table, (mut manner, retry)) = (connections?, table?, manner);
        seeds?;
        manner.has_many_tables = table.fixed().is_none();
        Some(Self {
            connections,
            requests,
            table,
            rows,
            limits: Limits { rest: retry, ..limits },
            manner,
            watch,
            writers,
        })
    }
}

fn table(options: &mut Options<'_>) -> Option<TableNames> {
    let source = options
        .string("table")
        .doc("The table, as name or database.name; may hold %{…}, see `table_case` and `table_replace`.")
        .required();
    let case = options
        .word("table_case", &["lower", "keep"])
        .doc("Whether what events put into the name of the table is made lower case.")
        .default("lower".to_owned());
    let replace = options
        .hash("table_replace")
        .doc("Texts that are replaced in what events put into the name of the table; {\"-\" => \"_\"} unless given.")
        .optional()
        .unwrap_or_else(|| vec![("-".to_owned(), Value::from("_"))]);
    let replace = replace.into_iter().map(|(from, to)| (from, text(&to))).filter(|(from, _)| !from.is_empty());
    if options.is_set("table") && source.trim_matches('.').is_empty() {
        options.invalid("table", "`table` is empty");
        return None;
    }
    let names = TableNames::new(&source, options.context().escape_style, case == "lower", replace.collect());
    names.map_err(|error| options.invalid("table", error.to_string())).ok()
}

/// The settings of inserts, and whether the server answers before it has stored the rows.
fn requests(options: &mut Options<'_>, database: String) -> (Requests, bool) {
    let given = options.hash("query_settings").doc("More settings of inserts, sent in the URL.").default(Vec::new());
    let given: Vec<(String, String)> = given.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    for (name, instead) in [
        ("query", "it is made from `table`"),
        ("user", "use the option `user`"),
        ("password", "use the option `password`"),
        ("database", "use the option `database`"),
        ("async_insert", "use the option `async_insert`"),
        ("wait_for_async_insert", "use the option `wait_for_async_insert`"),
        ("query_id", "each try gets its own"),
        ("insert_deduplication_token", "each batch gets its own"),
    ] {
        if given.iter().any(|(given, _)| given == name) {
            options.invalid("query_settings", format!("`query_settings` may not hold `{name}`: {instead}"));
        }
    }
    if let Some((name, _)) = given.iter().find(|(name, _)| name.starts_with("input_format_allow_errors_")) {
        options.warn("query_settings", "loses-data", format!("with `{name}` the server drops rows without a word"));
    }
    let skip = options
        .boolean("skip_unknown_fields")
        .doc("Whether the server ignores fields that the table has no column for; else it refuses the row.")
        .default(false);
    let best_effort = options
        .boolean("date_time_best_effort")
        .doc("Whether the server reads all usual forms of times, such as those that end in Z.")
        .default(true);
    let asynchronous = options
        .boolean("async_insert")
        .doc("Whether the server gathers small inserts before it stores them.")
        .default(false);
    let waits = options
        .boolean("wait_for_async_insert")
        .doc("Whether it answers only after that. Needed for `delivery => at_least_once`.")
        .default(true);
    let flag = |on: bool| if on { "1" } else { "0" };
    let mut own = vec![
        ("input_format_skip_unknown_fields", flag(skip)),
        ("date_time_input_format", if best_effort { "best_effort" } else { "basic" }),
        ("input_format_null_as_default", "1"),
        ("input_format_defaults_for_omitted_fields", "1"),
        ("wait_end_of_query", "1"),
    ];
    if asynchronous {
        own.extend([("async_insert", "1"), ("wait_for_async_insert", flag(waits))]);
    }
    (Requests::new(database, own, given), !waits)
}

fn rows(options: &mut Options<'_>) -> RowForm {
    let only = options.fields("fields").doc("Fields that become columns; all of the event unless given.").optional();
    let exclude = options.fields("exclude_fields").doc("Fields that do not.").optional().unwrap_or_default();
    let rename = options
        .hash("rename")
        .doc("Other names for columns, an empty one leaves the field out; {\"@timestamp\" => \"timestamp\", \"@version\" => \"\"} unless given.")
        .optional()
        .unwrap_or_else(|| vec![("@timestamp".to_owned(), "timestamp".into()), ("@version".to_owned(), "".into())]);
    let flatten = options
        .string("flatten")
        .doc("Joins the names of nested fields with this text; without it they are sent as objects.")
        .optional();
    let only = only.map(|fields| fields.iter().filter_map(|field| top(options, "fields", field)).collect());
    let exclude = exclude.iter().filter_map(|field| top(options, "exclude_fields", field));
    let exclude: HashSet<Text> = exclude.collect();
    let mut form = RowForm::default();
    (form.only, form.exclude, form.flatten) = (only, exclude, flatten);
    for (from, to) in rename {
        form.rename(from.trim_start_matches('[').trim_end_matches(']'), &text(&to));
    }
    form
}

/// The name of a field that stands at the top of the event.
fn top(options: &mut Options<'_>, option: &'static str, field: &FieldRef) -> Option<Text> {
    let name = field.top_level_name().cloned();
    if name.is_none() {
        options.invalid(
            option,
            format!("`{}` is no field at the top of the event: move it there with a `mutate` filter", field.text()),
        );
    }
    name
}

fn limits(options: &mut Options<'_>, old: &OldNames) -> (Limits, usize) {
    let flush_bytes = options.bytes("flush_bytes").doc("Bytes of rows after which a batch is sent.").default(10 << 20);
    let interval = options
        .seconds("flush_interval")
        .doc("Seconds after which a batch is sent, from its first row on.")
        .default(Duration::from_secs(30));
    let jitter = options
        .number("flush_jitter")
        .doc("Up to this share of `flush_interval` longer, at random for each batch.")
        .default(0.1);
    let rows = options.integer("flush_size").doc("Rows after which a batch is sent; 0 for no such limit.").default(0);
    let buffered = options
        .bytes("max_buffered_bytes")
        .doc("Bytes of all rows that wait in buffers; beyond that the largest batch is sent.")
        .default(256 << 20);
    let tables = options
        .integer("max_tables")
        .doc("Most tables with a buffer; beyond that the one that was not used for longest is sent.")
        .default(1000);
    let writers = options.integer("writers").doc("Inserts at a time.").default(10);
    let capacity = options
        .integer("queue_capacity")
        .doc("Batches that wait for an insert; beyond that the pipeline waits.")
        .default(10);
    let ordered = options.boolean("ordered").doc("Whether a table gets one insert at a time, in order.").default(false);
    if !(0.0..=10.0).contains(&jitter) {
        options.invalid("flush_jitter", "`flush_jitter` is a share from 0 to 10, such as 0.1");
    }
    let mut at_least_one = |name: &'static str, n: i64| {
        if n < 1 {
            options.invalid(name, format!("`{name}` is at least 1"));
        }
        usize::try_from(n).unwrap_or(1).clamp(1, 1_000_000)
    };
    let writers = at_least_one("writers", old.writers.unwrap_or(writers));
    let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).max(1);
    let limits = Limits {
        flush_bytes: bytes(flush_bytes),
        // Longer than a pipeline lives; a sum of it and now must still be a time.
        flush_interval: old.flush_interval.unwrap_or(interval).min(Duration::from_secs(365 * 86_400)),
        flush_jitter: jitter.clamp(0.0, 10.0),
        flush_rows: usize::try_from(rows).unwrap_or(0),
        buffered_bytes: bytes(buffered),
        tables: at_least_one("max_tables", tables),
        queue_capacity: at_least_one("queue_capacity", capacity),
        ordered,
        rest: (Duration::ZERO, Duration::ZERO),
    };
    if rows < 0 {
        options.invalid("flush_size", "`flush_size` is a number of rows, or 0");
    }
    (limits, writers.min(10_000))
}

fn manner(options: &mut Options<'_>, old: &OldNames, has_cluster: bool) -> (Manner, (Duration, Duration)) {
    let delivery = options
        .word("delivery", &["at_least_once", "at_most_once"])
        .doc("Whether events are acknowledged when their rows are stored, or already when they are buffered.")
        .default("at_least_once".to_owned());
    let delivery = if delivery == "at_most_once" { Delivery::AtMostOnce } else { Delivery::AtLeastOnce };
    let retries = options
        .integer("retries")
        .doc("Tries of an insert after the first; -1 for no limit. When set, rows then go to the dead letter queue.")
        .default(10);
    let first = options
        .seconds("retry_initial_interval")
        .doc("Seconds before a retry; doubled each time. The first one on another node is immediate.")
        .default(Duration::from_secs(2));
    let longest = options
        .seconds("retry_max_interval")
        .doc("Longest time between two retries, in seconds.")
        .default(Duration::from_secs(64));
    let compression =
        options.word("compression", Compression::WORDS).doc("How bodies are compressed.").default("gzip".to_owned());
    let codes = options
        .integers("exclude_codes")
        .doc("Codes of ClickHouse after which a node is left out; 210 and 1002 unless given.")
        .optional()
        .unwrap_or_else(|| vec![210, 1002]);
    let local_table = options
        .boolean("local_table")
        .doc("Whether the nodes of a `cluster` have tables of their own; false for a Distributed table. True unless given.")
        .optional();
    let retries = old.retries.unwrap_or(retries);
    if retries < -1 {
        options.invalid("retries", "`retries` is a number of tries, or -1");
    }
    let gives_up = options.is_set("retries") || old.is_used;
    let dead_letters = options.context().dead_letters.is_enabled();
    let exhausted = match delivery {
        Delivery::AtMostOnce if old.save_dir.is_none() => Exhausted::Drop,
        _ if old.save_dir.is_some() => Exhausted::Save,
        _ if gives_up && dead_letters => Exhausted::DeadLetters,
        _ => Exhausted::Keep,
    };
    let first = old.retry_initial_interval.unwrap_or(first);
    let retry = (first.min(longest), longest);
    let manner = Manner {
        delivery,
        compression: Compression::of(&compression),
        retries: u32::try_from(retries).ok(),
        retry,
        automatic_retries: old.automatic_retries,
        exhausted,
        save_dir: old.save_dir.clone().unwrap_or_else(|| PathBuf::from(".")),
        exclude_codes: codes.into_iter().filter_map(|code| u32::try_from(code).ok()).collect(),
        local_table: has_cluster && local_table.unwrap_or(true),
        has_many_tables: false,
    };
    (manner, retry)
}

/// A value as it stands in a URL or name.
fn text(value: &Value) -> String {
    let mut out = Vec::new();
    match value {
        Value::Bool(on) => return if *on { "1".to_owned() } else { "0".to_owned() },
        other => text_form::write_template(other, &mut out),
    }
    text_form::utf8(out)
}
