//! A checkpoint: 34 bytes, in Logstash's layout, that say what of a page is acknowledged.
//!
//! ```text
//! 0   i16  1
//! 2   i32  number of the page
//! 6   i32  first page that is not fully acknowledged; only in checkpoint.head, else 0
//! 10  i64  first element that is not acknowledged
//! 18  i64  first element of the page; 0 in an empty one
//! 26  i32  number of elements
//! 30  u32  CRC-32 of what stands before
//! ```

/// Bytes of a checkpoint.
pub const LENGTH: usize = 34;
const VERSION: i16 = 1;

/// What of a page is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The page.
    pub page: u32,
    /// First page that is not fully acknowledged; 0 in the checkpoint of a tail page.
    pub first_unacked_page: u32,
    /// First element that is not acknowledged.
    pub first_unacked: u64,
    /// First element of the page, 0 when it is empty.
    pub first: u64,
    /// Number of elements in it.
    pub count: u32,
}

/// Bytes that are no checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCheckpoint {
    /// Not of the right length.
    #[error("a checkpoint has {LENGTH} bytes, this file has {0}")]
    Length(usize),
    /// Damaged.
    #[error("Checkpoint checksum mismatch, expected: {expected:08x}, actual: {found:08x}")]
    Checksum {
        /// Of what it holds.
        expected: u32,
        /// What it says.
        found: u32,
    },
    /// Of another program.
    #[error("unknown checkpoint version {0}")]
    Version(i16),
    /// A number that cannot be.
    #[error("a checkpoint with a negative number")]
    Negative,
}

impl Checkpoint {
    /// Whether nothing in the page is left to deliver.
    pub fn is_fully_acked(&self) -> bool {
        self.count > 0 && self.first_unacked >= self.first.saturating_add(u64::from(self.count))
    }

    /// The number of its last element; 0 for an empty page.
    pub fn last(&self) -> u64 {
        if self.count == 0 { 0 } else { self.first.saturating_add(u64::from(self.count) - 1) }
    }

    /// As bytes.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let fields: [&[u8]; 6] = [
            &VERSION.to_be_bytes(),
            &self.page.to_be_bytes(),
            &self.first_unacked_page.to_be_bytes(),
            &self.first_unacked.to_be_bytes(),
            &self.first.to_be_bytes(),
            &self.count.to_be_bytes(),
        ];
        let content = fields.concat();
        let crc = crc32fast::hash(&content).to_be_bytes();
        let all = content.iter().chain(&crc);
        bytes.iter_mut().zip(all).for_each(|(byte, value)| *byte = *value);
        bytes
    }

    /// Reads one.
    pub fn decode(bytes: &[u8]) -> Result<Self, BadCheckpoint> {
        let whole: &[u8; LENGTH] = bytes.try_into().map_err(|_| BadCheckpoint::Length(bytes.len()))?;
        let mut rest = whole.as_slice();
        let version = i16::from_be_bytes(take(&mut rest));
        let [page, first_unacked_page] = [take(&mut rest), take(&mut rest)].map(i32::from_be_bytes);
        let [first_unacked, first] = [take(&mut rest), take(&mut rest)].map(i64::from_be_bytes);
        let count = i32::from_be_bytes(take(&mut rest));
        let found = u32::from_be_bytes(take(&mut rest));
        let expected = crc32fast::hash(whole.get(..LENGTH - 4).unwrap_or_default());
        if expected != found {
            return Err(BadCheckpoint::Checksum { expected, found });
        }
        if version != VERSION {
            return Err(BadCheckpoint::Version(version));
        }
        let small = |n: i32| u32::try_from(n).map_err(|_| BadCheckpoint::Negative);
        let large = |n: i64| u64::try_from(n).map_err(|_| BadCheckpoint::Negative);
        Ok(Self {
            page: small(page)?,
            first_unacked_page: small(first_unacked_page)?,
            first_unacked: large(first_unacked)?,
            first: large(first)?,
            count: small(count)?,
        })
    }
}

/// The next bytes; zeros behind the end, which the caller has ruled out.
fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let Some((taken, behind)) = rest.split_first_chunk::<N>() else { return [0; N] };
    *rest = behind;
    *taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_bytes_are_those_of_logstash() {
        assert_eq!(
            hex(&Checkpoint::default().encode()),
            "0001000000000000000000000000000000000000000000000000000000006303e791"
        );
        let three = Checkpoint { first_unacked: 1, first: 1, count: 3, ..Checkpoint::default() };
        assert_eq!(
            hex(&three.encode()),
            ["0001", "00000000", "00000000", "0000000000000001", "0000000000000001", "00000003", "1afc461e"].concat()
        );
        assert_eq!(Checkpoint::decode(&three.encode()), Ok(three));
        assert!(!three.is_fully_acked());
        assert!(Checkpoint { first_unacked: 4, ..three }.is_fully_acked());
        assert!(!Checkpoint::default().is_fully_acked());
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let whole = Checkpoint { page: 3, first_unacked_page: 1, first_unacked: 12, first: 10, count: 5 }.encode();
        for bit in 0..LENGTH * 8 {
            let mut changed = whole;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Checkpoint::decode(&changed), Err(BadCheckpoint::Checksum { .. })));
        }
        assert_eq!(Checkpoint::decode(&whole[..33]), Err(BadCheckpoint::Length(33)));
        assert_eq!(Checkpoint::decode(&[]), Err(BadCheckpoint::Length(0)));
    }
}
