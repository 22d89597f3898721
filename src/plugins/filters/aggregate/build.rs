//! The options of `aggregate`, and which of its filters say when maps are old.

use std::collections::HashSet;
use std::path::PathBuf;

use parking_lot::Mutex;

use super::Aggregate;
use crate::event::{Map, Value};
use crate::plugins::ruby::{Scripts, report};
use crate::plugins::{Filter, Options};

/// Options that only one filter of a pattern of task ids may have.
const TIMES: [&str; 8] = [
    "timeout",
    "inactivity_timeout",
    "timeout_code",
    "push_map_as_event_on_timeout",
    "push_previous_map_as_event",
    "timeout_timestamp_field",
    "timeout_task_id_field",
    "timeout_tags",
];

/// What the aggregate filters of a pipeline have in common.
#[derive(Default)]
struct Others {
    /// Patterns of task ids that one of them keeps the time of.
    timed: Mutex<HashSet<String>>,
    /// Whether one of them saves the maps.
    saved: Mutex<bool>,
}

pub(super) fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let task_id =
        options.template("task_id").doc("What the events of a task have in common, such as `%{id}`.").required();
    let pattern = task_id.source().to_string();
    if !pattern.contains("%{") && options.is_set("task_id") {
        let message = "the aggregate filter: `task_id` must be a dynamic expression such as `%{id}`, else all events are one task";
        options.invalid("task_id", message);
    }
    let mut source = Map::new();
    source.insert("id", &*options.context().plugin_id);
    source.insert("task_id", pattern.as_str());
    let code = options.string("code").doc("Ruby code that fills `map` from `event`.").required();
    source.insert("code", code);
    let action = options
        .word("map_action", &["create_or_update", "create", "update"])
        .doc("Whether the event may begin a task, only begins one, or only belongs to one.")
        .default("create_or_update".to_owned());
    source.insert("map_action", action);
    let end = options.boolean("end_of_task").doc("Whether the task ends with this event.").default(false);
    source.insert("end_of_task", end);
    let pushes_on_timeout = times(options, &mut source, &pattern);
    let maps_path = maps_path(options);
    let threshold = options
        .integer("map_count_warning_threshold")
        .doc("More maps than so many at a time are warned of.")
        .default(5000);
    source.insert("map_count_warning_threshold", threshold);
    let context = options.context();
    let loaded = context.commons.get::<Scripts>().load(source.clone(), context);
    let script = loaded.map_err(|fault| report(options, &source, fault)).ok();
    Box::new(Aggregate { script, task_id, maps_path, pushes_on_timeout, context: context.clone() })
}

/// The options on when and how maps become events. Whether they do when they are old.
fn times(options: &mut Options<'_>, source: &mut Map, pattern: &str) -> bool {
    let given = TIMES.into_iter().find(|name| options.is_set(name));
    source.insert("keeps_time", given.is_some());
    let timeout = options.integer("timeout").doc("Seconds after which a map is old.").default(1800);
    let inactivity = options
        .integer("inactivity_timeout")
        .doc("Seconds without an event after which a map is old; `timeout` if not given.")
        .optional();
    if inactivity.is_some_and(|inactivity| inactivity > timeout) {
        options.invalid(
            "inactivity_timeout",
            format!("`inactivity_timeout` must not be larger than `timeout` ({timeout})"),
        );
    }
    if options.is_set("timeout") && timeout == 0 {
        options.warn(
            "timeout",
            "aggregate-timeout",
            "with `timeout => 0` maps are old at once: it does not mean never",
        );
    }
    source.insert("timeout", timeout);
    source.insert("inactivity_timeout", inactivity.unwrap_or(timeout));
    let code = options.string("timeout_code").doc("Ruby code for events that were made of a map.").optional();
    source.insert("timeout_code", code.unwrap_or_default());
    let on_timeout =
        options.boolean("push_map_as_event_on_timeout").doc("Whether old maps become events.").default(false);
    source.insert("push_map_as_event_on_timeout", on_timeout);
    let previous = options
        .boolean("push_previous_map_as_event")
        .doc("Whether the map before becomes an event when a task begins.")
        .default(false);
    source.insert("push_previous_map_as_event", previous);
    let field = options.string("timeout_timestamp_field").doc("Measures age by this time of the events.").optional();
    source.insert("timeout_timestamp_field", field.map_or(Value::Null, Value::from));
    let field = options.string("timeout_task_id_field").doc("Where the task's id stands in events of maps.").optional();
    source.insert("timeout_task_id_field", field.map_or(Value::Null, Value::from));
    let tags = options.strings("timeout_tags").doc("Tags of events that were made of a map.").optional();
    source.insert("timeout_tags", tags.unwrap_or_default());
    let others = options.context().commons.get::<Others>();
    if let Some(name) = given
        && !others.timed.lock().insert(pattern.to_owned())
    {
        let message = format!(
            "for the task_id pattern `{pattern}` another aggregate filter has timeout options: only one may have them"
        );
        options.invalid(name, message);
    }
    on_timeout
}

fn maps_path(options: &mut Options<'_>) -> Option<PathBuf> {
    let path = options
        .string("aggregate_maps_path")
        .doc("File that keeps the maps while the pipeline is stopped.")
        .optional()?;
    let others = options.context().commons.get::<Others>();
    if std::mem::replace(&mut *others.saved.lock(), true) {
        options
            .invalid("aggregate_maps_path", "only one aggregate filter of a pipeline may have `aggregate_maps_path`");
    }
    Some(PathBuf::from(path))
}
