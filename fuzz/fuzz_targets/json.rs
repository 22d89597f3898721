//! A document of any text: read or refused; what was read survives being written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use spillway::event::json::{Numbers, Reader, write_value};
use spillway::event::{Text, Value};

fuzz_target!(|text: &str| {
    for numbers in [Numbers::Decimal, Numbers::Double] {
        let text = Text::from(text);
        let mut reader = Reader::new(&text, numbers);
        while let Ok(Some(value)) = reader.next_value() {
            let first = written(&value);
            let again = Reader::new(&first, numbers).next_value().expect("what was written can be read");
            let second = written(&again.expect("a value was written"));
            assert_eq!(first, second);
        }
        assert!(reader.offset() <= text.len());
    }
});

fn written(value: &Value) -> Text {
    let mut out = Vec::new();
    write_value(value, &mut out);
    Text::from(String::from_utf8(out).expect("JSON is text"))
}
