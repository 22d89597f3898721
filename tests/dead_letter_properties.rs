//! Whatever goes into a segment or an event comes out the same, and whatever bytes come in, nothing panics.

mod dead_letter_support;

use std::io::Cursor;

use dead_letter_support::{entries, segment};
use proptest::collection::vec;
use proptest::prelude::*;
use spillway::dead_letter::entry::{NewEntry, RawEntry};
use spillway::dead_letter::record::{self, Found, SegmentReader};
use spillway::event::cbor::{self, Encoder};
use spillway::event::{Decimal, Event, Map, Text, Timestamp, Value};

/// Sizes from nothing to four blocks, with those that fill a block to the last few bytes more often.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0..400_usize,
        3 => 0..133_120_usize,
        3 => (1..4_usize, 0..30_usize).prop_map(|(blocks, less)| blocks * (record::BLOCK - record::HEADER) - less),
    ]
}

fn payloads(sizes: &[usize]) -> Vec<Vec<u8>> {
    let letters = b"csme\0\xffx";
    let payload = |(n, size): (usize, &usize)| (0..*size).map(|at| letters[(at * 7 + n) % letters.len()]).collect();
    sizes.iter().enumerate().map(payload).collect()
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    let nanos = prop_oneof![Just(0), (0..1000_u32).prop_map(|ms| ms * 1_000_000), 0..1_000_000_000_u32];
    (-62_000_000_000..253_000_000_000_i64, nanos).prop_map(|(s, n)| Timestamp::from_unix(s, n).unwrap())
}

fn big() -> impl Strategy<Value = num_bigint::BigInt> {
    (any::<bool>(), vec(any::<u8>(), 0..40)).prop_map(|(minus, bytes)| {
        let n = num_bigint::BigInt::from_bytes_be(num_bigint::Sign::Plus, &bytes);
        if minus { -n } else { n }
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "\\PC{0,30}",
        4 => "[a-e]{0,5}",
        1 => ("\\PC", 3900..4100_usize).prop_map(|(c, n)| c.repeat(n)),
        1 => ("\\PC{1,3}", 10_000..40_000_usize).prop_map(|(c, n)| c.repeat(n)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        6 => text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        2 => any::<i64>().prop_map(Value::from),
        1 => (0..300_i64).prop_map(Value::from),
        // NaN is never equal to itself, so it has a test of its own.
        2 => any::<f64>().prop_filter("NaN", |f| !f.is_nan()).prop_map(Value::from),
        1 => timestamp().prop_map(Value::from),
        1 => big().prop_map(|n| Value::BigInteger(Box::new(n))),
        1 => (big(), -400..400_i32).prop_map(|(n, scale)| Value::Decimal(Decimal::new(n, scale))),
    ];
    scalar.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::Array),
            vec((text(), inner), 0..8).prop_map(|fields| Value::Map(fields.into_iter().collect())),
        ]
    })
}

fn map() -> impl Strategy<Value = Map> {
    vec((text(), value()), 0..40).prop_map(|fields| fields.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn entries_of_any_size_are_read_back_in_order(sizes in vec(size(), 0..14)) {
        let payloads = payloads(&sizes);
        let bytes = segment(&payloads);
        let mut end = 1;
        for payload in &payloads {
            end += record::framed_len(payload.len(), end);
        }
        prop_assert_eq!(end, bytes.len() as u64);
        let expected: Vec<_> = payloads.into_iter().filter(|p| !p.is_empty()).collect();
        let read: Vec<_> = entries(&bytes);
        prop_assert_eq!(read.len(), expected.len());
        for ((read, position), expected) in read.iter().zip(&expected) {
            prop_assert!(read == expected);
            let mut again = SegmentReader::new(Cursor::new(&bytes), *position).unwrap();
            prop_assert!(again.at_entry_start().unwrap());
        }
    }

    #[test]
    fn a_reader_can_start_at_any_block(sizes in vec(size(), 1..14)) {
        let payloads = payloads(&sizes);
        let bytes = segment(&payloads);
        for start in (1..bytes.len() as u64).step_by(record::BLOCK) {
            let mut reader = SegmentReader::new(Cursor::new(&bytes), start).unwrap();
            let mut rest = payloads.iter();
            loop {
                match reader.next().unwrap() {
                    Found::Entry(entry) => prop_assert!(rest.any(|payload| payload == entry)),
                    Found::End => break,
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }

    #[test]
    fn a_segment_that_is_cut_off_loses_only_its_last_entry(sizes in vec(size(), 1..8), cut in 0.0..1.0) {
        let bytes = segment(&payloads(&sizes));
        let cut = 1 + ((bytes.len() - 1) as f64 * cut) as usize;
        let whole = entries(&bytes);
        let read = entries(&bytes[..cut]);
        prop_assert!(whole.iter().zip(&read).all(|((a, _), (b, _))| a == b));
        let ends_before = whole.iter().filter(|(_, position)| *position <= cut as u64).count();
        prop_assert!(read.len() >= ends_before);
    }

    #[test]
    fn damage_of_any_kind_delivers_nothing_wrong(
        sizes in vec(size(), 1..8), flips in vec((any::<prop::sample::Index>(), 1..=255_u8), 1..6),
    ) {
        let payloads = payloads(&sizes);
        let mut bytes = segment(&payloads);
        for (at, flip) in flips {
            let at = 1 + at.index(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= flip;
            }
        }
        let mut rest = payloads.iter();
        for (entry, _) in entries(&bytes) {
            prop_assert!(rest.any(|payload| *payload == entry));
        }
    }

    #[test]
    fn bytes_that_are_no_segment_end_without_an_entry_that_was_not_there(bytes in vec(any::<u8>(), 0..100_000)) {
        entries(&bytes);
    }

    #[test]
    fn events_are_read_back(fields in map(), metadata in map()) {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::default();
        encoder.encode(&Map::new(), &Map::new(), &mut bytes).unwrap();
        bytes.clear();
        encoder.encode(&fields, &metadata, &mut bytes).unwrap();
        prop_assert_eq!(cbor::decode(&bytes).unwrap(), (fields, metadata));
    }

    #[test]
    fn entries_are_read_back(at in timestamp(), texts in (text(), text(), text()), fields in map()) {
        let event = Event::restore(fields, Map::new());
        let (plugin_type, plugin_id, reason) = &texts;
        let entry = NewEntry {
            entry_time: at, fields: event.fields(), metadata: event.metadata(), plugin_type, plugin_id, reason,
        };
        let mut bytes = Vec::new();
        entry.encode(&mut Encoder::default(), &mut bytes).unwrap();
        let raw = RawEntry::parse(&bytes).unwrap();
        prop_assert_eq!((raw.entry_time, raw.plugin_type, raw.plugin_id), (at, plugin_type.as_str(), plugin_id.as_str()));
        prop_assert_eq!(raw.reason, reason.as_str());
        prop_assert_eq!(raw.event().unwrap(), event);
        bytes.extend_from_slice(b"what stands behind is ignored");
        prop_assert_eq!(RawEntry::parse(&bytes).unwrap().reason, reason.as_str());
    }

    #[test]
    fn a_damaged_event_is_refused_or_read_but_never_panics(
        fields in map(), flips in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        Encoder::default().encode(&fields, &fields, &mut bytes).unwrap();
        let whole = bytes.clone();
        let _ = cbor::decode(&whole[..cut.index(whole.len())]);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = cbor::decode(&bytes);
        let _ = RawEntry::parse(&bytes);
    }

    #[test]
    fn any_bytes_are_refused_or_read_but_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        let _ = cbor::decode(&bytes);
        let _ = RawEntry::parse(&bytes);
    }
}

#[test]
fn nan_and_the_infinities_survive() {
    let fields: Map = [("n", f64::NAN), ("p", f64::INFINITY), ("m", f64::NEG_INFINITY), ("z", -0.0)]
        .into_iter()
        .map(|(k, v)| (k, Value::from(v)))
        .collect();
    let mut bytes = Vec::new();
    Encoder::default().encode(&fields, &Map::new(), &mut bytes).unwrap();
    let (read, _) = cbor::decode(&bytes).unwrap();
    let bits = |map: &Map| -> Vec<u64> {
        map.iter().map(|(_, v)| if let Value::Float(f) = v { f.to_bits() } else { 0 }).collect()
    };
    assert_eq!(bits(&read), bits(&fields));
}

#[test]
fn an_event_as_deep_as_json_can_make_it_survives() {
    let mut value = Value::from("bottom");
    for depth in 0..1000 {
        value = if depth % 2 == 0 {
            Value::Array(vec![value])
        } else {
            Value::Map([(Text::from("k"), value)].into_iter().collect())
        };
    }
    let fields: Map = [("deep", value)].into_iter().collect();
    let mut bytes = Vec::new();
    Encoder::default().encode(&fields, &Map::new(), &mut bytes).unwrap();
    assert_eq!(cbor::decode(&bytes).unwrap().0, fields);
}

/// Nesting that only bytes can make: a hundred thousand lists, tags, tables.
#[test]
fn hostile_nesting_is_refused() {
    let list: &[u8] = b"\x82\x73java.util.ArrayList\x81";
    let start: &[u8] = b"\x82\x71java.util.HashMap\xa2\x64DATA";
    for inner in [list, b"\xd9\x01\x00", b"\xd8\x19", b"\x9f", b"\xc4\x82\x00", b"\x7f"] {
        assert!(cbor::decode(&[start, &inner.repeat(100_000)].concat()).is_err());
        assert!(cbor::decode(&inner.repeat(100_000)).is_err());
    }
}

/// Lengths that promise more than there is: refused at once, and nothing of that size is allocated.
#[test]
fn hostile_lengths_are_refused() {
    let start: &[u8] = b"\x82\x71java.util.HashMap";
    for head in [b"\xbb".as_slice(), b"\x9b", b"\x7b", b"\x5b", b"\xc2\x5b", b"\x82\x73java.util.ArrayList\x9b"] {
        for length in [u64::MAX, u64::MAX >> 1, 1 << 40, 1 << 31] {
            assert!(cbor::decode(&[start, head, &length.to_be_bytes(), b"abc"].concat()).is_err());
        }
    }
}
