//! The three date formats of the inputs, to and from seconds since 1970.

const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// Seconds and milliseconds.
pub struct Time(pub i64, pub u32);

/// `01/Jan/2026:00:00:00 +0200`
pub fn apache(text: &[u8]) -> Time {
    let zone = (digits(&text[22..24]) * 60 + digits(&text[24..26])) * 60;
    let zone = if text[21] == b'-' { -zone } else { zone };
    Time(seconds(digits(&text[7..11]), month(&text[3..6]), digits(&text[0..2]), &text[12..20]) - zone, 0)
}

/// `Jan  1 00:00:00`, in the year of the inputs.
pub fn syslog(text: &[u8]) -> Time {
    let day = if text[4] == b' ' { digits(&text[5..6]) } else { digits(&text[4..6]) };
    Time(seconds(2026, month(&text[0..3]), day, &text[7..15]), 0)
}

/// `2026-01-01T00:00:00Z`, with or without milliseconds.
pub fn iso(text: &[u8]) -> Time {
    let millis = if text.get(19) == Some(&b'.') { digits(&text[20..23]) as u32 } else { 0 };
    Time(seconds(digits(&text[0..4]), digits(&text[5..7]), digits(&text[8..10]), &text[11..19]), millis)
}

fn digits(text: &[u8]) -> i64 {
    text.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
}

fn month(name: &[u8]) -> i64 {
    MONTHS.chunks(3).position(|month| month == name).expect("a month") as i64 + 1
}

/// Days from a civil date by shifting the year to begin in March.
fn seconds(year: i64, month: i64, day: i64, clock: &[u8]) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    days * 86400 + digits(&clock[0..2]) * 3600 + digits(&clock[3..5]) * 60 + digits(&clock[6..8])
}

/// `"2026-01-01T00:00:00.000Z"`
pub fn write(Time(seconds, millis): Time, out: &mut Vec<u8>) {
    let days = seconds.div_euclid(86400) + 719_468;
    let second = seconds.rem_euclid(86400);
    let era = days.div_euclid(146_097);
    let day_of_era = days - era * 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let mut text = *b"\"0000-00-00T00:00:00.000Z\"";
    put(&mut text[1..5], year_of_era + era * 400 + i64::from(month <= 2));
    put(&mut text[6..8], month);
    put(&mut text[9..11], day_of_year - (153 * shifted + 2) / 5 + 1);
    put(&mut text[12..14], second / 3600);
    put(&mut text[15..17], second / 60 % 60);
    put(&mut text[18..20], second % 60);
    put(&mut text[21..24], i64::from(millis));
    out.extend_from_slice(&text);
}

fn put(places: &mut [u8], mut number: i64) {
    for place in places.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}
