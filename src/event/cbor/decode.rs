//! Reading an event: everything that Logstash reads, from any release since 6.0, and nothing it refuses.
//!
//! Damaged or hostile bytes end in a [`DecodeError`]: lengths are checked against what is there before anything is
//! allocated, and nesting is kept on a list of open containers, not on the stack of the thread. Values are built where
//! they stay, and long texts are pieces of the bytes that were given: copying either costs more than reading it.

use std::ops::Range;

use num_bigint::BigInt;

use super::strings::{Kind, enters};
use super::typed::{Class, convert};
use super::{DEEPEST, major, tag};
use crate::event::{Bytes, Decimal, Map, Text, Timestamp, Value};

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

/// Decodes an event into its fields and its `@metadata`. Long texts share a copy of `bytes`.
pub fn decode(bytes: &[u8]) -> std::result::Result<(Map, Map), DecodeError> {
    decode_shared(&Bytes::from(bytes))
}

/// As [`decode`], but long texts are pieces of `bytes` itself.
pub fn decode_shared(bytes: &Bytes) -> std::result::Result<(Map, Map), DecodeError> {
    let failure = DecodeError { what: "", offset: 0 };
    let mut decoder =
        Decoder { shared: bytes, bytes, at: 0, strings: Vec::new(), table: None, outer_tables: Vec::new(), failure };
    let Ok(mut root) = decoder.root() else { return Err(decoder.failure) };
    let mut part = |key, missing| match root.remove(key) {
        Some(Value::Map(map)) => Ok(map),
        _ => Err(DecodeError { what: missing, offset: 0 }),
    };
    // The last first, so that nothing has to move up.
    let metadata = part("META", "no map with key META");
    let fields = part("DATA", "no map with key DATA")?;
    Ok((fields, metadata?))
}

/// A number of items that is known, or open until a break byte.
#[derive(Clone, Copy)]
enum Count {
    Left(u64),
    Open,
}

/// The list `[class, value]` around a value, and the string table that ends with it.
#[derive(Clone, Copy)]
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
    /// With the index of the key whose value is read.
    Map(Map, usize),
    List(Vec<Value>),
}

impl Content {
    /// The place of the value that is read.
    #[inline(always)]
    fn place(&mut self) -> &mut Value {
        match self {
            Self::Map(map, at) => map.value_at(*at),
            Self::List(list) => {
                let last = list.len() - 1;
                &mut list[last]
            }
        }
    }
}

/// A string that was read: its place, or its pieces joined.
enum RawText {
    Slice(Range<usize>),
    Joined(Text),
}

/// The first byte of an item and its argument.
#[derive(Clone, Copy)]
struct Head {
    major: u8,
    /// The lower five bits: 31 means "of open length" or break.
    info: u8,
    argument: u64,
}

/// A string in the table: its place in the event, which is at most [`Bytes::LONGEST`] long.
#[derive(Clone, Copy)]
struct Shared {
    start: u32,
    length: u32,
    kind: Kind,
    /// The type that it names, once it was used as one.
    class: Option<Class>,
}

impl Shared {
    fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.length as usize
    }
}

struct Decoder<'a> {
    /// The same as `bytes`, to take pieces of.
    shared: &'a Bytes,
    bytes: &'a [u8],
    at: usize,
    /// Shared strings of all open tables, those of the innermost last.
    strings: Vec<Shared>,
    /// Where the strings of the innermost table start, if one is open: tag 256 opens one.
    table: Option<usize>,
    /// The same of the tables around it.
    outer_tables: Vec<usize>,
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
        let (head, tags) = self.tagged_head()?;
        if head.major == major::ARRAY && tags.number.is_none() {
            let (class, wrapper) = self.type_in_front(head, tags)?;
            if class == Class::JavaMap {
                // Maps and lists whose end has not been reached, the innermost last.
                let mut open = Vec::with_capacity(8);
                self.container(class, wrapper, &mut open)?;
                return self.contents(open);
            }
        }
        self.error_at("the outermost value is no map of type java.util.HashMap", 0)
    }

    /// Reads the root, the only one that is open yet, to its end with all that is inside.
    fn contents(&mut self, mut open: Vec<Container>) -> Result<Map> {
        loop {
            let Some(inner) = open.last_mut() else { return self.error("the event is no map") };
            if self.at_end(&mut inner.count)? {
                self.close(inner.wrapper)?;
                let done = open.pop().map(|done| done.content);
                match (open.last_mut(), done) {
                    (Some(outer), Some(Content::Map(map, _))) => *outer.content.place() = Value::Map(map),
                    (Some(outer), Some(Content::List(list))) => *outer.content.place() = Value::Array(list),
                    (None, Some(Content::Map(root, _))) => return Ok(root),
                    _ => {}
                }
                continue;
            }
            match &mut inner.content {
                Content::Map(map, at) => *at = self.key(map)?,
                Content::List(list) => list.push(Value::Null),
            }
            let (head, tags) = self.tagged_head()?;
            if head.major != major::ARRAY || tags.number.is_some() {
                self.scalar(head, tags, inner.content.place())?;
                if tags.opens_table {
                    self.close_table();
                }
                continue;
            }
            let (class, wrapper) = self.type_in_front(head, tags)?;
            if let Class::Map | Class::JavaMap | Class::List = class {
                if open.len() > DEEPEST {
                    return self.error("too many maps and lists inside each other");
                }
                self.container(class, wrapper, &mut open)?;
            } else {
                self.typed(class, inner.content.place())?;
                self.close(wrapper)?;
            }
        }
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
            self.close_table();
        }
        Ok(())
    }

    /// The type of a value and the list around both, after that list's head.
    #[inline(always)]
    fn type_in_front(&mut self, head: Head, tags: Tags) -> Result<(Class, Wrapper)> {
        let mut count = self.count(head);
        if self.at_end(&mut count)? {
            return self.error("a list without a type");
        }
        let class = match self.known_class() {
            Some(class) => class,
            None => self.class()?,
        };
        if self.at_end(&mut count)? {
            return self.error("a type without a value");
        }
        Ok((class, Wrapper { count, ends_table: tags.opens_table }))
    }

    /// Passes over a short reference to a type that was read before, which nearly all types are.
    #[inline(always)]
    fn known_class(&mut self) -> Option<Class> {
        let Some([0xd8, 25, index @ 0..24, ..]) = self.bytes.get(self.at..) else { return None };
        let class = self.string(usize::from(*index))?.class?;
        self.at += 3;
        Some(class)
    }

    /// The type in front of a value.
    fn class(&mut self) -> Result<Class> {
        let name = match self.plain_text() {
            Some(name) => name,
            None => self.odd_class_name()?,
        };
        let Some(class) = self.bytes.get(name.clone()).and_then(Class::named) else {
            return self.error("unknown type of value");
        };
        // References to a name that was just entered need no comparing.
        if let Some(last) = self.strings.last_mut().filter(|last| last.range() == name) {
            last.class = Some(class);
        }
        Ok(class)
    }

    /// The name of a type in front of a value, for all that is possible.
    fn odd_class_name(&mut self) -> Result<Range<usize>> {
        let (head, tags) = self.tagged_head()?;
        if tags.number.is_some() || !(tags.reference || head.major == major::TEXT) {
            return self.error("a list without a type");
        }
        match self.text(head, tags)? {
            RawText::Slice(name) => Ok(name),
            RawText::Joined(_) => self.error("a type in pieces"),
        }
    }

    /// Opens a map or list, whose type was read.
    fn container(&mut self, class: Class, mut wrapper: Wrapper, open: &mut Vec<Container>) -> Result<()> {
        let (head, tags) = self.tagged_head()?;
        if tags.opens_table && wrapper.ends_table {
            return self.error("two string tables for one value");
        }
        wrapper.ends_table |= tags.opens_table;
        let is_map = class != Class::List;
        let wanted = if is_map { major::MAP } else { major::ARRAY };
        if head.major != wanted || tags.number.is_some() {
            return self.error("the value is not of its type");
        }
        let count = self.count(head);
        // At least one byte an item, so a claimed number beyond that cannot be true.
        let room = match count {
            Count::Left(n) => n.min(self.left() as u64).min(64) as usize,
            Count::Open => 8,
        };
        let content = if is_map {
            Content::Map(Map::with_capacity(room.min(24)), 0)
        } else {
            Content::List(Vec::with_capacity(room))
        };
        open.push(Container { content, count, wrapper });
        Ok(())
    }

    /// A value with a type in front that is neither map nor list.
    #[inline(always)]
    fn typed(&mut self, class: Class, place: &mut Value) -> Result<()> {
        let start = self.at;
        if class == Class::String
            && let Some(range) = self.plain_text()
        {
            *place = Value::String(self.text_in(range)?);
            return Ok(());
        }
        if class == Class::Timestamp
            && let Some(at) = self.plain_text().and_then(|range| self.timestamp_in(range))
        {
            *place = Value::Timestamp(at);
            return Ok(());
        }
        self.at = start;
        self.odd_typed(class, place)
    }

    /// As [`Decoder::typed`], for all that is possible.
    fn odd_typed(&mut self, class: Class, place: &mut Value) -> Result<()> {
        let start = self.at;
        let (head, tags) = self.tagged_head()?;
        if class == Class::Timestamp && tags.number.is_none() && (head.major == major::TEXT || tags.reference) {
            let at = match self.text(head, tags)? {
                RawText::Slice(range) => self.timestamp_in(range),
                RawText::Joined(text) => Timestamp::parse(&text),
            };
            match at {
                Some(at) => *place = Value::Timestamp(at),
                None => return self.error_at("a timestamp that is no date", start),
            }
        } else {
            self.scalar(head, tags, place)?;
            if !(class == Class::String && matches!(place, Value::String(_))) {
                match convert(class, std::mem::take(place)) {
                    Some(value) => *place = value,
                    None => return self.error_at("the value is not of its type", start),
                }
            }
        }
        if tags.opens_table {
            self.close_table();
        }
        Ok(())
    }

    /// A value without a type.
    fn scalar(&mut self, head: Head, tags: Tags, place: &mut Value) -> Result<()> {
        match tags.number {
            Some(Number::Decimal) => return self.decimal(head, place),
            Some(tag) => {
                *place = Value::BigInteger(Box::new(self.big_integer(head, tags.reference, tag)?));
                return Ok(());
            }
            None => {}
        }
        if tags.reference || head.major == major::TEXT {
            *place = Value::String(match self.text(head, tags)? {
                RawText::Slice(range) => self.text_in(range)?,
                RawText::Joined(text) => text,
            });
            return Ok(());
        }
        *place = match head.major {
            major::UNSIGNED => match i64::try_from(head.argument) {
                Ok(n) => Value::Integer(n),
                Err(_) => Value::BigInteger(Box::new(BigInt::from(head.argument))),
            },
            major::NEGATIVE => match i64::try_from(head.argument) {
                Ok(n) => Value::Integer(!n),
                Err(_) => Value::BigInteger(Box::new(-1 - BigInt::from(head.argument))),
            },
            major::SIMPLE => match head.info {
                20 => Value::Bool(false),
                21 => Value::Bool(true),
                22 | 23 => Value::Null,
                25 => Value::Float(half(head.argument as u16)),
                26 => Value::Float(f64::from(f32::from_bits(head.argument as u32))),
                27 => Value::Float(f64::from_bits(head.argument)),
                _ => return self.error("unknown simple value"),
            },
            major::BYTES => return self.error("bytes without a type"),
            major::MAP => return self.error("a map without a type"),
            _ => return self.error("a list without a type"),
        };
        Ok(())
    }

    fn big_integer(&mut self, head: Head, reference: bool, tag: Number) -> Result<BigInt> {
        let bytes = match head {
            Head { argument, .. } if reference => {
                let range = self.shared(argument, Kind::Bytes)?;
                self.bytes.get(range).unwrap_or_default()
            }
            Head { major: major::BYTES, info: ..31, argument } => {
                let bytes = self.take(argument)?;
                self.share(bytes.len(), Kind::Bytes);
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

    fn decimal(&mut self, head: Head, place: &mut Value) -> Result<()> {
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
        *place = Value::Decimal(Decimal::new(digits, scale));
        Ok(())
    }

    /// A map key: enters it and returns its index.
    #[inline(always)]
    fn key(&mut self, map: &mut Map) -> Result<usize> {
        match self.plain_text() {
            Some(key) => Ok(map.enter(self.text_in(key)?)),
            None => self.odd_key(map),
        }
    }

    /// As [`Decoder::key`], for all that is possible.
    fn odd_key(&mut self, map: &mut Map) -> Result<usize> {
        let (head, tags) = self.tagged_head()?;
        if tags.number.is_some() || tags.opens_table || !(tags.reference || head.major == major::TEXT) {
            return self.error("a map key that is no text");
        }
        Ok(map.enter(match self.text(head, tags)? {
            RawText::Slice(range) => self.text_in(range)?,
            RawText::Joined(text) => text,
        }))
    }

    /// The place of a text of up to 255 bytes, or of one of the first 256 strings by reference; nearly all texts are.
    /// Anything else is left to [`Decoder::text`], as is everything that is wrong.
    #[inline(always)]
    fn plain_text(&mut self) -> Option<Range<usize>> {
        const SHORT: u8 = major::TEXT << 5;
        let (index, behind) = match self.bytes.get(self.at..)? {
            [0xd8, 25, index @ 0..24, ..] => (index, 3),
            [0xd8, 25, 24, index, ..] => (index, 4),
            [head, ..] if (SHORT..SHORT + 24).contains(head) => {
                return self.plain_literal(1, usize::from(*head - SHORT));
            }
            [head, len, ..] if *head == SHORT + 24 => return self.plain_literal(2, usize::from(*len)),
            _ => return None,
        };
        let text = self.string(usize::from(*index)).filter(|string| string.kind == Kind::Text)?.range();
        self.at += behind;
        Some(text)
    }

    #[inline(always)]
    fn plain_literal(&mut self, head: usize, len: usize) -> Option<Range<usize>> {
        let start = self.at + head;
        let end = start + len;
        if end > self.bytes.len() {
            return None;
        }
        self.at = end;
        self.share(len, Kind::Text);
        Some(start..end)
    }

    /// The text at a place that was read.
    #[inline(always)]
    fn text_in(&mut self, range: Range<usize>) -> Result<Text> {
        match Text::in_bytes(self.shared, range) {
            Some(text) => Ok(text),
            None => self.error("text that is not UTF-8"),
        }
    }

    fn timestamp_in(&self, range: Range<usize>) -> Option<Timestamp> {
        std::str::from_utf8(self.bytes.get(range)?).ok().and_then(Timestamp::parse)
    }

    fn text(&mut self, head: Head, tags: Tags) -> Result<RawText> {
        if tags.reference {
            return self.shared(head.argument, Kind::Text).map(RawText::Slice);
        }
        if head.major != major::TEXT {
            return self.error("a string of the wrong kind");
        }
        if head.info != 31 {
            let length = self.take(head.argument)?.len();
            self.share(length, Kind::Text);
            return Ok(RawText::Slice(self.at - length..self.at));
        }
        let mut joined = String::new();
        loop {
            if self.peek()? == 0xff {
                self.at += 1;
                return Ok(RawText::Joined(Text::from(joined)));
            }
            let piece = self.head()?;
            if piece.major != major::TEXT || piece.info == 31 {
                return self.error("a piece of text that is none");
            }
            match std::str::from_utf8(self.take(piece.argument)?) {
                Ok(piece) => joined.push_str(piece),
                Err(_) => return self.error("text that is not UTF-8"),
            }
        }
    }

    /// Takes a string of definite length that was just read into the table if it is long enough.
    #[inline(always)]
    fn share(&mut self, len: usize, kind: Kind) {
        if let Some(table) = self.table
            && enters(len, self.strings.len() - table)
            && let (Ok(start), Ok(length)) = (u32::try_from(self.at - len), u32::try_from(len))
        {
            self.strings.push(Shared { start, length, kind, class: None });
        }
    }

    /// A string of the innermost table.
    #[inline(always)]
    fn string(&self, index: usize) -> Option<Shared> {
        self.strings.get(self.table?.checked_add(index)?).copied()
    }

    fn shared(&mut self, index: u64, kind: Kind) -> Result<Range<usize>> {
        match usize::try_from(index).ok().and_then(|index| self.string(index)) {
            Some(string) if string.kind == kind => Ok(string.range()),
            Some(_) => self.error("a reference to a string of the wrong kind"),
            None => self.error("a reference to a string that does not exist"),
        }
    }

    fn open_table(&mut self) -> Result<()> {
        if self.outer_tables.len() > DEEPEST {
            return self.error("too many string tables");
        }
        self.outer_tables.extend(self.table);
        self.strings.reserve(USUAL_STRINGS);
        self.table = Some(self.strings.len());
        Ok(())
    }

    fn close_table(&mut self) {
        self.strings.truncate(self.table.unwrap_or(0));
        self.table = self.outer_tables.pop();
    }

    /// All tags in front of an item, then its head. A reference's head is its index.
    #[inline(always)]
    fn tagged_head(&mut self) -> Result<(Head, Tags)> {
        let tags = if self.peek()? >> 5 == major::TAG { self.tags()? } else { Tags::default() };
        let head = self.head()?;
        if tags.reference && head.major != major::UNSIGNED {
            return self.error("a string reference without an index");
        }
        Ok((head, tags))
    }

    fn tags(&mut self) -> Result<Tags> {
        let mut tags = Tags::default();
        for _ in 0..MOST_TAGS {
            if self.peek()? >> 5 != major::TAG {
                return Ok(tags);
            }
            let head = self.head()?;
            match head.argument {
                tag::STRING_TABLE if tags.opens_table => return self.error("two string tables for one value"),
                tag::STRING_TABLE => {
                    self.open_table()?;
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
    fn count(&self, head: Head) -> Count {
        if head.info == 31 { Count::Open } else { Count::Left(head.argument) }
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
