//! What the date filter does to events, beyond the cases in `tests/cases/date.yml`.

use crate::event::Timestamp;
use crate::plugins::testing::{compiled, event, filtered, run_filters};

fn read(options: &str, event: &str) -> String {
    filtered(&format!("filter {{ date {{ {options} }} }}"), &[event]).remove(0)
}

fn errors(options: &str) -> String {
    compiled(&format!("filter {{ date {{ {options} }} }}")).err().unwrap_or_default()
}

#[test]
fn mistakes_stop_the_start() {
    assert!(errors("").contains("`match`"));
    assert!(errors(r#"match => ["t"]"#).contains("`match`"));
    assert!(errors(r#"match => ["a[b", "UNIX"]"#).contains("a[b"));
    assert!(errors(r#"match => ["t", "yyyy-MM-ddTHH"]"#).contains("Illegal pattern component"));
    assert!(errors(r#"match => ["t", "HH zzzz"]"#).contains("Illegal pattern component"));
    for zone in ["PST", "europe/paris", "", "+2", "+25", "+2:00", "+02:0"] {
        let options = format!(r#"match => ["t", "UNIX"] timezone => "{zone}""#);
        assert!(errors(&options).contains("is not recognised"), "{zone}");
    }
    for zone in ["Europe/Paris", "UTC", "UT", "GMT", "Z", "+02", "-02:30", "+0200", "EST5EDT"] {
        assert_eq!(errors(&format!(r#"match => ["t", "UNIX"] timezone => "{zone}""#)), "", "{zone}");
    }
}

/// logstash-filter-date#113, logstash#8505
#[test]
fn one_hour_of_a_year_does_not_exist_and_its_neighbours_do() {
    let options = r#"match => ["t", "yyyy-MM-dd HH:mm"] target => "r" timezone => "Europe/Paris""#;
    for (given, expected) in [
        ("2024-03-31 01:59", r#","r":"2024-03-31T00:59:00.000Z"}"#),
        ("2024-03-31 02:30", r#","tags":["_dateparsefailure"]}"#),
        ("2024-03-31 03:00", r#","r":"2024-03-31T01:00:00.000Z"}"#),
        ("2024-10-27 01:59", r#","r":"2024-10-26T23:59:00.000Z"}"#),
        ("2024-10-27 02:30", r#","r":"2024-10-27T00:30:00.000Z"}"#),
        ("2024-10-27 03:00", r#","r":"2024-10-27T02:00:00.000Z"}"#),
    ] {
        let event = format!(r#"{{"t":"{given}"}}"#);
        assert_eq!(read(options, &event), event.replace('}', expected), "{given}");
    }
}

#[test]
fn the_offset_that_is_remembered_is_that_of_the_hour() {
    // Australia/Lord_Howe goes back half an hour, so that one hour has two offsets.
    let config =
        r#"filter { date { match => ["t", "yyyy-MM-dd HH:mm"] target => "r" timezone => "Australia/Lord_Howe" } }"#;
    let times = ["2024-04-07 01:15", "2024-04-07 01:45", "2024-04-07 02:15", "2024-04-07 01:15", "2024-04-07 00:15"];
    let events: Vec<String> = times.iter().map(|time| format!(r#"{{"t":"{time}"}}"#)).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let together = filtered(config, &events);
    let alone: Vec<String> = events.iter().map(|event| filtered(config, &[event]).remove(0)).collect();
    assert_eq!(together, alone);
    assert!(together[2].contains("2024-04-06T15:45:00.000Z"), "{}", together[2]);
}

/// logstash#3726, logstash-filter-date#23
#[test]
fn the_zone_may_stand_in_a_field() {
    let options = r#"match => ["t", "HH:mm yyyy", "UNIX"] target => "r" timezone => "%{tz}""#;
    let event = r#"{"t":"10:11 2024","tz":"+01:00"}"#;
    assert_eq!(read(options, event), event.replace('}', r#","r":"2024-01-01T09:11:00.000Z"}"#));
    let event = r#"{"t":"10:11 2024","tz":"nowhere"}"#;
    assert_eq!(read(options, event), event.replace('}', r#","tags":["_dateparsefailure"]}"#));
    // Seconds since 1970 need no zone.
    assert_eq!(read(options, r#"{"t":5}"#), r#"{"t":5,"r":"1970-01-01T00:00:05.000Z"}"#);
}

/// logstash#10565
#[test]
fn german_months_are_spelled_as_unicode_spells_them() {
    let options = r#"match => ["t", "dd-MMM-yyyy"] target => "r" timezone => "UTC" locale => "de_DE""#;
    assert!(read(options, r#"{"t":"15-März-2019"}"#).contains("2019-03-15"));
    assert!(read(options, r#"{"t":"15-Mär-2019"}"#).contains("_dateparsefailure"));
}

/// logstash#10994
#[test]
fn the_target_makes_no_difference() {
    let zone = r#"match => ["t", "yyyy-MM-dd HH:mm"] timezone => "America/New_York""#;
    let events = |options: &str| {
        let compiled = compiled(&format!("filter {{ date {{ {options} }} }}")).unwrap();
        run_filters(&compiled, vec![event(r#"{"t":"2024-02-03 10:11"}"#)]).remove(0)
    };
    let expected = Timestamp::parse("2024-02-03T15:11:00.000Z");
    assert_eq!(events(zone).timestamp(), expected);
    let other = events(&format!(r#"{zone} target => "[a][b]""#));
    assert_eq!(
        crate::plugins::testing::json(&other),
        r#"{"t":"2024-02-03 10:11","a":{"b":"2024-02-03T15:11:00.000Z"}}"#
    );
}

/// logstash#1786
#[test]
fn a_failure_is_always_tagged_once() {
    let event = r#"{"t":"x","tags":["_dateparsefailure"]}"#;
    assert_eq!(read(r#"match => ["t", "UNIX"]"#, event), event);
}

/// logstash#4929
#[test]
fn the_last_day_of_february_without_a_year_needs_a_leap_year_at_the_start() {
    let leap = crate::event::calendar::is_leap(super::year::YearMonth::now().year);
    let read = read(r#"match => ["t", "MMM dd"] target => "r""#, r#"{"t":"Feb 29"}"#);
    assert_eq!(read.contains("_dateparsefailure"), !leap, "{read}");
}

#[test]
fn a_target_below_a_text_is_a_failure() {
    let event = r#"{"t":"5","a":"x"}"#;
    let expected = event.replace('}', r#","tags":["_dateparsefailure"]}"#);
    assert_eq!(read(r#"match => ["t", "UNIX"] target => "[a][b]" add_tag => ["ok"]"#, event), expected);
}

#[test]
fn a_text_format_takes_only_text() {
    for given in ["2024", "true", r#"["2024"]"#, "{}"] {
        let read = read(r#"match => ["t", "yyyy", "ISO8601"]"#, &format!(r#"{{"t":{given}}}"#));
        assert!(read.contains("_dateparsefailure"), "{read}");
    }
}
