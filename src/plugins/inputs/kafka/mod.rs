//! `kafka`: reads topics as a member of a consumer group.
//!
//! Each consumer has a thread ([`consumer`]) that asks librdkafka for records and never waits long for the pipeline, so
//! that the group does not take us for dead. [`record`] makes events; [`partition`] knows how far each partition is
//! dealt with, which is what is committed; [`watch`] hears what librdkafka has to say, above all that partitions come
//! and go; [`mod@conclusion`] ends the transactions of `commit => "transaction"`.

mod conclusion;
mod consumer;
mod options;
mod partition;
mod pattern;
mod record;
#[cfg(test)]
mod tests;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use tokio::sync::mpsc;

use self::conclusion::Conclusion;
use self::consumer::Consumer;
use self::options::{Commit, Settings};
use crate::plugins::kafka::transaction::Transactions;
use crate::plugins::{Context, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "kafka", summary: "Reads topics of Kafka.", build };

/// Name of the logger.
const LOG: &str = "logstash.inputs.kafka";

struct Kafka {
    /// None when the options are wrong; the pipeline does not start then.
    settings: Option<Arc<Settings>>,
    context: Context,
    consumers: Option<Consumers>,
}

/// The threads of a run.
struct Consumers {
    threads: Vec<JoinHandle<()>>,
    /// Cancelled when nothing of them is on its way any more.
    finish: Stop,
}

/// What a thread tells.
enum Report {
    /// It reads nothing more, and keeps its partitions until it is told to finish.
    Quiet,
    /// It ended, and why.
    Ended(Result<(), PluginError>),
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let settings = Settings::read(options).map(Arc::new);
    Box::new(Kafka { settings, context: options.context().clone(), consumers: None })
}

#[async_trait]
impl Input for Kafka {
    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let Some(settings) = self.settings.clone() else { return Ok(()) };
        self.end().await;
        let (report, mut reports) = mpsc::unbounded_channel();
        let consumers = self.consumers.insert(Consumers { threads: Vec::new(), finish: Stop::new() });
        for number in 0..settings.threads {
            let conclusion = conclusion(&settings, &self.context)?;
            let consumer = Consumer::new(
                &settings,
                number,
                conclusion,
                &self.context,
                sink.clone(),
                stop.clone(),
                consumers.finish.clone(),
            )?;
            consumers.threads.push(spawn(consumer, number, &self.context, report.clone())?);
        }
        drop(report);
        let mut at_work = settings.threads;
        while at_work > 0 {
            match reports.recv().await {
                Some(Report::Quiet) => at_work -= 1,
                Some(Report::Ended(Err(error))) => {
                    self.end().await;
                    return Err(error);
                }
                Some(Report::Ended(Ok(()))) | None => break,
            }
        }
        Ok(())
    }

    async fn close(&mut self) {
        self.end().await;
    }
}

impl Kafka {
    /// Commits what is dealt with and leaves the group.
    async fn end(&mut self) {
        let Some(Consumers { threads, finish }) = self.consumers.take() else { return };
        finish.cancel();
        let _ = tokio::task::spawn_blocking(move || threads.into_iter().for_each(|thread| drop(thread.join()))).await;
    }
}

fn conclusion(settings: &Settings, context: &Context) -> Result<Option<Arc<Conclusion>>, PluginError> {
    if settings.commit != Commit::Transaction {
        return Ok(None);
    }
    let transactions = context.commons.get::<Transactions>();
    let session = transactions.session();
    let session = session.ok_or_else(|| PluginError::new("no output of the pipeline has a `transactional_id`"))?;
    Ok(Some(Arc::new(Conclusion::new(transactions.account.clone(), session))))
}

fn spawn(
    consumer: Consumer,
    number: usize,
    context: &Context,
    report: mpsc::UnboundedSender<Report>,
) -> Result<JoinHandle<()>, PluginError> {
    let span = context.log_span();
    let thread = std::thread::Builder::new().name(format!("[{}]<kafka{number}", context.pipeline_id));
    let work = move || {
        let _in_log = span.entered();
        let ended = catch_unwind(AssertUnwindSafe(|| consumer.run(|| drop(report.send(Report::Quiet)))));
        let ended = ended.unwrap_or_else(|_| Err(PluginError::new("the thread of a consumer broke")));
        // Nobody listens any more once the input is closed.
        let _ = report.send(Report::Ended(ended));
    };
    thread.spawn(work).map_err(PluginError::new)
}
