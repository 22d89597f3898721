//! Bytes from a Beat, the first of which says in what pieces they come: frames, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use spillway::plugins::inputs::beats::frames::Frames;

fuzz_target!(|bytes: &[u8]| {
    let Some((size, bytes)) = bytes.split_first() else { return };
    let mut frames = Frames::default();
    for piece in bytes.chunks(usize::from(*size).max(1)) {
        frames.push(piece);
        loop {
            match frames.next_frame() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
