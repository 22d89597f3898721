//! `stdout`: prints events, one write for each batch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rustix::io::Errno;

use crate::plugins::{Deliveries, GivenBack, Options, Output, OutputBatch, OutputPlugin, SharedEncoder, Stop};

/// The plugin.
pub const PLUGIN: OutputPlugin = OutputPlugin { name: "stdout", summary: "Prints events to standard output.", build };

/// Wait before the next try when standard output leads to a full disk.
const RETRY_AFTER: Duration = Duration::from_secs(1);

struct Stdout {
    encoder: SharedEncoder,
    /// Set once nobody reads any more.
    closed: AtomicBool,
    /// Whether the pipeline has no other output, so that it is of no use without readers.
    ends_pipeline: bool,
}

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    Box::new(Stdout {
        encoder: options.encoder("codec", "rubydebug"),
        closed: AtomicBool::new(false),
        ends_pipeline: options.context().is_only_output,
    })
}

#[async_trait]
impl Output for Stdout {
    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        if self.closed.load(Ordering::Relaxed) {
            return Ok(Deliveries::All);
        }
        let mut bytes = Vec::with_capacity(batch.events.len() * 256);
        let mut dead = Vec::new();
        for (at, event) in batch.events.iter().enumerate() {
            if let Err(error) = self.encoder.encode(event, &mut bytes) {
                dead.push((at, error.to_string()));
            }
        }
        let mut rest = bytes.as_slice();
        while let Err(error) = print(&mut rest) {
            let why = std::io::Error::from(error);
            if matches!(error, Errno::PIPE | Errno::BADF) {
                if !self.closed.swap(true, Ordering::Relaxed) {
                    self.readers_left(&why, stop);
                }
                break;
            }
            tracing::warn!(target: "logstash.outputs.stdout", "cannot write standard output, trying again: {why}");
            tokio::select! {
                () = tokio::time::sleep(RETRY_AFTER) => {}
                () = stop.cancelled() => return Err(GivenBack),
            }
        }
        Ok(Deliveries::all_but_dead(batch.events.len(), dead))
    }
}

impl Stdout {
    /// As with `head`, a program that only prints ends with its reader.
    fn readers_left(&self, why: &std::io::Error, stop: &Stop) {
        if self.ends_pipeline {
            tracing::info!(target: "logstash.outputs.stdout",
                "nobody reads standard output any more ({why}) and the pipeline has no other output: it ends");
            stop.cancel();
        } else {
            tracing::warn!(target: "logstash.outputs.stdout",
                "nobody reads standard output any more ({why}); events for it are thrown away from now on");
        }
    }
}

/// Past the line buffer of the standard library, which would cut a batch in two. Its lock keeps writers apart.
fn print(rest: &mut &[u8]) -> Result<(), Errno> {
    let stdout = std::io::stdout().lock();
    while !rest.is_empty() {
        match rustix::io::write(&stdout, rest) {
            Ok(written) => *rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            // Someone made the terminal or pipe non-blocking.
            Err(Errno::AGAIN) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
