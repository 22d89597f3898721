//! `elasticsearch`: asks a cluster for documents, once or by a schedule, and makes events of them.
//!
//! [`pages`] gets the hits page by page; [`hit`] makes events of them; [`cursor`] remembers how far an earlier run
//! came. A page that cannot be had is asked for again where that is safe. Where it is not (a scroll whose answer was
//! lost has moved on), the run begins anew: documents come twice rather than not at all.

mod cursor;
mod hit;
mod options;
mod pages;
mod query;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use self::cursor::Cursor;
use self::options::Settings;
use self::pages::Run;
use crate::event::Event;
use crate::plugins::elasticsearch::search::Searcher;
use crate::plugins::{Input, InputPlugin, InputSink, Lease, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin =
    InputPlugin { name: "elasticsearch", summary: "Reads documents of Elasticsearch or OpenSearch.", build };

/// Name of the logger.
const LOG: &str = "logstash.inputs.elasticsearch";
/// How often it is looked whether the pipeline has dealt with what was pushed.
const LOOK: Duration = Duration::from_secs(1);

/// Why a run did not reach its end.
#[derive(Debug)]
enum Broken {
    /// The pipeline is stopping, or gone.
    Stopped,
    /// It would fail again: the server does not take the question.
    Refused(String),
    /// Another time it may work.
    Failed(String),
}

struct Elasticsearch {
    /// None when the options are wrong; the pipeline does not start then.
    parts: Option<Parts>,
}

struct Parts {
    settings: Arc<Settings>,
    searcher: Arc<Searcher>,
    cursor: Option<Cursor>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let parts = options::read(options).map(|(settings, searcher, cursor)| Parts {
        settings: Arc::new(settings),
        searcher: Arc::new(searcher),
        cursor,
    });
    Box::new(Elasticsearch { parts })
}

#[async_trait]
impl Input for Elasticsearch {
    async fn register(&mut self) -> Result<(), PluginError> {
        match self.parts.as_mut().and_then(|parts| parts.cursor.as_mut()) {
            Some(cursor) => cursor.open(),
            None => Ok(()),
        }
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let Some(parts) = &mut self.parts else { return Ok(()) };
        if parts.settings.schedule.is_some() {
            return parts.by_schedule(sink, stop).await;
        }
        match parts.once(sink, stop).await {
            Ok(()) | Err(Broken::Stopped) => Ok(()),
            Err(Broken::Refused(why)) => {
                tracing::error!(target: LOG, "The query is refused, the input ends: {why}");
                Ok(())
            }
            Err(Broken::Failed(why)) => {
                Err(PluginError(format!("the query did not get to its end, it begins anew: {why}")))
            }
        }
    }

    async fn close(&mut self) {
        if let Some(cursor) = self.parts.as_mut().and_then(|parts| parts.cursor.as_mut()) {
            cursor.save();
        }
    }
}

impl Parts {
    async fn once(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), Broken> {
        let query =
            self.settings.query.filled(self.cursor.as_ref().map(Cursor::last_value)).map_err(Broken::Refused)?;
        let run = Run { settings: &self.settings, searcher: &self.searcher, cursor: self.cursor.as_ref(), sink, stop };
        let ended = run.to_end(query).await;
        if let Some(cursor) = &mut self.cursor {
            if ended.is_ok() {
                cursor.use_newest();
            }
            cursor.save();
        }
        ended
    }

    /// Runs whenever it is time. A run that fails does not keep the next one from its turn.
    async fn by_schedule(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let settings = self.settings.clone();
        let Some(schedule) = &settings.schedule else { return Ok(()) };
        let mut due = schedule.next_after(jiff::Timestamp::now());
        while let Some(at) = due {
            if self.wait_until(at, stop).await {
                return Ok(());
            }
            match self.once(sink, stop).await {
                Ok(()) => {}
                Err(Broken::Stopped) => return Ok(()),
                Err(Broken::Refused(why) | Broken::Failed(why)) => {
                    tracing::error!(target: LOG, "A scheduled query failed: {why}");
                }
            }
            // One that was due meanwhile follows at once, where runs may queue up.
            let from = if settings.schedule_overlap { at } else { jiff::Timestamp::now() };
            due = schedule.next_after(from).map(|next| next.max(jiff::Timestamp::now()));
        }
        Ok(())
    }

    /// Whether the stop came first.
    async fn wait_until(&mut self, at: jiff::Timestamp, stop: &Stop) -> bool {
        loop {
            let Ok(left) = Duration::try_from(at.duration_since(jiff::Timestamp::now())) else {
                return stop.is_cancelled();
            };
            if left.is_zero() {
                return stop.is_cancelled();
            }
            tokio::select! {
                () = tokio::time::sleep(left.min(LOOK)) => {}
                () = stop.cancelled() => return true,
            }
            if let Some(cursor) = &mut self.cursor {
                cursor.save();
            }
        }
    }
}

/// Gives events to the pipeline.
async fn push(sink: &InputSink, events: Vec<Event>, lease: Option<Lease>) -> Result<(), Broken> {
    sink.push(events, lease).await.map_err(|_| Broken::Stopped)
}
