//! `elasticsearch`: asks a cluster about each event, and takes what it answers into the event.
//!
//! [`question`] says what is asked, [`found`] where the answer goes. A worker waits for the answer; an answer that does
//! not come, or not as a whole, is a tag.

mod found;
mod options;
mod question;

use parking_lot::RwLock;
use tokio::runtime::Handle;

use self::found::Destinations;
use self::question::Question;
use crate::event::{Event, Text};
use crate::plugins::elasticsearch::search::{Failure, Searcher};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome, PluginError};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "elasticsearch", summary: "Looks documents up in Elasticsearch or OpenSearch.", build };

/// Name of the logger.
const LOG: &str = "logstash.filters.elasticsearch";

struct Elasticsearch {
    /// None when the options are wrong; the pipeline does not start then.
    lookup: Option<Lookup>,
    /// Where requests run; none before the start.
    runtime: RwLock<Option<Handle>>,
}

/// What the filter was told.
struct Lookup {
    searcher: Searcher,
    question: Question,
    destinations: Destinations,
    /// `retry_on_failure`
    retries: u32,
    /// `retry_on_status`
    retry_on: Vec<i64>,
    /// `tag_on_failure`
    tags: Vec<Text>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    Box::new(Elasticsearch { lookup: options::read(options), runtime: RwLock::new(None) })
}

impl Filter for Elasticsearch {
    fn register(&self) -> Result<(), PluginError> {
        let (Some(lookup), Ok(runtime)) = (&self.lookup, Handle::try_current()) else { return Ok(()) };
        let server = tokio::task::block_in_place(|| runtime.block_on(lookup.searcher.server()));
        server.map_err(|failure| {
            PluginError(format!("Could not connect to a compatible version of Elasticsearch: {failure}"))
        })?;
        *self.runtime.write() = Some(runtime);
        Ok(())
    }

    fn filter(&self, batch: &mut FilterBatch<'_>) {
        let (Some(lookup), Some(runtime)) = (&self.lookup, self.runtime.read().clone()) else { return };
        batch.each(|event| runtime.block_on(lookup.ask(event)));
    }
}

impl Lookup {
    async fn ask(&self, event: &mut Event) -> Outcome {
        let mut left = self.retries;
        loop {
            match self.question.ask(&self.searcher, event).await {
                Ok(answer) => return self.destinations.put(answer, event),
                Err(failure) if left > 0 && self.is_worth_a_retry(&failure) => left -= 1,
                Err(failure) => {
                    tracing::warn!(target: LOG, "Failed to query elasticsearch for previous event: {failure}");
                    self.tags.iter().for_each(|tag| event.tag(tag));
                    return Outcome::Unmatched;
                }
            }
        }
    }

    fn is_worth_a_retry(&self, failure: &Failure) -> bool {
        match failure {
            Failure::Refused { status, .. } => self.retry_on.contains(&i64::from(*status)),
            Failure::Unreachable(_) | Failure::Senseless { .. } => true,
        }
    }
}
