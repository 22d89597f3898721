//! The bodies of inserts: the rows that are to go, compressed as the option says.

use std::io::Write;

use flate2::write::GzEncoder;
use tokio_util::bytes::Bytes;

/// The option `compression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
    Lz4,
}

impl Compression {
    /// The words of the option.
    pub const WORDS: &'static [&'static str] = &["gzip", "zstd", "lz4", "none"];

    /// By its word.
    pub fn of(word: &str) -> Self {
        match word {
            "zstd" => Self::Zstd,
            "lz4" => Self::Lz4,
            "none" => Self::None,
            _ => Self::Gzip,
        }
    }

    /// As the header `Content-Encoding` calls it.
    pub fn encoding(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            Self::Zstd => Some("zstd"),
            Self::Lz4 => Some("lz4"),
        }
    }

    /// Compresses with the quickest level. Writing to memory does not fail.
    pub fn pack(self, rows: Bytes) -> std::io::Result<Bytes> {
        let room = || Vec::with_capacity(rows.len() / 4);
        Ok(match self {
            Self::None => rows,
            Self::Gzip => {
                let mut encoder = GzEncoder::new(room(), flate2::Compression::new(1));
                encoder.write_all(&rows)?;
                encoder.finish()?.into()
            }
            Self::Zstd => {
                let mut encoder = zstd::Encoder::new(room(), 1)?;
                encoder.write_all(&rows)?;
                encoder.finish()?.into()
            }
            Self::Lz4 => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(room());
                encoder.write_all(&rows)?;
                encoder.finish().map_err(std::io::Error::other)?.into()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_is_packed_can_be_unpacked_by_others() {
        let rows = Bytes::from("{\"a\":1}\n".repeat(10_000));
        let packed = |word| Compression::of(word).pack(rows.clone()).unwrap();
        let read = |mut from: Box<dyn Read>| {
            let mut out = Vec::new();
            from.read_to_end(&mut out).unwrap();
            out
        };
        assert_eq!(packed("none"), rows);
        let owned = |word| std::io::Cursor::new(packed(word));
        assert_eq!(read(Box::new(flate2::read::GzDecoder::new(owned("gzip")))), rows);
        assert_eq!(read(Box::new(zstd::Decoder::new(owned("zstd")).unwrap())), rows);
        assert_eq!(read(Box::new(lz4_flex::frame::FrameDecoder::new(owned("lz4")))), rows);
        for word in ["gzip", "zstd", "lz4"] {
            assert!(packed(word).len() < rows.len() / 10, "{word}");
            assert_eq!(Compression::of(word).encoding(), Some(word));
        }
    }
}
