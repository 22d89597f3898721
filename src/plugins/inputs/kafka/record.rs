//! Records of librdkafka, and the events made of them.

use std::sync::Arc;

use base64::Engine;
use rdkafka::message::{BorrowedMessage, Headers, Message, Timestamp};

use super::partition::Partition;
use crate::event::{Bytes, Event, EventStream, Map, Text, Value};
use crate::plugins::codecs::charset::Charset;
use crate::plugins::{Decoder, InputSink, lasting_ids};

/// What `[@metadata][kafka]` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decorations {
    None,
    /// Where an event comes from.
    Basic,
    /// And the headers.
    Extended,
}

/// A record with what is needed of it.
pub(super) struct Record {
    pub partition: Arc<Partition>,
    pub offset: i64,
    value: Bytes,
    metadata: Option<Map>,
}

impl Record {
    /// Takes it out of librdkafka's memory.
    pub fn of(
        message: &BorrowedMessage<'_>,
        partition: Arc<Partition>,
        decorations: Decorations,
        group: &Text,
    ) -> Self {
        let metadata = (decorations != Decorations::None)
            .then(|| metadata(message, &partition, decorations == Decorations::Extended, group));
        let value = Bytes::from(message.payload().unwrap_or_default());
        Self { partition, offset: message.offset(), value, metadata }
    }

    /// Bytes of memory, about.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.value.len()
    }
}

fn metadata(message: &BorrowedMessage<'_>, partition: &Partition, with_headers: bool, group: &Text) -> Map {
    let mut map = Map::with_capacity(9);
    map.insert(Text::borrowed("topic"), partition.topic.clone());
    map.insert(Text::borrowed("consumer_group"), group.clone());
    map.insert(Text::borrowed("partition"), i64::from(partition.number));
    map.insert(Text::borrowed("offset"), message.offset());
    let key = message.key();
    let text = key.map(|key| Value::from(String::from_utf8_lossy(key).into_owned()));
    map.insert(Text::borrowed("key"), text.unwrap_or(Value::Null));
    if let Some(key) = key.filter(|key| std::str::from_utf8(key).is_err()) {
        map.insert(Text::borrowed("key_base64"), base64::engine::general_purpose::STANDARD.encode(key));
    }
    let timestamp = message.timestamp();
    map.insert(Text::borrowed("timestamp"), timestamp.to_millis().unwrap_or(-1));
    match timestamp {
        Timestamp::CreateTime(_) => drop(map.insert(Text::borrowed("timestamp_type"), Value::literal("create"))),
        Timestamp::LogAppendTime(_) => drop(map.insert(Text::borrowed("timestamp_type"), Value::literal("append"))),
        Timestamp::NotAvailable => {}
    }
    if message.payload().is_none() {
        map.insert(Text::borrowed("tombstone"), true);
    }
    if with_headers && let Some(headers) = message.headers() {
        let mut named = Map::new();
        for header in headers.iter() {
            if let Some(value) = header.value.and_then(|value| std::str::from_utf8(value).ok()) {
                named.insert(Text::from(header.key), value);
            }
        }
        map.insert(Text::borrowed("headers"), named);
    }
    map
}

/// Records as events, with the partitions and the offsets behind the last of them that are in events.
pub(super) struct Decoded {
    pub events: EventStream,
    pub positions: Vec<(Arc<Partition>, i64)>,
}

/// Makes events. Remembers which records are still inside of the codec.
pub(super) struct Reading {
    decoder: Box<dyn Decoder>,
    /// Records that the codec has not given out yet.
    held: Vec<(Arc<Partition>, i64)>,
}

impl Reading {
    pub fn new(decoder: Box<dyn Decoder>) -> Self {
        Self { decoder, held: Vec::new() }
    }

    pub fn decode(&mut self, records: Vec<Record>, sink: &InputSink) -> Decoded {
        let mut events = Vec::with_capacity(records.len());
        let mut origins: Vec<(usize, Map)> = Vec::new();
        let mut positions = Vec::new();
        for Record { partition, offset, value, mut metadata } in records {
            let before = events.len();
            let odd = (metadata.is_some() && std::str::from_utf8(&value).is_err()).then(|| value.clone());
            self.decoder.decode(value, &mut events);
            let given = events.len() - before;
            if sink.gives_ids() {
                // What comes out now began with the first record that the codec still held.
                let (from, next) = self.held.first().map_or((&partition, offset + 1), |(from, next)| (from, *next));
                name(from, next, events.get_mut(before..).unwrap_or_default());
            }
            if let (Some(bytes), Some([event]), Some(metadata)) = (odd, events.get(before..), &mut metadata) {
                keep_bytes(event, bytes, metadata);
            }
            if given > 0 || self.decoder.held() == 0 {
                self.held.drain(..).for_each(|(partition, next)| reach(&mut positions, partition, next));
            }
            if self.decoder.held() == 0 {
                reach(&mut positions, partition, offset + 1);
            } else {
                self.held.push((partition, offset + 1));
            }
            origins.extend(metadata.map(|metadata| (given, metadata)));
        }
        let mut decorated = sink.decorated(events);
        if origins.is_empty() {
            return Decoded { events: decorated, positions };
        }
        let mut events = Vec::with_capacity(decorated.len());
        decorated.take_into(usize::MAX, &mut events);
        put_origins(&mut events, origins);
        Decoded { events: events.into(), positions }
    }
}

/// Names events by the record that they were, which is the one before `next`.
fn name(partition: &Partition, next: i64, events: &mut [Event]) {
    let number = partition.number.to_le_bytes();
    let source = lasting_ids::Source::new("kafka", &[partition.topic.as_bytes(), &number]);
    source.name(u64::try_from(next).unwrap_or_default(), events);
}

/// Where the codec could only escape the bytes of a record, they are kept as they were.
fn keep_bytes(event: &Event, bytes: Bytes, metadata: &mut Map) {
    let encoded = base64::engine::general_purpose::STANDARD.encode(&*bytes);
    let escaped = Charset::Utf8.text(bytes);
    if event.fields().get("message").and_then(Value::as_str) == Some(escaped.as_str()) {
        metadata.insert(Text::borrowed("value_base64"), encoded);
    }
}

/// Records of one partition follow each other, so its place is near the end.
fn reach(positions: &mut Vec<(Arc<Partition>, i64)>, partition: Arc<Partition>, next: i64) {
    match positions.iter_mut().rev().find(|(known, _)| Arc::ptr_eq(known, &partition)) {
        Some((_, reached)) => *reached = next,
        None => positions.push((partition, next)),
    }
}

fn put_origins(events: &mut [Event], origins: Vec<(usize, Map)>) {
    let mut events = events.iter_mut();
    for (given, metadata) in origins {
        let mut rest = given;
        let mut metadata = Some(metadata);
        while rest > 0 {
            let Some(event) = events.next() else { return };
            rest -= 1;
            let origin = if rest == 0 { metadata.take() } else { metadata.clone() };
            event.metadata_mut().insert(Text::borrowed("kafka"), origin.unwrap_or_default());
        }
    }
}
