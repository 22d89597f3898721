//! Reading by patterns, and printing what was read.

use proptest::prelude::*;

use super::*;
use crate::event::Timestamp;

fn read(pattern: &str, text: &str) -> Option<String> {
    read_in(pattern, text, Locale::english())
}

fn read_in(pattern: &str, text: &str, locale: Locale) -> Option<String> {
    shown(JodaParser::compile(pattern, locale, 2026).unwrap().read(text, 2026)?)
}

fn shown(reading: Reading) -> Option<String> {
    let offset = match reading.zone {
        TextZone::Missing => String::new(),
        TextZone::Offset(millis) => format!(" {millis}"),
        TextZone::Named(zone) => format!(" {}", zone.iana_name()?),
    };
    let text = Timestamp::from_millis(reading.local_millis)?.to_string();
    Some(text.trim_end_matches(".000Z").trim_end_matches('Z').trim_end_matches("T00:00:00").to_owned() + &offset)
}

#[track_caller]
fn assert_reads(pattern: &str, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let expected = (*expected != "fails").then(|| (*expected).to_owned());
        assert_eq!(read(pattern, text), expected, "{pattern}: {text}");
    }
}

#[test]
fn counts_of_letters_are_no_widths_unless_a_number_follows() {
    assert_reads("yyyy-M-d", &[("2024-2-3", "2024-02-03"), ("12024-2-3", "fails"), ("-5-02-03", "-0005-02-03")]);
    assert_reads("yyyyMMdd", &[("20240203", "2024-02-03"), ("2024023", "2024-02-03"), ("020240203", "fails")]);
    assert_reads("yyMMdd", &[("240203", "2024-02-03"), ("450203", "2045-02-03"), ("460203", "1946-02-03")]);
    assert_reads(
        "yy-MM",
        &[("+24-02", "0024-02-01"), ("024-02", "0024-02-01"), ("-1-02", "-0001-02-01"), ("4-02", "0004-02-01")],
    );
    assert_reads("MMdd", &[("0203", "2026-02-03"), ("1332", "fails")]);
    assert_reads("H:m:s", &[("1:2:3", "1970-01-01T01:02:03"), ("24:0:0", "fails"), ("001:2:3", "fails")]);
}

#[test]
fn fractions_are_cut_after_milliseconds() {
    assert_reads("s.SSS", &[("3.5", "1970-01-01T00:00:03.500"), ("3.1234", "fails"), ("3.", "fails")]);
    assert_reads("s.SSSSSSSSS", &[("3.123999999", "1970-01-01T00:00:03.123"), ("3.0009", "1970-01-01T00:00:03")]);
}

#[test]
fn names_are_taken_as_written_or_in_one_case() {
    assert_reads(
        "d MMM yyyy",
        &[("3 Feb 2024", "2024-02-03"), ("3 february 2024", "2024-02-03"), ("3 fEB 2024", "fails")],
    );
    // The day of the week moves the date.
    assert_reads("EEE, d MMM yyyy", &[("Sun, 5 Feb 2024", "2024-02-11"), ("MONDAY, 5 Feb 2024", "2024-02-05")]);
    let german = Locale::of_tag("de_DE");
    for (text, expected) in
        [("3 März 2024", true), ("3 DEZ. 2024", true), ("3 Okt 2024", false), ("3 March 2024", false)]
    {
        assert_eq!(read_in("d MMM yyyy", text, german).is_some(), expected, "{text}");
    }
    assert_eq!(read_in("d MMM", "1 NİSAN", Locale::of_tag("tr")).as_deref(), Some("2026-04-01"));
    assert_eq!(read_in("h a", "3 PM", german).as_deref(), Some("1970-01-01T15:00:00"));
}

#[test]
fn clocks_of_twelve_and_of_twenty_four_hours() {
    let midnight = "1970-01-01";
    assert_reads(
        "h a",
        &[("12 AM", midnight), ("12 pm", "1970-01-01T12:00:00"), ("0 AM", "fails"), ("13 PM", "fails")],
    );
    assert_reads("K a", &[("0 PM", "1970-01-01T12:00:00"), ("12 AM", "fails")]);
    assert_reads("k", &[("24", midnight), ("0", "fails"), ("25", "fails")]);
    assert_reads("h", &[("11", "1970-01-01T11:00:00"), ("12", midnight)]);
}

#[test]
fn days_of_years_weeks_eras_and_centuries() {
    assert_reads("yyyy-DDD", &[("2024-034", "2024-02-03"), ("2024-366", "2024-12-31"), ("2023-366", "fails")]);
    assert_reads(
        "xxxx-'W'ww-e",
        &[("2024-W05-6", "2024-02-03"), ("2020-W53-7", "2021-01-03"), ("2021-W53-1", "fails")],
    );
    // A week alone is one of the ISO year that 1 January lies in, until the year is set again.
    assert_reads("yyyy w", &[("2023 5", "2023-01-30")]);
    assert_reads("G YYYY", &[("AD 2024", "2024-01-01"), ("CE 2024", "2024-01-01"), ("BC 44", "-0044-01-01")]);
    assert_reads("CC", &[("20", "2000-01-01")]);
    assert_reads("D", &[("60", "2026-03-01")]);
    assert_reads("MM-dd", &[("02-29", "fails"), ("02-28", "2026-02-28")]);
}

#[test]
fn offsets_and_zones() {
    let cases = [
        ("10Z", "1970-01-01T10:00:00 0"),
        ("10z", "1970-01-01T10:00:00 0"),
        ("10+02", "1970-01-01T10:00:00 7200000"),
        ("10-0330", "1970-01-01T10:00:00 -12600000"),
        ("10+01:00:30.5", "1970-01-01T10:00:00 3630500"),
        ("10+010030", "1970-01-01T10:00:00 3630000"),
        ("10+2", "fails"),
        ("10+24", "fails"),
        ("10+02:", "fails"),
        ("10+0260", "fails"),
        ("10 UTC", "fails"),
    ];
    assert_reads("HZ", &cases);
    assert_reads("HZZ", &cases);
    assert_reads(
        "H ZZZ",
        &[
            ("1 Europe/Paris", "1970-01-01T01:00:00 Europe/Paris"),
            ("1 America/Argentina/Buenos_Aires", "1970-01-01T01:00:00 America/Argentina/Buenos_Aires"),
            ("1 UTC", "1970-01-01T01:00:00 UTC"),
            ("1 europe/paris", "fails"),
            ("1 +02:00", "fails"),
        ],
    );
    assert_reads(
        "H z",
        &[("1 PDT", "1970-01-01T01:00:00 America/Los_Angeles"), ("1 BST", "fails"), ("1 pdt", "fails")],
    );
    assert_reads("ZZZ/H", &[("Etc/GMT+5/3", "1970-01-01T03:00:00 Etc/GMT+5")]);
}

#[test]
fn literals_are_taken_in_any_case() {
    assert_reads("'on' yyyy'T'", &[("ON 2024t", "2024-01-01"), ("on2024T", "fails")]);
    assert_reads("yyyy'É'", &[("2024é", "2024-01-01"), ("2024e", "fails")]);
    assert_reads("'open yyyy", &[("OPEN YYYY", "1970-01-01")]);
}

#[test]
fn letters_without_a_meaning_are_refused() {
    for pattern in ["yyyy-MM-ddTHH", "b", "uuuu", "", "HH zzzz"] {
        assert!(JodaParser::compile(pattern, Locale::english(), 2026).is_err(), "{pattern}");
    }
}

#[test]
fn iso_8601_is_read_leniently() {
    for (text, expected) in [
        ("2024", "2024-01-01"),
        ("2024-2-3", "2024-02-03"),
        ("2024-02-03T", "2024-02-03"),
        ("2024-02-03TZ", "2024-02-03 0"),
        ("2024-034", "2024-02-03"),
        ("2024-034T10", "2024-02-03T10:00:00"),
        ("2024-W05", "2024-01-29"),
        ("2024-w05-6", "2024-02-03"),
        ("2024-02-03T10.5", "2024-02-03T10:30:00"),
        ("2024-02-03T10:11,5", "2024-02-03T10:11:30"),
        ("2024-02-03t10:11:12.123456789z", "2024-02-03T10:11:12.123 0"),
        ("2024-02-03T10:11:12+01:30", "2024-02-03T10:11:12 5400000"),
        ("T10:11", "1970-01-01T10:11:00"),
        ("-5", "-0005-01-01"),
        ("20240203", "fails"),
        ("2024-02-03Z", "fails"),
        ("2024-02-03T10:11:12.", "fails"),
        ("2024-02-03T10:11:12.1234567890", "fails"),
        ("2024-02-30", "fails"),
        ("2024-02-03T24:00", "fails"),
        ("2024-02-03T10:11:12 +01:00", "fails"),
        ("", "fails"),
    ] {
        let expected = (expected != "fails").then(|| expected.to_owned());
        assert_eq!(read_iso8601(text).and_then(shown), expected, "{text}");
    }
}

/// Patterns that print all of a time.
const WHOLE: [&str; 8] = [
    "yyyy-MM-dd'T'HH:mm:ss.SSSZ",
    "dd/MMM/yyyy:HH:mm:ss.SSS ZZ",
    "EEEE, d MMMM yyyy hh:mm:ss a SSS",
    "yyyyMMddHHmmssSSS",
    "xxxx-'W'ww-e kk:mm:ss.SSSSSS",
    "YYYY-DDD KK:mm:ss.SSS a",
    "G YYYY MM dd HH mm ss SSS",
    "E d.M.yyyy H:m:s.SSS ZZZ",
];

proptest! {
    #[test]
    fn what_is_printed_reads_back(millis in -40_000_000_000_000_i64..250_000_000_000_000, at in 0..WHOLE.len()) {
        let pattern = WHOLE[at];
        let mut out = Vec::new();
        JodaFormat::compile(pattern).unwrap().write(Timestamp::from_millis(millis).unwrap(), &mut out);
        let text = String::from_utf8(out).unwrap();
        let reading = JodaParser::compile(pattern, Locale::english(), 2026).unwrap().read(&text, 2026);
        prop_assert_eq!(reading.map(|reading| reading.local_millis), Some(millis), "{}: {}", pattern, text);
    }

    #[test]
    fn any_pattern_takes_any_text_without_a_panic(pattern in "[yYxCGMdDwEeaHhKkmsSZz'/ :é.-]{1,12}", text in "\\PC{0,24}") {
        if let Ok(parser) = JodaParser::compile(&pattern, Locale::english(), 2026) {
            let _ = parser.read(&text, 2026);
        }
        let _ = read_iso8601(&text);
    }

    #[test]
    fn iso_8601_reads_what_a_timestamp_prints(millis in 0_i64..250_000_000_000_000) {
        let text = Timestamp::from_millis(millis).unwrap().to_string();
        prop_assert_eq!(read_iso8601(&text), Some(Reading { local_millis: millis, zone: TextZone::Offset(0) }));
    }
}
