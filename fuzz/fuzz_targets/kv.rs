//! Options and a text: pairs are found or not, within bounds.

#![no_main]

mod support;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use spillway::pipeline::Plan;

const OPTIONS: [&str; 6] = [
    "",
    r#"whitespace => "strict" allow_empty_values => true include_brackets => false"#,
    r#"field_split => ",; " value_split => ":=" allow_duplicate_values => false"#,
    r#"field_split => "é|" target => "r" trim_value => "<>" remove_char_key => "-." transform_key => "capitalize""#,
    r#"field_split_pattern => "&&?|;" value_split_pattern => "=>?""#,
    r#"recursive => true prefix => "p_" trim_key => "_" field_split => "\s""#,
];

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the options.
    let Some((first, bytes)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    static FILTERS: OnceLock<Vec<Plan>> = OnceLock::new();
    let filters = FILTERS.get_or_init(|| OPTIONS.map(build).into());
    support::run(&filters[usize::from(*first) % filters.len()], text);
});

fn build(options: &str) -> Plan {
    support::filter(&format!(r#"filter {{ kv {{ source => "m" {options} }} }}"#), &[]).expect("good options")
}
