//! Files of keys and exported keys of any bytes: only whole frames are read, what is read can be written again, and
//! reading ends.

#![no_main]

use libfuzzer_sys::fuzz_target;
use spillway::plugins::filters::dedupe::exchange::{self, Line};
use spillway::plugins::filters::dedupe::segment::{self, SegmentReader};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some(mut reader)) = SegmentReader::new(bytes) {
        let mut again = segment::header(&reader.seed());
        loop {
            let mut records = Vec::new();
            if !reader.next_frame(|record| records.push(record)).expect("memory can be read") {
                break;
            }
            segment::write_frame(&records, &mut again);
            assert_eq!(again.len() as u64, reader.end());
        }
        // The header has four bytes that say nothing.
        assert_eq!(again.get(36..), bytes.get(36..again.len()));
    }
    for line in String::from_utf8_lossy(bytes).lines() {
        match exchange::parse(line) {
            Some(Line::Head(seed)) => assert_eq!(exchange::parse(&exchange::head(&seed)), Some(Line::Head(seed))),
            Some(Line::Key(key)) => assert_eq!(exchange::parse(&exchange::line(&key)), Some(Line::Key(key))),
            None => {}
        }
    }
});
