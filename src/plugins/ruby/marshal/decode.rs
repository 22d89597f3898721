//! Marshal to values. What a process sends is data from outside: lengths are checked, nesting has an end.

use num_bigint::{BigInt, Sign};

use super::{DECIMAL, TIMESTAMP, VERSION};
use crate::event::{Decimal, Map, Text, Timestamp, Value};

/// Deepest nesting that is read.
const DEEPEST: usize = 500;

/// A message that is none, or holds what no value of an event is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable answer: {0}")]
pub struct MarshalError(pub &'static str);

/// The value of a message.
pub fn decode(bytes: &[u8]) -> Result<Value, MarshalError> {
    let rest = bytes.strip_prefix(&VERSION).ok_or(MarshalError("unknown version"))?;
    let mut decoder = Decoder { rest, symbols: Vec::new(), objects: Vec::new() };
    decoder.value(DEEPEST)
}

struct Decoder<'b> {
    rest: &'b [u8],
    symbols: Vec<&'b [u8]>,
    /// Every object so far, for links to it. None are lists, maps and instants, which are never linked to.
    objects: Vec<Option<Value>>,
}

impl<'b> Decoder<'b> {
    fn value(&mut self, depth: usize) -> Result<Value, MarshalError> {
        let depth = depth.checked_sub(1).ok_or(MarshalError("nested too deep"))?;
        match self.byte()? {
            b'0' => Ok(Value::Null),
            b'T' => Ok(Value::Bool(true)),
            b'F' => Ok(Value::Bool(false)),
            b'i' => self.number().map(Value::Integer),
            b'l' => self.big(),
            b'f' => self.float(),
            b'"' => self.text(),
            b'I' => self.with_variables(depth),
            b'[' => self.list(depth),
            b'{' => self.map(depth),
            b'o' => self.timestamp(depth),
            b'u' => self.decimal(),
            b'@' => self.link(),
            _ => Err(MarshalError("a value of an unknown kind")),
        }
    }

    fn remember(&mut self, value: Value) -> Value {
        self.objects.push(Some(value.clone()));
        value
    }

    fn link(&mut self) -> Result<Value, MarshalError> {
        let object = usize::try_from(self.number()?).ok().and_then(|at| self.objects.get(at));
        object.cloned().flatten().ok_or(MarshalError("a link to nothing"))
    }

    fn big(&mut self) -> Result<Value, MarshalError> {
        let sign = if self.byte()? == b'-' { Sign::Minus } else { Sign::Plus };
        let length = self.length(2)?;
        let bytes = self.take(length * 2)?;
        let value = Value::from_big(BigInt::from_bytes_le(sign, bytes));
        Ok(self.remember(value))
    }

    fn float(&mut self) -> Result<Value, MarshalError> {
        let text = std::str::from_utf8(self.bytes()?).unwrap_or_default();
        let value = text.parse::<f64>().map_err(|_| MarshalError("a float that is none"))?;
        Ok(self.remember(Value::Float(value)))
    }

    fn text(&mut self) -> Result<Value, MarshalError> {
        let text = String::from_utf8_lossy(self.bytes()?);
        Ok(self.remember(Value::String(Text::from(text.as_ref()))))
    }

    /// A text with its encoding. All are UTF-8 but those that a script changed in place.
    fn with_variables(&mut self, depth: usize) -> Result<Value, MarshalError> {
        let value = self.value(depth)?;
        for _ in 0..self.length(2)? {
            self.symbol()?;
            self.value(depth)?;
        }
        Ok(value)
    }

    fn list(&mut self, depth: usize) -> Result<Value, MarshalError> {
        self.objects.push(None);
        let length = self.length(1)?;
        let mut list = Vec::with_capacity(length);
        for _ in 0..length {
            list.push(self.value(depth)?);
        }
        Ok(Value::Array(list))
    }

    fn map(&mut self, depth: usize) -> Result<Value, MarshalError> {
        self.objects.push(None);
        let length = self.length(2)?;
        let mut map = Map::with_capacity(length);
        for _ in 0..length {
            let Value::String(name) = self.value(depth)? else { return Err(MarshalError("a name that is no text")) };
            let value = self.value(depth)?;
            map.insert(name, value);
        }
        Ok(Value::Map(map))
    }

    fn timestamp(&mut self, depth: usize) -> Result<Value, MarshalError> {
        if self.symbol()? != TIMESTAMP.as_bytes() {
            return Err(MarshalError("an object of an unknown class"));
        }
        self.objects.push(None);
        let (mut seconds, mut nanos) = (0, 0);
        for _ in 0..self.length(2)? {
            let name = self.symbol()?;
            let value = self.value(depth)?.as_integer().ok_or(MarshalError("an instant that is none"))?;
            if name == b"@s" {
                seconds = value;
            } else {
                nanos = u32::try_from(value).map_err(|_| MarshalError("an instant that is none"))?;
            }
        }
        Timestamp::from_unix(seconds, nanos).map(Value::Timestamp).ok_or(MarshalError("an instant out of range"))
    }

    fn decimal(&mut self) -> Result<Value, MarshalError> {
        if self.symbol()? != DECIMAL.as_bytes() {
            return Err(MarshalError("data of an unknown class"));
        }
        let text = std::str::from_utf8(self.bytes()?).unwrap_or_default();
        let text = text.split_once(':').map_or(text, |(_, number)| number);
        let value = match Decimal::parse(text) {
            Some(value) => Value::Decimal(value),
            // NaN and Infinity.
            None => Value::Float(text.parse().map_err(|_| MarshalError("a decimal that is none"))?),
        };
        Ok(self.remember(value))
    }

    fn symbol(&mut self) -> Result<&'b [u8], MarshalError> {
        match self.byte()? {
            b':' => {
                let name = self.bytes()?;
                self.symbols.push(name);
                Ok(name)
            }
            b';' => {
                let at = usize::try_from(self.number()?).ok();
                at.and_then(|at| self.symbols.get(at)).copied().ok_or(MarshalError("a link to no symbol"))
            }
            _ => Err(MarshalError("no symbol where one should be")),
        }
    }

    fn bytes(&mut self) -> Result<&'b [u8], MarshalError> {
        let length = self.length(1)?;
        self.take(length)
    }

    /// A number of things that take at least `each` bytes: no memory is set aside for what cannot follow.
    fn length(&mut self, each: usize) -> Result<usize, MarshalError> {
        let length = usize::try_from(self.number()?).map_err(|_| MarshalError("a negative length"))?;
        let fits = length.checked_mul(each).is_some_and(|bytes| bytes <= self.rest.len());
        if fits { Ok(length) } else { Err(MarshalError("cut off")) }
    }

    fn number(&mut self) -> Result<i64, MarshalError> {
        let first = self.byte()? as i8;
        match first {
            0 => Ok(0),
            5.. => Ok(i64::from(first) - 5),
            ..=-5 => Ok(i64::from(first) + 5),
            _ => {
                let filler = if first < 0 { 0xFF } else { 0 };
                let mut bytes = [filler; 8];
                let given = self.take(usize::from(first.unsigned_abs()))?;
                bytes[..given.len()].copy_from_slice(given);
                Ok(i64::from_le_bytes(bytes))
            }
        }
    }

    fn byte(&mut self) -> Result<u8, MarshalError> {
        let (first, rest) = self.rest.split_first().ok_or(MarshalError("cut off"))?;
        self.rest = rest;
        Ok(*first)
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], MarshalError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(MarshalError("cut off"))?;
        self.rest = rest;
        Ok(taken)
    }
}
