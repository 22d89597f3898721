//! `stdin`: reads standard input until its end.

use std::io::{ErrorKind, IsTerminal, Read};

use async_trait::async_trait;
use hipstr::HipByt;

use super::host_field::HostField;
use crate::plugins::{Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "stdin", summary: "Reads standard input.", build };

/// Bytes asked for at a time.
const CHUNK: usize = 64 * 1024;

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
        // A blocked read cannot be interrupted: the thread is left behind at a stop and ends with the process.
        let (send, mut receive) = tokio::sync::mpsc::channel(1);
        std::thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(move || read_chunks(&send))
            .map_err(PluginError::new)?;
        let mut decoder = self.decoders.create();
        loop {
            let chunk = tokio::select! {
                chunk = receive.recv() => chunk,
                () = stop.cancelled() => None,
            };
            let mut events = Vec::new();
            let end = match chunk {
                Some(Ok(bytes)) => {
                    events.reserve(bytes.len() / 128);
                    decoder.decode(bytes, &mut events);
                    false
                }
                Some(Err(error)) => return Err(PluginError(format!("cannot read standard input: {error}"))),
                None => {
                    decoder.flush(&mut events);
                    true
                }
            };
            events.iter_mut().for_each(|event| self.host.set_if_absent(event));
            if sink.push(events, None).await.is_err() || end {
                return Ok(());
            }
        }
    }

    fn is_reloadable(&self) -> bool {
        false
    }
}

fn read_chunks(send: &tokio::sync::mpsc::Sender<std::io::Result<HipByt<'static>>>) {
    let mut stdin = std::io::stdin().lock();
    loop {
        let mut chunk = vec![0; CHUNK];
        match stdin.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => {
                chunk.truncate(count);
                if send.blocking_send(Ok(HipByt::from(chunk))).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let _ = send.blocking_send(Err(error));
                return;
            }
        }
    }
}
