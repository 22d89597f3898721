//! `validate`, `envelope` and `replay` on any text: every cast and check, in both ways; what comes out is JSON.

#![no_main]

mod support;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use spillway::event::json::{Numbers, Reader};
use spillway::event::{EscapeStyle, FieldRef};
use spillway::pipeline::Plan;

const RULES: &str = r#"rules => [
  { "field" => "b" "required" => true "type" => "bigint" "min" => 1 "clamp_max" => 100 },
  { "field" => "d" "type" => "decimal(18,2)" "max" => 5 }, { "field" => "f" "type" => "double" },
  { "field" => "t" "type" => "timestamp(3)" }, { "field" => "z" "type" => "timestamp_ltz(6)" },
  { "field" => "l" "type" => "boolean" "on_type_error" => "null" }, { "field" => "[i][*][q]" "type" => "int" "required" => true },
  { "field" => "s" "pattern" => "^[a-z]+$" "max_length" => 4 "trim" => true }, { "field" => "e" "compare" => ">= [b]" } ]"#;

static PLANS: LazyLock<[Plan; 2]> = LazyLock::new(|| {
    ["strict", "sql"].map(|cast| {
        let config = format!(
            "filter {{ validate {{ source => 'm' cast => {cast} mode => all {RULES} }} \
             envelope {{ preset => dead_letter max_bytes => 300 }} replay {{ action => unwrap source => 'm' }} \
             replay {{ action => wrap repair_version => 'v' source => 'm' }} }}"
        );
        support::filter(&config, &[]).expect("a right configuration")
    })
});

fuzz_target!(|text: &str| {
    for plan in PLANS.iter() {
        for event in support::run(plan, text) {
            let out = FieldRef::parse("[@metadata][out]", EscapeStyle::None).expect("a reference");
            let Some(out) = event.get(&out).and_then(|out| out.as_text()).cloned() else { continue };
            assert!(Reader::new(&out, Numbers::Decimal).next_value().is_ok(), "{out}");
        }
    }
});
