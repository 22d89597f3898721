//! Bytes in two machine words: up to 15 inline, longer ones shared and sliced without a copy.
//!
//! An event is made of many small strings that are moved far more often than they are read. Two words stay in
//! registers on the way from a reader to the place where they are kept; three, which every other shared string type
//! needs, go through memory, and the processor has to wait for its own stores. `benches/event_model.rs` has the
//! comparison.
//!
//! ```text
//! byte    0 … 7                    8 … 14                     15
//! inline  content, 15 bytes                                   10 | length, 4 bits
//! static  pointer to the content   length (bits 32 … 62) …    00
//! shared  pointer of an Arc        offset, 31 bits, length, 31 bits, 01
//! ```
//!
//! What fits is always inline, and unused bytes are zero. So equal short values are equal words, and a short value never
//! equals one that is not inline.

use std::ops::{Deref, Range};
use std::sync::Arc;

/// Most bytes that are kept inline.
const INLINE: usize = 15;

const STATIC: u64 = 0;
const SHARED: u64 = 1;
const IS_INLINE: u64 = 2;

// The layout puts the tag in the last byte of the second word.
const _: () = assert!(cfg!(target_endian = "little") && size_of::<Bytes>() == 16 && size_of::<usize>() == 8);

/// A cheap to clone, cheap to slice, immutable sequence of bytes.
#[repr(C)]
pub struct Bytes {
    /// Content (inline, no pointer then), address of the content (static), or what `Arc::<Vec<u8>>::into_raw` gave
    /// (shared).
    first: *const u8,
    second: u64,
}

// SAFETY: the content never changes, and the pointer is that of an `Arc` of a type that is both.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// Most bytes that one value can have. Inputs bound what they read far below this; what is longer is cut.
    pub const LONGEST: usize = (1 << 31) - 1;

    /// No bytes.
    pub const fn new() -> Self {
        Self::borrowed(&[])
    }

    /// Bytes of the program itself. Costs nothing, nor do its clones.
    #[inline]
    pub const fn borrowed(bytes: &'static [u8]) -> Self {
        assert!(bytes.len() <= Self::LONGEST);
        if bytes.len() <= INLINE {
            return Self::inline(bytes);
        }
        Self { first: bytes.as_ptr(), second: (STATIC << 62) | (bytes.len() as u64) << 31 }
    }

    /// Most bytes that are kept inline.
    pub const fn inline_capacity() -> usize {
        INLINE
    }

    fn kind(&self) -> u64 {
        self.second >> 62
    }

    fn length(&self) -> usize {
        (self.second >> 31) as usize & Self::LONGEST
    }

    fn offset(&self) -> usize {
        self.second as usize & Self::LONGEST
    }

    /// `content` has at most [`INLINE`] bytes.
    #[inline]
    const fn inline(content: &[u8]) -> Self {
        Self::from_words(words(content), content.len())
    }

    /// The content as [`words`] gives it.
    #[inline]
    const fn from_words(words: u128, length: usize) -> Self {
        let tag = (IS_INLINE << 62) | (length as u64) << 56;
        Self { first: std::ptr::without_provenance(words as u64 as usize), second: (words >> 64) as u64 | tag }
    }

    /// Whether these bytes are kept inline and all of them are ASCII.
    #[inline]
    pub(super) fn is_short_ascii(&self) -> bool {
        const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
        let content = self.first.addr() as u64 | self.second & (u64::MAX >> 8);
        self.kind() == IS_INLINE && content & TOPS == 0
    }

    fn share(mut content: Vec<u8>) -> Self {
        content.truncate(Self::LONGEST);
        if content.capacity() > 2 * content.len() {
            // A short line must not hold the whole buffer of a read.
            content.shrink_to_fit();
        }
        let length = content.len() as u64;
        Self { first: Arc::into_raw(Arc::new(content)).cast(), second: (SHARED << 62) | length << 31 }
    }

    /// Whether these bytes are kept inline.
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        self.kind() == IS_INLINE
    }

    /// Whether both are the same two words: what is equal to a short value, and nothing else. The word with the
    /// length comes first, in which most differ.
    #[inline(always)]
    pub(super) fn has_words_of(&self, other: &Self) -> bool {
        self.second == other.second && self.first.addr() == other.first.addr()
    }

    /// The memory of a value that is kept inline, and how many bytes of it are content.
    #[inline]
    pub(super) fn as_padded(&self) -> Option<(&[u8; 16], usize)> {
        if self.kind() != IS_INLINE {
            return None;
        }
        // SAFETY: an inline value is sixteen initialised bytes, none of which belongs to a pointer.
        let memory = unsafe { &*std::ptr::from_ref(self).cast::<[u8; 16]>() };
        Some((memory, (self.second >> 56) as usize & INLINE))
    }

    /// The bytes.
    #[inline(always)]
    pub fn as_slice(&self) -> &[u8] {
        match self.kind() {
            // SAFETY: the content lies in the first bytes of the value itself, and its length is at most 15.
            IS_INLINE => unsafe {
                std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), (self.second >> 56) as usize & INLINE)
            },
            // SAFETY: made from a static slice of this length.
            STATIC => unsafe { std::slice::from_raw_parts(self.first, self.length()) },
            // SAFETY: the Arc is alive while this value is, and the range was checked when it was made.
            _ => unsafe {
                let content = &*self.first.cast::<Vec<u8>>();
                content.get_unchecked(self.offset()..self.offset() + self.length())
            },
        }
    }

    /// A part of the bytes, which shares their memory unless it is short. `None` when the range is not inside.
    #[inline(always)]
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        let whole = self.as_slice();
        let (start, length) = (range.start, range.end.checked_sub(range.start)?);
        if range.end > whole.len() {
            return None;
        }
        if length <= INLINE {
            // One load of sixteen bytes and a mask, where there are as many.
            let words = match whole.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
                Some(window) => u128::from_le_bytes(*window) & !(u128::MAX << (8 * length)),
                None => words(whole.get(range)?),
            };
            return Some(Self::from_words(words, length));
        }
        Some(self.share_part(start, length))
    }

    /// `length` is more than fits inline, and the part lies inside.
    #[inline]
    fn share_part(&self, start: usize, length: usize) -> Self {
        let length = (length as u64) << 31;
        if self.kind() == STATIC {
            return Self { first: self.first.wrapping_add(start), second: (STATIC << 62) | length };
        }
        // SAFETY: inline content has no part longer than it, so this one is shared: the pointer came from an Arc.
        unsafe { Arc::increment_strong_count(self.first.cast::<Vec<u8>>()) };
        Self { first: self.first, second: (SHARED << 62) | length | (self.offset() + start) as u64 }
    }

    /// As [`Bytes::slice`], of a part that was borrowed from these bytes. `None` for any other.
    #[inline]
    pub fn part(&self, part: &[u8]) -> Option<Self> {
        let start = part.as_ptr().addr().wrapping_sub(self.as_ptr().addr());
        self.slice(start..start.checked_add(part.len())?)
    }
}

/// Up to 16 bytes as a number: the first byte is the lowest, unused ones are zero.
#[inline]
const fn words(content: &[u8]) -> u128 {
    let n = content.len();
    if let (Some(head), Some(tail)) = (content.first_chunk::<8>(), content.last_chunk::<8>()) {
        // The tail overlaps the head by 16 - n.
        return u64::from_le_bytes(*head) as u128 | (u64::from_le_bytes(*tail) as u128) << (8 * (n - 8));
    }
    if let (Some(head), Some(tail)) = (content.first_chunk::<4>(), content.last_chunk::<4>()) {
        return (u32::from_le_bytes(*head) as u64 | (u32::from_le_bytes(*tail) as u64) << (8 * (n - 4))) as u128;
    }
    match content {
        [a] => *a as u128,
        [a, b] => *a as u128 | (*b as u128) << 8,
        [a, b, c] => *a as u128 | (*b as u128) << 8 | (*c as u128) << 16,
        _ => 0,
    }
}

impl Clone for Bytes {
    #[inline]
    fn clone(&self) -> Self {
        if self.kind() == SHARED {
            // SAFETY: the pointer came from an Arc that this value keeps alive.
            unsafe { Arc::increment_strong_count(self.first.cast::<Vec<u8>>()) };
        }
        Self { first: self.first, second: self.second }
    }
}

impl Drop for Bytes {
    #[inline]
    fn drop(&mut self) {
        if self.kind() == SHARED {
            // SAFETY: gives back the count that this value holds.
            unsafe { Arc::decrement_strong_count(self.first.cast::<Vec<u8>>()) };
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(content: Vec<u8>) -> Self {
        if content.len() <= INLINE { Self::inline(&content) } else { Self::share(content) }
    }
}

impl From<&[u8]> for Bytes {
    #[inline]
    fn from(content: &[u8]) -> Self {
        if content.len() <= INLINE { Self::inline(content) } else { Self::share(content.to_vec()) }
    }
}

impl PartialEq for Bytes {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        if self.has_words_of(other) {
            return true;
        }
        !self.is_short() && !other.is_short() && self.as_slice() == other.as_slice()
    }
}

impl Eq for Bytes {}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

    #[test]
    fn every_length_in_every_form_reads_back() {
        for length in 0..=TEXT.len() {
            let content = &TEXT[..length];
            for bytes in [Bytes::from(content), Bytes::from(content.to_vec()), Bytes::borrowed(content)] {
                assert_eq!(bytes.as_slice(), content);
                assert_eq!(bytes.clone(), bytes);
                assert_eq!(bytes, Bytes::from(content));
            }
        }
    }

    #[test]
    fn every_slice_of_every_form_is_that_of_the_content() {
        for whole in [Bytes::from(TEXT), Bytes::borrowed(TEXT), Bytes::from(&TEXT[..15])] {
            for start in 0..=whole.len() {
                for end in start..=whole.len() {
                    let part = whole.slice(start..end).unwrap();
                    assert_eq!(part.as_slice(), &TEXT[start..end]);
                    assert_eq!(part.slice(0..part.len()).unwrap(), part);
                }
            }
            assert_eq!(whole.slice(1..whole.len() + 1), None);
        }
    }

    #[test]
    fn a_slice_outlives_what_it_was_cut_from() {
        let part = Bytes::from(TEXT.to_vec()).slice(3..30).unwrap().slice(1..25).unwrap();
        assert_eq!(part.as_slice(), &TEXT[4..28]);
        let moved = std::thread::spawn(move || part.clone());
        assert_eq!(moved.join().unwrap().as_slice(), &TEXT[4..28]);
    }
}
