//! A message taken apart: seven fields between pipes, then keys and values.

use crate::event::{FieldRef, Text};

/// The parts of a message, unescaped.
pub(super) struct Message {
    /// What stands before `CEF:`.
    pub syslog: Option<Text>,
    /// Version, vendor, product, version of the device, class, name, severity.
    pub header: [Text; 7],
    pub extensions: Vec<Extension>,
}

/// A key and its value.
pub(super) struct Extension {
    pub key: String,
    pub value: Text,
}

/// Takes a message apart. One line feed at its end and quotes around it are passed over.
pub(super) fn split(text: &str) -> Result<Message, String> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.contains('\n') {
        return Err("a line feed in the message; set `delimiter` if there are several".to_owned());
    }
    let text = match text.strip_prefix('"') {
        Some(inner) => inner.get(..inner.char_indices().next_back().map_or(0, |(last, _)| last)).unwrap_or_default(),
        None => text,
    };
    let mut header = <[Text; 7]>::default();
    let mut rest = text;
    for field in &mut header {
        let (value, behind) = header_field(rest).ok_or("fewer than seven fields before the extension")?;
        *field = value;
        rest = behind;
    }
    let syslog = take_syslog(&mut header);
    Ok(Message { syslog, header, extensions: extensions(rest)? })
}

/// The field up to the next pipe that is not escaped, and what follows.
fn header_field(text: &str) -> Option<(Text, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '|' => return Some((Text::from(value), text.get(at + 1..)?)),
            '\\' => match text.get(at + 1..)?.chars().next() {
                Some(escaped @ ('|' | '\\')) => {
                    value.push(escaped);
                    letters.next();
                }
                _ => value.push('\\'),
            },
            letter => value.push(letter),
        }
    }
    None
}

/// Leaves the version alone in the first field; what stood before it was the syslog header.
fn take_syslog(header: &mut [Text; 7]) -> Option<Text> {
    let [first, ..] = header;
    let (syslog, version) = match first.rsplit_once(' ') {
        Some((syslog, version)) => (Some(Text::from(syslog)), version),
        None => (None, first.as_str()),
    };
    let version = Text::from(version.strip_prefix("CEF:").unwrap_or(version));
    *first = version;
    syslog
}

fn extensions(text: &str) -> Result<Vec<Extension>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_matches(is_blank);
    while !rest.is_empty() {
        let key = key_length(rest).ok_or("text in the extension that is no key=value")?;
        let (key, behind) = rest.split_at(key);
        let behind = behind.get(1..).unwrap_or_default();
        let (value, next) = behind.split_at(value_length(behind));
        found.push(Extension { key: key.to_owned(), value: unescaped(value) });
        rest = next.trim_start_matches(is_blank);
    }
    Ok(found)
}

/// What Ruby's `\s` matches.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c')
}

/// How long the key is that the text starts with, if an equals sign follows it: word characters, parts with dots, and
/// an index in brackets.
fn key_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = |from: usize, fits: fn(u8) -> bool| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|byte| fits(**byte)).count()
    };
    let mut at = run(0, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if at == 0 {
        return None;
    }
    while bytes.get(at) == Some(&b'.') {
        match run(at + 1, |byte| !b".= \t\r\n\x0b\x0c|\\[]".contains(&byte)) {
            0 => break,
            length => at += 1 + length,
        }
    }
    if bytes.get(at) == Some(&b'[') {
        let digits = run(at + 1, |byte| byte.is_ascii_digit());
        if digits > 0 && bytes.get(at + 1 + digits) == Some(&b']') {
            at += digits + 2;
        }
    }
    (bytes.get(at) == Some(&b'=')).then_some(at)
}

/// How long the value is: up to blanks that are followed by a key and an equals sign.
fn value_length(text: &str) -> usize {
    let mut at = 0;
    while let Some(blank) = text.get(at..).and_then(|rest| rest.find(is_blank)) {
        let start = at + blank;
        let behind = text.get(start..).unwrap_or_default().trim_start_matches(is_blank);
        if key_length(behind).is_some() {
            return start;
        }
        at = text.len() - behind.len();
    }
    text.len()
}

fn unescaped(value: &str) -> Text {
    if !value.contains('\\') {
        return Text::from(value);
    }
    let mut out = String::with_capacity(value.len());
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = match (letter, letters.peek()) {
            ('\\', Some('\\')) => Some('\\'),
            ('\\', Some('=')) => Some('='),
            ('\\', Some('n')) => Some('\n'),
            ('\\', Some('r')) => Some('\r'),
            _ => None,
        };
        out.push(escaped.unwrap_or(letter));
        if escaped.is_some() {
            letters.next();
        }
    }
    Text::from(out)
}

/// The field of a key that no table has; `key[1]` is the field `[key][1]`.
pub(super) fn unknown_key(key: &str) -> FieldRef {
    match key.strip_suffix(']').and_then(|key| key.rsplit_once('[')) {
        Some((name, index)) => FieldRef::path_of(&[name, index]),
        None => FieldRef::path_of(&[key]),
    }
}
