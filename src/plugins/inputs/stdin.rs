//! `stdin`: reads standard input until its end.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::host_field::HostField;
use crate::event::{Bytes, EventStream};
use crate::plugins::{Decoder, Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "stdin", summary: "Reads standard input.", build };

/// Bytes asked for at a time.
const CHUNK: usize = 256 * 1024;
/// How often a decoder that gives out its last event after a while is asked for it.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

struct Stdin {
    decoders: Decoders,
    host: HostField,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let exchange = &[("plain", "line"), ("json", "json_lines")];
    let decoders = options.decoder("codec", "line", exchange);
    let ecs = Ecs::read(options);
    Box::new(Stdin { decoders, host: HostField::new(&options.context().host, ecs, "hostname") })
}

#[async_trait]
impl Input for Stdin {
    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        if std::io::stdin().is_terminal() {
            tracing::info!(target: "logstash.inputs.stdin", "The stdin plugin is now waiting for input:");
        }
        let decoder = self.decoders.for_byte_stream();
        let flush_after = decoder.flush_after();
        let chunks = Chunks { decoder, host: self.host.clone(), sink: sink.clone(), fed: Instant::now() };
        let chunks = Arc::new(Mutex::new(Some(chunks)));
        let (ended, mut end) = tokio::sync::oneshot::channel();
        let (reading, span) = (chunks.clone(), tracing::Span::current());
        // A blocked read cannot be interrupted: after a stop the thread is left behind, and ends with the process.
        std::thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(move || ended.send(span.in_scope(|| read(&reading))))
            .map_err(PluginError::new)?;
        loop {
            tokio::select! {
                ended = &mut end => {
                    let broken = |_| Err(PluginError::new("the thread that reads standard input broke"));
                    return ended.unwrap_or_else(broken);
                }
                () = stop.cancelled() => break,
                () = tokio::time::sleep(FLUSH_EVERY), if flush_after.is_some() => {}
            }
            // When the thread is at it, something has come.
            if let Ok(mut chunks) = chunks.try_lock()
                && let Some(chunks) = chunks.as_mut().filter(|chunks| chunks.is_quiet_for(flush_after))
            {
                let held = chunks.rest();
                if sink.push(held, None).await.is_err() {
                    break;
                }
            }
        }
        // What was read before the stop still goes into the pipeline, an unfinished last line included.
        if let Some(mut chunks) = chunks.lock().await.take() {
            let rest = chunks.rest();
            // Nobody is left to be told.
            let _ = sink.push(rest, None).await;
        }
        Ok(())
    }

    fn is_reloadable(&self) -> bool {
        false
    }
}

struct Chunks {
    decoder: Box<dyn Decoder>,
    host: HostField,
    sink: InputSink,
    /// When something last came.
    fed: Instant,
}

/// Reads until the end of the input, until the pipeline takes nothing more, or until `chunks` was taken away.
fn read(chunks: &Mutex<Option<Chunks>>) -> Result<(), PluginError> {
    let stdin = std::io::stdin();
    loop {
        let mut chunk = Vec::with_capacity(CHUNK);
        let end = match rustix::io::read(&stdin, rustix::buffer::spare_capacity(&mut chunk)) {
            Ok(read) => read == 0,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(PluginError(format!("cannot read standard input: {error}"))),
        };
        let mut chunks = chunks.blocking_lock();
        let Some(chunks) = chunks.as_mut() else { return Ok(()) };
        let events = if end { chunks.rest() } else { chunks.decoded(chunk) };
        if chunks.sink.push_blocking(events, None).is_err() || end {
            return Ok(());
        }
    }
}

impl Chunks {
    /// Whether the decoder holds something, and nothing has come for so long.
    fn is_quiet_for(&self, time: Option<Duration>) -> bool {
        self.decoder.held() > 0 && time.is_some_and(|time| self.fed.elapsed() >= time)
    }

    fn decoded(&mut self, chunk: Vec<u8>) -> EventStream {
        self.fed = Instant::now();
        let events = self.decoder.decode_chunk(Bytes::from(chunk));
        self.with_host(events)
    }

    /// What the decoder holds back.
    fn rest(&mut self) -> EventStream {
        let mut events = Vec::new();
        self.decoder.flush(&mut events);
        self.with_host(events.into())
    }

    fn with_host(&self, events: EventStream) -> EventStream {
        let host = self.host.apart();
        events.each(move |event| host.set_if_absent(event))
    }
}
