//! What flows through a pipeline: the event, its values and how they are addressed and printed.
//!
//! Everything here is plain data. No plugin, file or thread is known below this room; the configuration
//! language, the queues and the plugins are built on it.

mod decimal;
mod field_name;
mod fields;
pub mod json;
mod map;
mod record;
mod reference;
mod stream;
mod template;
pub mod text_form;
pub mod time_format;
mod timestamp;
mod value;

pub use decimal::Decimal;
pub use field_name::FieldName;
pub use fields::{FieldError, METADATA, TAGS, TIMESTAMP, VERSION};
pub use map::Map;
pub use record::Event;
pub use reference::{EscapeStyle, FieldRef, ReferenceError, Root, Segment};
pub use stream::EventStream;
pub use template::{Template, TemplateError};
pub use timestamp::Timestamp;
pub use value::Value;

/// Text of an event: 23 bytes inline, anything longer shared and sliced without a copy.
///
/// Chosen by measurement, see `benches/event_model.rs`.
pub type Text = hipstr::HipStr<'static>;

/// Bytes that texts can be pieces of.
pub type Bytes = hipstr::HipByt<'static>;

/// A piece of a text, shared when it is long. Empty when the range does not lie on character borders.
pub fn piece(text: &Text, range: std::ops::Range<usize>) -> Text {
    let Some(piece) = text.get(range) else { return Text::new() };
    if piece.len() <= Text::inline_capacity() { Text::from(piece) } else { text.slice_ref(piece) }
}

/// A text of `bytes` as a text of its own, shared when it is long. A copy when it does not stand in `bytes`.
#[inline]
pub fn piece_of(bytes: &Bytes, text: &str) -> Text {
    if text.len() <= Text::inline_capacity() {
        return Text::from(text);
    }
    let piece = bytes.try_slice_ref(text.as_bytes()).and_then(|piece| Text::from_utf8(piece).ok());
    piece.unwrap_or_else(|| Text::from(text))
}
