//! `ruby`: runs Ruby code on each event.

mod build;
#[cfg(test)]
mod tests;

use crate::event::Event;
use crate::plugins::ruby::{Answer, Exception, Given, Script, bury};
use crate::plugins::{Context, Emitter, Filter, FilterBatch, FilterPlugin, Outcome, PluginError};
use crate::settings::RubyIsolation;

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "ruby", summary: "Runs Ruby code on each event.", build: build::build };

/// What a filter does.
enum Work {
    /// It was given no script, and does not even do what the common options ask for.
    Nothing,
    /// It was given two scripts, and tags every event.
    Refused,
    /// It runs a script.
    Script(Box<Script>),
}

struct Ruby {
    work: Work,
    tag: String,
    /// Whether the message of an exception becomes a tag, too.
    tag_with_message: bool,
    context: Context,
}

impl Filter for Ruby {
    fn register(&self) -> Result<(), PluginError> {
        let kept = self.script().and_then(|script| script.state.as_ref());
        if let Some(variable) = kept.filter(|_| self.context.ruby.isolation == RubyIsolation::Auto) {
            tracing::info!(
                target: "logstash.filters.ruby",
                "the script keeps `{variable}` from event to event: one Ruby interpreter runs all scripts of the pipeline"
            );
        }
        Ok(())
    }

    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let script = match &self.work {
            Work::Script(script) => script,
            Work::Nothing => return,
            Work::Refused => {
                return batch.each(|event| {
                    self.fail(event, "the filter has `code` and `path`");
                    Outcome::Unmatched
                });
            }
        };
        let answers = script.run(&batch.events().map(|event| Given { event, task: None }).collect::<Vec<_>>());
        let mut answers = answers.into_iter();
        batch.each_emitting_with_common(|event, emitter, common| {
            let Some(answer) = answers.next() else { return Outcome::Unmatched };
            self.apply(script, answer, event, emitter, &mut |event| common.apply(event))
        });
    }

    fn remembers(&self) -> bool {
        self.script().is_some_and(|script| script.state.is_some())
    }
}

impl Ruby {
    fn script(&self) -> Option<&Script> {
        match &self.work {
            Work::Script(script) => Some(script),
            Work::Nothing | Work::Refused => None,
        }
    }

    fn apply(
        &self,
        script: &Script,
        answer: Answer,
        event: &mut Event,
        emitter: &mut Emitter,
        common: &mut dyn FnMut(&mut Event),
    ) -> Outcome {
        let mut ran = match answer {
            Answer::Ran(ran) => ran,
            Answer::Killed(reason) => {
                self.fail(event, &reason);
                bury(&self.context.dead_letters, event, &reason);
                return Outcome::Unmatched;
            }
            Answer::NotRun(reason) => {
                self.fail(event, &reason);
                return Outcome::Unmatched;
            }
        };
        let applied = ran.apply(event, &mut script.references());
        for new in applied.new_events {
            emitter.emit(new, Outcome::Unmatched);
        }
        match (ran.exception, applied.error) {
            (Some(exception), _) => {
                if ran.matched {
                    common(event);
                }
                self.note(event, &exception);
                Outcome::Unmatched
            }
            (None, Some(error)) => {
                self.fail(event, &error);
                Outcome::Unmatched
            }
            (None, None) if !ran.matched => Outcome::Unmatched,
            (None, None) => Outcome::Matched,
        }
    }

    fn note(&self, event: &mut Event, exception: &Exception) {
        tracing::error!(
            target: "logstash.filters.ruby",
            class = exception.class,
            backtrace = exception.backtrace.join(", "),
            "Ruby exception occurred: {}",
            exception.message
        );
        self.tag(event, &exception.message);
    }

    fn fail(&self, event: &mut Event, reason: &str) {
        tracing::error!(target: "logstash.filters.ruby", "the script was not run: {reason}");
        self.tag(event, reason);
    }

    fn tag(&self, event: &mut Event, message: &str) {
        if self.tag_with_message {
            event.tag(&format!("{}: {message}", self.tag));
        }
        event.tag(&self.tag);
    }
}
