//! `plain`: every chunk is one event, and nothing stands between events.

use hipstr::HipByt;

use super::message::MessageEvents;
use super::plain_text::PlainText;
use crate::event::{Event, Timestamp};
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, Encoder, Encoders, Options};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "plain", summary: "Text without separators.", build };

fn build(options: &mut Options<'_>) -> Codec {
    let messages = MessageEvents::read(options);
    let format = PlainText::read(options);
    Codec {
        decoders: Some(Decoders::new(move || PlainDecoder(messages))),
        encoders: Some(Encoders::new(PlainEncoder(format))),
    }
}

struct PlainDecoder(MessageEvents);

impl Decoder for PlainDecoder {
    fn decode(&mut self, chunk: HipByt<'static>, out: &mut Vec<Event>) {
        out.push(self.0.event(self.0.charset().text(chunk), Timestamp::now()));
    }
}

struct PlainEncoder(PlainText);

impl Encoder for PlainEncoder {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) {
        self.0.write(event, out);
    }
}
