//! Finding what ends a string or needs an escape, many bytes at a time.

/// How many leading bytes of a string need no escape: none of them is a quote, a backslash or a control.
#[inline]
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<16>) {
        let special = special_bytes(chunk);
        if special != 0 {
            return at + special.trailing_zeros() as usize;
        }
        at += 16;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(is_special).unwrap_or(rest.len())
}

fn is_special(byte: &u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// One bit for each byte, the lowest for the first: whether it ends the string or needs an escape.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn special_bytes(bytes: &[u8; 16]) -> u32 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: every x86_64 has SSE2, and the load takes sixteen bytes from anywhere.
    unsafe {
        let lanes = _mm_loadu_si128(bytes.as_ptr().cast());
        let quote = _mm_cmpeq_epi8(lanes, _mm_set1_epi8(b'"' as i8));
        let backslash = _mm_cmpeq_epi8(lanes, _mm_set1_epi8(b'\\' as i8));
        let control = _mm_cmpeq_epi8(lanes, _mm_min_epu8(lanes, _mm_set1_epi8(0x1f)));
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)) as u32
    }
}

/// As above, for any processor.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn special_bytes(bytes: &[u8; 16]) -> u32 {
    bytes.iter().enumerate().fold(0, |special, (n, byte)| special | u32::from(is_special(byte)) << n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_is_seen() {
        for length in 0..40 {
            for at in 0..length {
                for byte in 0..=255 {
                    let mut bytes = vec![b'x'; length];
                    bytes[at] = byte;
                    assert_eq!(plain_prefix(&bytes), if is_special(&byte) { at } else { length }, "{byte} at {at}");
                }
            }
        }
    }
}
