//! Text that becomes the `message` of an event.

use super::charset::Charset;
use super::lines::{Line, WholeLines};
use crate::event::{Bytes, Event, EventStream, Map, Text, Timestamp, Value};
use crate::plugins::{Ecs, Options, Records};

/// How the bytes of a message become an event: the options that `plain` and `line` share.
#[derive(Clone, Copy)]
pub(crate) struct MessageEvents {
    charset: Charset,
    keep_original: bool,
}

impl MessageEvents {
    /// Declares and reads the options.
    pub fn read(options: &mut Options<'_>) -> Self {
        let charset = Charset::read(options);
        Self { charset, keep_original: !Ecs::read(options).is_disabled() }
    }

    /// Of UTF-8, without a copy of the text.
    pub(super) fn without_original() -> Self {
        Self { charset: Charset::Utf8, keep_original: false }
    }

    /// The character set of messages.
    pub(super) fn charset(self) -> Charset {
        self.charset
    }

    /// Whether bytes that are UTF-8 are the text of messages.
    pub fn is_utf8(self) -> bool {
        self.charset.is_utf8()
    }

    /// All of `bytes` as text.
    pub fn text(self, bytes: Bytes) -> Text {
        self.charset.text(bytes)
    }

    /// Makes an event of that message at the end of `out`. With ECS the text is kept a second time, where no filter
    /// changes it.
    #[inline]
    pub fn push_event(self, message: Text, now: Timestamp, out: &mut Vec<Event>) {
        Event::push_message(message, now, self.keep_original, out);
    }

    /// An event for each record, made when it is taken.
    pub fn of_records(self, records: &Records) -> EventStream {
        let now = Timestamp::now();
        let mut texts = WholeLines::of(records, self.charset, Bytes::LONGEST);
        EventStream::lazy(texts.number(), move |most, out| {
            for text in texts.by_ref().take(most) {
                let (Line::Whole(text) | Line::TooLong(text)) = text;
                self.push_event(text, now, out);
            }
        })
    }

    /// An event that shows what could not be taken.
    pub fn failure(self, shown: Text, now: Timestamp, tag: &str) -> Event {
        let mut event = Event::from_message(shown, now);
        event.tag(tag);
        event
    }
}

/// Keeps the text where no filter changes it, unless the event has something there.
pub(super) fn keep_original(event: &mut Event, text: Text) {
    match event.fields_mut().get_mut("event") {
        None => {
            event.fields_mut().insert(Text::borrowed("event"), original(text));
        }
        Some(Value::Map(map)) if !map.contains_key("original") => {
            map.insert(Text::borrowed("original"), text);
        }
        Some(_) => {}
    }
}

/// `{"original": text}`
fn original(text: Text) -> Value {
    let mut map = Map::with_capacity(1);
    map.insert(Text::borrowed("original"), text);
    Value::Map(map)
}
