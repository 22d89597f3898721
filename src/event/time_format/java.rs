//! `java.time` patterns, in the locale of the United States. `yyyy` is the year, `YYYY` the year that the week belongs
//! to.

use super::item::{Item, Length};
use super::moment::{Field, Moment};
use super::run_length;
use crate::event::Timestamp;

/// A `java.time` pattern, compiled.
#[derive(Clone, Debug)]
pub struct JavaFormat(Vec<Item>);

impl JavaFormat {
    /// Compiles a pattern; the error says what is wrong with it.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        let mut items = Vec::new();
        let mut optional_parts = 0_usize;
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let mut length = first.len_utf8();
            match first {
                '\'' => {
                    let (text, end) = quoted(rest).ok_or_else(|| format!("a quote of `{pattern}` has no end"))?;
                    items.push(Item::Literal(text));
                    length = end;
                }
                // Every part can always be printed, so optional ones always are.
                '[' => optional_parts += 1,
                ']' => {
                    optional_parts = optional_parts
                        .checked_sub(1)
                        .ok_or_else(|| format!("the time format `{pattern}` has a `]` without a `[`"))?;
                }
                '{' | '}' | '#' => {
                    return Err(format!("the time format `{pattern}` has the reserved character `{first}`"));
                }
                letter if letter.is_ascii_alphabetic() => {
                    length = run_length(rest, letter);
                    items.push(item(letter, length).ok_or_else(|| {
                        let letters = rest.get(..length).unwrap_or_default();
                        format!("`{letters}` in the time format `{pattern}` is unknown; quote text like 'this'")
                    })?);
                }
                other => items.push(Item::Literal(other.to_string())),
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(Self(items))
    }

    /// Appends `at` in UTC.
    pub fn write(&self, at: Timestamp, out: &mut Vec<u8>) {
        let moment = Moment::new(at);
        self.0.iter().for_each(|item| item.write(&moment, out));
    }
}

/// The text in quotes, and its length in the pattern. Two quotes are one.
fn quoted(rest: &str) -> Option<(String, usize)> {
    if rest.starts_with("''") {
        return Some(("'".to_owned(), 2));
    }
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.next_if(|(_, next)| *next == '\'').is_some() => text.push('\''),
            '\'' => return Some((text, at + 1)),
            c => text.push(c),
        }
    }
    None
}

fn item(letter: char, count: usize) -> Option<Item> {
    let number = |field, most: usize| (count <= most).then_some(Item::Number(field, count));
    let year = |field| match count {
        2 => Some(Item::TwoDigits(field)),
        _ => number(field, 19),
    };
    // 1 and 2 letters are a number for some.
    let length = match count {
        1..=3 => Some(Length::Short),
        4 => Some(Length::Full),
        5 => Some(Length::Narrow),
        _ => None,
    };
    let text = |text: Option<&str>| text.map(|text| Item::Literal(text.to_owned()));
    match letter {
        'G' => length.map(Item::Era),
        'u' => year(Field::Year),
        'y' => year(Field::YearOfEra),
        'Y' => year(Field::WeekYear),
        'w' => number(Field::Week, 2),
        'W' => number(Field::WeekOfMonth, 1),
        'F' => number(Field::AlignedWeekOfMonth, 1),
        'Q' | 'q' if count <= 2 => number(Field::Quarter, 2),
        'Q' | 'q' => length.map(Item::Quarter),
        'M' | 'L' if count <= 2 => number(Field::Month, 2),
        'M' | 'L' => length.map(Item::Month),
        'd' => number(Field::Day, 2),
        'D' => number(Field::DayOfYear, 3),
        'g' => number(Field::ModifiedJulianDay, 19),
        'c' if count == 2 => None,
        'e' | 'c' if count <= 2 => number(Field::DayOfWeek, 2),
        'E' | 'e' | 'c' => length.map(Item::Weekday),
        'a' => (count == 1).then_some(Item::HalfDay),
        'H' => number(Field::Hour, 2),
        'k' => number(Field::HourFromOne, 2),
        'K' => number(Field::HalfDayHour, 2),
        'h' => number(Field::HalfDayHourFromOne, 2),
        'm' => number(Field::Minute, 2),
        's' => number(Field::Second, 2),
        'S' => (count <= 9).then_some(Item::Fraction(count)),
        'n' => number(Field::Nano, 19),
        'A' => number(Field::MilliOfDay, 19),
        'N' => number(Field::NanoOfDay, 19),
        'V' => text((count == 2).then_some("Z")),
        'z' => text((count <= 4).then_some("Z")),
        'v' | 'O' => text(matches!(count, 1 | 4).then_some(if letter == 'v' { "Z" } else { "GMT" })),
        'X' => text((count <= 5).then_some("Z")),
        'x' | 'Z' => text(offset(letter, count)),
        _ => None,
    }
}

/// The offset of UTC.
fn offset(letter: char, count: usize) -> Option<&'static str> {
    Some(match (letter, count) {
        ('x', 1) => "+00",
        ('x', 2 | 4) | ('Z', 1..=3) => "+0000",
        ('x', 3 | 5) => "+00:00",
        ('Z', 4) => "GMT",
        ('Z', 5) => "Z",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(pattern: &str, at: &str) -> String {
        let mut out = Vec::new();
        JavaFormat::compile(pattern).unwrap().write(Timestamp::parse(at).unwrap(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn letters() {
        let at = "2021-01-03T13:05:09.012345678Z";
        for (pattern, expected) in [
            ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX", "2021-01-03T13:05:09.012345678Z"),
            ("uuuu/M/d h:m:s a", "2021/1/3 1:5:9 PM"),
            ("yy.D.DDD", "21.3.003"),
            ("YYYY-'W'ww-e", "2021-W02-1"),
            ("W F Q QQQ QQQQ", "2 1 1 Q1 1st quarter"),
            ("EEE EEEE EEEEE MMM MMMM MMMMM", "Sun Sunday S Jan January J"),
            ("kk KK hh", "13 01 01"),
            ("n A SSS S", "12345678 47109012 012 0"),
            ("x xx xxx Z ZZZZ ZZZZZ O VV z", "+00 +0000 +00:00 +0000 GMT Z GMT Z Z"),
            ("G GGGG", "AD Anno Domini"),
            ("yyyy[-MM]'o''c' ''", "2021-01o'c '"),
            ("g", "59217"),
        ] {
            assert_eq!(print(pattern, at), expected, "{pattern}");
        }
    }

    #[test]
    fn weeks_belong_to_the_year_of_their_saturday() {
        for (at, expected) in [
            ("2020-12-26", "2020-52-7"),
            ("2020-12-27", "2021-01-1"),
            ("2021-01-01", "2021-01-6"),
            ("2021-01-02", "2021-01-7"),
            ("2021-01-03", "2021-02-1"),
            ("2023-01-01", "2023-01-1"),
            ("2022-12-31", "2022-53-7"),
        ] {
            assert_eq!(print("YYYY-ww-e", &format!("{at}T00:00:00Z")), expected, "{at}");
        }
    }

    #[test]
    fn bad_patterns_are_refused() {
        for pattern in ["yyyy{", "'open", "]", "b", "HHH", "SSSSSSSSSS", "V", "cc", "T"] {
            assert!(JavaFormat::compile(pattern).is_err(), "{pattern}");
        }
    }
}
