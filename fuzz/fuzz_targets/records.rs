//! A segment of any bytes: every entry in it, and every damage, is passed by once, and reading ends.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use spillway::dead_letter::entry::RawEntry;
use spillway::dead_letter::record::{BLOCK, FIRST_RECORD, Found, HEADER, SegmentReader};

fuzz_target!(|bytes: &[u8]| {
    let mut reader = SegmentReader::new(Cursor::new(bytes), FIRST_RECORD).expect("memory can be read");
    let mut last = reader.end();
    let mut found_count = 0;
    loop {
        match reader.next().expect("memory can be read") {
            Found::Entry(entry) => {
                assert!(entry.len() <= bytes.len());
                // What is in the entry is nobody's promise; it must only not bring the reader down.
                if let Ok(entry) = RawEntry::parse(entry) {
                    let _ = entry.event();
                }
            }
            Found::Damage(damage) => assert!(damage.offset <= bytes.len() as u64),
            Found::Torn(start) => {
                assert!(start <= bytes.len() as u64);
                break;
            }
            Found::End => break,
        }
        assert!(reader.end() > last, "the reader stands still at {last}");
        last = reader.end();
        found_count += 1;
    }
    assert!(found_count <= bytes.len() / HEADER + bytes.len() / BLOCK + 1);
});
