//! `schedule`: when an input that asks again and again does so, in cron's words.
//!
//! `croner` reads the pattern and searches the calendar; [`Moment`] is how it sees a time of `jiff`.

use std::cmp::Ordering;

use croner::errors::CronError;
use croner::parser::{CronParser, Seconds};
use croner::{CivilDate, CivilDateTime, CivilTime, Cron, CronDateTime, Resolution, Weekday};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// When something is due.
#[derive(Clone)]
pub struct Schedule {
    cron: Cron,
    zone: TimeZone,
}

impl Schedule {
    /// Of five fields (minute, hour, day, month, day of the week), six with seconds first, or a word such as `@daily`;
    /// a time zone may follow. Without one the zone of this machine counts.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (pattern, zone) = match text.trim().rsplit_once(char::is_whitespace) {
            Some((pattern, last)) => match TimeZone::get(last) {
                Ok(zone) => (pattern, zone),
                Err(_) => (text, TimeZone::system()),
            },
            None => (text, TimeZone::system()),
        };
        let parser = CronParser::builder().seconds(Seconds::Optional).build();
        let cron = parser.parse(pattern).map_err(|error| {
            format!("`{text}` is no schedule: {error}; write it as cron does, such as `*/5 * * * *` or `0 3 * * * UTC`")
        })?;
        Ok(Self { cron, zone })
    }

    /// The first time after `now` at which it is due; `None` when there is none any more.
    pub fn next_after(&self, now: Timestamp) -> Option<Timestamp> {
        let now = Moment { at: now, zone: self.zone.clone() };
        self.cron.find_next_occurrence(&now, false).ok().map(|next| next.at)
    }
}

/// An instant in a time zone.
#[derive(Clone)]
struct Moment {
    at: Timestamp,
    zone: TimeZone,
}

impl CronDateTime for Moment {
    fn to_civil(&self) -> CivilDateTime {
        let at = self.zone.to_datetime(self.at);
        let part = |n: i8| u32::try_from(n).unwrap_or_default();
        let date = CivilDate::from_ymd_opt(i32::from(at.year()), part(at.month()), part(at.day()));
        let time = CivilTime::from_hms_opt(part(at.hour()), part(at.minute()), part(at.second()));
        match date.zip(time) {
            Some((date, time)) => CivilDateTime::new(date, time),
            None => unreachable!("every date and time of jiff exists"),
        }
    }

    fn civil_weekday(&self) -> Weekday {
        let day = self.zone.to_datetime(self.at).weekday().to_sunday_zero_offset();
        Weekday::from_days_from_sunday(u32::try_from(day).unwrap_or_default())
    }

    fn resolve_civil(&self, civil: CivilDateTime) -> Result<Resolution<Self>, CronError> {
        let part = |n: u32| i8::try_from(n).map_err(|_| CronError::InvalidDate);
        let year = i16::try_from(civil.year()).map_err(|_| CronError::InvalidDate)?;
        let [month, day, hour] = [civil.month(), civil.day(), civil.hour()].map(part);
        let [minute, second] = [civil.minute(), civil.second()].map(part);
        let at = DateTime::new(year, month?, day?, hour?, minute?, second?, 0).map_err(|_| CronError::InvalidDate)?;
        let ambiguous = self.zone.to_ambiguous_timestamp(at);
        let resolved = |at: Result<Timestamp, jiff::Error>| {
            at.map(|at| Self { at, zone: self.zone.clone() }).map_err(|_| CronError::InvalidTime)
        };
        Ok(match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } => Resolution::Single(resolved(ambiguous.unambiguous())?),
            AmbiguousOffset::Fold { .. } => {
                Resolution::Ambiguous(resolved(ambiguous.earlier())?, resolved(ambiguous.later())?)
            }
            AmbiguousOffset::Gap { .. } => Resolution::Gap,
        })
    }

    fn checked_add_seconds(&self, seconds: i64) -> Option<Self> {
        let at = self.at.checked_add(SignedDuration::from_secs(seconds)).ok()?;
        Some(Self { at, zone: self.zone.clone() })
    }

    fn cmp_instant(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, now: &str) -> String {
        let next = Schedule::parse(schedule).unwrap().next_after(now.parse().unwrap());
        next.map_or("never".to_owned(), |next| next.to_string())
    }

    #[test]
    fn five_fields_six_fields_and_words_in_a_time_zone() {
        for (schedule, expected) in [
            ("* * * * * UTC", "2026-03-01T10:01:00Z"),
            ("*/10 * * * * * UTC", "2026-03-01T10:00:40Z"),
            ("0 3 * * * UTC", "2026-03-02T03:00:00Z"),
            ("0 3 * * * Europe/Berlin", "2026-03-02T02:00:00Z"),
            ("0 0 1 jan * UTC", "2027-01-01T00:00:00Z"),
            ("0 0 * * MON UTC", "2026-03-02T00:00:00Z"),
            ("@hourly UTC", "2026-03-01T11:00:00Z"),
        ] {
            assert_eq!(next(schedule, "2026-03-01T10:00:30Z"), expected, "{schedule}");
        }
    }

    #[test]
    fn an_hour_that_is_skipped_or_comes_twice() {
        // 02:30 is not there on this day; 02:30 comes twice on the other one.
        assert_eq!(next("30 2 * * * Europe/Berlin", "2026-03-29T00:00:00Z"), "2026-03-29T01:00:00Z");
        assert_eq!(next("30 2 * * * Europe/Berlin", "2026-10-25T00:00:00Z"), "2026-10-25T00:30:00Z");
        assert_eq!(next("* * * * * Europe/Berlin", "2026-10-25T00:59:30Z"), "2026-10-25T01:00:00Z");
    }

    #[test]
    fn what_is_no_schedule() {
        for text in ["", "every day", "* * *", "61 * * * *", "* * * * * Mars/Base"] {
            assert!(Schedule::parse(text).is_err_and(|why| why.contains("no schedule")), "{text}");
        }
    }
}
