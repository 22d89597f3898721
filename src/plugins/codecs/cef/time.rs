//! Times in messages: milliseconds since 1970, or `MMM dd [yyyy] HH:mm:ss[.fraction] [zone]`.

use jiff::Span;
use jiff::civil::{Date, Time};
use jiff::tz::{Offset, TimeZone};

use crate::event::Timestamp;

/// The instant that a text names. `zone` is for a text that names none.
pub(super) fn parse(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    parse_at(text, zone, jiff::Timestamp::now)
}

fn parse_at(text: &str, zone: &TimeZone, now: impl Fn() -> jiff::Timestamp) -> Option<Timestamp> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return milliseconds(text);
    }
    let mut words = text.split_ascii_whitespace().peekable();
    let (month, day) = (month(words.next()?)?, words.next()?.parse().ok()?);
    let year = words.next_if(|word| word.len() == 4 && !word.contains(':')).map(str::parse::<i16>);
    let year = year.transpose().ok()?;
    let time = time(words.next()?)?;
    let own = words.next().map(self::zone);
    let zone = match own {
        None => zone.clone(),
        Some(zone) => zone?,
    };
    if words.next().is_some() {
        return None;
    }
    let date = match year {
        Some(year) => Date::new(year, month, day).ok()?,
        None => nearest(month, day, zone.to_datetime(now()).date())?,
    };
    let at = zone.to_timestamp(date.to_datetime(time)).ok()?;
    Timestamp::from_unix(at.as_second(), u32::try_from(at.subsec_nanosecond()).ok()?)
}

/// Milliseconds since 1970, with a fraction.
fn milliseconds(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let fraction: u32 = format!("{:0<6.6}", fraction).parse().ok()?;
    let nanos = u32::try_from(whole % 1000).ok()? * 1_000_000 + fraction;
    Timestamp::from_unix(whole / 1000, nanos)
}

fn month(name: &str) -> Option<i8> {
    let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let at = names.iter().position(|month| name.eq_ignore_ascii_case(month))?;
    i8::try_from(at + 1).ok()
}

/// `HH:mm:ss`, with 3, 6 or 9 digits of a fraction.
fn time(text: &str) -> Option<Time> {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let mut parts = clock.split(':').map(|part| part.parse::<i8>().ok().filter(|_| part.len() <= 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let nanos = match fraction {
        None => 0,
        Some(digits) if matches!(digits.len(), 3 | 6 | 9) && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{digits:0<9}").parse().ok()?
        }
        Some(_) => return None,
    };
    if parts.next().is_some() { None } else { Time::new(hour, minute, second, nanos).ok() }
}

/// The day in the year that was meant: this one, the last one if it would be more than two days ahead, the next one
/// for early days seen in December.
fn nearest(month: i8, day: i8, now: Date) -> Option<Date> {
    let year = now.year();
    if now.month() == 12 && month == 1 {
        return Date::new(year + 1, month, day).ok();
    }
    let this = Date::new(year, month, day).ok();
    let limit = now.checked_add(Span::new().days(2)).ok()?;
    match this {
        Some(date) if date <= limit => Some(date),
        _ => Date::new(year - 1, month, day).ok(),
    }
}

/// A zone by its id, its offset, or one of the abbreviations that devices write.
pub(super) fn zone(name: &str) -> Option<TimeZone> {
    let hours = |hours: i8| Some(TimeZone::fixed(Offset::from_hours(hours).ok()?));
    match name {
        "Z" | "UTC" | "GMT" | "UT" => return Some(TimeZone::UTC),
        "EST" => return hours(-5),
        "EDT" => return hours(-4),
        "CST" => return hours(-6),
        "CDT" => return hours(-5),
        "MST" => return hours(-7),
        "MDT" => return hours(-6),
        "PST" => return hours(-8),
        "PDT" => return hours(-7),
        "CET" => return hours(1),
        "CEST" => return hours(2),
        _ => {}
    }
    offset(name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC")).unwrap_or(name))
        .map(TimeZone::fixed)
        .or_else(|| TimeZone::get(name).ok())
}

/// `+2`, `+02`, `+0200`, `+02:00`
fn offset(text: &str) -> Option<Offset> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, text.get(1..)?),
        b'-' => (-1, text.get(1..)?),
        _ => return None,
    };
    let (hours, minutes) = match (rest.split_once(':'), rest.len()) {
        (Some(parts), _) => parts,
        (None, 4) => rest.split_at_checked(2)?,
        (None, _) => (rest, "0"),
    };
    let part = |text: &str, most: i32| text.parse::<i32>().ok().filter(|n| (0..=most).contains(n) && text.len() <= 2);
    Offset::from_seconds(sign * (part(hours, 18)? * 3600 + part(minutes, 59)? * 60)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, now: &str) -> String {
        let now: jiff::Timestamp = now.parse().unwrap();
        let mut out = Vec::new();
        match parse_at(text, &TimeZone::UTC, || now) {
            Some(at) => at.write_iso(&mut out),
            None => out.extend_from_slice(b"none"),
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn times_of_every_form_are_read() {
        let now = "2020-06-15T00:00:00Z";
        for (text, expected) in [
            ("1577934245123", "2020-01-02T03:04:05.123Z"),
            ("1577934245123.5", "2020-01-02T03:04:05.123500Z"),
            ("Jan 02 2020 03:04:05", "2020-01-02T03:04:05.000Z"),
            ("jan 2 2020 03:04:05.250 UTC", "2020-01-02T03:04:05.250Z"),
            ("Jan 02 2020 03:04:05.250000 GMT+02:00", "2020-01-02T01:04:05.250Z"),
            ("Jan 02 2020 03:04:05 Europe/Berlin", "2020-01-02T02:04:05.000Z"),
            ("Jan 02 2020 03:04:05 EST", "2020-01-02T08:04:05.000Z"),
            ("Jun 17 03:04:05", "2020-06-17T03:04:05.000Z"),
            ("Jun 18 03:04:05", "2019-06-18T03:04:05.000Z"),
            ("yesterday", "none"),
            ("Jan 02 2020 03:04:05.25", "none"),
            ("Jan 32 2020 03:04:05", "none"),
            ("Jan 02 2020 25:04:05", "none"),
            ("Jan 02 2020 03:04:05 Nowhere", "none"),
            ("Jan 02 2020 03:04:05 UTC x", "none"),
            ("12x", "none"),
            ("", "none"),
        ] {
            assert_eq!(shown(text, now), expected, "{text}");
        }
        assert_eq!(shown("Jan 1 00:00:01", "2020-12-31T23:59:59Z"), "2021-01-01T00:00:01.000Z");
        assert_eq!(shown("Feb 29 00:00:00", "2021-03-01T00:00:00Z"), "2020-02-29T00:00:00.000Z");
    }
}
