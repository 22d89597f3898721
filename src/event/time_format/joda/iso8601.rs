//! Joda-Time's lenient reader of ISO 8601.
//!
//! ```text
//! text    = date ['T' [time] [offset]] | 'T' time [offset]
//! date    = yyyy ['-' MM ['-' dd]] | yyyy '-' DDD | xxxx '-W' ww ['-' e]
//! time    = HH [fraction | ':' mm [fraction | ':' ss [fraction]]]
//! ```
//!
//! Numbers may have fewer digits, and years more.

use super::fields::{Field, Fields};
use super::input::Input;
use super::{Reading, TextZone, offset};

const FRACTION_DIGITS: usize = 9;

/// Reads a text from its beginning to its end.
pub fn read_iso8601(text: &str) -> Option<Reading> {
    let mut input = Input::new(text);
    let mut fields = Fields::new();
    let mut zone = TextZone::Missing;
    if is_time_mark(&input) {
        input.skip(1);
        time(&mut input, &mut fields)?;
    } else {
        date(&mut input, &mut fields)?;
        if is_time_mark(&input) {
            input.skip(1);
            if input.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                time(&mut input, &mut fields)?;
            }
        } else if !input.is_at_end() {
            return None;
        }
    }
    if !input.is_at_end() {
        zone = TextZone::Offset(offset::read(&mut input)?);
    }
    // Only a date has no year, and every date here has one.
    input.is_at_end().then_some(())?;
    Some(Reading { local_millis: fields.local_millis(1970)?, zone })
}

fn is_time_mark(input: &Input<'_>) -> bool {
    matches!(input.peek(), Some(b'T' | b't'))
}

fn date(input: &mut Input<'_>, fields: &mut Fields) -> Option<()> {
    let year = input.signed_number(9)?;
    match *input.rest() {
        [b'-', b'W' | b'w', b'0'..=b'9', ..] => {
            input.skip(2);
            fields.set(Field::WeekYear, year);
            fields.set(Field::Week, input.number(2)?);
            if let [b'-', b'0'..=b'9', ..] = *input.rest() {
                input.skip(1);
                fields.set(Field::DayOfWeek, input.number(1)?);
            }
        }
        [b'-', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', ..] => {
            input.skip(1);
            fields.set(Field::Year, year);
            fields.set(Field::DayOfYear, input.number(3)?);
        }
        [b'-', b'0'..=b'9', ..] => {
            input.skip(1);
            fields.set(Field::Year, year);
            fields.set(Field::Month, input.number(2)?);
            if let [b'-', b'0'..=b'9', ..] = *input.rest() {
                input.skip(1);
                fields.set(Field::Day, input.number(2)?);
            }
        }
        _ => fields.set(Field::Year, year),
    }
    Some(())
}

fn time(input: &mut Input<'_>, fields: &mut Fields) -> Option<()> {
    fields.set(Field::Hour, input.number(2)?);
    for (field, unit, next_unit) in [(Field::Minute, 3_600_000, 60_000), (Field::Second, 60_000, 1000)] {
        match *input.rest() {
            [b':', b'0'..=b'9', ..] => {
                input.skip(1);
                fields.set(field, input.number(2)?);
            }
            _ => return fraction(input, fields, unit),
        }
        if field == Field::Second {
            return fraction(input, fields, next_unit);
        }
    }
    Some(())
}

/// What the last unit may end in.
fn fraction(input: &mut Input<'_>, fields: &mut Fields, unit: i32) -> Option<()> {
    if let [b'.' | b',', b'0'..=b'9', ..] = *input.rest() {
        input.skip(1);
        fields.set(Field::Millis, input.fraction(FRACTION_DIGITS, unit)?);
    }
    Some(())
}
