//! Events as CBOR, in the typed form that Logstash reads and writes.
//!
//! The root is `typed("java.util.HashMap", {"DATA": fields, "META": metadata})`, where `typed(T, v)` is the list
//! `[T, v]`; maps and lists are typed everywhere, most scalars too. Hand-written, because no crate has the table of
//! shared strings (tag 256 and references by tag 25) together with big integers as Java's two's complement bytes.

mod decode;
mod encode;
mod strings;
mod typed;

pub use decode::{DecodeError, decode, decode_shared};
pub use encode::{Encoder, TooDeep};

/// Most maps and lists inside each other that are written and read. A JSON document can bring a thousand; Logstash
/// itself reads about five hundred.
const DEEPEST: usize = 2048;

mod class {
    //! Names of the types that Logstash writes in front of a value.
    pub const ROOT: &str = "java.util.HashMap";
    pub const STRING: &str = "org.jruby.RubyString";
    pub const NIL: &str = "org.jruby.RubyNil";
    pub const TIMESTAMP: &str = "org.logstash.Timestamp";
    pub const MAP: &str = "org.logstash.ConvertedMap";
    pub const LIST: &str = "org.logstash.ConvertedList";
}

mod tag {
    //! CBOR tags.
    pub const BIG_POSITIVE: u64 = 2;
    pub const BIG_NEGATIVE: u64 = 3;
    pub const DECIMAL: u64 = 4;
    pub const STRING_REFERENCE: u64 = 25;
    pub const STRING_TABLE: u64 = 256;
}

mod major {
    //! CBOR major types, in the upper three bits of the first byte.
    pub const UNSIGNED: u8 = 0;
    pub const NEGATIVE: u8 = 1;
    pub const BYTES: u8 = 2;
    pub const TEXT: u8 = 3;
    pub const ARRAY: u8 = 4;
    pub const MAP: u8 = 5;
    pub const TAG: u8 = 6;
    pub const SIMPLE: u8 = 7;
}
