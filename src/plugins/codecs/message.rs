//! Text that becomes the `message` of an event.

use super::charset::Charset;
use crate::event::{Event, Map, Text, Timestamp, Value};
use crate::plugins::{Ecs, Options};

/// How the bytes of a message become an event: the options that `plain` and `line` share.
#[derive(Clone, Copy)]
pub(super) struct MessageEvents {
    charset: Charset,
    keep_original: bool,
}

impl MessageEvents {
    /// Declares and reads the options.
    pub fn read(options: &mut Options<'_>) -> Self {
        let charset = Charset::read(options);
        Self { charset, keep_original: !Ecs::read(options).is_disabled() }
    }

    /// The character set of messages.
    pub fn charset(self) -> Charset {
        self.charset
    }

    /// Makes an event of that message at the end of `out`. With ECS the text is kept a second time, where no filter
    /// changes it.
    #[inline]
    pub fn push_event(self, message: Text, now: Timestamp, out: &mut Vec<Event>) {
        Event::push_message(message, now, self.keep_original, out);
    }

    /// An event that shows what could not be taken.
    pub fn failure(self, shown: Text, now: Timestamp, tag: &str) -> Event {
        let mut event = Event::from_message(shown, now);
        event.tag(tag);
        event
    }
}

/// `{"original": text}`
pub(super) fn original(text: Text) -> Value {
    let mut map = Map::with_capacity(1);
    map.insert(Text::borrowed("original"), text);
    Value::Map(map)
}
