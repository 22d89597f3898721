//! Options and a text: it is a record or the event is tagged.

#![no_main]

mod support;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use spillway::pipeline::Plan;

const OPTIONS: [&str; 5] = [
    "",
    r#"separator => "||" quote_char => "'" skip_empty_columns => true"#,
    r#"quote_char => "\x00" separator => "é" target => "t""#,
    r#"columns => ["a", "b", "[c][d]"] convert => { "a" => "integer" "b" => "float" "[c][d]" => "boolean" } skip_header => true"#,
    r#"convert => { "column1" => "date" "column2" => "date_time" } skip_empty_rows => true"#,
];

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the options.
    let Some((first, bytes)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    static FILTERS: OnceLock<Vec<Plan>> = OnceLock::new();
    let filters = FILTERS.get_or_init(|| OPTIONS.map(build).into());
    for event in support::run(&filters[usize::from(*first) % filters.len()], text) {
        let has_columns = event.fields().len() > 3 || event.fields().contains_key("column1");
        assert!(has_columns || event.fields().contains_key("tags") || text.starts_with(['\n', '\r']) || first % 5 == 1);
    }
});

fn build(options: &str) -> Plan {
    support::filter(&format!(r#"filter {{ csv {{ source => "m" {options} }} }}"#), &[]).expect("good options")
}
