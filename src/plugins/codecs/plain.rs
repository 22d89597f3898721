//! `plain`: every chunk is one event, and nothing stands between events.

use super::message::MessageEvents;
use super::plain_text::PlainText;
use std::sync::Arc;

use crate::event::{Bytes, Event, EventStream, Timestamp};
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, EncodeError, Encoder, Options, Records};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "plain", summary: "Text without separators.", build };

fn build(options: &mut Options<'_>) -> Codec {
    let messages = MessageEvents::read(options);
    let format = PlainText::read(options);
    Codec {
        decoders: Some(Decoders::new(move || PlainDecoder(messages)).of_messages(messages)),
        encoder: Some(Arc::new(PlainEncoder(format))),
    }
}

/// Decoders of UTF-8 that keep the text only once, whatever `ecs_compatibility` says.
pub(crate) fn without_original() -> Decoders {
    let messages = MessageEvents::without_original();
    Decoders::new(move || PlainDecoder(messages)).of_messages(messages)
}

struct PlainDecoder(MessageEvents);

impl Decoder for PlainDecoder {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        self.0.push_event(self.0.charset().text(chunk), Timestamp::now(), out);
    }

    fn decode_records(&mut self, records: Records) -> EventStream {
        self.0.of_records(&records)
    }
}

struct PlainEncoder(PlainText);

impl Encoder for PlainEncoder {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.0.write(event, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{decoded, encoded, json};

    #[test]
    fn a_chunk_is_an_event_and_its_text_is_kept_with_ecs() {
        let events = decoded("plain { }", &[b"a\nb", b""]);
        let shown: Vec<String> = events.iter().map(json).collect();
        assert_eq!(
            shown,
            [r#"{"message":"a\nb","event":{"original":"a\nb"}}"#, r#"{"message":"","event":{"original":""}}"#]
        );
        let events = decoded(r#"plain { ecs_compatibility => disabled charset => "ISO-8859-1" }"#, &[b"caf\xe9"]);
        assert_eq!(json(&events[0]), r#"{"message":"café"}"#);
    }

    #[test]
    fn bytes_that_are_no_utf8_are_escaped_with_the_whole_text() {
        let events = decoded("plain { ecs_compatibility => disabled }", &[b"caf\xe8 \"q\" \\ \xc3\xa9\t# end"]);
        let message = events[0].fields().get("message").unwrap().as_str().unwrap().to_owned();
        assert_eq!(message, r#"caf\xE8 \"q\" \\ é\t# end"#);
    }

    #[test]
    fn without_a_format_time_host_and_message_are_printed() {
        let at = r#""@timestamp":"2020-01-02T03:04:05.006Z""#;
        let events = [format!(r#"{{{at},"message":"m","host":"h"}}"#), format!(r#"{{{at},"host":{{"name":"x"}}}}"#)];
        assert_eq!(
            encoded("plain { }", &[&events[0], &events[1]]),
            "2020-01-02T03:04:05.006Z h m2020-01-02T03:04:05.006Z {name=x} %{message}"
        );
        assert_eq!(encoded(r#"line { format => "%{a} %{zz}" }"#, &[r#"{"a":[1,2]}"#]), "1,2 %{zz}\n");
        assert_eq!(encoded("dots { }", &["{}", "{}"]), "..");
    }
}
