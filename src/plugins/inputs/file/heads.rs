//! The checksums of the beginnings of files, in a file beside the position file: that one stays as Logstash writes it.
//!
//! ```text
//! positions checksum-of-the-position-file
//! inode major minor checksum-of-the-head
//! ```
//!
//! A section holds for the position file with the checksum in its first line, and for no other. It is written before
//! that position file takes the place of the one before, together with the section of the one before: so there is one
//! that holds whenever the process is killed, and none once another program has written the positions.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::identity::Identity;

/// What begins a section.
const SECTION: &str = "positions";

/// The checksums of heads.
pub(super) type Heads = IndexMap<Identity, u32>;

/// The file that belongs to a position file.
pub(super) fn beside(positions: &Path) -> PathBuf {
    let mut path = OsString::from(positions);
    path.push(".heads");
    PathBuf::from(path)
}

/// The section for a position file with this content. None is like an empty one: files are then recognized as by
/// Logstash.
pub(super) fn parse(text: &str, positions: &[u8]) -> Heads {
    let wanted = title(positions);
    let section = text.lines().skip_while(|line| *line != wanted).skip(1);
    section.take_while(|line| !line.starts_with(SECTION)).filter_map(head).collect()
}

/// Appends the section for a position file with this content.
pub(super) fn write(out: &mut String, heads: &Heads, positions: &[u8]) {
    out.push_str(&title(positions));
    out.push('\n');
    for (Identity { inode, major, minor }, crc) in heads {
        // A String takes everything.
        let _ = writeln!(out, "{inode} {major} {minor} {crc:08x}");
    }
}

fn title(positions: &[u8]) -> String {
    format!("{SECTION} {:08x}", crc32fast::hash(positions))
}

fn head(line: &str) -> Option<(Identity, u32)> {
    let mut columns = line.split(' ');
    let mut number = || columns.next()?.parse().ok();
    let identity = Identity { inode: number()?, major: number()?, minor: number()? };
    Some((identity, u32::from_str_radix(columns.next()?, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_holds_for_its_position_file_only() {
        let identity = |inode| Identity { inode, major: 0, minor: 3 };
        let old = Heads::from([(identity(1), 0xab)]);
        let new = Heads::from([(identity(1), u32::MAX), (identity(2), 0)]);
        let mut text = String::new();
        write(&mut text, &old, b"old");
        write(&mut text, &new, b"new");
        assert_eq!(parse(&text, b"old"), old);
        assert_eq!(parse(&text, b"new"), new);
        assert_eq!(parse(&text, b"of another program"), Heads::new());
        assert_eq!(parse("positions\nx\n1 2\n\u{fffd}", b""), Heads::new());
    }
}
