//! Zones by name in a text: ids such as `Europe/Paris`, and the American abbreviations.

use std::sync::OnceLock;

use jiff::tz::TimeZone;

use super::input::Input;

/// Short names and what each stands for: the place with its rules, so that summer time is not what the letter says.
const SHORT_NAMES: [(&str, &str); 11] = [
    ("UTC", "UTC"),
    ("GMT", "UTC"),
    ("EST", "America/New_York"),
    ("EDT", "America/New_York"),
    ("CST", "America/Chicago"),
    ("CDT", "America/Chicago"),
    ("MST", "America/Denver"),
    ("MDT", "America/Denver"),
    ("PST", "America/Los_Angeles"),
    ("PDT", "America/Los_Angeles"),
    ("UT", "UTC"),
];

/// A short name.
pub(super) fn read_name(input: &mut Input<'_>) -> Option<TimeZone> {
    let (name, id) = SHORT_NAMES.iter().find(|(name, _)| input.rest().starts_with(name.as_bytes()))?;
    input.skip(name.len());
    TimeZone::get(id).ok()
}

/// The longest zone id that comes next, as it is written in the database of zones.
pub(super) fn read_id(input: &mut Input<'_>) -> Option<TimeZone> {
    let is_of_id = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'+');
    let longest = input.rest().iter().take_while(is_of_id).count();
    let text = std::str::from_utf8(input.rest().get(..longest)?).ok()?;
    let length = (1..=longest).rev().find(|length| text.get(..*length).is_some_and(is_id))?;
    input.skip(length);
    TimeZone::get(text.get(..length)?).ok()
}

fn is_id(text: &str) -> bool {
    static IDS: OnceLock<Vec<String>> = OnceLock::new();
    let ids = IDS.get_or_init(|| {
        let mut ids: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        ids.push("UTC".to_owned());
        ids.sort();
        ids
    });
    ids.binary_search_by(|id| id.as_str().cmp(text)).is_ok()
}
