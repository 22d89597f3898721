//! What flows through a pipeline: the event, its values and how they are addressed and printed.
//!
//! Everything here is plain data. No plugin, file or thread is known below this room; the configuration
//! language, the queues and the plugins are built on it.

mod bytes;
pub mod calendar;
pub mod cbor;
mod clock;
mod decimal;
mod field_name;
mod fields;
mod in_place;
pub mod json;
mod map;
mod record;
mod reference;
mod stream;
mod template;
mod text;
pub mod text_form;
pub mod time_format;
mod timestamp;
mod value;

pub use bytes::Bytes;
pub use clock::Clock;
pub use decimal::Decimal;
pub use field_name::{FieldName, NameError};
pub use fields::{FieldError, METADATA, TAGS, TIMESTAMP, VERSION};
pub use map::Map;
pub use record::Event;
pub use reference::{EscapeStyle, FieldRef, ReferenceError, Root, Segment};
pub use stream::EventStream;
pub use template::{Template, TemplateError};
pub use text::{NotUtf8, Text};
pub use timestamp::Timestamp;
pub use value::Value;
