//! An event of any bytes: decoded or refused; what was decoded survives being written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use spillway::event::cbor::{Encoder, decode};

fuzz_target!(|bytes: &[u8]| {
    let Ok(event) = decode(bytes) else { return };
    let mut written = Vec::new();
    if Encoder::default().encode(&event.0, &event.1, &mut written).is_err() {
        return;
    }
    let again = decode(&written).expect("what was written can be read");
    // Compared as text, since NaN is not equal to itself.
    assert_eq!(format!("{event:?}"), format!("{again:?}"));
});
