//! Instants in UTC with nanosecond precision, and their ISO 8601 form.

use jiff::tz::TimeZone;

use super::calendar;

/// Seconds and nanoseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
}

impl Timestamp {
    /// Now, by the wall clock.
    pub fn now() -> Self {
        jiff::Timestamp::now().into()
    }

    /// From seconds and nanoseconds since 1970. `None` outside the years -9999 to 9999 or when `nanos` is not below
    /// a billion.
    pub fn from_unix(seconds: i64, nanos: u32) -> Option<Self> {
        jiff::Timestamp::new(seconds, i32::try_from(nanos).ok()?).ok()?;
        (nanos < 1_000_000_000).then_some(Self { seconds, nanos })
    }

    /// From milliseconds since 1970.
    pub fn from_millis(millis: i64) -> Option<Self> {
        Self::from_unix(millis.div_euclid(1000), millis.rem_euclid(1000) as u32 * 1_000_000)
    }

    /// Whole seconds since 1970, rounded down.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds within the second.
    pub fn nanos(self) -> u32 {
        self.nanos
    }

    /// Milliseconds since 1970, rounded down.
    pub fn millis(self) -> i64 {
        self.seconds.saturating_mul(1000).saturating_add(i64::from(self.nanos / 1_000_000))
    }

    /// The same instant for calendar work.
    pub fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::new(self.seconds, self.nanos as i32).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }

    /// Reads the forms that Logstash takes for `@timestamp`: `yyyy-MM-dd`, then optionally `T` and
    /// `HH:mm[:ss[.fraction]]`, then optionally a zone (`Z`, `+02:00`, `+0200`, a zone id). Letters in any case.
    /// No zone means the machine's zone.
    pub fn parse(text: &str) -> Option<Self> {
        parse_canonical(text.as_bytes()).or_else(|| Self::parse_in(text, &TimeZone::system()))
    }

    /// As [`Timestamp::parse`], with the zone to use when the text has none.
    pub fn parse_in(text: &str, zone: &TimeZone) -> Option<Self> {
        parse_iso(text, zone)
    }

    /// Writes the ISO 8601 form: UTC with `Z`, 3 fraction digits, or 6 or 9 where needed.
    pub fn write_iso(self, out: &mut Vec<u8>) {
        let (year, month, day) = calendar::date_of(self.seconds.div_euclid(86_400));
        let second = self.seconds.rem_euclid(86_400);
        let (fraction, width) = match self.nanos {
            n if n % 1_000_000 == 0 => (n / 1_000_000, 3),
            n if n % 1_000 == 0 => (n / 1_000, 6),
            n => (n, 9),
        };
        // Put together here, so that `out` grows once.
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        let end = 20 + width;
        put(&mut text[..4], year.abs());
        put(&mut text[5..7], month);
        put(&mut text[8..10], day);
        put(&mut text[11..13], second / 3600);
        put(&mut text[14..16], second / 60 % 60);
        put(&mut text[17..19], second % 60);
        put(&mut text[20..end], i64::from(fraction));
        text[end] = b'Z';
        if year < 0 {
            out.push(b'-');
        }
        out.extend_from_slice(&text[..=end]);
    }
}

/// Fills all places with the last digits of a number.
fn put(places: &mut [u8], mut number: i64) {
    for place in places.iter_mut().rev() {
        *place = b'0' + number.rem_euclid(10) as u8;
        number /= 10;
    }
}

/// The form that [`Timestamp::write_iso`] writes, which is nearly all that is ever read; without calendar or zone.
fn parse_canonical(text: &[u8]) -> Option<Timestamp> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let (time, rest) = rest.split_first_chunk::<9>()?;
    let (fraction, zone) = rest.split_at_checked(rest.len().checked_sub(1)?)?;
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *date else { return None };
    let [b'T', h0, h1, b':', i0, i1, b':', s0, s1] = *time else { return None };
    let (point, fraction) = fraction.split_first()?;
    if zone != b"Z" || *point != b'.' || !matches!(fraction.len(), 3 | 6 | 9) {
        return None;
    }
    let (year, month, day) = (digits(&[y0, y1, y2, y3])?, digits(&[m0, m1])?, digits(&[d0, d1])?);
    let (hour, minute, second) = (digits(&[h0, h1])?, digits(&[i0, i1])?, digits(&[s0, s1])?);
    let last_day = calendar::days_in_month(year, month);
    if !(1..=last_day).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let nanos = digits(fraction)? as u32 * 10_u32.pow(9 - fraction.len() as u32);
    let days = calendar::days_since_1970(year, month, day);
    Some(Timestamp { seconds: days * 86400 + hour * 3600 + minute * 60 + second, nanos })
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |n, byte| byte.is_ascii_digit().then(|| n * 10 + i64::from(byte - b'0')))
}

fn parse_iso(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    if !text.is_ascii() || text.len() < 10 {
        return None;
    }
    let (date, rest) = text.split_at(10);
    let date: jiff::civil::Date = strict_date(date)?;
    let (time, zone_text) = match rest.strip_prefix(['T', 't']) {
        Some(rest) => {
            let end = rest.find(|c: char| !matches!(c, '0'..='9' | ':' | '.')).unwrap_or(rest.len());
            let (time, zone_text) = rest.split_at(end);
            (strict_time(time)?, zone_text)
        }
        None => (jiff::civil::Time::midnight(), rest),
    };
    let zone = match zone_text {
        "" => zone.clone(),
        "Z" | "z" => TimeZone::UTC,
        text => named_zone(text)?,
    };
    let at = zone.to_ambiguous_zoned_datetime(date.to_datetime(time)).compatible().ok()?;
    Some(at.timestamp().into())
}

fn strict_date(text: &str) -> Option<jiff::civil::Date> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    jiff::civil::Date::new(number(year)?, number(month)?, number(day)?).ok()
}

fn strict_time(text: &str) -> Option<jiff::civil::Time> {
    let (clock, fraction) = text.split_once('.').map_or((text, None), |(c, f)| (c, Some(f)));
    let mut parts = clock.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next());
    let seconds_missing = second.is_none();
    let second = second.unwrap_or("00");
    if parts.next().is_some() || (hour.len(), minute.len(), second.len()) != (2, 2, 2) {
        return None;
    }
    let nanos = match fraction {
        None => 0,
        Some(_) if seconds_missing => return None,
        Some(digits) if (1..=9).contains(&digits.len()) => number::<i32>(digits)? * 10_i32.pow(9 - digits.len() as u32),
        Some(_) => return None,
    };
    jiff::civil::Time::new(number(hour)?, number(minute)?, number(second)?, nanos).ok()
}

fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn named_zone(text: &str) -> Option<TimeZone> {
    let Some(sign @ (b'+' | b'-')) = text.bytes().next() else {
        return TimeZone::get(text).ok();
    };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes, seconds) = match (text.len(), digits.len()) {
        (3, 2) => (number::<i32>(&digits)?, 0, 0),
        (5 | 6, 4) => (number::<i32>(&digits[..2])?, number::<i32>(&digits[2..])?, 0),
        (7 | 9, 6) => (number::<i32>(&digits[..2])?, number::<i32>(&digits[2..4])?, number::<i32>(&digits[4..])?),
        _ => return None,
    };
    if hours > 18 || minutes > 59 || seconds > 59 {
        return None;
    }
    let total = hours * 3600 + minutes * 60 + seconds;
    let offset = jiff::tz::Offset::from_seconds(if sign == b'-' { -total } else { total }).ok()?;
    Some(TimeZone::fixed(offset))
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(at: jiff::Timestamp) -> Self {
        let (mut seconds, mut nanos) = (at.as_second(), at.subsec_nanosecond());
        if nanos < 0 {
            seconds -= 1;
            nanos += 1_000_000_000;
        }
        Self { seconds, nanos: nanos as u32 }
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::with_capacity(32);
        self.write_iso(&mut out);
        f.write_str(std::str::from_utf8(&out).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_before_christ_has_four_digits() {
        let first = Timestamp::from_unix(-62_198_755_200, 0).unwrap();
        assert_eq!(first.to_string(), "-0001-01-01T00:00:00.000Z");
    }

    #[test]
    fn the_short_way_and_the_calendar_agree() {
        let mut at = -62_167_219_200; // 0000-01-01
        while at < 253_402_300_800 {
            let stamp = Timestamp::from_unix(at, (at.rem_euclid(1000) * 1_000_003) as u32).unwrap_or(Timestamp::now());
            let text = stamp.to_string();
            assert_eq!(parse_iso(&text, &TimeZone::UTC), Some(stamp), "{text}");
            assert_eq!(Timestamp::parse(&text), Some(stamp), "{text}");
            at += 86400 * 29 + 12_345_678;
        }
        for odd in [
            "2024-02-30T00:00:00.000Z",
            "2024-13-01T00:00:00.000Z",
            "2024-01-01T24:00:00.000Z",
            "2024-01-01T00:00:00.0x0Z",
        ] {
            assert_eq!(Timestamp::parse(odd), None, "{odd}");
        }
    }
}
