//! Character classes: `[a-z]`, nested, intersected, with POSIX brackets.

use super::RegexpError;
use super::escape::{Escape, property, read_in_class};

/// Nested classes that are followed by recursion.
const MAX_DEPTH: usize = 50;

/// Translates the class whose `[` has been read. Gives the text for the engines and what follows the `]`.
pub(super) fn class(rest: &str) -> Result<(String, &str), RegexpError> {
    let mut reader = Reader { rest, out: String::new() };
    reader.class(0)?;
    Ok((reader.out, reader.rest))
}

struct Reader<'s> {
    rest: &'s str,
    out: String,
}

/// What a class holds at one place.
enum Item {
    Char(char),
    /// A set, which no range can start or end with.
    Set(String),
}

impl Reader<'_> {
    fn eat(&mut self, text: &str) -> bool {
        self.rest.strip_prefix(text).map(|rest| self.rest = rest).is_some()
    }

    fn class(&mut self, depth: usize) -> Result<(), RegexpError> {
        if depth > MAX_DEPTH {
            return Err(RegexpError("character classes are nested too deep".to_owned()));
        }
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        // A `]` in the first place is one of the class, if another one closes it.
        let mut first = true;
        loop {
            if self.rest.is_empty() {
                return Err(RegexpError("premature end of char-class".to_owned()));
            }
            if self.rest.starts_with(']') && (!first || !self.rest.get(1..).unwrap_or_default().contains(']')) {
                if first {
                    return Err(RegexpError("empty char-class".to_owned()));
                }
                self.rest = self.rest.get(1..).unwrap_or_default();
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.eat("&&") {
                self.out.push_str("&&");
            } else if self.posix()? {
                continue;
            } else if self.eat("[") {
                self.class(depth + 1)?;
            } else {
                self.item_or_range()?;
            }
        }
    }

    /// `[:alpha:]`, `[:^alpha:]`. Whether there was one.
    fn posix(&mut self) -> Result<bool, RegexpError> {
        let Some((name, behind)) = self.rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) else {
            return Ok(false);
        };
        let (name, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphabetic()) {
            return Ok(false);
        }
        self.out.push_str(&property(name, negated)?);
        self.rest = behind;
        Ok(true)
    }

    fn item_or_range(&mut self) -> Result<(), RegexpError> {
        let item = self.item()?;
        // A dash before the end, or before another set, is a dash.
        let range = self.rest.strip_prefix('-').filter(|behind| !behind.starts_with([']', '[']) && !behind.is_empty());
        let Some(behind) = range else {
            self.push(&item);
            return Ok(());
        };
        match item {
            Item::Set(_) => Err(RegexpError("unmatched range specifier in char-class".to_owned())),
            Item::Char(low) => {
                self.rest = behind;
                let Item::Char(high) = self.item()? else {
                    return Err(RegexpError("char-class value at end of range".to_owned()));
                };
                if high < low {
                    return Err(RegexpError("empty range in char class".to_owned()));
                }
                push_char(low, &mut self.out);
                self.out.push('-');
                push_char(high, &mut self.out);
                // `[a-z-.]`: the dash behind a range starts no second one.
                if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                    self.rest = self.rest.get(1..).unwrap_or_default();
                    self.out.push_str("\\-");
                }
                Ok(())
            }
        }
    }

    fn item(&mut self) -> Result<Item, RegexpError> {
        let c = self.rest.chars().next().unwrap_or(']');
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        if c != '\\' {
            return Ok(Item::Char(c));
        }
        if self.eat("b") {
            return Ok(Item::Char('\u{8}'));
        }
        let (escape, rest) = read_in_class(self.rest)?;
        self.rest = rest;
        Ok(match escape {
            Escape::Char(c) => Item::Char(c),
            Escape::Class(set) => Item::Set(set),
            _ => return Err(RegexpError("invalid escape in char-class".to_owned())),
        })
    }

    fn push(&mut self, item: &Item) {
        match item {
            Item::Char(c) => push_char(*c, &mut self.out),
            Item::Set(set) => self.out.push_str(set),
        }
    }
}

/// A character of a class; signs are escaped, since the engines know more operators than Ruby.
fn push_char(c: char, out: &mut String) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() && !c.is_control() {
        out.push(c);
    } else if c.is_ascii_punctuation() && !matches!(c, '<' | '>' | '_') {
        out.push('\\');
        out.push(c);
    } else {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    }
}
