//! Reading an event: everything that Logstash reads, from any release since 6.0, and nothing it refuses.
//!
//! Damaged or hostile bytes end in a [`DecodeError`]: lengths are checked against what is there before anything is
//! allocated, and nesting is kept on a list of open containers, not on the stack of the thread.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::strings::enters;
use super::{DEEPEST, class, major, tag};
use crate::event::{Decimal, Map, Text, Timestamp, Value, text_form};

/// Most bytes of a big number; ten thousand decimal digits fit, which is what Logstash reads.
const LARGEST_NUMBER: usize = 4153;
/// Room for the shared strings of most events.
const USUAL_STRINGS: usize = 48;
/// Most tags in front of one item.
const MOST_TAGS: usize = 16;

/// Bytes that are no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}")]
pub struct DecodeError {
    /// What is wrong.
    pub what: &'static str,
    /// Where, in bytes from the start of the event.
    pub offset: usize,
}

/// Why is in [`Decoder::failure`], so that results stay small.
struct Failed;
type Result<T> = std::result::Result<T, Failed>;

/// Decodes an event into its fields and its `@metadata`.
pub fn decode(bytes: &[u8]) -> std::result::Result<(Map, Map), DecodeError> {
    let failure = DecodeError { what: "", offset: 0 };
    let mut decoder = Decoder { bytes, at: 0, tables: Vec::new(), open: Vec::with_capacity(8), failure };
    let Ok(mut root) = decoder.root() else { return Err(decoder.failure) };
    let mut part = |key, missing| match root.remove(key) {
        Some(Value::Map(map)) => Ok(map),
        _ => Err(DecodeError { what: missing, offset: 0 }),
    };
    let fields = part("DATA", "no map with key DATA")?;
    let metadata = part("META", "no map with key META")?;
    Ok((fields, metadata))
}

/// A type name that can stand in front of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Map,
    List,
    String,
    Nil,
    Timestamp,
    Date,
    Integer,
    BigInteger,
    Double,
    Decimal,
}

impl Class {
    fn named(name: &[u8]) -> Option<Self> {
        const MAP: &[u8] = class::MAP.as_bytes();
        const LIST: &[u8] = class::LIST.as_bytes();
        const STRING: &[u8] = class::STRING.as_bytes();
        const NIL: &[u8] = class::NIL.as_bytes();
        const TIMESTAMP: &[u8] = class::TIMESTAMP.as_bytes();
        Some(match name {
            STRING | b"java.lang.String" => Self::String,
            MAP | b"java.util.HashMap" | b"java.util.LinkedHashMap" | b"java.util.TreeMap" => Self::Map,
            LIST | b"java.util.ArrayList" | b"java.util.LinkedList" => Self::List,
            TIMESTAMP => Self::Timestamp,
            NIL => Self::Nil,
            b"java.util.Date" => Self::Date,
            b"java.lang.Long" | b"java.lang.Integer" => Self::Integer,
            b"java.lang.Double" => Self::Double,
            b"java.math.BigInteger" => Self::BigInteger,
            b"java.math.BigDecimal" => Self::Decimal,
            _ => return None,
        })
    }
}

/// A number of items that is known, or open until a break byte.
#[derive(Clone, Copy)]
enum Count {
    Left(u64),
    Open,
}

/// The list `[class, value]` around a value, and the string table that ends with it.
struct Wrapper {
    count: Count,
    ends_table: bool,
}

/// A map or list whose end has not been reached.
struct Container {
    content: Content,
    count: Count,
    wrapper: Wrapper,
}

enum Content {
    Map { map: Map, key: Text },
    List(Vec<Value>),
}

/// A string that was read: its place, or its pieces joined.
enum RawText<'a> {
    Slice(&'a str),
    Joined(String),
}

impl RawText<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::Slice(s) => s,
            Self::Joined(s) => s,
        }
    }

    fn into_text(self) -> Text {
        match self {
            Self::Slice(s) => Text::from(s),
            Self::Joined(s) => Text::from(s),
        }
    }
}

/// The first byte of an item and its argument.
#[derive(Clone, Copy)]
struct Head {
    major: u8,
    /// The lower five bits: 31 means "of open length" or break.
    info: u8,
    argument: u64,
}

/// A string in the table.
#[derive(Clone, Copy)]
enum Shared<'a> {
    /// Checked to be UTF-8; with the type that it names, once it was used as one.
    Text(&'a str, Option<Class>),
    Bytes(&'a [u8]),
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Shared strings, one table per open tag 256.
    tables: Vec<Vec<Shared<'a>>>,
    /// Maps and lists that are being read, the innermost last.
    open: Vec<Container>,
    failure: DecodeError,
}

impl<'a> Decoder<'a> {
    #[cold]
    fn error<T>(&mut self, what: &'static str) -> Result<T> {
        self.error_at(what, self.at)
    }

    #[cold]
    fn error_at<T>(&mut self, what: &'static str, offset: usize) -> Result<T> {
        self.failure = DecodeError { what, offset };
        Err(Failed)
    }

    fn root(&mut self) -> Result<Map> {
        let mut is_root_class = false;
        if self.item(Some(&mut is_root_class))?.is_some() || !is_root_class {
            return self.error_at("the outermost value is no map of type java.util.HashMap", 0);
        }
        match self.finish()? {
            Value::Map(map) => Ok(map),
            _ => self.error("the event is no map"),
        }
    }

    /// Reads the container that was opened to its end, with all that is inside.
    fn finish(&mut self) -> Result<Value> {
        loop {
            let value = if self.is_container_done()? {
                let value = self.close_container()?;
                if self.open.is_empty() {
                    return Ok(value);
                }
                value
            } else {
                let is_map = matches!(self.open.last(), Some(Container { content: Content::Map { .. }, .. }));
                if is_map {
                    let name = self.key()?;
                    if let Some(Container { content: Content::Map { key, .. }, .. }) = self.open.last_mut() {
                        *key = name;
                    }
                }
                match self.item(None)? {
                    Some(value) => value,
                    None => continue,
                }
            };
            match self.open.last_mut().map(|container| &mut container.content) {
                Some(Content::Map { map, key }) => {
                    map.insert(std::mem::take(key), value);
                }
                Some(Content::List(list)) => list.push(value),
                None => {}
            }
        }
    }

    fn is_container_done(&mut self) -> Result<bool> {
        let Some(container) = self.open.last_mut() else { return self.error("nothing to read") };
        let mut count = container.count;
        if let Count::Left(n) = &mut container.count {
            *n = n.saturating_sub(1);
        }
        self.at_end(&mut count)
    }

    fn close_container(&mut self) -> Result<Value> {
        let Some(container) = self.open.pop() else { return self.error("nothing to read") };
        self.close(container.wrapper)?;
        Ok(match container.content {
            Content::Map { map, .. } => Value::Map(map),
            Content::List(list) => Value::Array(list),
        })
    }

    /// Counts one item down; true when there is none left.
    #[inline(always)]
    fn at_end(&mut self, count: &mut Count) -> Result<bool> {
        match count {
            Count::Left(0) => Ok(true),
            Count::Left(n) => {
                *n -= 1;
                Ok(false)
            }
            Count::Open => {
                let end = self.peek()? == 0xff;
                self.at += usize::from(end);
                Ok(end)
            }
        }
    }

    fn close(&mut self, mut wrapper: Wrapper) -> Result<()> {
        if !self.at_end(&mut wrapper.count)? {
            return self.error("a typed value of more than two items");
        }
        if wrapper.ends_table {
            self.tables.pop();
        }
        Ok(())
    }

    /// The next value; `None` when a map or list was opened. `is_root` is set when its type is one that the root can
    /// have.
    fn item(&mut self, is_root: Option<&mut bool>) -> Result<Option<Value>> {
        let (head, tags) = self.tagged_head()?;
        if head.major != major::ARRAY || tags.number.is_some() {
            let value = self.scalar(head, &tags)?;
            if tags.opens_table {
                self.tables.pop();
            }
            return Ok(Some(value));
        }
        let mut count = self.count(head)?;
        if self.at_end(&mut count)? {
            return self.error("a list without a type");
        }
        let class = self.class(is_root)?;
        if self.at_end(&mut count)? {
            return self.error("a type without a value");
        }
        let wrapper = Wrapper { count, ends_table: tags.opens_table };
        if let Class::Map | Class::List = class {
            return self.container(class, wrapper).map(|()| None);
        }
        let value = self.typed(class)?;
        self.close(wrapper)?;
        Ok(Some(value))
    }

    /// The type in front of a value.
    fn class(&mut self, is_root: Option<&mut bool>) -> Result<Class> {
        let (head, tags) = self.tagged_head()?;
        let index = usize::try_from(head.argument).unwrap_or(usize::MAX);
        let table = if tags.reference { self.tables.last_mut() } else { None };
        let known = table.and_then(|table| table.get_mut(index));
        if let (None, Some(Shared::Text(_, Some(class)))) = (&is_root, &known) {
            return Ok(*class);
        }
        let name = match known {
            Some(Shared::Text(name, _)) => *name,
            _ if tags.number.is_some() || !(tags.reference || head.major == major::TEXT) => {
                return self.error("a list without a type");
            }
            _ => match self.text(head, &tags)? {
                RawText::Slice(name) => name,
                RawText::Joined(_) => return self.error("a type in pieces"),
            },
        };
        let Some(class) = Class::named(name.as_bytes()) else { return self.error("unknown type of value") };
        if let Some(flag) = is_root {
            *flag = matches!(name, class::ROOT | "java.util.LinkedHashMap");
        }
        if tags.reference
            && let Some(Shared::Text(_, known)) = self.tables.last_mut().and_then(|table| table.get_mut(index))
        {
            *known = Some(class);
        }
        Ok(class)
    }

    fn container(&mut self, class: Class, mut wrapper: Wrapper) -> Result<()> {
        if self.open.len() > DEEPEST {
            return self.error("too many maps and lists inside each other");
        }
        let (head, tags) = self.tagged_head()?;
        if tags.opens_table && wrapper.ends_table {
            return self.error("two string tables for one value");
        }
        wrapper.ends_table |= tags.opens_table;
        let wanted = if class == Class::Map { major::MAP } else { major::ARRAY };
        if head.major != wanted || tags.number.is_some() {
            return self.error("the value is not of its type");
        }
        let count = self.count(head)?;
        // At least one byte an item, so a claimed number beyond that cannot be true.
        let room = match count {
            Count::Left(n) => n.min(self.left() as u64).min(64) as usize,
            Count::Open => 8,
        };
        let content = if class == Class::Map {
            Content::Map { map: Map::with_capacity(room.min(24)), key: Text::new() }
        } else {
            Content::List(Vec::with_capacity(room))
        };
        self.open.push(Container { content, count, wrapper });
        Ok(())
    }

    /// A value with a type in front that is neither map nor list.
    fn typed(&mut self, class: Class) -> Result<Value> {
        let start = self.at;
        let (head, tags) = self.tagged_head()?;
        let text = class == Class::Timestamp || class == Class::String;
        let value = if text && tags.number.is_none() && (head.major == major::TEXT || tags.reference) {
            let text = self.text(head, &tags)?;
            if class == Class::String {
                Value::String(text.into_text())
            } else {
                match Timestamp::parse(text.as_str()) {
                    Some(at) => Value::Timestamp(at),
                    None => return self.error_at("a timestamp that is no date", start),
                }
            }
        } else {
            let plain = self.scalar(head, &tags)?;
            match convert(class, plain) {
                Some(value) => value,
                None => return self.error_at("the value is not of its type", start),
            }
        };
        if tags.opens_table {
            self.tables.pop();
        }
        Ok(value)
    }

    /// A value without a type.
    fn scalar(&mut self, head: Head, tags: &Tags) -> Result<Value> {
        match tags.number {
            Some(Number::Decimal) => return self.decimal(head),
            Some(tag) => return self.big_integer(head, tags.reference, tag).map(|n| Value::BigInteger(Box::new(n))),
            None => {}
        }
        match head.major {
            _ if tags.reference => Ok(Value::String(self.text(head, tags)?.into_text())),
            major::TEXT => Ok(Value::String(self.text(head, tags)?.into_text())),
            major::UNSIGNED => Ok(match i64::try_from(head.argument) {
                Ok(n) => Value::Integer(n),
                Err(_) => Value::BigInteger(Box::new(BigInt::from(head.argument))),
            }),
            major::NEGATIVE => Ok(match i64::try_from(head.argument) {
                Ok(n) => Value::Integer(!n),
                Err(_) => Value::BigInteger(Box::new(-1 - BigInt::from(head.argument))),
            }),
            major::SIMPLE => match head.info {
                20 => Ok(Value::Bool(false)),
                21 => Ok(Value::Bool(true)),
                22 | 23 => Ok(Value::Null),
                25 => Ok(Value::Float(half(head.argument as u16))),
                26 => Ok(Value::Float(f64::from(f32::from_bits(head.argument as u32)))),
                27 => Ok(Value::Float(f64::from_bits(head.argument))),
                _ => self.error("unknown simple value"),
            },
            major::BYTES => self.error("bytes without a type"),
            major::MAP => self.error("a map without a type"),
            _ => self.error("a list without a type"),
        }
    }

    fn big_integer(&mut self, head: Head, reference: bool, tag: Number) -> Result<BigInt> {
        let bytes = match head {
            Head { argument, .. } if reference => match self.shared(argument)? {
                Shared::Bytes(bytes) => bytes,
                Shared::Text(..) => return self.error("a reference to a string of the wrong kind"),
            },
            Head { major: major::BYTES, info: ..31, argument } => {
                let bytes = self.take(argument)?;
                self.share(bytes.len(), Shared::Bytes(bytes));
                bytes
            }
            _ => return self.error("a big number that is no byte string"),
        };
        if bytes.len() > LARGEST_NUMBER {
            return self.error("a number of more than ten thousand digits");
        }
        // Signed bytes, and minus those for tag 3: Java's form, not the standard's.
        let n = BigInt::from_signed_bytes_be(bytes);
        Ok(if tag == Number::BigNegative { -n } else { n })
    }

    fn decimal(&mut self, head: Head) -> Result<Value> {
        if head.major != major::ARRAY || head.info == 31 || head.argument != 2 {
            return self.error("a decimal that is no pair");
        }
        let exponent = self.head()?;
        let scale = match exponent {
            Head { major: major::UNSIGNED, argument, .. } => i64::try_from(argument).ok().map(|n| -n),
            Head { major: major::NEGATIVE, argument, .. } => {
                i64::try_from(argument).ok().and_then(|n| n.checked_add(1))
            }
            _ => None,
        };
        let Some(scale) = scale.and_then(|s| i32::try_from(s).ok()) else {
            return self.error("a decimal's exponent out of range");
        };
        let (head, tags) = self.tagged_head()?;
        let digits = match tags.number {
            Some(Number::Decimal) => return self.error("a decimal inside a decimal"),
            Some(tag) => self.big_integer(head, tags.reference, tag)?,
            None => match head.major {
                major::UNSIGNED => BigInt::from(head.argument),
                major::NEGATIVE => -1 - BigInt::from(head.argument),
                _ => return self.error("a decimal's digits are no integer"),
            },
        };
        Ok(Value::Decimal(Decimal::new(digits, scale)))
    }

    /// A map key.
    fn key(&mut self) -> Result<Text> {
        match self.string_after_tags()? {
            Some(key) => Ok(key.into_text()),
            None => self.error("a map key that is no text"),
        }
    }

    /// A text that may be a reference; `None` for any other item.
    fn string_after_tags(&mut self) -> Result<Option<RawText<'a>>> {
        let (head, tags) = self.tagged_head()?;
        if tags.number.is_some() || tags.opens_table || !(tags.reference || head.major == major::TEXT) {
            return Ok(None);
        }
        self.text(head, &tags).map(Some)
    }

    #[inline(always)]
    fn text(&mut self, head: Head, tags: &Tags) -> Result<RawText<'a>> {
        if tags.reference {
            return match self.shared(head.argument)? {
                Shared::Text(text, _) => Ok(RawText::Slice(text)),
                Shared::Bytes(_) => self.error("a reference to a string of the wrong kind"),
            };
        }
        if head.major != major::TEXT {
            return self.error("a string of the wrong kind");
        }
        if head.info != 31 {
            let bytes = self.take(head.argument)?;
            let text = self.utf8(bytes)?;
            self.share(bytes.len(), Shared::Text(text, None));
            return Ok(RawText::Slice(text));
        }
        let mut joined = String::new();
        loop {
            if self.peek()? == 0xff {
                self.at += 1;
                return Ok(RawText::Joined(joined));
            }
            let piece = self.head()?;
            if piece.major != major::TEXT || piece.info == 31 {
                return self.error("a piece of text that is none");
            }
            let bytes = self.take(piece.argument)?;
            joined.push_str(self.utf8(bytes)?);
        }
    }

    #[inline(always)]
    fn utf8(&mut self, bytes: &'a [u8]) -> Result<&'a str> {
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => self.error("text that is not UTF-8"),
        }
    }

    /// Takes a string of definite length into the table if it is long enough.
    #[inline(always)]
    fn share(&mut self, len: usize, string: Shared<'a>) {
        if let Some(table) = self.tables.last_mut()
            && enters(len, table.len())
        {
            table.push(string);
        }
    }

    #[inline(always)]
    fn shared(&mut self, index: u64) -> Result<Shared<'a>> {
        match self.tables.last().and_then(|table| table.get(usize::try_from(index).ok()?)) {
            Some(shared) => Ok(*shared),
            None => self.error("a reference to a string that does not exist"),
        }
    }

    /// All tags in front of an item, then its head. A reference's head is its index.
    #[inline(always)]
    fn tagged_head(&mut self) -> Result<(Head, Tags)> {
        // Nearly all tags are string references.
        if let Some([0xd8, 25, ..]) = self.bytes.get(self.at..) {
            self.at += 2;
            let head = self.head()?;
            if head.major != major::UNSIGNED {
                return self.error("a string reference without an index");
            }
            return Ok((head, Tags { reference: true, ..Tags::default() }));
        }
        if self.peek()? >> 5 != major::TAG {
            return Ok((self.head()?, Tags::default()));
        }
        self.tags_and_head()
    }

    fn tags_and_head(&mut self) -> Result<(Head, Tags)> {
        let mut tags = Tags::default();
        for _ in 0..MOST_TAGS {
            let head = self.head()?;
            if head.major != major::TAG {
                if tags.reference && head.major != major::UNSIGNED {
                    return self.error("a string reference without an index");
                }
                return Ok((head, tags));
            }
            match head.argument {
                tag::STRING_TABLE if tags.opens_table => return self.error("two string tables for one value"),
                tag::STRING_TABLE => {
                    if self.tables.len() > DEEPEST {
                        return self.error("too many string tables");
                    }
                    self.tables.push(Vec::with_capacity(USUAL_STRINGS));
                    tags.opens_table = true;
                }
                tag::STRING_REFERENCE => tags.reference = true,
                number @ (tag::BIG_POSITIVE | tag::BIG_NEGATIVE | tag::DECIMAL) => {
                    let number = match number {
                        tag::BIG_POSITIVE => Number::BigPositive,
                        tag::BIG_NEGATIVE => Number::BigNegative,
                        _ => Number::Decimal,
                    };
                    if tags.number.replace(number).is_some() {
                        return self.error("two number tags");
                    }
                }
                // Date text, self-description and the like say nothing about the value's type here.
                _ => {}
            }
        }
        self.error("too many tags")
    }

    #[inline(always)]
    fn head(&mut self) -> Result<Head> {
        let first = self.peek()?;
        self.at += 1;
        let (major, info) = (first >> 5, first & 31);
        let width = match info {
            0..=23 => return Ok(Head { major, info, argument: u64::from(info) }),
            24..=27 => 1 << (info - 24),
            31 if matches!(major, major::TEXT | major::ARRAY | major::MAP) => {
                return Ok(Head { major, info, argument: 0 });
            }
            _ => return self.error("a byte that starts no value"),
        };
        let bytes = self.take(width)?;
        let argument = bytes.iter().fold(0_u64, |n, b| n << 8 | u64::from(*b));
        Ok(Head { major, info, argument })
    }

    #[inline(always)]
    fn count(&mut self, head: Head) -> Result<Count> {
        Ok(if head.info == 31 { Count::Open } else { Count::Left(head.argument) })
    }

    #[inline(always)]
    fn peek(&mut self) -> Result<u8> {
        match self.bytes.get(self.at) {
            Some(byte) => Ok(*byte),
            None => self.error("the event is cut off"),
        }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[inline(always)]
    fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let slice = usize::try_from(len).ok().and_then(|len| self.bytes.get(self.at..self.at.checked_add(len)?));
        match slice {
            Some(slice) => {
                self.at += slice.len();
                Ok(slice)
            }
            None => self.error("a string that is cut off"),
        }
    }
}

/// What the tags in front of an item say.
#[derive(Clone, Copy, Default)]
struct Tags {
    opens_table: bool,
    reference: bool,
    number: Option<Number>,
}

/// A tag that makes a number of what follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    BigPositive,
    BigNegative,
    Decimal,
}

/// Makes the value that its type asks for out of what stands there; `None` when it cannot be.
fn convert(class: Class, value: Value) -> Option<Value> {
    match (class, value) {
        (Class::Nil, Value::Null) => Some(Value::Null),
        (Class::String, Value::Integer(n)) => Some(Value::from(n.to_string())),
        (Class::String, Value::BigInteger(n)) => Some(Value::from(n.to_string())),
        (Class::String, Value::Decimal(d)) => Some(Value::from(d.to_string())),
        (Class::String, Value::Float(f)) => {
            let mut text = Vec::new();
            text_form::write_java_double(f, &mut text);
            Some(Value::from(String::from_utf8(text).ok()?))
        }
        (Class::Date, Value::Integer(millis)) => Timestamp::from_millis(millis).map(Value::Timestamp),
        (Class::Integer, value @ Value::Integer(_)) => Some(value),
        (Class::BigInteger, value @ Value::BigInteger(_)) => Some(value),
        (Class::BigInteger, Value::Integer(n)) => Some(Value::BigInteger(Box::new(BigInt::from(n)))),
        (Class::Double, value @ Value::Float(_)) => Some(value),
        (Class::Double, Value::Integer(n)) => Some(Value::Float(n.to_f64()?)),
        (Class::Decimal, value @ Value::Decimal(_)) => Some(value),
        (Class::Decimal, Value::Integer(n)) => Some(Value::Decimal(Decimal::new(BigInt::from(n), 0))),
        (Class::Decimal, Value::BigInteger(n)) => Some(Value::Decimal(Decimal::new(*n, 0))),
        (Class::Decimal, Value::Float(f)) => {
            let mut text = Vec::new();
            text_form::write_java_double(f, &mut text);
            Decimal::parse(std::str::from_utf8(&text).ok()?).map(Value::Decimal)
        }
        _ => None,
    }
}

/// A double from a half.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}
