//! Printing by a Joda-Time pattern, in UTC and English.

use super::pattern::{self, Token};
use crate::event::Timestamp;
use crate::event::time_format::item::{Item, Length};
use crate::event::time_format::moment::{Field, Moment};

/// A Joda-Time pattern, compiled.
#[derive(Clone, Debug)]
pub struct JodaFormat(Vec<Item>);

impl JodaFormat {
    /// Compiles a pattern; the error says which letter is unknown.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        let items = pattern::tokens(pattern).into_iter().map(|token| match token {
            Token::Literal(text) => Ok(Item::Literal(text)),
            Token::Letters(letter, count) => item(letter, count).ok_or_else(|| pattern::illegal(letter, pattern)),
        });
        Ok(Self(items.collect::<Result<_, _>>()?))
    }

    /// Appends `at` in UTC, with the milliseconds that Joda-Time has.
    pub fn write(&self, at: Timestamp, out: &mut Vec<u8>) {
        let mut moment = Moment::new(at);
        moment.nanos -= moment.nanos % 1_000_000;
        self.0.iter().for_each(|item| item.write(&moment, out));
    }
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
