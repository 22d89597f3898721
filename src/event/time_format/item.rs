//! The parts of a compiled time format.

use super::moment::{Field, Moment};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// A part of a compiled time format.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Literal(String),
    /// With zeros up to this width.
    Number(Field, usize),
    /// The last two digits of a year.
    TwoDigits(Field),
    /// So many digits of the fraction of the second.
    Fraction(usize),
    Month(Length),
    Weekday(Length),
    Quarter(Length),
    Era(Length),
    /// `AM` or `PM`.
    HalfDay,
}

/// How much of a name is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Short,
    Full,
    /// One letter.
    Narrow,
}

impl Item {
    /// Appends this part of an instant.
    pub fn write(&self, moment: &Moment, out: &mut Vec<u8>) {
        match self {
            Self::Literal(text) => out.extend_from_slice(text.as_bytes()),
            Self::Number(field, width) => write_number(moment.value(*field), *width, out),
            Self::TwoDigits(field) => write_number(moment.value(*field).abs() % 100, 2, out),
            Self::Fraction(digits) => write_fraction(moment.nanos, *digits, out),
            Self::Month(length) => write_name(&MONTHS, moment.month0(), *length, out),
            Self::Weekday(length) => write_name(&WEEKDAYS, moment.weekday0(), *length, out),
            Self::Quarter(length) => write_quarter(moment.value(Field::Quarter), *length, out),
            Self::Era(length) => out.extend_from_slice(era(moment.is_before_christ(), *length).as_bytes()),
            Self::HalfDay => out.extend_from_slice(if moment.is_afternoon() { b"PM" } else { b"AM" }),
        }
    }
}

fn write_number(number: i64, width: usize, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(number.unsigned_abs());
    if number < 0 {
        out.push(b'-');
    }
    out.resize(out.len() + width.saturating_sub(text.len()), b'0');
    out.extend_from_slice(text.as_bytes());
}

fn write_fraction(nanos: u32, digits: usize, out: &mut Vec<u8>) {
    let start = out.len();
    write_number(nanos.into(), 9, out);
    out.resize(start + digits, b'0');
}

fn write_name(names: &[&str], index: usize, length: Length, out: &mut Vec<u8>) {
    let name = names.get(index).copied().unwrap_or_default();
    let end = match length {
        Length::Full => name.len(),
        Length::Short => 3,
        Length::Narrow => 1,
    };
    out.extend_from_slice(name.get(..end).unwrap_or(name).as_bytes());
}

fn write_quarter(quarter: i64, length: Length, out: &mut Vec<u8>) {
    match length {
        Length::Narrow => write_number(quarter, 1, out),
        Length::Short => {
            out.push(b'Q');
            write_number(quarter, 1, out);
        }
        Length::Full => {
            let ordinal: &[u8] = match quarter {
                1 => b"1st quarter",
                2 => b"2nd quarter",
                3 => b"3rd quarter",
                _ => b"4th quarter",
            };
            out.extend_from_slice(ordinal);
        }
    }
}

fn era(is_before_christ: bool, length: Length) -> &'static str {
    match (is_before_christ, length) {
        (true, Length::Short) => "BC",
        (true, Length::Full) => "Before Christ",
        (true, Length::Narrow) => "B",
        (false, Length::Short) => "AD",
        (false, Length::Full) => "Anno Domini",
        (false, Length::Narrow) => "A",
    }
}
