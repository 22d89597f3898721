//! What one entry of the queue holds: when, which event, from which plugin and why.
//!
//! Five fields, each a big-endian i32 length and that many bytes: entry time (ISO 8601), event (CBOR, see
//! [`crate::event::cbor`]), plugin type, plugin id, reason. Bytes behind the fifth are ignored.

use crate::event::cbor;
use crate::event::{Bytes, Event, Map, Timestamp};

/// An entry as it stands in a segment; the event is still encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEntry<'a> {
    /// When the event was handed to the queue.
    pub entry_time: Timestamp,
    /// The event, see [`RawEntry::event`].
    pub cbor: &'a [u8],
    /// Config name of the plugin that could not handle the event.
    pub plugin_type: &'a str,
    /// Id of that plugin; can be empty.
    pub plugin_id: &'a str,
    /// What the plugin said.
    pub reason: &'a str,
}

/// An entry whose checksums are right and whose content is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A field is longer than what is left of the entry.
    #[error("the {0} is cut off")]
    CutOff(&'static str),
    /// A field that must be text is none.
    #[error("the {0} is not UTF-8 text")]
    NotText(&'static str),
    /// The entry time is no ISO 8601 instant.
    #[error("`{0}` is no entry time")]
    Time(String),
    /// The event cannot be decoded.
    #[error("the event cannot be decoded: {0}")]
    Event(#[from] cbor::DecodeError),
}

impl<'a> RawEntry<'a> {
    /// Takes an entry apart without decoding its event.
    pub fn parse(mut bytes: &'a [u8]) -> Result<Self, EntryError> {
        let rest = &mut bytes;
        let time = text_field(rest, "entry time")?;
        let cbor = field(rest, "event")?;
        let plugin_type = text_field(rest, "plugin type")?;
        let plugin_id = text_field(rest, "plugin id")?;
        let reason = text_field(rest, "reason")?;
        let entry_time = parse_time(time)?;
        Ok(Self { entry_time, cbor, plugin_type, plugin_id, reason })
    }

    /// Decodes the event.
    pub fn event(&self) -> Result<Event, EntryError> {
        let (fields, metadata) = cbor::decode(self.cbor)?;
        Ok(Event::restore(fields, metadata))
    }

    /// Decodes the event; its long texts are pieces of `entry`, which is what was taken apart.
    pub fn event_in(&self, entry: &Bytes) -> Result<Event, EntryError> {
        let (fields, metadata) = match entry.part(self.cbor) {
            Some(cbor) => cbor::decode_shared(&cbor)?,
            None => cbor::decode(self.cbor)?,
        };
        Ok(Event::restore(fields, metadata))
    }
}

/// The entry time alone.
pub fn entry_time(mut bytes: &[u8]) -> Result<Timestamp, EntryError> {
    parse_time(text_field(&mut bytes, "entry time")?)
}

fn parse_time(text: &str) -> Result<Timestamp, EntryError> {
    Timestamp::parse(text).ok_or_else(|| EntryError::Time(text.chars().take(40).collect()))
}

fn field<'a>(rest: &mut &'a [u8], name: &'static str) -> Result<&'a [u8], EntryError> {
    let (length, behind) = rest.split_first_chunk::<4>().ok_or(EntryError::CutOff(name))?;
    let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| EntryError::CutOff(name))?;
    let (field, behind) = behind.split_at_checked(length).ok_or(EntryError::CutOff(name))?;
    *rest = behind;
    Ok(field)
}

fn text_field<'a>(rest: &mut &'a [u8], name: &'static str) -> Result<&'a str, EntryError> {
    simdutf8::basic::from_utf8(field(rest, name)?).map_err(|_| EntryError::NotText(name))
}

/// What the writer puts into an entry.
pub struct NewEntry<'a> {
    /// Now.
    pub entry_time: Timestamp,
    /// The event's fields.
    pub fields: &'a Map,
    /// The event's `@metadata`.
    pub metadata: &'a Map,
    /// Config name of the plugin.
    pub plugin_type: &'a str,
    /// Id of the plugin.
    pub plugin_id: &'a str,
    /// What the plugin says.
    pub reason: &'a str,
}

impl NewEntry<'_> {
    /// Replaces `out` by the encoded entry.
    pub fn encode(&self, encoder: &mut cbor::Encoder, out: &mut Vec<u8>) -> Result<(), cbor::TooDeep> {
        out.clear();
        with_length(out, |out| self.entry_time.write_iso(out));
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        encoder.encode(self.fields, self.metadata, out)?;
        set_length(out, at);
        for text in [self.plugin_type, self.plugin_id, self.reason] {
            with_length(out, |out| out.extend_from_slice(text.as_bytes()));
        }
        Ok(())
    }
}

fn with_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    set_length(out, at);
}

/// Fills in the length at `at` of all that was written behind it. Entries above [`super::record::LARGEST_ENTRY`] are
/// refused before they reach a file, so a length that does not fit never gets out.
fn set_length(out: &mut [u8], at: usize) {
    let length = (out.len() - at - 4) as i32;
    if let Some(slot) = out.get_mut(at..at + 4) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
}
