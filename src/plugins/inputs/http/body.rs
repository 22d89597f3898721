//! Reading the body of a request: bounded, decompressed, and as UTF-8.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use encoding_rs::Encoding;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use tokio::time::timeout;

use crate::plugins::Options;

/// Longest silence of a sender within a body.
const SILENCE: Duration = Duration::from_secs(30);
/// Bytes of all bodies that may be in memory before they are in the queue, whatever the limit of one is.
const ALL: usize = 512 * 1024 * 1024;

/// Reads bodies.
pub(super) struct Bodies {
    largest: usize,
    held: Arc<AtomicUsize>,
}

/// Why a body was not taken.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is larger than it may be.
    TooLarge,
    /// The sender fell silent.
    TooSlow,
    /// There are too many large ones at the same time.
    NoMemory,
    /// It does not decompress, or broke off.
    Broken(String),
}

/// A whole body, counted while it lives.
pub(super) struct Body {
    bytes: Vec<u8>,
    _held: Held,
}

struct Held {
    count: usize,
    all: Arc<AtomicUsize>,
}

impl Body {
    /// Its bytes.
    pub fn take(self) -> Vec<u8> {
        self.bytes
    }
}

impl Bodies {
    /// Declares and reads `max_content_length`.
    pub fn from_options(options: &mut Options<'_>) -> Self {
        let largest = options
            .integer("max_content_length")
            .doc("Most bytes of a body, after decompression.")
            .default(100 * 1024 * 1024);
        let largest = usize::try_from(largest).ok().filter(|n| *n > 0).unwrap_or_else(|| {
            options.invalid("max_content_length", "the limit is a positive number of bytes");
            1
        });
        Self { largest, held: Arc::default() }
    }

    /// All of a body.
    pub async fn read(&self, mut body: Incoming, headers: &HeaderMap) -> Result<Body, Refusal> {
        let mut held = Held { count: 0, all: self.held.clone() };
        let mut content: Option<Content> = None;
        loop {
            let frame = timeout(SILENCE, body.frame()).await.map_err(|_| Refusal::TooSlow)?;
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|e| Refusal::Broken(e.to_string()))?;
            // Trailers are of no use here.
            let Ok(data) = frame.into_data() else { continue };
            let content = content.get_or_insert_with(|| Content::new(headers, &data, self.largest));
            content.write_all(&data).map_err(|error| self.refusal(&error))?;
            held.grow_to(content.len())?;
        }
        let bytes = match content {
            Some(content) => content.finish().map_err(|error| self.refusal(&error))?,
            None => Vec::new(),
        };
        Ok(Body { bytes: in_utf8(bytes, headers), _held: held })
    }

    fn refusal(&self, error: &io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::StorageFull => Refusal::TooLarge,
            _ => Refusal::Broken(format!("the body cannot be decompressed: {error}")),
        }
    }
}

impl Held {
    fn grow_to(&mut self, count: usize) -> Result<(), Refusal> {
        let more = count.saturating_sub(self.count);
        self.count += more;
        if self.all.fetch_add(more, Ordering::Relaxed) + more > ALL { Err(Refusal::NoMemory) } else { Ok(()) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.fetch_sub(self.count, Ordering::Relaxed);
    }
}

/// A body that grows, and is not let grow beyond a limit.
struct Limited {
    bytes: Vec<u8>,
    largest: usize,
}

impl Write for Limited {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > self.largest {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Content {
    Plain(Limited),
    Gzip(Box<MultiGzDecoder<Limited>>),
    Zlib(ZlibDecoder<Limited>),
    Deflate(DeflateDecoder<Limited>),
}

impl Content {
    /// By the encoding that the head names; an unknown one is left alone.
    fn new(headers: &HeaderMap, first: &[u8], largest: usize) -> Self {
        let limited = Limited { bytes: Vec::new(), largest };
        let encoding = headers.get(CONTENT_ENCODING).map(|value| value.as_bytes().trim_ascii().to_ascii_lowercase());
        match encoding.as_deref() {
            Some(b"gzip" | b"x-gzip") => Self::Gzip(Box::new(MultiGzDecoder::new(limited))),
            Some(b"deflate" | b"x-deflate") if is_zlib(first) => Self::Zlib(ZlibDecoder::new(limited)),
            Some(b"deflate" | b"x-deflate") => Self::Deflate(DeflateDecoder::new(limited)),
            _ => Self::Plain(limited),
        }
    }

    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(body) => body.write_all(data),
            Self::Gzip(body) => body.write_all(data),
            Self::Zlib(body) => body.write_all(data),
            Self::Deflate(body) => body.write_all(data),
        }
    }

    fn len(&self) -> usize {
        let limited = match self {
            Self::Plain(body) => body,
            Self::Gzip(body) => body.get_ref(),
            Self::Zlib(body) => body.get_ref(),
            Self::Deflate(body) => body.get_ref(),
        };
        limited.bytes.len()
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        let limited = match self {
            Self::Plain(body) => body,
            Self::Gzip(body) => body.finish()?,
            Self::Zlib(body) => body.finish()?,
            Self::Deflate(body) => body.finish()?,
        };
        Ok(limited.bytes)
    }
}

/// `deflate` should have the head of zlib; some senders leave it out.
fn is_zlib(first: &[u8]) -> bool {
    matches!(first, [method, flags, ..] if method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0)
}

/// In the character set that codecs expect, when the head names another one.
fn in_utf8(bytes: Vec<u8>, headers: &HeaderMap) -> Vec<u8> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let charset = given.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    });
    match charset.and_then(|name| Encoding::for_label(name.as_bytes())) {
        Some(encoding) if encoding != encoding_rs::UTF_8 => {
            encoding.decode_without_bom_handling(&bytes).0.into_owned().into_bytes()
        }
        _ => bytes,
    }
}
