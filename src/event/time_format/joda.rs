//! Joda-Time patterns. `YYYY` is the year, `xxxx` the year that the ISO week belongs to.

use super::item::{Item, Length};
use super::moment::{Field, Moment};
use super::run_length;
use crate::event::Timestamp;

/// A Joda-Time pattern, compiled.
#[derive(Clone, Debug)]
pub struct JodaFormat(Vec<Item>);

impl JodaFormat {
    /// Compiles a pattern; the error says which letter is unknown.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        let mut items = Vec::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let length;
            if first.is_ascii_alphabetic() {
                length = run_length(rest, first);
                items.push(item(first, length).ok_or_else(|| {
                    format!("the letter `{first}` of the time format `{pattern}` is unknown; quote text like 'this'")
                })?);
            } else {
                let (text, end) = literal(rest);
                length = end;
                items.push(Item::Literal(text));
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(Self(items))
    }

    /// Appends `at` in UTC, with the milliseconds that Joda-Time has.
    pub fn write(&self, at: Timestamp, out: &mut Vec<u8>) {
        let mut moment = Moment::new(at);
        moment.nanos -= moment.nanos % 1_000_000;
        self.0.iter().for_each(|item| item.write(&moment, out));
    }
}

/// Text up to the next letter outside of quotes, and its length in the pattern. Two quotes are one.
fn literal(rest: &str) -> (String, usize) {
    let mut text = String::new();
    let mut is_quoted = false;
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.next_if(|(_, next)| *next == '\'').is_some() => text.push('\''),
            '\'' => is_quoted = !is_quoted,
            c if c.is_ascii_alphabetic() && !is_quoted => return (text, at),
            c => text.push(c),
        }
    }
    (text, rest.len())
}

fn item(letter: char, count: usize) -> Option<Item> {
    let long = if count >= 4 { Length::Full } else { Length::Short };
    let number = |field| Some(Item::Number(field, count));
    let year = |field| Some(if count == 2 { Item::TwoDigits(field) } else { Item::Number(field, count) });
    let text = |text: &str| Some(Item::Literal(text.to_owned()));
    match letter {
        'G' => Some(Item::Era(Length::Short)),
        'C' => number(Field::CenturyOfEra),
        'Y' => year(Field::YearOfEra),
        'y' => year(Field::Year),
        'x' => year(Field::IsoWeekYear),
        'w' => number(Field::IsoWeek),
        'e' => number(Field::IsoDayOfWeek),
        'E' => Some(Item::Weekday(long)),
        'D' => number(Field::DayOfYear),
        'M' if count >= 3 => Some(Item::Month(long)),
        'M' => number(Field::Month),
        'd' => number(Field::Day),
        'a' => Some(Item::HalfDay),
        'K' => number(Field::HalfDayHour),
        'h' => number(Field::HalfDayHourFromOne),
        'H' => number(Field::Hour),
        'k' => number(Field::HourFromOne),
        'm' => number(Field::Minute),
        's' => number(Field::Second),
        'S' => Some(Item::Fraction(count)),
        'z' if count >= 4 => text("Coordinated Universal Time"),
        'z' => text("UTC"),
        'Z' => text(match count {
            1 => "+0000",
            2 => "+00:00",
            _ => "UTC",
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(pattern: &str, at: &str) -> String {
        let mut out = Vec::new();
        JodaFormat::compile(pattern).unwrap().write(Timestamp::parse(at).unwrap(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn letters() {
        let at = "2021-01-03T00:05:09.012345678Z";
        for (pattern, expected) in [
            ("YYYY.MM.dd", "2021.01.03"),
            ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", "2021-01-03T00:05:09.012+0000"),
            ("xxxx-'W'ww-e", "2020-W53-7"),
            ("YY yy xx", "21 21 20"),
            ("M d H m s D", "1 3 0 5 9 3"),
            ("MMM MMMM EEE EEEE", "Jan January Sun Sunday"),
            ("hh kk KK h a", "12 24 00 12 AM"),
            ("DDD S SSSSSS", "003 0 012000"),
            ("ZZ ZZZ z zzzz", "+00:00 UTC UTC Coordinated Universal Time"),
            ("G CC", "AD 20"),
            ("'o''clock' '' 'x", "o'clock ' x"),
            ("yyyy年", "2021年"),
        ] {
            assert_eq!(print(pattern, at), expected, "{pattern}");
        }
    }

    #[test]
    fn unknown_letters_are_refused() {
        for pattern in ["TAI64N", "yyyy-MM-ddTHH", "b", "uuuu"] {
            assert!(JodaFormat::compile(pattern).is_err(), "{pattern}");
        }
    }
}
