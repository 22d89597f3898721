//! The year of a date that names none: the one that brings it nearest to now.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::event::calendar;

const DAY: i64 = 86_400_000;

/// What day it is, found out once for a batch and only if somebody asks.
#[derive(Default)]
pub(super) struct Today(Option<YearMonth>);

#[derive(Clone, Copy)]
pub(super) struct YearMonth {
    pub year: i64,
    pub month: i64,
}

impl YearMonth {
    /// By the clock of the machine.
    pub fn now() -> Self {
        let now = TimeZone::system().to_datetime(Timestamp::now());
        Self { year: now.year().into(), month: now.month().into() }
    }
}

impl Today {
    #[cfg(test)]
    pub fn is(year: i64, month: i64) -> Self {
        Self(Some(YearMonth { year, month }))
    }

    /// A local time in the year that it most likely means: December seen in January is the last one, January seen in
    /// December the next one.
    pub fn guess_year(&mut self, local_millis: i64) -> i64 {
        let now = *self.0.get_or_insert_with(YearMonth::now);
        let (year, month, day) = calendar::date_of(local_millis.div_euclid(DAY));
        let wanted = match (month, now.month) {
            (12, 1) => now.year - 1,
            (1, 12) => now.year + 1,
            _ => now.year,
        };
        if year == wanted {
            return local_millis;
        }
        let day = day.min(calendar::days_in_month(wanted, month));
        calendar::days_since_1970(wanted, month, day) * DAY + local_millis.rem_euclid(DAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_year_is_the_one_that_brings_the_date_near() {
        let at = |year, month, day| calendar::days_since_1970(year, month, day) * DAY + 5;
        for (today, given, expected) in [
            ((2027, 1), at(2026, 12, 31), at(2026, 12, 31)),
            ((2026, 12), at(2026, 1, 1), at(2027, 1, 1)),
            ((2026, 6), at(2025, 12, 31), at(2026, 12, 31)),
            ((2025, 3), at(2024, 2, 29), at(2025, 2, 28)),
            ((2026, 1), at(2026, 1, 31), at(2026, 1, 31)),
        ] {
            assert_eq!(Today::is(today.0, today.1).guess_year(given), expected, "{today:?}");
        }
    }
}
