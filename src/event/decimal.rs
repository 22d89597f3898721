//! Decimal numbers that keep the digits they were written with.
//!
//! A JSON document's `1.10` must come out as `1.10`, so it cannot become a double. Nearly all of them fit a 64-bit
//! mantissa and stay inline; the rest go to the heap.

use bigdecimal::BigDecimal;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// `unscaled · 10^-scale`. Equality is that of Java's `BigDecimal.compareTo`: `1.10` equals `1.1`.
#[derive(Clone, Debug)]
pub enum Decimal {
    /// Fits 64 bits.
    Small {
        /// All digits as an integer.
        unscaled: i64,
        /// Number of digits behind the point; negative means zeros appended.
        scale: i32,
    },
    /// Needs more than 64 bits.
    Big(Box<BigDecimal>),
}

impl Decimal {
    /// From digits and scale, in the smallest form.
    pub fn new(unscaled: BigInt, scale: i32) -> Self {
        match i64::try_from(&unscaled) {
            Ok(unscaled) => Self::Small { unscaled, scale },
            Err(_) => Self::Big(Box::new(BigDecimal::new(unscaled, i64::from(scale)))),
        }
    }

    /// Reads `-12.50`, `1e3`, `1.5E-7` (JSON's number grammar). `None` for anything else, or for an exponent
    /// beyond 32 bits.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = whole.strip_prefix('-').unwrap_or(whole);
        if !(digits.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit()) || digits.is_empty() {
            return None;
        }
        let scale = i32::try_from(i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?).ok()?;
        if digits.len() + fraction.len() <= 18 {
            let magnitude = digits.bytes().chain(fraction.bytes()).fold(0, |n, b| n * 10 + i64::from(b - b'0'));
            let unscaled = if digits.len() < whole.len() { -magnitude } else { magnitude };
            return Some(Self::Small { unscaled, scale });
        }
        Some(Self::new(format!("{whole}{fraction}").parse().ok()?, scale))
    }

    /// All digits as an integer.
    pub fn unscaled(&self) -> BigInt {
        match self {
            Self::Small { unscaled, .. } => BigInt::from(*unscaled),
            Self::Big(d) => d.as_bigint_and_exponent().0,
        }
    }

    /// Digits behind the point.
    pub fn scale(&self) -> i32 {
        match self {
            Self::Small { scale, .. } => *scale,
            Self::Big(d) => i32::try_from(d.as_bigint_and_exponent().1).unwrap_or(i32::MAX),
        }
    }

    /// The same number for arithmetic and comparison.
    pub fn to_big(&self) -> BigDecimal {
        match self {
            Self::Small { unscaled, scale } => BigDecimal::new(BigInt::from(*unscaled), i64::from(*scale)),
            Self::Big(d) => (**d).clone(),
        }
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        // Both operands are exact doubles in this range, so one division rounds correctly.
        const EXACT: [f64; 23] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
            1e19, 1e20, 1e21, 1e22,
        ];
        if let Self::Small { unscaled, scale } = self
            && unscaled.unsigned_abs() < 1 << 53
            && let Some(power) = usize::try_from(*scale).ok().and_then(|s| EXACT.get(s))
        {
            return *unscaled as f64 / power;
        }
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The whole part, cut towards zero. `None` when it would have more than a million digits.
    pub fn to_integer(&self) -> Option<BigInt> {
        if self.scale() < -1_000_000 {
            return None;
        }
        if let Self::Small { unscaled, scale: 0 } = self {
            return Some(BigInt::from(*unscaled));
        }
        // A digit takes more than three bits. Dividing by a power of ten of any size would take any time.
        let most_digits = self.unscaled().bits() / 3 + 1;
        if u64::try_from(self.scale()).is_ok_and(|scale| scale > most_digits) {
            return Some(BigInt::from(0));
        }
        Some(self.to_big().with_scale(0).as_bigint_and_exponent().0)
    }

    /// The whole part if it fits 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        self.to_integer()?.to_i64()
    }
}

impl Decimal {
    /// Appends Java's `BigDecimal.toString`: plain down to an exponent of -6, else `1.5E+30`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Small { unscaled, scale } => {
                if *unscaled < 0 {
                    out.push(b'-');
                }
                let mut buffer = itoa::Buffer::new();
                write_digits(buffer.format(unscaled.unsigned_abs()), i64::from(*scale), out);
            }
            Self::Big(_) => {
                let unscaled = self.unscaled().to_string();
                let digits = unscaled.strip_prefix('-').unwrap_or(&unscaled);
                if digits.len() < unscaled.len() {
                    out.push(b'-');
                }
                write_digits(digits, i64::from(self.scale()), out);
            }
        }
    }
}

fn write_digits(digits: &str, scale: i64, out: &mut Vec<u8>) {
    let count = digits.len() as i64;
    let adjusted = count - 1 - scale;
    if scale == 0 {
        out.extend_from_slice(digits.as_bytes());
    } else if scale > 0 && adjusted >= -6 {
        let (whole, fraction) = digits.split_at((count - scale).max(0) as usize);
        out.extend_from_slice(if whole.is_empty() { b"0" } else { whole.as_bytes() });
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', (scale - count).max(0) as usize));
        out.extend_from_slice(fraction.as_bytes());
    } else {
        let (first, rest) = digits.split_at(1);
        out.extend_from_slice(first.as_bytes());
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest.as_bytes());
        }
        out.extend_from_slice(if adjusted >= 0 { b"E+" } else { b"E" });
        out.extend_from_slice(itoa::Buffer::new().format(adjusted).as_bytes());
    }
}

/// As [`Decimal::write`].
impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::with_capacity(32);
        self.write(&mut out);
        f.write_str(std::str::from_utf8(&out).unwrap_or_default())
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Small { unscaled: a, scale: s }, Self::Small { unscaled: b, scale: t }) if s == t => a == b,
            _ => self.to_big() == other.to_big(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_part_of_any_decimal_is_found_at_once() {
        for (text, expected) in [
            ("12.9", Some(12)),
            ("-12.9", Some(-12)),
            ("0.99", Some(0)),
            ("99999999999999999999.9e-19", Some(9)),
            ("1e3", Some(1000)),
            ("1e-2000000000", Some(0)),
            ("99999999999999999999e-2000000000", Some(0)),
            ("1e2000000000", None),
        ] {
            let whole = Decimal::parse(text).unwrap().to_integer();
            assert_eq!(whole, expected.map(BigInt::from), "{text}");
        }
    }
}
