//! The layout of a page, which is Logstash's: a version byte, then elements back to back, then zeros.
//!
//! ```text
//! offset 0   u8   2
//! then       i64  number of the element: 1, 2, 3 … over the life of the queue, consecutive inside a page
//!            i32  length of the payload, more than 0
//!            …    payload
//!            u32  CRC-32 of the payload alone
//! ```
//!
//! All integers are big-endian. An element never spans pages. The data ends at the first place that is no element with
//! the expected number.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;

/// Version of the page format.
pub const VERSION: u8 = 2;
/// The version before, which only differs in this byte.
pub const OLD_VERSION: u8 = 1;
/// Bytes in front of the first element.
pub const HEADER: u64 = 1;
/// Bytes of an element in front of its payload.
pub const ELEMENT_HEADER: usize = 12;
/// Bytes of an element beside its payload.
pub const OVERHEAD: usize = 16;
/// A page with room for one element of one byte.
pub const SMALLEST: u64 = 18;

/// The largest payload that a page of that size can hold.
pub fn largest_payload(capacity: u64) -> u64 {
    capacity.saturating_sub(HEADER + OVERHEAD as u64)
}

/// The start of an element: its number and the length of its payload. Nothing where there is no element.
fn header(bytes: &[u8]) -> Option<(u64, usize)> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    let number = u64::try_from(i64::from_be_bytes(*number)).ok().filter(|n| *n > 0)?;
    let length = usize::try_from(i32::from_be_bytes(*rest.first_chunk()?)).ok().filter(|n| *n > 0)?;
    Some((number, length))
}

/// An element in a piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its number.
    pub number: u64,
    /// Where its payload is in the piece.
    pub payload: Range<usize>,
    /// The checksum that its payload should have.
    pub crc: u32,
}

/// What stands at some place of a piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// An element.
    Element(Element),
    /// The element goes on behind the end of the piece: so many bytes from its start are needed.
    Needs(usize),
    /// No element with the expected number.
    Nothing,
}

/// Looks at the place `at` of a piece of a page. `left` is how many bytes of the page there are from `at` on.
pub fn slot(piece: &[u8], at: usize, left: u64, expected: u64) -> Slot {
    let rest = piece.get(at..).unwrap_or_default();
    if rest.len() < ELEMENT_HEADER {
        return if left >= ELEMENT_HEADER as u64 { Slot::Needs(ELEMENT_HEADER) } else { Slot::Nothing };
    }
    let Some((number, length)) = header(rest).filter(|(number, _)| *number == expected) else { return Slot::Nothing };
    let whole = length + OVERHEAD;
    if whole as u64 > left {
        return Slot::Nothing;
    }
    let payload = ELEMENT_HEADER..ELEMENT_HEADER + length;
    match rest.get(payload.end..).and_then(|tail| tail.first_chunk::<4>()) {
        Some(crc) => Slot::Element(Element {
            number,
            payload: at + payload.start..at + payload.end,
            crc: u32::from_be_bytes(*crc),
        }),
        None => Slot::Needs(whole),
    }
}

/// Appends an element whose number is not known yet; see [`set_number`].
pub fn push(out: &mut Vec<u8>, write_payload: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; ELEMENT_HEADER]);
    write_payload(out);
    let payload = out.get(start + ELEMENT_HEADER..).unwrap_or_default();
    // A payload that does not fit into a page is refused before it gets here.
    let (length, crc) = (payload.len() as u32, crc32fast::hash(payload));
    if let Some(place) = out.get_mut(start + 8..start + ELEMENT_HEADER) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    out.extend_from_slice(&crc.to_be_bytes());
}

/// Writes the number of the element at the start of `element`.
pub fn set_number(element: &mut [u8], number: u64) {
    if let Some(place) = element.get_mut(..8) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

/// What a scan of a page found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Number of the first element; 0 when there is none.
    pub first: u64,
    /// Number of elements.
    pub count: u64,
    /// Where they end, in bytes from the start of the page.
    pub end: u64,
    /// Elements among them whose checksum is wrong.
    pub bad: u64,
    /// The version byte.
    pub version: u8,
}

/// Reads a page from its start to the end of its data, but no more than `most` elements. An element with a wrong checksum
/// is counted while it is among the first `trusted`, which reached the disk at some time; behind those it is the end of
/// what was being written when the process died.
pub fn scan(file: &File, trusted: u64, most: u64) -> io::Result<Found> {
    scan_each(file, trusted, most, |_, _| {})
}

/// As [`scan`]; `each` gets the number and the payload of every element with the right checksum.
pub fn scan_each(file: &File, trusted: u64, most: u64, mut each: impl FnMut(u64, &[u8])) -> io::Result<Found> {
    let capacity = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(1 << 18, file);
    io::Seek::seek(&mut reader, io::SeekFrom::Start(0))?;
    let mut found = Found { end: HEADER.min(capacity), ..Found::default() };
    if capacity == 0 {
        return Ok(found);
    }
    let mut version = [0];
    reader.read_exact(&mut version)?;
    [found.version] = version;
    let mut element = Vec::new();
    while found.count < most && capacity - found.end >= OVERHEAD as u64 {
        element.resize(ELEMENT_HEADER, 0);
        reader.read_exact(&mut element)?;
        let Some((number, length)) = header(&element) else { break };
        let whole = (length + OVERHEAD) as u64;
        if found.end + whole > capacity || (found.count > 0 && number != found.first + found.count) {
            break;
        }
        element.resize(length + 4, 0);
        reader.read_exact(&mut element)?;
        let (payload, crc) = element.split_at(length);
        if crc != crc32fast::hash(payload).to_be_bytes() {
            if found.count >= trusted {
                break;
            }
            found.bad += 1;
        } else {
            each(number, payload);
        }
        if found.count == 0 {
            found.first = number;
        }
        found.count += 1;
        found.end += whole;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn page(elements: &[(u64, &[u8])]) -> Vec<u8> {
        let mut out = vec![VERSION];
        for (number, payload) in elements {
            let start = out.len();
            push(&mut out, |out| out.extend_from_slice(payload));
            set_number(&mut out[start..], *number);
        }
        out
    }

    fn scanned(bytes: &[u8], trusted: u64) -> Found {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        scan(&file, trusted, u64::MAX).unwrap()
    }

    #[test]
    fn an_element_is_its_number_its_length_its_payload_and_the_checksum_of_that_alone() {
        let bytes = page(&[(1, b"x")]);
        let mut expected = vec![2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, b'x'];
        expected.extend(crc32fast::hash(b"x").to_be_bytes());
        assert_eq!(bytes, expected);
        assert_eq!(bytes.len() as u64, SMALLEST);
    }

    #[test]
    fn data_ends_where_no_expected_element_stands() {
        let good: &[(u64, &[u8])] = &[(7, b"a"), (8, b"bb"), (9, b"ccc")];
        let bytes = [page(good), vec![0; 40]].concat();
        let found = scanned(&bytes, 0);
        assert_eq!((found.first, found.count, found.end), (7, 3, bytes.len() as u64 - 40));
        let gap = [page(&[(7, b"a"), (9, b"b")]), vec![0; 40]].concat();
        assert_eq!(scanned(&gap, 0).count, 1);
        for cut in 0..bytes.len() - 40 {
            assert!(scanned(&bytes[..cut], 0).count < 3);
        }
    }

    #[test]
    fn a_wrong_checksum_ends_the_data_or_is_counted() {
        let mut bytes = page(&[(1, b"aaaa"), (2, b"bbbb"), (3, b"cccc")]);
        bytes[40] ^= 1;
        assert_eq!(scanned(&bytes, 0).count, 1);
        let found = scanned(&bytes, 2);
        assert_eq!((found.count, found.bad), (3, 1));
        assert_eq!(scanned(&bytes, 1).count, 1);
    }

    #[test]
    fn a_slot_asks_for_what_it_lacks_and_for_no_more_than_there_is() {
        let bytes = page(&[(1, b"hello")]);
        let left = bytes.len() as u64 - 1;
        assert_eq!(slot(&bytes[..5], 1, left, 1), Slot::Needs(ELEMENT_HEADER));
        assert_eq!(slot(&bytes[..20], 1, left, 1), Slot::Needs(21));
        assert!(matches!(slot(&bytes, 1, left, 1), Slot::Element(Element { number: 1, .. })));
        assert_eq!(slot(&bytes, 1, left, 2), Slot::Nothing);
        assert_eq!(slot(&bytes, 1, left - 1, 1), Slot::Nothing);
    }
}
