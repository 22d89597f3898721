//! `mutate`: renames, converts and rewrites fields.
//!
//! The operations of a block run in a fixed order, whatever the order in the configuration; the first one that fails
//! ends the filter for its event.

mod build;
mod convert;
mod gsub;
mod merge;
mod number_text;
mod operation;
#[cfg(test)]
mod tests;

use self::operation::Operation;
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "mutate", summary: "Renames, converts and rewrites fields.", build };

struct Mutate {
    /// In the order in which they run.
    operations: Vec<Operation>,
    tag_on_failure: String,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let operations = build::operations(options);
    let tag_on_failure = options
        .string("tag_on_failure")
        .doc("Tag of an event on which an operation failed.")
        .default("_mutate_error".to_owned());
    Box::new(Mutate { operations, tag_on_failure })
}

impl Filter for Mutate {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| match self.operations.iter().try_for_each(|operation| operation.apply(event)) {
            Ok(()) => Outcome::Matched,
            Err(error) => {
                tracing::warn!(target: "logstash.filters.mutate",
                    "Exception caught while applying mutate filter: {error}");
                event.tag(&self.tag_on_failure);
                Outcome::Unmatched
            }
        });
    }
}
