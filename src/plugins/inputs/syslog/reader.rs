//! How bytes become events of this input: cut into messages, decoded, and taken apart into fields.

use std::sync::Arc;
use std::time::Duration;

use num_bigint::BigInt;

use super::frames::{Cut, Frames};
use super::line::{self, Dialect, Parts};
use super::pattern::OwnPattern;
use super::priority::{FACILITIES, Labels, Priorities, SEVERITIES};
use super::rfc5424;
use super::times::{FORMATS, Times};
use crate::event::{Bytes, Event, EventStream, FieldRef, Map, Text, Timestamp, Value};
use crate::metrics::Counter;
use crate::plugins::codecs::line::TOO_LONG;
use crate::plugins::filters::date::DateReader;
use crate::plugins::inputs::net::marks::set;
use crate::plugins::{Decoder, Decoders, Ecs, MessageEvents, Options};

/// Tag of a message that is no syslog line.
const NO_LINE: &str = "_grokparsefailure_sysloginput";
/// What such a message counts as: a notice of a user's program.
const USUAL_PRIORITY: i64 = 13;

/// How messages are read. Cheap to clone.
#[derive(Clone)]
pub struct Reader(Arc<Inner>);

struct Inner {
    decoders: Decoders,
    dialect: Dialect,
    /// Whether lines of RFC 5424 and octet counting are understood.
    modern: bool,
    field: FieldRef,
    /// Takes lines apart in place of [`line::parse`].
    pattern: Option<OwnPattern>,
    names: Names,
    priorities: Priorities,
    dates: DateReader,
    /// `service` of an event that has none, where ECS is followed.
    service: Option<Value>,
    unknown: Arc<Counter>,
}

/// Where the parts of a line go.
struct Names {
    host: FieldRef,
    program: FieldRef,
    pid: FieldRef,
    message_id: FieldRef,
    structured_data: FieldRef,
    address: FieldRef,
    original: FieldRef,
    service: FieldRef,
}

impl Names {
    fn new(dialect: Dialect) -> Self {
        let field = |flat: &str, ecs: &[&str]| match dialect {
            Dialect::Old => FieldRef::top(flat),
            Dialect::Ecs => FieldRef::path_of(ecs),
        };
        Self {
            host: field("logsource", &["host", "hostname"]),
            program: field("program", &["process", "name"]),
            pid: field("pid", &["process", "pid"]),
            message_id: field("msgid", &["event", "code"]),
            structured_data: field("structured_data", &["system", "syslog", "structured_data"]),
            address: field("host", &["host", "ip"]),
            original: FieldRef::path_of(&["event", "original"]),
            service: FieldRef::path_of(&["service", "type"]),
        }
    }
}

impl Reader {
    /// Declares and reads the options about messages.
    pub fn read(options: &mut Options<'_>) -> Self {
        let field = options.field("syslog_field").doc("Field with the line.").default(FieldRef::top("message"));
        let dialect = if Ecs::read(options).is_disabled() { Dialect::Old } else { Dialect::Ecs };
        let pattern = OwnPattern::read(options, dialect);
        let rfc = options
            .word("rfc", &["3164", "auto"])
            .doc("`auto` understands lines of RFC 5424 and octet counting as well (Spillway).")
            .default("3164".to_owned());
        let labels = labels(options);
        let dates = DateReader::read(options, &FORMATS);
        let service = options.string("service_type").doc("`[service][type]`, with ECS.").default("system".to_owned());
        let decoders = options.decoder("codec", "plain", &[]);
        let is_ecs = dialect == Dialect::Ecs;
        let service: Map = [("type", Value::from(Text::from(service)))].into_iter().collect();
        Self(Arc::new(Inner {
            decoders,
            dialect,
            modern: rfc == "auto",
            field,
            pattern,
            names: Names::new(dialect),
            priorities: Priorities::new(is_ecs, labels),
            dates,
            service: is_ecs.then(|| Value::Map(service.shared())),
            unknown: options.context().metrics.counter("unknown_messages"),
        }))
    }

    /// A decoder for a new connection.
    pub fn decoder(&self) -> Box<dyn Decoder> {
        let decoders = &self.0.decoders;
        let frames = Frames::new(self.0.modern);
        Box::new(Stream { frames, decoder: decoders.create(), messages: decoders.messages() })
    }

    /// For datagrams.
    pub(super) fn decoders(&self) -> &Decoders {
        &self.0.decoders
    }

    /// The same events, their lines taken apart. All of them came from `peer`.
    pub fn on(&self, events: EventStream, peer: Text) -> EventStream {
        let (reader, times) = (self.clone(), Times::default());
        events.each(move |event| reader.take_apart(event, &peer, &times))
    }

    /// Makes fields of the line of an event.
    pub(super) fn take_apart(&self, event: &mut Event, peer: &Text, times: &Times) {
        let inner = &*self.0;
        let text = event.get(&inner.field).and_then(Value::as_text).cloned();
        inner.set_sender(event, peer);
        let priority = text.and_then(|text| inner.set_line(event, &text, times)).unwrap_or_else(|| {
            event.tag(NO_LINE);
            inner.unknown.add(1);
            USUAL_PRIORITY
        });
        inner.priorities.set(event, priority);
        if let Some(service) = &inner.service {
            match event.fields().get("service") {
                None => {
                    event.fields_mut().insert(Text::borrowed("service"), service.clone());
                }
                Some(_) if event.includes(&inner.names.service) => {}
                Some(_) => {
                    let kind = service.as_map().and_then(|service| service.get("type")).cloned();
                    set(event, &inner.names.service, kind.unwrap_or_default());
                }
            }
        }
    }
}

impl Inner {
    /// Where the message came from, and with ECS the message as it came.
    fn set_sender(&self, event: &mut Event, peer: &Text) {
        if self.dialect == Dialect::Old {
            event.fields_mut().insert(Text::borrowed("host"), peer.clone());
            return;
        }
        match event.fields().get("host") {
            None => {
                // The line's own name for the machine goes here too.
                let mut host = Map::with_capacity(2);
                host.insert(Text::borrowed("ip"), peer.clone());
                event.fields_mut().insert(Text::borrowed("host"), host);
            }
            Some(_) => set(event, &self.names.address, Value::String(peer.clone())),
        }
        if let Some(Value::String(message)) = event.fields().get("message")
            && event.get(&self.names.original).is_none()
        {
            let message = message.clone();
            set(event, &self.names.original, Value::String(message));
        }
    }

    /// Sets the parts of a line; gives its priority, or `None` when it is no line.
    fn set_line(&self, event: &mut Event, text: &Text, times: &Times) -> Option<i64> {
        if self.modern
            && let Some(modern) = rfc5424::parse(text)
        {
            for (field, part) in
                [(&self.names.message_id, modern.message_id), (&self.names.structured_data, modern.structured_data)]
            {
                part.into_iter().for_each(|part| capture(event, field, Value::String(text.part(part))));
            }
            self.set_parts(event, text, &modern.parts, times);
            return Some(modern.parts.priority);
        }
        if let Some(pattern) = &self.pattern {
            return self.set_found(event, text, pattern, times);
        }
        let parts = line::parse(text, self.dialect)?;
        self.set_parts(event, text, &parts, times);
        Some(parts.priority)
    }

    /// As [`Inner::set_line`], by the user's pattern. A line that names no priority has the usual one.
    fn set_found(&self, event: &mut Event, line: &Text, pattern: &OwnPattern, times: &Times) -> Option<i64> {
        let found = pattern.take_apart(event, line)?;
        if let Some(time) = found.time
            && self.set_time(event, &time, times)
            && self.dialect == Dialect::Ecs
        {
            event.remove(pattern.time());
        }
        Some(found.priority.unwrap_or(USUAL_PRIORITY))
    }

    fn set_parts(&self, event: &mut Event, text: &Text, parts: &Parts<'_>, times: &Times) {
        if let Some(host) = parts.host {
            capture(event, &self.names.host, Value::String(text.part(host)));
        }
        self.set_program(event, text, parts);
        if !parts.message.is_empty() {
            event.fields_mut().insert(Text::borrowed("message"), text.part(parts.message));
        }
        if parts.time.is_empty() {
            return;
        }
        if self.dialect == Dialect::Old {
            let names: &[&'static str] = if parts.iso { &["timestamp8601", "timestamp"] } else { &["timestamp"] };
            for name in names {
                event.fields_mut().insert(Text::borrowed(name), text.part(parts.time));
            }
        }
        self.set_time(event, &text.part(parts.time), times);
    }

    /// Sets the event's time to what a text says; whether it is a time.
    fn set_time(&self, event: &mut Event, text: &Text, times: &Times) -> bool {
        let at = times.read(&self.dates, event, text);
        match at {
            Some(at) => event.set_timestamp(at),
            None => event.tag("_dateparsefailure"),
        }
        at.is_some()
    }

    fn set_program(&self, event: &mut Event, text: &Text, parts: &Parts<'_>) {
        let Some(program) = parts.program else { return };
        let program = Value::String(text.part(program));
        let pid = parts.pid.map(|pid| match self.dialect {
            Dialect::Old => Value::String(text.part(pid)),
            Dialect::Ecs => whole_number(pid).unwrap_or_else(|| Value::String(text.part(pid))),
        });
        if self.dialect == Dialect::Ecs && !event.fields().contains_key("process") {
            let mut process = Map::with_capacity(2);
            process.insert(Text::borrowed("name"), program);
            pid.into_iter().for_each(|pid| drop(process.insert(Text::borrowed("pid"), pid)));
            event.fields_mut().insert(Text::borrowed("process"), process);
            return;
        }
        capture(event, &self.names.program, program);
        pid.into_iter().for_each(|pid| capture(event, &self.names.pid, pid));
    }
}

fn whole_number(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse() {
        return Some(Value::Integer(number));
    }
    text.parse::<BigInt>().ok().map(Value::from_big)
}

/// Sets a field as the `grok` filter does: what is there already stays, in a list with the new value.
fn capture(event: &mut Event, field: &FieldRef, value: Value) {
    if event.get(field).is_none_or(Value::is_null) {
        return set(event, field, value);
    }
    if let Err(error) = event.append(field, value) {
        tracing::debug!(target: "logstash.inputs.syslog", "{field} was not set: {error}");
    }
}

fn labels(options: &mut Options<'_>) -> Option<Labels> {
    let use_labels = options.boolean("use_labels").doc("Whether to set names besides numbers.").default(true);
    let owned = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    let facilities = options.strings("facility_labels").doc("Names of facilities.").default(owned(&FACILITIES));
    let severities = options.strings("severity_labels").doc("Names of severities.").default(owned(&SEVERITIES));
    use_labels.then_some(Labels { facilities, severities })
}

/// The messages of a connection.
struct Stream {
    frames: Frames,
    decoder: Box<dyn Decoder>,
    /// Set when a message becomes an event without knowing the others.
    messages: Option<MessageEvents>,
}

impl Stream {
    fn decode_now(&mut self, mut cut: Cut, out: &mut Vec<Event>) {
        if let Some(first) = cut.first.take() {
            self.decoder.decode(first, out);
        }
        let mut at = 0;
        while let Some(range) = cut.others.next(&cut.bytes, at) {
            at = range.end;
            self.decoder.decode(cut.bytes.slice(range).unwrap_or_default(), out);
        }
        out.extend(cut.head.map(too_long));
    }
}

impl Decoder for Stream {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        let cut = self.frames.cut(chunk);
        self.decode_now(cut, out);
    }

    fn decode_chunk(&mut self, chunk: Bytes) -> EventStream {
        let cut = self.frames.cut(chunk);
        if let Some(messages) = self.messages
            && cut.head.is_none()
        {
            return lazily(messages, cut);
        }
        let mut events = Vec::new();
        self.decode_now(cut, &mut events);
        events.into()
    }

    fn flush(&mut self, out: &mut Vec<Event>) {
        if let Some(rest) = self.frames.rest() {
            self.decoder.decode(rest, out);
        }
        self.decoder.flush(out);
    }

    fn flush_after(&self) -> Option<Duration> {
        self.decoder.flush_after()
    }

    /// A message that is still to come is not given out in pieces.
    fn held(&self) -> usize {
        if self.frames.has_rest() { 0 } else { self.decoder.held() }
    }
}

fn too_long(head: Bytes) -> Event {
    tracing::warn!(target: "logstash.inputs.syslog",
        "a message is too long; its beginning goes on with the tag {TOO_LONG}, the rest is dropped");
    let mut event = Event::from_message(Text::from(String::from_utf8_lossy(&head)), Timestamp::now());
    event.tag(TOO_LONG);
    event
}

/// The events of messages, made by whoever takes them. The UTF-8 of a piece is checked all at once, as far as it goes.
fn lazily(messages: MessageEvents, cut: Cut) -> EventStream {
    let count = cut.count();
    let now = Timestamp::now();
    let Cut { mut first, bytes, mut others, .. } = cut;
    let whole = messages.is_utf8().then(|| Text::from_utf8(bytes.clone()).ok()).flatten();
    let mut at = 0;
    EventStream::lazy(count, move |most, out| {
        let mut left = most;
        if left > 0
            && let Some(first) = first.take()
        {
            messages.push_event(messages.text(first), now, out);
            left -= 1;
        }
        for _ in 0..left {
            let Some(range) = others.next(&bytes, at) else { break };
            at = range.end;
            // Lengths that cut a character in two leave the message to be looked at alone.
            let text = match &whole {
                Some(whole) if whole.is_char_boundary(range.start) && whole.is_char_boundary(range.end) => {
                    whole.piece(range)
                }
                _ => messages.text(bytes.slice(range).unwrap_or_default()),
            };
            messages.push_event(text, now, out);
        }
    })
}
