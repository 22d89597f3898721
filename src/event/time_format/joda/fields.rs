//! The numbers that a text gave, and the local time they make.
//!
//! Joda-Time sets one field after the other on 1970-01-01T00:00, the largest first, so that a smaller one is judged by
//! what the larger ones made, and a day of the week moves the date. Dates of year, month and day, nearly all there
//! are, need none of that.

use jiff::ToSpan;
use jiff::civil::{Date, ISOWeekDate};

use crate::event::calendar;

/// What a number is, in the order in which they are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    /// 0 before Christ, 1 after.
    Era,
    CenturyOfEra,
    Year,
    YearOfEra,
    WeekYear,
    Month,
    Week,
    DayOfYear,
    Day,
    /// Monday is 1.
    DayOfWeek,
    HalfDay,
    Hour,
    /// 1 to 24, which is hour 0 of the same day.
    HourFromOne,
    HalfDayHour,
    /// 1 to 12, which is hour 0.
    HalfDayHourFromOne,
    Minute,
    Second,
    /// Added to the rest: a part of an hour, a minute or a second.
    Millis,
}

const COUNT: usize = Field::Millis as usize + 1;

/// The fields that a date is made of.
const DATES: [Field; 10] = [
    Field::Era,
    Field::CenturyOfEra,
    Field::Year,
    Field::YearOfEra,
    Field::WeekYear,
    Field::Month,
    Field::Week,
    Field::DayOfYear,
    Field::Day,
    Field::DayOfWeek,
];
const YEARS: u32 = bits(&[Field::Era, Field::CenturyOfEra, Field::Year, Field::YearOfEra, Field::WeekYear]);
const ALL_DATES: u32 = bits(&DATES);
/// These need the calendar to be asked step by step.
const ODD: u32 = bits(&[Field::Era, Field::CenturyOfEra, Field::WeekYear, Field::Week, Field::DayOfYear]);

const fn bits(fields: &[Field]) -> u32 {
    let (mut all, mut at) = (0, 0);
    while at < fields.len() {
        #[allow(clippy::indexing_slicing, reason = "no iterators in constants; the bound is checked")]
        let field = fields[at];
        all |= 1 << field as u32;
        at += 1;
    }
    all
}

/// Numbers that a text gave.
pub(super) struct Fields {
    given: u32,
    values: [i32; COUNT],
}

impl Fields {
    pub fn new() -> Self {
        Self { given: 0, values: [0; COUNT] }
    }

    /// Notes a number; of two for the same field the last counts.
    #[inline]
    pub fn set(&mut self, field: Field, value: i32) {
        if let Some(slot) = self.values.get_mut(field as usize) {
            *slot = value;
            self.given |= 1 << field as u32;
        }
    }

    #[inline]
    fn get(&self, field: Field) -> Option<i64> {
        let is_given = self.given & 1 << field as u32 != 0;
        self.values.get(field as usize).filter(|_| is_given).map(|value| i64::from(*value))
    }

    #[inline]
    fn within(&self, field: Field, least: i64, most: i64, otherwise: i64) -> Option<i64> {
        match self.get(field) {
            None => Some(otherwise),
            Some(value) => (least..=most).contains(&value).then_some(value),
        }
    }

    /// Milliseconds since 1970 began, on the local clock. `None` when there is no such time. `default_year` is that of
    /// a date that names none.
    #[inline]
    pub fn local_millis(&self, default_year: i32) -> Option<i64> {
        Some(self.days(default_year)? * 86_400_000 + self.millis_of_day()?)
    }

    #[inline]
    fn millis_of_day(&self) -> Option<i64> {
        let half_day = self.within(Field::HalfDay, 0, 1, 0)?;
        let from_one = self.within(Field::HourFromOne, 1, 24, half_day * 12)? % 24;
        let hour = self.within(Field::Hour, 0, 23, from_one)?;
        let in_half_day = self.within(Field::HalfDayHourFromOne, 1, 12, hour % 12)? % 12;
        let in_half_day = self.within(Field::HalfDayHour, 0, 11, in_half_day)?;
        let hour = hour / 12 * 12 + in_half_day;
        let minute = self.within(Field::Minute, 0, 59, 0)?;
        let second = self.within(Field::Second, 0, 59, 0)?;
        Some((hour * 60 + minute) * 60_000 + second * 1000 + self.get(Field::Millis).unwrap_or(0))
    }

    #[inline]
    fn days(&self, default_year: i32) -> Option<i64> {
        if self.given & ALL_DATES == 0 {
            return Some(0);
        }
        if self.given & ODD != 0 {
            return self.odd_days(default_year);
        }
        let year_of_era = self.within(Field::YearOfEra, 0, 9999, default_year.into())?;
        let year = self.within(Field::Year, -9999, 9999, year_of_era)?;
        let month = self.within(Field::Month, 1, 12, 1)?;
        let day = self.within(Field::Day, 1, calendar::days_in_month(year, month), 1)?;
        let days = calendar::days_since_1970(year, month, day);
        let weekday = calendar::weekday(days);
        Some(days - weekday + self.within(Field::DayOfWeek, 1, 7, weekday)?)
    }

    /// Sets one field after the other, twice: first from the beginning of what each leaves open, then all again on
    /// what that gave.
    fn odd_days(&self, default_year: i32) -> Option<i64> {
        let mut date = Date::constant(1970, 1, 1);
        let has_time = self.given & !ALL_DATES != 0;
        let last = DATES.iter().rev().find(|field| self.get(**field).is_some())?;
        for pass in 0..2 {
            if self.given & YEARS == 0 {
                date = set(date, Field::Year, default_year.into(), pass == 0)?;
            }
            for field in DATES {
                if let Some(value) = self.get(field) {
                    date = set(date, field, value, pass == 0 || field == *last && !has_time)?;
                }
            }
        }
        Some(calendar::days_since_1970(date.year().into(), date.month().into(), date.day().into()))
    }
}

/// Sets a field of a date; with `starts` what is smaller begins anew.
fn set(date: Date, field: Field, value: i64, starts: bool) -> Option<Date> {
    let year = i64::from(date.year());
    match field {
        Field::Era if (year > 0) == (value > 0) => with_year(date, year, starts),
        Field::Era => with_year(date, -year, starts),
        Field::CenturyOfEra => {
            let of_era = value.checked_mul(100).filter(|year| *year >= 0)? + if starts { 0 } else { year.abs() % 100 };
            with_year(date, if year < 0 { -of_era } else { of_era }, starts)
        }
        Field::Year => with_year(date, value, starts),
        Field::YearOfEra if value < 0 => None,
        Field::YearOfEra => with_year(date, if year < 0 { -value } else { value }, starts),
        Field::WeekYear => with_week_year(date, i16::try_from(value).ok()?, starts),
        Field::Month => {
            let month = i8::try_from(value).ok()?;
            let first = date.with().day(1).month(month).build().ok()?;
            let day = if starts { 1 } else { date.day().min(first.days_in_month()) };
            first.with().day(day).build().ok()
        }
        Field::Week => {
            let week = date.iso_week_date();
            let within = (1..=i64::from(week.weeks_in_year())).contains(&value);
            let days = (value - i64::from(week.week())) * 7;
            let back = if starts { i64::from(week.weekday().to_monday_zero_offset()) } else { 0 };
            within.then_some(())?;
            date.checked_add((days - back).days()).ok()
        }
        Field::DayOfYear => date.with().day_of_year(i16::try_from(value).ok()?).build().ok(),
        Field::Day => date.with().day(i8::try_from(value).ok()?).build().ok(),
        Field::DayOfWeek if !(1..=7).contains(&value) => None,
        Field::DayOfWeek => date.checked_add((value - i64::from(date.weekday().to_monday_one_offset())).days()).ok(),
        _ => Some(date),
    }
}

fn with_year(date: Date, year: i64, starts: bool) -> Option<Date> {
    let year = i16::try_from(year).ok()?;
    if starts {
        return Date::new(year, 1, 1).ok();
    }
    let last = Date::new(year, date.month(), 1).ok()?.days_in_month();
    Date::new(year, date.month(), date.day().min(last)).ok()
}

fn with_week_year(date: Date, year: i16, starts: bool) -> Option<Date> {
    let first = ISOWeekDate::new(year, 1, jiff::civil::Weekday::Monday).ok()?;
    if starts {
        return Some(first.date());
    }
    let old = date.iso_week_date();
    let week = old.week().min(first.weeks_in_year());
    ISOWeekDate::new(year, week, old.weekday()).ok().map(ISOWeekDate::date)
}
