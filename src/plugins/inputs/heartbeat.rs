//! `heartbeat`: an event every so many seconds, to see that a pipeline lives.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::generator::threads;
use super::host_field::HostField;
use crate::event::{Event, FieldRef, Text, Timestamp};
use crate::plugins::{Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "heartbeat", summary: "Makes an event at intervals.", build };

struct Heartbeat {
    message: Option<Text>,
    clock: Clock,
    clock_field: FieldRef,
    interval: Duration,
    /// Beats; endless when `None`.
    count: Option<i64>,
    threads: usize,
    host: HostField,
}

/// What else an event says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Nothing,
    /// Seconds since 1970.
    Epoch,
    /// 1, 2, 3, …
    Sequence,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let message = options.string("message").doc("Text of the events; `ok` when there is no sequence.").optional();
    let sequence = options
        .word("sequence", &["none", "epoch", "sequence"])
        .doc("Puts the Unix time or a counter on the events.")
        .optional();
    let interval = options.seconds("interval").doc("Seconds between events.").default(Duration::from_secs(60));
    let count = options.integer("count").doc("How many events; -1 for no end.").default(-1);
    let threads = threads(options);
    options.idle_codec("nothing is decoded");
    let ecs = Ecs::read(options);
    let (clock, message) = clock(options, sequence.as_deref(), message, ecs);
    Box::new(Heartbeat {
        message: message.map(Text::from),
        clock,
        clock_field: if ecs.is_disabled() { FieldRef::top("clock") } else { FieldRef::path_of(&["event", "sequence"]) },
        interval,
        count: (count >= 0).then_some(count),
        threads,
        host: HostField::new(&options.context().host, ecs, "name"),
    })
}

/// Without `sequence`, certain messages used to mean it.
fn clock(
    options: &mut Options<'_>,
    sequence: Option<&str>,
    message: Option<String>,
    ecs: Ecs,
) -> (Clock, Option<String>) {
    match (sequence, message.as_deref()) {
        (Some("epoch"), _) => (Clock::Epoch, message),
        (Some("sequence"), _) => (Clock::Sequence, message),
        (None, Some(word @ ("epoch" | "sequence"))) => {
            options.warn(
                "message",
                "deprecated-option",
                format!("write `sequence => \"{word}\"` instead of `message`"),
            );
            match (ecs, word) {
                (Ecs::Disabled, "epoch") => (Clock::Epoch, None),
                (Ecs::Disabled, _) => (Clock::Sequence, None),
                _ => (Clock::Nothing, message),
            }
        }
        _ => (Clock::Nothing, message.or_else(|| Some("ok".to_owned()))),
    }
}

#[async_trait]
impl Input for Heartbeat {
    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let mut beat = 0;
        while self.count.is_none_or(|count| beat < count) {
            let started = Instant::now();
            beat += 1;
            let events: Vec<Event> = (0..self.threads).map(|_| self.event(beat)).collect();
            if sink.push(events, None).await.is_err() {
                return Ok(());
            }
            if self.count == Some(beat) {
                return Ok(());
            }
            tokio::select! {
                () = tokio::time::sleep_until(started + self.interval) => {}
                () = stop.cancelled() => return Ok(()),
            }
        }
        Ok(())
    }
}

impl Heartbeat {
    fn event(&self, beat: i64) -> Event {
        let now = Timestamp::now();
        let mut event = match &self.message {
            Some(message) => Event::from_message(message.clone(), now),
            None => Event::at(now),
        };
        let clock = match self.clock {
            Clock::Nothing => None,
            Clock::Epoch => Some(now.seconds()),
            Clock::Sequence => Some(beat),
        };
        if let Some(clock) = clock {
            // The event is new: nothing stands in the way of the field.
            let _ = event.set(&self.clock_field, clock);
        }
        self.host.set_if_absent(&mut event);
        event
    }
}
