//! Reading by a Joda-Time pattern.

use std::sync::Arc;

use super::fields::{Field, Fields};
use super::input::Input;
use super::locale::Locale;
use super::names::Names;
use super::pattern::{self, Token};
use super::{Reading, TextZone, offset, zone_text};

/// A pattern compiled to steps over the bytes of a text.
#[derive(Clone, Debug)]
pub struct JodaParser {
    steps: Vec<Step>,
    has_year: bool,
}

#[derive(Clone, Debug)]
enum Step {
    /// A sign that has no case.
    Byte(u8),
    Literal(Box<str>),
    /// So many digits at most.
    Number(Field, usize),
    Signed(Field, usize),
    /// Two digits are the year of the century that begins with `from`; another count is the year itself, unless it
    /// has to be two.
    ShortYear {
        field: Field,
        from: i32,
        is_exact: bool,
    },
    Fraction(usize),
    Name(Field, Arc<Names>),
    Offset,
    ZoneId,
    ZoneName,
}

impl JodaParser {
    /// Compiles a pattern; the error says what is wrong with it. `this_year` decides which century a year of two
    /// digits lies in.
    pub fn compile(pattern: &str, locale: Locale, this_year: i32) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("Invalid pattern specification: a time format cannot be empty".to_owned());
        }
        let tokens = pattern::tokens(pattern);
        let mut steps = Vec::with_capacity(tokens.len());
        let mut rest = tokens.as_slice();
        while let [token, following @ ..] = rest {
            let before_number = following.first().is_some_and(Token::is_numeric);
            match token {
                Token::Literal(text) => steps.push(literal(text)),
                Token::Letters('z', 4..) => {
                    let message = "long zone names cannot be read; take `ZZZ` for ids such as Europe/Paris";
                    return Err(format!("Illegal pattern component: `zzzz` in the time format `{pattern}`: {message}"));
                }
                Token::Letters(letter, count) => {
                    let step = step(*letter, *count, before_number, locale, this_year);
                    steps.push(step.ok_or_else(|| pattern::illegal(*letter, pattern))?);
                }
            }
            rest = following;
        }
        Ok(Self { steps, has_year: pattern.contains(['y', 'Y']) })
    }

    /// Whether the pattern has a letter for the year, be it quoted.
    pub fn has_year(&self) -> bool {
        self.has_year
    }

    /// Reads a text from its beginning to its end. `default_year` is that of a date without a year.
    pub fn read(&self, text: &str, default_year: i32) -> Option<Reading> {
        let mut input = Input::new(text);
        let mut fields = Fields::new();
        let mut zone = TextZone::Missing;
        for step in &self.steps {
            step.run(&mut input, &mut fields, &mut zone)?;
        }
        if !input.is_at_end() {
            return None;
        }
        Some(Reading { local_millis: fields.local_millis(default_year)?, zone })
    }
}

fn literal(text: &str) -> Step {
    match text.as_bytes() {
        [byte] if !byte.is_ascii_alphabetic() => Step::Byte(*byte),
        _ => Step::Literal(text.into()),
    }
}

fn step(letter: char, count: usize, before_number: bool, locale: Locale, this_year: i32) -> Option<Step> {
    let number = |field, most: usize| Step::Number(field, most.max(count));
    let names = |field, names: Vec<_>, first| Step::Name(field, Arc::new(Names::new(&names, first, locale)));
    let year = |field| match count {
        2 => Step::ShortYear { field, from: this_year - 80, is_exact: before_number },
        _ if before_number => Step::Signed(field, count),
        _ => Step::Signed(field, count.max(9)),
    };
    Some(match letter {
        'G' => names(Field::Era, locale.eras(), 0),
        'C' => Step::Signed(Field::CenturyOfEra, count),
        // Two digits are a year of any era.
        'Y' if count == 2 => year(Field::Year),
        'Y' => year(Field::YearOfEra),
        'y' => year(Field::Year),
        'x' => year(Field::WeekYear),
        'M' if count >= 3 => names(Field::Month, locale.months(), 1),
        'M' => number(Field::Month, 2),
        'd' => number(Field::Day, 2),
        'D' => number(Field::DayOfYear, 3),
        'w' => number(Field::Week, 2),
        'e' => number(Field::DayOfWeek, 1),
        'E' => names(Field::DayOfWeek, locale.days(), 1),
        'a' => names(Field::HalfDay, locale.half_days(), 0),
        'H' => number(Field::Hour, 2),
        'k' => number(Field::HourFromOne, 2),
        'K' => number(Field::HalfDayHour, 2),
        'h' => number(Field::HalfDayHourFromOne, 2),
        'm' => number(Field::Minute, 2),
        's' => number(Field::Second, 2),
        'S' => Step::Fraction(count),
        'Z' if count >= 3 => Step::ZoneId,
        'Z' => Step::Offset,
        'z' => Step::ZoneName,
        _ => return None,
    })
}

impl Step {
    #[inline]
    fn run(&self, input: &mut Input<'_>, fields: &mut Fields, zone: &mut TextZone) -> Option<()> {
        match self {
            Self::Byte(byte) => input.take(*byte)?,
            Self::Literal(text) => input.take_in_any_case(text)?,
            Self::Number(field, most) => fields.set(*field, input.number(*most)?),
            Self::Signed(field, most) => fields.set(*field, input.signed_number(*most)?),
            Self::ShortYear { field, from, is_exact } => fields.set(*field, short_year(input, *from, *is_exact)?),
            Self::Fraction(most) => fields.set(Field::Millis, input.fraction(*most, 1000)?),
            Self::Name(field, names) => {
                let (length, value) = names.find(input.rest())?;
                input.skip(length);
                fields.set(*field, value);
            }
            Self::Offset => *zone = TextZone::Offset(offset::read(input)?),
            Self::ZoneId => name_zone(zone, zone_text::read_id(input)?),
            Self::ZoneName => name_zone(zone, zone_text::read_name(input)?),
        }
        Some(())
    }
}

/// An offset says more than a name.
fn name_zone(zone: &mut TextZone, named: jiff::tz::TimeZone) {
    if !matches!(zone, TextZone::Offset(_)) {
        *zone = TextZone::Named(named);
    }
}

fn short_year(input: &mut Input<'_>, from: i32, is_exact: bool) -> Option<i32> {
    let in_century = |year: i32| from + (year - from).rem_euclid(100);
    if is_exact {
        return input.two_digits().map(in_century);
    }
    let has_sign = !input.peek()?.is_ascii_digit();
    let start = input.position();
    let year = input.signed_number(usize::MAX)?;
    let has_two_digits = !has_sign && input.position() == start + 2;
    Some(if has_two_digits { in_century(year) } else { year })
}
