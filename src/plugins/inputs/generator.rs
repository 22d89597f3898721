//! `generator`: the same lines over and over, for tests and measurements.

use async_trait::async_trait;

use super::host_field::HostField;
use crate::event::{Bytes, Event, Map, Text, Value};
use crate::plugins::{Decoder, Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "generator", summary: "Makes up events.", build };

/// Events pushed at a time.
const CHUNK: usize = 500;

struct Generator {
    decoders: Decoders,
    lines: Vec<Bytes>,
    /// Whether the line is read from standard input before the start.
    from_stdin: bool,
    /// Rounds over the lines; endless when `None`.
    rounds: Option<i64>,
    threads: usize,
    host: HostField,
    ecs: Ecs,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let message = options
        .string("message")
        .doc("Text of the events; `stdin` reads one line from standard input.")
        .default("Hello world!".to_owned());
    let lines = options.strings("lines").doc("Texts instead of `message`, one event each in turn.").optional();
    let count = options.integer("count").doc("Rounds over the lines; 0 for no end.").default(0);
    let threads = threads(options);
    let decoders = options.decoder("codec", "plain", &[]);
    let ecs = Ecs::read(options);
    let from_stdin = lines.is_none() && message == "stdin";
    let lines = lines.unwrap_or_else(|| vec![message]);
    Box::new(Generator {
        decoders,
        lines: lines.into_iter().map(|line| Bytes::from(line.into_bytes())).collect(),
        from_stdin,
        rounds: (count > 0).then_some(count),
        threads,
        host: HostField::new(&options.context().host, ecs, "name"),
        ecs,
    })
}

/// Declares and reads `threads`.
pub(super) fn threads(options: &mut Options<'_>) -> usize {
    let threads = options.integer("threads").doc("So many of this input at the same time.").default(1);
    usize::try_from(threads).ok().filter(|n| (1..=1024).contains(n)).unwrap_or_else(|| {
        options.invalid("threads", "threads must be between 1 and 1024");
        1
    })
}

#[async_trait]
impl Input for Generator {
    async fn register(&mut self) -> Result<(), PluginError> {
        if self.from_stdin {
            let mut line = String::new();
            let read = tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut line).map(|_| line)).await;
            let line = read.map_err(PluginError::new)?.map_err(PluginError::new)?;
            self.lines = vec![Bytes::from(line.trim_end_matches(['\n', '\r']).as_bytes())];
        }
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        // The queue is the narrow place, so one task makes the events of all threads, a round of each in turn.
        let mut decoders: Vec<Box<dyn Decoder>> = (0..self.threads).map(|_| self.decoders.create()).collect();
        let mut events = Vec::with_capacity(CHUNK);
        let mut round = 0;
        while self.rounds.is_none_or(|rounds| round < rounds) && !self.lines.is_empty() {
            for decoder in &mut decoders {
                for line in &self.lines {
                    let first = events.len();
                    decoder.decode(line.clone(), &mut events);
                    events.iter_mut().skip(first).for_each(|event| self.mark(event, round));
                    if events.len() >= CHUNK {
                        let chunk = std::mem::replace(&mut events, Vec::with_capacity(CHUNK));
                        if sink.push(chunk, None).await.is_err() {
                            return Ok(());
                        }
                        // A push into a queue with room does not wait, and the other tasks want their turn.
                        tokio::task::yield_now().await;
                    }
                }
            }
            round += 1;
            if stop.is_cancelled() {
                break;
            }
        }
        let first = events.len();
        decoders.iter_mut().for_each(|decoder| decoder.flush(&mut events));
        events.iter_mut().skip(first).for_each(|event| self.host.set_if_absent(event));
        // It fails only when the pipeline is gone.
        let _ = sink.push(events, None).await;
        Ok(())
    }
}

impl Generator {
    fn mark(&self, event: &mut Event, round: i64) {
        self.host.set_if_absent(event);
        if self.ecs.is_disabled() {
            event.fields_mut().insert(Text::borrowed("sequence"), round);
            return;
        }
        match event.fields_mut().get_mut("event") {
            Some(Value::Map(map)) => {
                map.insert(Text::borrowed("sequence"), round);
            }
            Some(_) => {}
            None => {
                let sequence: Map = [("sequence", round)].into_iter().collect();
                event.fields_mut().insert(Text::borrowed("event"), sequence);
            }
        }
    }
}
