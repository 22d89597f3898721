//! A stream of any bytes, cut anywhere: the syslog input makes events of it, and the cuts do not change which.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use spillway::config::{Language, Origin, Variables};
use spillway::event::{Event, Text};
use spillway::plugins::inputs::syslog::Reader;
use spillway::plugins::{Context, Options};

const OPTIONS: [&str; 4] = [
    "",
    "ecs_compatibility => disabled",
    "rfc => auto",
    "rfc => auto ecs_compatibility => disabled codec => json_lines",
];

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the options, the second the length of the pieces.
    let Some(([options, piece], bytes)) = input.split_first_chunk::<2>() else { return };
    static READERS: OnceLock<Vec<Reader>> = OnceLock::new();
    let readers = READERS.get_or_init(|| OPTIONS.map(build).to_vec());
    let reader = &readers[usize::from(*options) % readers.len()];
    let whole = events(reader, bytes, bytes.len());
    let pieces = events(reader, bytes, usize::from(*piece));
    assert_eq!(whole, pieces);
});

/// The events that a stream becomes, without their time.
fn events(reader: &Reader, bytes: &[u8], piece: usize) -> Vec<String> {
    let mut decoder = reader.decoder();
    let mut events: Vec<Event> = Vec::new();
    let peer = Text::borrowed("192.0.2.1");
    for chunk in bytes.chunks(piece.max(1)) {
        let stream = decoder.decode_chunk(chunk.to_vec().into());
        reader.on(stream, peer.clone()).take_into(usize::MAX, &mut events);
    }
    let mut rest = Vec::new();
    decoder.flush(&mut rest);
    reader.on(rest.into(), peer).take_into(usize::MAX, &mut events);
    let without_time = |mut event: Event| {
        event.fields_mut().remove("@timestamp");
        event.to_json()
    };
    events.into_iter().map(without_time).collect()
}

/// Reads options as the input would.
fn build(options: &str) -> Reader {
    let text = format!("input {{ syslog {{ timezone => UTC {options} }} }}");
    let origin = Origin::String { name: "syslog".into(), text };
    let mut loaded = spillway::config::load(&origin, &Language::default(), &Variables::default());
    let context = Context::alone("syslog");
    let block = loaded.config.inputs.first().expect("one input");
    let mut options = Options::new(block, &context, &mut loaded.diagnostics);
    let reader = Reader::read(&mut options);
    assert!(!loaded.diagnostics.has_errors());
    reader
}
