//! `stdin`: reads standard input until its end.

use std::io::IsTerminal;

use async_trait::async_trait;

use super::host_field::HostField;
use crate::event::{Bytes, EventStream};
use crate::plugins::{Decoder, Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};
use crate::queue::Closed;

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "stdin", summary: "Reads standard input.", build };

/// Bytes asked for at a time.
const CHUNK: usize = 256 * 1024;

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
        let reader = Chunks { decoder: self.decoders.create(), host: self.host.clone(), sink: sink.clone() };
        let (ended, end) = tokio::sync::oneshot::channel();
        // A blocked read cannot be interrupted: after a stop the thread is left behind, and ends with the process.
        std::thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(move || ended.send(reader.read()))
            .map_err(PluginError::new)?;
        tokio::select! {
            ended = end => ended.unwrap_or(Ok(())),
            () = stop.cancelled() => Ok(()),
        }
    }

    fn is_reloadable(&self) -> bool {
        false
    }
}

struct Chunks {
    decoder: Box<dyn Decoder>,
    host: HostField,
    sink: InputSink,
}

impl Chunks {
    /// Reads until the end of the input, or until the pipeline takes nothing more.
    fn read(mut self) -> Result<(), PluginError> {
        let stdin = std::io::stdin();
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            match rustix::io::read(&stdin, rustix::buffer::spare_capacity(&mut chunk)) {
                Ok(0) => break,
                Ok(_) => {
                    let events = self.decoder.decode_chunk(Bytes::from(chunk));
                    if self.push(events).is_err() {
                        return Ok(());
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(PluginError(format!("cannot read standard input: {error}"))),
            }
        }
        let mut events = Vec::new();
        self.decoder.flush(&mut events);
        // The pipeline takes what is left, or has gone.
        let _ = self.push(events.into());
        Ok(())
    }

    fn push(&self, events: EventStream) -> Result<(), Closed> {
        let host = self.host.clone();
        self.sink.push_blocking(events.each(move |event| host.set_if_absent(event)), None)
    }
}
