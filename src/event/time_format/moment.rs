//! An instant taken apart for printing, in UTC.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::event::Timestamp;

/// An instant taken apart.
pub(super) struct Moment {
    at: DateTime,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

/// Something that prints as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Astronomical: 0 is 1 BC.
    Year,
    YearOfEra,
    CenturyOfEra,
    /// ISO 8601: weeks start on Monday, the first one has four days of the year at least.
    IsoWeekYear,
    IsoWeek,
    /// Of the United States: weeks start on Sunday, the first one has the first day of the year.
    WeekYear,
    Week,
    WeekOfMonth,
    /// 1 for the days 1 to 7.
    AlignedWeekOfMonth,
    Quarter,
    Month,
    Day,
    DayOfYear,
    /// Monday is 1.
    IsoDayOfWeek,
    /// Sunday is 1.
    DayOfWeek,
    ModifiedJulianDay,
    /// 0 to 23.
    Hour,
    /// 1 to 24.
    HourFromOne,
    /// 0 to 11.
    HalfDayHour,
    /// 1 to 12.
    HalfDayHourFromOne,
    Minute,
    Second,
    Nano,
    MilliOfDay,
    NanoOfDay,
}

impl Moment {
    pub fn new(at: Timestamp) -> Self {
        Self { at: TimeZone::UTC.to_datetime(at.to_jiff()), nanos: at.nanos() }
    }

    /// From 0 for January.
    pub fn month0(&self) -> usize {
        usize::from(self.at.month().unsigned_abs()).wrapping_sub(1)
    }

    /// From 0 for Monday.
    pub fn weekday0(&self) -> usize {
        self.at.weekday().to_monday_zero_offset().unsigned_abs().into()
    }

    pub fn is_afternoon(&self) -> bool {
        self.at.hour() >= 12
    }

    pub fn is_before_christ(&self) -> bool {
        self.at.year() <= 0
    }

    /// The value of a field.
    pub fn value(&self, field: Field) -> i64 {
        let at = self.at;
        let hour = i64::from(at.hour());
        let seconds_of_day = hour * 3600 + i64::from(at.minute()) * 60 + i64::from(at.second());
        match field {
            Field::Year => at.year().into(),
            Field::YearOfEra => self.year_of_era(),
            Field::CenturyOfEra => self.year_of_era() / 100,
            Field::IsoWeekYear => at.date().iso_week_date().year().into(),
            Field::IsoWeek => at.date().iso_week_date().week().into(),
            Field::WeekYear => i64::from(at.year()) + i64::from(self.is_in_first_week_of_next_year()),
            Field::Week => self.week(),
            Field::WeekOfMonth => week_of(at.day().into(), self.day_of_week()),
            Field::AlignedWeekOfMonth => (i64::from(at.day()) - 1) / 7 + 1,
            Field::Quarter => (i64::from(at.month()) - 1) / 3 + 1,
            Field::Month => at.month().into(),
            Field::Day => at.day().into(),
            Field::DayOfYear => at.day_of_year().into(),
            Field::IsoDayOfWeek => at.weekday().to_monday_one_offset().into(),
            Field::DayOfWeek => self.day_of_week(),
            // The epoch is day 40,587.
            Field::ModifiedJulianDay => self.days_since_epoch() + 40_587,
            Field::Hour => hour,
            Field::HourFromOne => (hour + 23) % 24 + 1,
            Field::HalfDayHour => hour % 12,
            Field::HalfDayHourFromOne => (hour + 11) % 12 + 1,
            Field::Minute => at.minute().into(),
            Field::Second => at.second().into(),
            Field::Nano => self.nanos.into(),
            Field::MilliOfDay => seconds_of_day * 1000 + i64::from(self.nanos / 1_000_000),
            Field::NanoOfDay => seconds_of_day * 1_000_000_000 + i64::from(self.nanos),
        }
    }

    fn year_of_era(&self) -> i64 {
        let year = i64::from(self.at.year());
        if year <= 0 { 1 - year } else { year }
    }

    fn day_of_week(&self) -> i64 {
        i64::from(self.at.weekday().to_sunday_zero_offset()) + 1
    }

    fn days_since_epoch(&self) -> i64 {
        let midnight = self.at.date().to_datetime(jiff::civil::Time::midnight());
        TimeZone::UTC.to_timestamp(midnight).map_or(0, |at| at.as_second().div_euclid(86_400))
    }

    fn is_in_first_week_of_next_year(&self) -> bool {
        self.at.month() == 12 && i64::from(self.at.day()) + 7 - self.day_of_week() > 31
    }

    fn week(&self) -> i64 {
        if self.is_in_first_week_of_next_year() {
            return 1;
        }
        week_of(self.at.day_of_year().into(), self.day_of_week())
    }
}

/// The week that a day of a month or year is in, when weeks start on Sunday and the first one may have a single day.
fn week_of(day: i64, day_of_week: i64) -> i64 {
    let first_day_of_week = (day_of_week - day).rem_euclid(7);
    (day - 1 + first_day_of_week) / 7 + 1
}
