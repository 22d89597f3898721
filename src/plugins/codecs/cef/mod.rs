//! `cef`: the Common Event Format of security devices, `CEF:0|vendor|product|…|key=value …`.

mod encode;
mod keys;
mod message;
mod time;

use std::sync::Arc;

use jiff::tz::TimeZone;
use memchr::memmem::Finder;

use self::encode::CefEncoder;
use self::keys::Keys;
use self::message::Extension;
use super::charset::Charset;
use crate::event::{Bytes, Event, EventStream, FieldRef, Text, Timestamp, Value};
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, Ecs, Options, Records};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "cef", summary: "Common Event Format of security devices.", build };

/// Most bytes that are kept for the end of a message.
const LONGEST: usize = 20 * 1024 * 1024;

/// How a message becomes an event.
struct Settings {
    keys: Keys,
    zone: TimeZone,
    raw_data_field: Option<FieldRef>,
    delimiter: Option<Finder<'static>>,
}

fn build(options: &mut Options<'_>) -> Codec {
    let ecs = Ecs::read(options);
    let device = options
        .word("device", &["observer", "host"])
        .doc("Whether the device that a message tells of observes hosts, or is one (ECS).")
        .default("observer".to_owned());
    let keys = Keys::new(ecs, &device);
    let delimiter = options.string("delimiter").doc("What stands between messages; \\r and \\n mean the characters.");
    let delimiter = delimiter.optional().map(|text| text.replace("\\r", "\r").replace("\\n", "\n"));
    let delimiter = delimiter.filter(|text| !text.is_empty());
    let zone = zone(options);
    let raw_data_field = options.field("raw_data_field").doc("Field that takes the whole message.").optional();
    let encoder = CefEncoder::read(options, &keys, delimiter.clone().unwrap_or_default());
    let settings = Arc::new(Settings {
        keys,
        zone,
        raw_data_field,
        delimiter: delimiter.map(|text| Finder::new(text.as_bytes()).into_owned()),
    });
    Codec {
        decoders: Some(Decoders::new(move || CefDecoder { settings: settings.clone(), unfinished: Vec::new() })),
        encoder: Some(Arc::new(encoder)),
    }
}

fn zone(options: &mut Options<'_>) -> TimeZone {
    let locale = options.string("locale").doc("Language of month names; English is the one that is known.").optional();
    if locale.is_some_and(|locale| !locale.starts_with("en")) {
        options.invalid("locale", "only English month names are understood: write `locale => \"en\"` or leave it out");
    }
    let zone = options.string("default_timezone").doc("Zone of times that name none; this machine's unless set.");
    let Some(name) = zone.optional() else { return TimeZone::system() };
    time::zone(&name).unwrap_or_else(|| {
        options.invalid("default_timezone", format!("unknown time zone `{name}`"));
        TimeZone::UTC
    })
}

struct CefDecoder {
    settings: Arc<Settings>,
    /// What came behind the last delimiter.
    unfinished: Vec<u8>,
}

impl Decoder for CefDecoder {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        let settings = self.settings.clone();
        let Some(delimiter) = &settings.delimiter else { return out.push(settings.event(chunk)) };
        let searched = self.unfinished.len().saturating_sub(delimiter.needle().len() - 1);
        self.unfinished.extend_from_slice(&chunk);
        let new = self.unfinished.get(searched..).unwrap_or_default();
        if delimiter.find(new).is_some() {
            let all = Bytes::from(std::mem::take(&mut self.unfinished));
            let mut start = 0;
            for end in delimiter.find_iter(&all) {
                out.push(settings.event(all.slice(start..end).unwrap_or_default()));
                start = end + delimiter.needle().len();
            }
            self.unfinished = all.get(start..).unwrap_or_default().to_vec();
        } else if self.unfinished.len() > LONGEST {
            out.push(settings.event(Bytes::from(std::mem::take(&mut self.unfinished))));
        }
    }

    fn decode_records(&mut self, records: Records) -> EventStream {
        // Each is a message, whatever it was cut at.
        records.iter().map(|record| self.settings.event(record)).collect::<Vec<_>>().into()
    }

    fn flush(&mut self, out: &mut Vec<Event>) {
        if !self.unfinished.is_empty() {
            out.push(self.settings.event(Bytes::from(std::mem::take(&mut self.unfinished))));
        }
    }

    fn held(&self) -> usize {
        self.unfinished.len()
    }

    fn needs_lines(&self) -> bool {
        self.settings.delimiter.is_none()
    }
}

impl Settings {
    /// The event of one message; one with a tag when it cannot be read.
    fn event(&self, message: Bytes) -> Event {
        let (text, problem) = match Text::from_utf8(message) {
            Ok(text) => match self.read(&text) {
                Ok(event) => return event,
                Err(problem) => (text, problem),
            },
            Err(bytes) => (Charset::Utf8.text(bytes.0), "it is not UTF-8".to_owned()),
        };
        tracing::error!(target: "logstash.codecs.cef",
            "Failed to decode CEF payload. Generating failure event with payload in message field. {{problem: {problem}}}");
        let mut event = Event::from_message(text, Timestamp::now());
        event.tag("_cefparsefailure");
        event
    }

    fn read(&self, text: &Text) -> Result<Event, String> {
        let mut event = Event::new();
        if let Some(field) = &self.raw_data_field {
            event.set(field, text.clone()).map_err(|error| error.to_string())?;
        }
        let message = message::split(text)?;
        let mut set = |field: &FieldRef, value: Value| event.set(field, value).map_err(|error| error.to_string());
        for (field, value) in self.keys.header.iter().zip(message.header) {
            set(field, Value::String(value))?;
        }
        if let Some(syslog) = message.syslog {
            set(&self.keys.syslog, Value::String(syslog))?;
        }
        let names_zone =
            |extension: &&Extension| matches!(extension.key.as_str(), "dtz" | "deviceTimeZone" | "destinationTimeZone");
        let own_zone = message.extensions.iter().rfind(names_zone).and_then(|extension| time::zone(&extension.value));
        let zone = own_zone.as_ref().unwrap_or(&self.zone);
        for Extension { key, value } in message.extensions {
            match self.keys.find(&key) {
                Some(known) if known.is_time => {
                    let at = time::parse(&value, zone).ok_or_else(|| format!("`{value}` is no time"))?;
                    set(&known.field, Value::Timestamp(at))?;
                }
                Some(known) => set(&known.field, Value::String(value))?,
                None => set(&message::unknown_key(&key), Value::String(value))?,
            }
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{codec, decoded, encoded, json};

    const PLAIN: &str = "cef { ecs_compatibility => disabled }";

    fn shown(codec: &str, message: &str) -> String {
        let events = decoded(codec, &[message.as_bytes()]);
        assert_eq!(events.len(), 1);
        json(&events[0])
    }

    #[test]
    fn a_message_becomes_fields() {
        assert_eq!(
            shown(PLAIN, "CEF:0|A|P|1|2|n|3|src=192.0.2.1 dlat=1 dtz=UTC x.y=5 list[1]=b my_key=c\n"),
            r#"{"cefVersion":"0","deviceVendor":"A","deviceProduct":"P","deviceVersion":"1","deviceEventClassId":"2","name":"n","severity":"3","sourceAddress":"192.0.2.1","destinationLatitude":"1","destinationTimeZone":"UTC","x.y":"5","list":{"1":"b"},"my_key":"c"}"#
        );
        assert_eq!(
            shown(
                r#"cef { device => "host" }"#,
                "<1>fw CEF:0|A|P|1|2|n|3|dvc=192.0.2.9 dvchost=h cn15Label=l deviceCustomNumber15=4 c6a1=::1"
            ),
            r#"{"cef":{"version":"0","name":"n","device_custom_number_15":{"label":"l","value":"4"},"device_custom_ipv6_address_1":{"value":"::1"}},"observer":{"vendor":"A","product":"P","version":"1"},"event":{"code":"2","severity":"3"},"log":{"syslog":{"header":"<1>fw"}},"host":{"ip":"192.0.2.9","name":"h"}}"#
        );
        assert!(
            shown(r#"cef { raw_data_field => "raw" }"#, "CEF:0|A|P|1|2|n|3|").contains(r#""raw":"CEF:0|A|P|1|2|n|3|""#)
        );
        assert!(shown(PLAIN, "\"CEF:0|A|P|1|2|n|3|act=a\"").contains(r#""deviceAction":"a""#));
    }

    #[test]
    fn what_is_no_message_is_kept_as_text_with_a_tag() {
        for text in [
            "hello",
            "CEF:0|A|P|1|2|n",
            "CEF:0|A|P|1|2|n|3|a=1\nb=2",
            "CEF:0|A|P|1|2|n|3|stray a=1",
            "CEF:0|A|P|1|2|n|3|x",
            "",
        ] {
            let shown = shown(PLAIN, text);
            assert!(shown.ends_with(r#""tags":["_cefparsefailure"]}"#), "{text}: {shown}");
        }
        let events = decoded("cef { }", &[b"CEF:0|A|P|1|2|n\xff|3|"]);
        assert_eq!(json(&events[0]), r#"{"message":"CEF:0|A|P|1|2|n\\xFF|3|","tags":["_cefparsefailure"]}"#);
        let events = decoded("cef { }", &[b"CEF:0|A|P|1|2|n|3|source=x src=192.0.2.1"]);
        assert!(json(&events[0]).contains("_cefparsefailure"));
    }

    #[test]
    fn an_equals_sign_without_a_key_belongs_to_the_value() {
        let shown =
            shown(PLAIN, r"CEF:0|A|P|1|2|n|3|request=http://example.org/?a=1&b=2 msg=a \= b c:\\d\nnext line  fname=x");
        assert!(shown.contains(r#""requestUrl":"http://example.org/?a=1&b=2""#), "{shown}");
        assert!(shown.contains(r#""message":"a = b c:\\d\nnext line","fileName":"x""#), "{shown}");
    }

    #[test]
    fn messages_are_cut_at_the_delimiter_wherever_chunks_end() {
        let codec = r#"cef { ecs_compatibility => disabled delimiter => "\r\n" }"#;
        let text = b"CEF:0|A|P|1|2|n|3|act=a\r\nCEF:0|A|P|1|2|n|3|act=b\r\nCEF:0|A|P|1|2|n|3|act=c";
        for at in 0..text.len() {
            let events = decoded(codec, &[&text[..at], &text[at..]]);
            let actions: Vec<_> =
                events.iter().map(|event| event.fields().get("deviceAction").unwrap().as_str()).collect();
            assert_eq!(actions, [Some("a"), Some("b"), Some("c")], "{at}");
        }
    }

    #[test]
    fn events_are_written() {
        let options = r#"cef { ecs_compatibility => disabled vendor => "%{v}" name => "a|b\c" severity => "%{s}" fields => ["sourceAddress", "msg", "n", "none", "my_field", "o"] "#;
        let event = r#"{"v":"Acme","s":"8.0","sourceAddress":"192.0.2.1","msg":"x=1\\\r\ny","n":5,"my_field":[1],"o":{"k":"="}}"#;
        assert_eq!(
            encoded(&format!(r"{options} reverse_mapping => true }}"), &[event]),
            r#"CEF:0|Acme|Logstash|1.0|Logstash|a\|b\\c|8|src=192.0.2.1 msg=x\=1\\\ny n=5 myfield=[1] o={"k":"\="}"#
        );
        assert_eq!(
            encoded(&format!(r#"{options} delimiter => "\n" }}"#), &[r#"{"v":"","s":"11","sourceAddress":"a"}"#]),
            "CEF:0|Elasticsearch|Logstash|1.0|Logstash|a\\|b\\\\c|6|sourceAddress=a\n"
        );
        assert_eq!(
            encoded(
                r#"cef { fields => ["[source][ip]", "message"] reverse_mapping => true }"#,
                &[r#"{"source":{"ip":"::1"},"message":"m"}"#]
            ),
            "CEF:0|Elasticsearch|Logstash|1.0|Logstash|Logstash|6|src=::1 msg=m"
        );
        assert!(codec(r#"cef { default_timezone => "Nowhere/Else" }"#).is_err());
    }
}
