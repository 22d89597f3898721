//! A mapping and a text: the mapping is refused, or the text fits, or the event is tagged and has nothing new.

#![no_main]

mod support;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Some((mapping, text)) = support::halves(input) else { return };
    let config = r#"filter { dissect { mapping => { "m" => "MAPPING" } add_field => { "[@metadata][ok]" => "1" } } }"#;
    let Some(filter) = support::filter(config, &[("MAPPING", mapping)]) else { return };
    for event in support::run(&filter, text) {
        let is_tagged = event.to_json().contains("_dissectfailure");
        let has_matched = event.metadata().contains_key("ok") || mapping.is_empty();
        // Text may hold the word itself.
        assert!(is_tagged || has_matched || input.contains("@metadata"));
    }
});
