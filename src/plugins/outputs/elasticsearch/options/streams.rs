//! Whether events go to a data stream: what `data_stream` says, and what the other options allow.

use super::super::stream::DataStream;
use super::documents::Documents;
use crate::plugins::{Ecs, Options};

/// Options that decide on something that a data stream decides itself.
const UNFIT: &[&str] = &[
    "doc_as_upsert",
    "document_type",
    "ilm_enabled",
    "ilm_pattern",
    "ilm_policy",
    "ilm_rollover_alias",
    "index",
    "join_field",
    "parent",
    "retry_on_conflict",
    "script",
    "script_lang",
    "script_type",
    "script_var_name",
    "scripted_upsert",
    "template",
    "template_api",
    "template_name",
    "template_overwrite",
    "upsert",
    "version",
    "version_type",
];
/// Options that only say something about a data stream.
const OWN: &[&str] = &[
    "data_stream_type",
    "data_stream_dataset",
    "data_stream_namespace",
    "data_stream_auto_routing",
    "data_stream_sync_fields",
];
/// Longest dataset and namespace, in bytes.
const LONGEST_PART: usize = 100;
/// What may not be in them.
const ILLEGAL: &[char] = &['\\', '/', '*', '?', '"', '<', '>', '|', ' ', ',', '#', ':'];

/// What was decided.
pub(super) struct Decision {
    /// The stream, if events go to one.
    pub stream: Option<DataStream>,
    /// For the log of the start.
    pub notes: Vec<String>,
}

/// Reads the options and decides.
pub(super) fn read(options: &mut Options<'_>, ecs: Ecs, documents: &Documents, manage: Option<bool>) -> Decision {
    let wanted = options
        .word("data_stream", &["true", "false", "auto"])
        .doc("Whether events go to a data stream; auto: when no other option says something that does not fit one.")
        .optional();
    let kind = options
        .word("data_stream_type", &["logs", "metrics", "synthetics", "traces"])
        .doc("First part of the name of the stream.")
        .default("logs".to_owned());
    let dataset = options.string("data_stream_dataset").doc("Its second part.").default("generic".to_owned());
    let namespace = options.string("data_stream_namespace").doc("Its third part.").default("default".to_owned());
    let auto_routing = options
        .boolean("data_stream_auto_routing")
        .doc("Events choose their stream with [data_stream][type], [dataset] and [namespace].")
        .default(true);
    let sync_fields = options
        .boolean("data_stream_sync_fields")
        .doc("Documents get the [data_stream] fields of their stream.")
        .default(true);
    for (name, part) in [("data_stream_dataset", &dataset), ("data_stream_namespace", &namespace)] {
        check_part(options, name, part);
    }
    let mut unfit: Vec<&str> = options.given().filter(|name| UNFIT.contains(name)).collect();
    if !documents.creates() {
        unfit.push("action");
    }
    if manage == Some(true) {
        unfit.push("manage_template");
    }
    let (used, notes) = decide(options, wanted.as_deref(), ecs, &unfit);
    let own: Vec<&str> = options.given().filter(|name| OWN.contains(name)).collect();
    if let Some(first) = own.first().filter(|_| !used) {
        let message = format!(
            "Ambiguous configuration: events do not go to a data stream, please remove the data stream specific \
             settings {}, or set `data_stream => true`",
            own.join(", ")
        );
        options.invalid(first, message);
    }
    let stream = used.then(|| DataStream::new([kind, dataset, namespace], auto_routing, sync_fields));
    Decision { stream, notes }
}

fn decide(options: &mut Options<'_>, wanted: Option<&str>, ecs: Ecs, unfit: &[&str]) -> (bool, Vec<String>) {
    match wanted {
        Some("false") => (false, Vec::new()),
        Some("true") => {
            if ecs.is_disabled() {
                let message =
                    "`data_stream => true` needs `ecs_compatibility => v8`, as data streams hold fields of that schema";
                options.invalid("data_stream", message);
            }
            if !unfit.is_empty() {
                let message = format!(
                    "Invalid data stream configuration, a data stream decides itself what these options say: {}",
                    unfit.join(", ")
                );
                options.invalid("data_stream", message);
            }
            (true, Vec::new())
        }
        _ if ecs.is_disabled() => (false, Vec::new()),
        _ => {
            let mut notes = Vec::new();
            if !unfit.is_empty() {
                notes.push(format!(
                    "Not eligible for data streams because config contains one or more settings that are not compatible \
                     with data streams: {}",
                    unfit.join(", ")
                ));
            }
            let used = unfit.is_empty();
            notes
                .push(format!("Data streams auto configuration (`data_stream => auto` or unset) resolved to `{used}`"));
            (used, notes)
        }
    }
}

fn check_part(options: &mut Options<'_>, name: &str, part: &str) {
    if part.is_empty() || part.len() > LONGEST_PART {
        options.invalid(name, format!("Invalid identifier: `{name}` has 1 to {LONGEST_PART} bytes"));
    }
    if part.contains(ILLEGAL) {
        options.invalid(
            name,
            format!("Invalid characters detected: `{name}` has none of \\ / * ? \" < > | , # : and blanks"),
        );
    }
}
