//! Days of the Gregorian calendar as numbers, without zones.

/// Whether a year has a 29 February.
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// How many days a month has; none when there is no such month.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap(year)),
        _ => 0,
    }
}

/// Days from 1970-01-01 to a date that exists.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // In years that begin in March the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// Year, month and day of a number of days since 1970-01-01.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    // In four centuries of years that begin in March.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (year + era * 400, month, day)
}

/// Day of the week, Monday is 1.
pub fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree_over_four_centuries() {
        let mut days = days_since_1970(1900, 1, 1);
        for year in 1900..2301 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(days_since_1970(year, month, day), days);
                    assert_eq!(date_of(days), (year, month, day));
                    days += 1;
                }
            }
        }
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(date_of(days_since_1970(-4, 2, 29)), (-4, 2, 29));
        assert_eq!((weekday(0), weekday(-1)), (4, 3));
    }
}
