//! The zone of texts that name none, and the way from a local time to an instant.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use crate::event::{Event, Template, calendar};

const HOUR: i64 = 3_600_000;

/// Where the zone comes from.
#[derive(Debug)]
pub(super) enum ZoneChoice {
    Fixed(Box<Zone>),
    /// The text for each event names it.
    PerEvent(Template),
}

/// A zone that is kept, or one that was made for an event.
pub(super) enum ZoneOf<'z> {
    Kept(&'z Zone),
    Made(Box<Zone>),
}

impl Deref for ZoneOf<'_> {
    type Target = Zone;

    fn deref(&self) -> &Zone {
        match self {
            Self::Kept(zone) => zone,
            Self::Made(zone) => zone,
        }
    }
}

impl ZoneChoice {
    pub fn fixed(zone: Zone) -> Self {
        Self::Fixed(Box::new(zone))
    }

    /// Whether it is the same for all events.
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }

    /// The zone for this event; none when what names it is unknown.
    #[inline]
    pub fn of(&self, event: &Event) -> Option<ZoneOf<'_>> {
        match self {
            Self::Fixed(zone) => Some(ZoneOf::Kept(zone)),
            Self::PerEvent(template) => Zone::named(&template.render(event)).map(|zone| ZoneOf::Made(Box::new(zone))),
        }
    }
}

/// A zone that remembers its offset in the hour that was asked for last.
#[derive(Debug)]
pub(super) struct Zone {
    zone: TimeZone,
    /// Number of the local hour since 1970 in the upper half, the offset of all of it in seconds in the lower one.
    /// Hour 0 of year -10,000 or so, which no text has, stands for none.
    last: AtomicU64,
}

impl Zone {
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, last: AtomicU64::new(pack(i32::MIN, 0)) }
    }

    /// That of the machine.
    pub fn system() -> Self {
        Self::new(TimeZone::system())
    }

    /// By an id as the database of zones writes it, or an offset with two digits for hours.
    pub fn named(name: &str) -> Option<Self> {
        let zone = match name.as_bytes() {
            b"UTC" | b"UT" | b"GMT" | b"Z" => TimeZone::UTC,
            [b'+' | b'-', ..] => TimeZone::fixed(offset(name)?),
            _ => TimeZone::get(name).ok().filter(|zone| zone.iana_name() == Some(name))?,
        };
        Some(Self::new(zone))
    }

    /// Milliseconds since 1970 in UTC of a local time. Of a time that comes twice the first one counts; one that is
    /// left out when clocks go forward is none.
    #[inline]
    pub fn to_utc(&self, local_millis: i64) -> Option<i64> {
        let hour = i32::try_from(local_millis.div_euclid(HOUR)).ok()?;
        let (known, seconds) = unpack(self.last.load(Ordering::Relaxed));
        if known == hour {
            return Some(local_millis - i64::from(seconds) * 1000);
        }
        self.look_up(local_millis, hour)
    }

    #[cold]
    fn look_up(&self, local_millis: i64, hour: i32) -> Option<i64> {
        let start = i64::from(hour) * HOUR;
        let (first, last) = (self.offset_at(start)?, self.offset_at(start + HOUR - 1)?);
        if let (AmbiguousOffset::Unambiguous { offset: first }, AmbiguousOffset::Unambiguous { offset: last }) =
            (first, last)
            && first == last
        {
            self.last.store(pack(hour, first.seconds()), Ordering::Relaxed);
        }
        resolve(&self.zone, local_millis)
    }

    fn offset_at(&self, local_millis: i64) -> Option<AmbiguousOffset> {
        Some(self.zone.to_ambiguous_timestamp(civil(local_millis)?).offset())
    }
}

/// As [`Zone::to_utc`], in a zone that a text named.
pub(super) fn resolve(zone: &TimeZone, local_millis: i64) -> Option<i64> {
    let offset = match zone.to_ambiguous_timestamp(civil(local_millis)?).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Fold { before, .. } => before,
        AmbiguousOffset::Gap { .. } => return None,
    };
    Some(local_millis - i64::from(offset.seconds()) * 1000)
}

fn civil(local_millis: i64) -> Option<DateTime> {
    let (days, millis) = (local_millis.div_euclid(24 * HOUR), local_millis.rem_euclid(24 * HOUR));
    let (year, month, day) = calendar::date_of(days);
    let part = |unit: i64, count: i64| i8::try_from(millis / unit % count).ok();
    DateTime::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
        part(HOUR, 24)?,
        part(60_000, 60)?,
        part(1000, 60)?,
        i32::try_from(millis % 1000).ok()? * 1_000_000,
    )
    .ok()
}

fn pack(hour: i32, seconds: i32) -> u64 {
    u64::from(hour.cast_unsigned()) << 32 | u64::from(seconds.cast_unsigned())
}

fn unpack(packed: u64) -> (i32, i32) {
    (((packed >> 32) as u32).cast_signed(), (packed as u32).cast_signed())
}

/// `+hh`, `+hhmm`, `+hh:mm`, and seconds in the same way.
fn offset(text: &str) -> Option<Offset> {
    let (sign, digits) = text.split_at_checked(1)?;
    let digits: Cow<'_, str> = match digits.as_bytes().get(2) {
        Some(b':') if digits.split(':').all(|part| part.len() == 2) => digits.replace(':', "").into(),
        _ => digits.into(),
    };
    if !matches!(digits.len(), 2 | 4 | 6) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |at: usize| digits.get(at..at + 2).map_or(Some(0), |digits| digits.parse::<i32>().ok());
    let (hours, minutes, seconds) = (part(0)?, part(2)?, part(4)?);
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let total = hours * 3600 + minutes * 60 + seconds;
    Offset::from_seconds(if sign == "-" { -total } else { total }).ok()
}
