//! What an element holds: an event as CBOR ([`crate::event::cbor`]), plain or as one zstd frame.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use zstd::bulk::{Compressor, Decompressor};

use super::page;
use super::settings::Compression;
use crate::event::cbor::{self, DecodeError, Encoder, TooDeep};
use crate::event::{Bytes, Event, Map};

/// The first bytes of a zstd frame; no event in CBOR starts so.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Most bytes that an event may have once it is decompressed.
const LARGEST_EVENT: u64 = 1 << 30;

/// What became of the bytes that went through one direction of the codec.
#[derive(Debug, Default)]
pub struct Traffic {
    into: AtomicU64,
    out: AtomicU64,
    nanos: AtomicU64,
}

impl Traffic {
    fn add(&self, into: usize, out: usize) {
        self.into.fetch_add(into as u64, Relaxed);
        self.out.fetch_add(out as u64, Relaxed);
    }

    fn spent(&self, since: Instant) {
        self.nanos.fetch_add(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Bytes out for each byte in; nothing before the first one.
    pub fn ratio(&self) -> Option<f64> {
        let into = self.into.load(Relaxed);
        (into > 0).then(|| self.out.load(Relaxed) as f64 / into as f64)
    }

    /// Nanoseconds that were spent.
    pub fn nanos(&self) -> u64 {
        self.nanos.load(Relaxed)
    }
}

/// An event that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Larger than a page.
    #[error(
        "data to be written is bigger than page capacity: the event takes {size} bytes in the queue, and \
         `queue.page_capacity` is {capacity}"
    )]
    TooLarge {
        /// Bytes of its payload.
        size: usize,
        /// Bytes of a page.
        capacity: u64,
    },
    /// Too many maps inside each other.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    /// The codec failed.
    #[error("it cannot be compressed: {0}")]
    Compression(String),
}

/// Turns events into elements; keeps its tables and buffers from one to the next.
pub struct Writer {
    encoder: Encoder,
    compressor: Option<Compressor<'static>>,
    plain: Vec<u8>,
    page_capacity: u64,
}

impl Writer {
    /// For pages of that size.
    pub fn new(compression: Compression, page_capacity: u64) -> std::io::Result<Self> {
        let compressor = compression.level().map(|(level, _)| Compressor::new(level)).transpose()?;
        Ok(Self { encoder: Encoder::default(), compressor, plain: Vec::new(), page_capacity })
    }

    /// Appends an event as an element without a number.
    pub fn write(&mut self, event: &Event, out: &mut Vec<u8>, traffic: &Traffic) -> Result<(), Unfit> {
        let start = out.len();
        let (encoder, fields, metadata) = (&mut self.encoder, event.fields(), event.metadata());
        let size = if let Some(compressor) = &mut self.compressor {
            self.plain.clear();
            encoder.encode(fields, metadata, &mut self.plain)?;
            let since = Instant::now();
            let packed = compressor.compress(&self.plain).map_err(|e| Unfit::Compression(e.to_string()))?;
            traffic.spent(since);
            traffic.add(self.plain.len(), packed.len());
            page::push(out, |out| out.extend_from_slice(&packed));
            packed.len()
        } else {
            let mut encoded = Ok(());
            page::push(out, |out| encoded = encoder.encode(fields, metadata, out));
            if let Err(too_deep) = encoded {
                out.truncate(start);
                return Err(too_deep.into());
            }
            out.len() - start - page::OVERHEAD
        };
        if size as u64 > page::largest_payload(self.page_capacity) {
            out.truncate(start);
            return Err(Unfit::TooLarge { size, capacity: self.page_capacity });
        }
        Ok(())
    }
}

/// An element that is no event.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Its checksum is wrong.
    #[error("its checksum is wrong")]
    Checksum,
    /// It is no event.
    #[error(transparent)]
    Event(#[from] DecodeError),
    /// It cannot be decompressed.
    #[error("it cannot be decompressed: {0}")]
    Compression(String),
    /// Compressed, and that is not read.
    #[error("it is compressed, and `queue.compression` is disabled")]
    Disabled,
}

/// Turns elements into events; keeps its tables from one to the next.
#[derive(Default)]
pub struct Reader {
    decompressor: Option<Decompressor<'static>>,
    disabled: bool,
}

impl Reader {
    /// Reads whatever `compression` lets it.
    pub fn new(compression: Compression) -> Self {
        Self { decompressor: None, disabled: compression == Compression::Disabled }
    }

    /// The event in a payload that should have this checksum.
    pub fn read(&mut self, payload: &Bytes, crc: u32, traffic: &Traffic) -> Result<Event, Unreadable> {
        if crc32fast::hash(payload) != crc {
            return Err(Unreadable::Checksum);
        }
        self.decode(payload, traffic)
    }

    /// The event in a payload that is known to be whole.
    pub fn decode(&mut self, payload: &Bytes, traffic: &Traffic) -> Result<Event, Unreadable> {
        if !payload.starts_with(&ZSTD) {
            traffic.add(payload.len(), payload.len());
            return event(payload);
        }
        if self.disabled {
            return Err(Unreadable::Disabled);
        }
        let since = Instant::now();
        let plain = self.decompress(payload).map_err(|e| Unreadable::Compression(e.to_string()))?;
        traffic.spent(since);
        traffic.add(payload.len(), plain.len());
        event(&Bytes::from(plain))
    }

    fn decompress(&mut self, frame: &[u8]) -> std::io::Result<Vec<u8>> {
        let size = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
        if let Some(size) = size.filter(|size| *size <= frame_limit(frame)) {
            let decompressor = match &mut self.decompressor {
                Some(decompressor) => decompressor,
                slot => slot.insert(Decompressor::new()?),
            };
            // The frame says so itself, so that it fits exactly or is damaged.
            return decompressor.decompress(frame, usize::try_from(size).unwrap_or(usize::MAX));
        }
        let mut plain = Vec::new();
        zstd::Decoder::new(frame)?.single_frame().take(LARGEST_EVENT + 1).read_to_end(&mut plain)?;
        if plain.len() as u64 > LARGEST_EVENT {
            return Err(std::io::Error::other("more than 1 GiB"));
        }
        Ok(plain)
    }
}

/// Room is made in advance for no more than this: a damaged frame may claim any size.
fn frame_limit(frame: &[u8]) -> u64 {
    (frame.len() as u64).saturating_mul(256).clamp(1 << 20, LARGEST_EVENT)
}

fn event(cbor: &Bytes) -> Result<Event, Unreadable> {
    if cbor.is_empty() {
        return Ok(Event::restore(Map::new(), Map::new()));
    }
    let (fields, metadata) = cbor::decode_shared(cbor)?;
    Ok(Event::restore(fields, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Value;

    fn written(compression: Compression, text: &str) -> (Vec<u8>, Event) {
        let mut event = Event::new();
        event.fields_mut().insert("message", Value::from(text));
        event.metadata_mut().insert("k", Value::from("v"));
        let mut out = Vec::new();
        Writer::new(compression, 1 << 20).unwrap().write(&event, &mut out, &Traffic::default()).unwrap();
        (out, event)
    }

    fn read(element: &[u8], compression: Compression) -> Result<Event, Unreadable> {
        let (payload, crc) = element[page::ELEMENT_HEADER..].split_at(element.len() - page::OVERHEAD);
        let crc = u32::from_be_bytes(crc.try_into().unwrap());
        Reader::new(compression).read(&Bytes::from(payload), crc, &Traffic::default())
    }

    #[test]
    fn every_compression_is_read_back_except_where_it_is_disabled() {
        let long = "a".repeat(5000);
        for compression in
            [Compression::None, Compression::Speed, Compression::Balanced, Compression::Size, Compression::Disabled]
        {
            let (element, event) = written(compression, &long);
            let is_packed = compression.level().is_some();
            assert_eq!(element[12..].starts_with(&ZSTD), is_packed);
            assert_eq!(element.len() < 1000, is_packed);
            assert_eq!(read(&element, Compression::None).unwrap(), event);
            let disabled = read(&element, Compression::Disabled);
            assert_eq!(matches!(disabled, Err(Unreadable::Disabled)), is_packed);
        }
    }

    #[test]
    fn damage_is_told_and_never_a_panic() {
        let (element, _) = written(Compression::Speed, &"ab".repeat(300));
        for at in 0..element.len() {
            let mut damaged = element.clone();
            damaged[at] ^= 0x55;
            let payload = Bytes::from(&damaged[12..damaged.len() - 4]);
            let mut reader = Reader::default();
            let good_crc = crc32fast::hash(&payload);
            let _ = reader.read(&payload, good_crc, &Traffic::default());
            if (12..element.len()).contains(&at) {
                assert!(matches!(read(&damaged, Compression::None), Err(Unreadable::Checksum)));
            }
        }
    }

    #[test]
    fn an_event_larger_than_a_page_is_refused_and_leaves_no_trace() {
        let mut event = Event::new();
        event.fields_mut().insert("message", Value::from("x".repeat(200)));
        let mut out = b"before".to_vec();
        let refused = Writer::new(Compression::None, 200).unwrap().write(&event, &mut out, &Traffic::default());
        assert!(refused.unwrap_err().to_string().contains("bigger than page capacity"));
        assert_eq!(out, b"before");
    }
}
