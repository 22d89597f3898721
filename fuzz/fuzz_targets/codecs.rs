//! A stream of any bytes, cut anywhere: codecs make events of it, and the cuts do not change which.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use spillway::config::{Language, Origin, Variables};
use spillway::event::Event;
use spillway::plugins::{Context, Decoders, Options};

const CODECS: [&str; 10] = [
    "line",
    r#"line { delimiter => "ab" charset => "ISO-8859-1" }"#,
    "json_lines",
    r#"json_lines { target => "doc" }"#,
    r#"multiline { pattern => "^\s" what => "previous" max_lines => 3 }"#,
    r#"multiline { pattern => "\\$" what => "next" max_bytes => 20 charset => "ISO-8859-1" }"#,
    "cef",
    r#"cef { ecs_compatibility => "disabled" delimiter => "ab" raw_data_field => "raw" default_timezone => "UTC" }"#,
    "csv",
    r#"csv { autodetect_column_names => true separator => "ab" convert => { "x" => "integer" "y" => "date_time" } }"#,
];

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the codec, the second the length of the pieces.
    let Some(([codec, piece], bytes)) = input.split_first_chunk::<2>() else { return };
    static DECODERS: OnceLock<Vec<Decoders>> = OnceLock::new();
    let decoders = DECODERS.get_or_init(|| CODECS.map(build).to_vec());
    let decoders = &decoders[usize::from(*codec) % decoders.len()];
    let whole = decoded(decoders, bytes, bytes.len());
    let pieces = decoded(decoders, bytes, usize::from(*piece));
    assert_eq!(whole, pieces);
});

/// The events that a stream is decoded to, without their time.
fn decoded(decoders: &Decoders, bytes: &[u8], piece: usize) -> Vec<String> {
    let mut decoder = decoders.for_byte_stream();
    let mut events: Vec<Event> = Vec::new();
    for chunk in bytes.chunks(piece.max(1)) {
        decoder.decode(chunk.to_vec().into(), &mut events);
    }
    assert!(decoder.held() <= bytes.len());
    decoder.flush(&mut events);
    assert_eq!(decoder.held(), 0);
    let without_time = |mut event: Event| {
        event.fields_mut().remove("@timestamp");
        event.to_json()
    };
    events.into_iter().map(without_time).collect()
}

/// Builds a codec as an input would.
fn build(codec: &str) -> Decoders {
    let text = format!("input {{ any {{ codec => {codec} }} }}");
    let origin = Origin::String { name: "codec".into(), text };
    let mut loaded = spillway::config::load(&origin, &Language::default(), &Variables::default());
    let context = Context::alone("any");
    let block = loaded.config.inputs.first().expect("one input");
    let mut options = Options::new(block, &context, &mut loaded.diagnostics);
    let decoders = options.decoder("codec", "plain", &[]);
    assert!(!loaded.diagnostics.has_errors(), "{codec}");
    decoders
}
