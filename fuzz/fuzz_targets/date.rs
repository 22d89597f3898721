//! A format and a text: the format is refused or reads the text or not; so do the readers without a format.

#![no_main]

mod support;

use libfuzzer_sys::fuzz_target;
use spillway::event::time_format::{JodaFormat, JodaParser, Locale, read_iso8601};
use spillway::event::{Timestamp, Value};

fuzz_target!(|input: &str| {
    let Some((format, text)) = support::halves(input) else { return };
    let _ = read_iso8601(text);
    let Ok(parser) = JodaParser::compile(format, Locale::english(), 2026) else { return };
    if let Some(reading) = parser.read(text, 2026)
        && let Some(at) = Timestamp::from_millis(reading.local_millis)
    {
        let mut out = Vec::new();
        JodaFormat::compile(format).expect("what reads also prints").write(at, &mut out);
        String::from_utf8(out).expect("text");
    }
    // The formats with a name, and the way from a text to a field.
    let config =
        r#"filter { date { match => ["m", "UNIX", "UNIX_MS", "TAI64N", "ISO8601", "FORMAT"] target => "r" } }"#;
    let filter = support::filter(config, &[("FORMAT", format)]).expect("the format was good");
    for event in support::run(&filter, text) {
        let read = matches!(event.fields().get("r"), Some(Value::Timestamp(_)));
        assert_ne!(read, event.fields().contains_key("tags"));
    }
});
