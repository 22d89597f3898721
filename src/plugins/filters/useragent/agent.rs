//! What a header says, in the form in which Logstash writes it.

use crate::event::Text;

/// The parts of a header.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Agent {
    pub name: Text,
    pub device: Text,
    pub version: Version,
    /// Name and version of the operating system.
    pub os_full: Text,
    pub os_name: Text,
    pub os_version: Version,
}

/// A version, and the numbers that it begins with.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Version {
    pub full: Option<Text>,
    pub major: Option<Text>,
    pub minor: Option<Text>,
    pub patch: Option<Text>,
}

impl Version {
    /// Of up to four parts; the first one that is missing ends it.
    pub fn new(parts: [Option<&str>; 4]) -> Self {
        let [major, minor, patch, _] = parts;
        let text = |part: Option<&str>| part.map(Text::from);
        Self { full: full(parts).map(Text::from), major: text(major), minor: text(minor), patch: text(patch) }
    }

    /// As far as `header` has it: `119.0` becomes `119.0.6045.105` when that stands there, with a blank behind it.
    pub fn extended(mut self, header: &str) -> Self {
        if let Some(full) = &self.full
            && let Some(more) = rest_in(header, full)
        {
            self.full = Some(Text::from(format!("{full}{more}")));
        }
        self
    }
}

fn full(parts: [Option<&str>; 4]) -> Option<String> {
    let present: Vec<&str> = parts.into_iter().map_while(|part| part).collect();
    let (major, rest) = present.split_first()?;
    // A version such as `XP SP2` is two words.
    let is_number = major.bytes().all(|b| b.is_ascii_digit());
    Some(match rest.first() {
        Some(minor) if !is_number => format!("{major} {minor}"),
        _ => present.join("."),
    })
}

/// The `.digits` behind the version, if a blank ends them.
fn rest_in<'h>(header: &'h str, version: &str) -> Option<&'h str> {
    let behind = header.get(header.find(version)? + version.len()..)?;
    let end = behind.find(|c: char| !(c.is_ascii_digit() || c == '.')).filter(|end| *end > 0)?;
    let (more, rest) = behind.split_at(end);
    let parts = more.strip_prefix('.')?.split('.');
    (rest.starts_with(' ') && parts.into_iter().all(|part| !part.is_empty())).then_some(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(parts: [Option<&str>; 4], header: &str) -> Option<String> {
        Version::new(parts).extended(header).full.map(|text| text.to_string())
    }

    #[test]
    fn versions_are_joined_and_go_on_as_the_header_does() {
        let parts = [Some("119"), Some("0"), None, None];
        for (header, expected) in [
            ("Chrome/119.0.6045.105 Safari", "119.0.6045.105"),
            ("Chrome/119.0.6045 Safari", "119.0.6045"),
            ("Chrome/119.0.6045", "119.0"),
            ("Chrome/119.0.x Safari", "119.0"),
            ("Chrome/119.0. Safari", "119.0"),
            ("Chrome/119.0 Safari", "119.0"),
        ] {
            assert_eq!(version(parts, header).as_deref(), Some(expected), "{header}");
        }
        assert_eq!(version([Some("1"), Some("2"), Some("3"), Some("4")], "").as_deref(), Some("1.2.3.4"));
        assert_eq!(version([Some("1"), None, Some("3"), None], "").as_deref(), Some("1"));
        assert_eq!(version([None; 4], "x"), None);
        assert_eq!(version([Some("Vista"), None, None, None], "").as_deref(), Some("Vista"));
        assert_eq!(version([Some("XP"), Some("SP2"), None, None], "").as_deref(), Some("XP SP2"));
    }
}
