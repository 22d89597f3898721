//! `aggregate`: collects what belongs to a task from many events, in a map that Ruby code fills.
//!
//! The maps live in the pipeline's Ruby interpreter, which there is one of then: `runtime/aggregate.rb` has the rules.

mod build;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::event::{Event, Template, Text, Value};
use crate::plugins::ruby::{Answer, Given, Ran, Script, bury, items, new_event};
use crate::plugins::{Context, Emitter, Filter, FilterBatch, FilterPlugin, Outcome, PluginError};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin {
    name: "aggregate",
    summary: "Collects what belongs together from many events.",
    build: build::build,
};

/// Tag of an event whose code raised.
const FAILURE: &str = "_aggregateexception";

struct Aggregate {
    script: Option<Script>,
    task_id: Template,
    /// Where the maps stay while the pipeline does not run.
    maps_path: Option<PathBuf>,
    /// Whether maps become events when they are old, so that those that are not are missed at the end.
    pushes_on_timeout: bool,
    context: Context,
}

impl Filter for Aggregate {
    fn register(&self) -> Result<(), PluginError> {
        if self.context.workers > 1 {
            tracing::warn!(
                target: "logstash.filters.aggregate",
                "with {} workers events of a task may come out of order: set `pipeline.workers: 1`",
                self.context.workers
            );
        }
        let (Some(path), Some(script)) = (&self.maps_path, &self.script) else { return Ok(()) };
        match script.call("restore", &Value::from(path.to_string_lossy().as_ref())) {
            Ok(Value::Null) => Ok(()),
            Ok(error) => Err(self.maps_error("read", error.as_str().unwrap_or_default())),
            Err(failure) => Err(self.maps_error("read", &failure.to_string())),
        }
    }

    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let Some(script) = &self.script else { return };
        let given: Vec<Given<'_>> = batch.events().map(|event| Given { event, task: self.task_of(event) }).collect();
        let mut answers = script.run(&given).into_iter();
        batch.each_emitting(|event, emitter| match answers.next() {
            Some(Answer::Ran(ran)) => self.apply(script, ran, event, emitter),
            Some(Answer::Killed(reason)) => {
                self.fail(event, &reason);
                bury(&self.context.dead_letters, event, &reason);
                Outcome::Unmatched
            }
            Some(Answer::NotRun(reason)) => self.fail(event, &reason),
            None => Outcome::Unmatched,
        });
    }

    fn flushes(&self) -> bool {
        true
    }

    fn flushes_by_itself(&self) -> bool {
        true
    }

    fn flush(&self, batch: &mut FilterBatch<'_>, last: bool) {
        let Some(script) = &self.script else { return };
        let answer = match script.call("flush", &Value::Bool(last)) {
            Ok(answer) => answer,
            Err(failure) => {
                tracing::error!(target: "logstash.filters.aggregate", "{failure}: maps were not looked at, and are lost");
                return;
            }
        };
        let Some([Value::Array(events), counts, left]) = items(answer) else { return };
        for event in events.into_iter().filter_map(new_event) {
            batch.release(event, Outcome::Unmatched);
        }
        self.count(&counts, left.as_integer().unwrap_or_default());
        if last {
            self.warn_of_left(left.as_integer().unwrap_or_default());
        }
    }

    fn close(&self) {
        let (Some(path), Some(script)) = (&self.maps_path, &self.script) else { return };
        let error = match script.call("save", &Value::from(path.to_string_lossy().as_ref())) {
            Ok(Value::Null) => return,
            Ok(error) => self.maps_error("written", error.as_str().unwrap_or_default()),
            Err(failure) => self.maps_error("written", &failure.to_string()),
        };
        tracing::error!(target: "logstash.filters.aggregate", "{error}");
    }
}

impl Aggregate {
    /// A template that stays as it is has none of its fields: the event belongs to no task.
    fn task_of(&self, event: &Event) -> Option<Text> {
        let task = self.task_id.render(event);
        (task != *self.task_id.source()).then_some(task)
    }

    fn apply(&self, script: &Script, mut ran: Ran, event: &mut Event, emitter: &mut Emitter) -> Outcome {
        let applied = ran.apply(event, &mut script.references());
        for new in applied.new_events {
            emitter.emit(new, Outcome::Unmatched);
        }
        let error = ran.exception.map(|exception| format!("{} ({})", exception.message, exception.class));
        match error.or(applied.error) {
            Some(error) => self.fail(event, &error),
            None if ran.matched => Outcome::Matched,
            None => Outcome::Unmatched,
        }
    }

    fn fail(&self, event: &mut Event, reason: &str) -> Outcome {
        tracing::error!(target: "logstash.filters.aggregate", "Aggregate exception occurred. Error: {reason}");
        event.tag(FAILURE);
        Outcome::Unmatched
    }

    fn count(&self, counts: &Value, maps: i64) {
        let metrics = &self.context.metrics;
        metrics.counter("aggregate_maps").set(u64::try_from(maps).unwrap_or_default());
        for name in ["pushed_events", "task_timeouts", "code_errors", "timeout_code_errors"] {
            let new = counts.as_map().and_then(|counts| counts.get(name)).and_then(Value::as_integer);
            metrics.counter(name).add(new.and_then(|new| u64::try_from(new).ok()).unwrap_or_default());
        }
    }

    fn warn_of_left(&self, left: i64) {
        if left > 0 && self.pushes_on_timeout && self.maps_path.is_none() {
            tracing::warn!(
                target: "logstash.filters.aggregate",
                "{left} maps of `{}` are not old enough to become events, and are lost: `aggregate_maps_path` keeps them",
                self.task_id.source()
            );
        }
    }

    fn maps_error(&self, what: &str, error: &str) -> PluginError {
        let path = self.maps_path.as_deref().unwrap_or(std::path::Path::new(""));
        PluginError::new(format!("the maps in `aggregate_maps_path` ({}) could not be {what}: {error}", path.display()))
    }
}
