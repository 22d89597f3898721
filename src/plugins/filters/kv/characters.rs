//! Characters as options name them: the inside of a character class of a regular expression.

use crate::event::Text;
use crate::regexp::{GaveUp, RegexpError, RubyRegex};

/// ASCII characters, asked for by byte.
#[derive(Clone, Debug)]
pub(super) struct ByteSet([bool; 256]);

impl ByteSet {
    /// The characters of a class that means just them: all ASCII, and none with a meaning of its own.
    pub fn of_class(class: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii() && !matches!(byte, b'\\' | b'[' | b']' | b'^' | b'-' | b'&');
        // One `&` is itself; two are an intersection.
        let is_plain = class.bytes().all(|byte| is_plain(byte) || byte == b'&') && !class.contains("&&");
        if class.is_empty() || !is_plain {
            return None;
        }
        let mut set = [false; 256];
        for byte in class.bytes() {
            if let Some(slot) = set.get_mut(usize::from(byte)) {
                *slot = true;
            }
        }
        Some(Self(set))
    }

    #[inline]
    pub fn contains(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or(false)
    }
}

/// What is taken off a key or value.
#[derive(Clone, Debug)]
pub(super) struct Cutter {
    /// How most are done.
    quick: Option<ByteSet>,
    pattern: RubyRegex,
    only_ends: bool,
}

impl Cutter {
    /// Takes characters off at both ends of every line.
    pub fn ends(class: &str) -> Result<Self, RegexpError> {
        let pattern = RubyRegex::new(&format!("^[{class}]+|[{class}]+$"))?;
        Ok(Self { quick: ByteSet::of_class(class), pattern, only_ends: true })
    }

    /// Takes characters out everywhere.
    pub fn everywhere(class: &str) -> Result<Self, RegexpError> {
        Ok(Self { quick: ByteSet::of_class(class), pattern: RubyRegex::new(&format!("[{class}]"))?, only_ends: false })
    }

    /// The text without them.
    pub fn cut(&self, text: Text) -> Result<Text, GaveUp> {
        match &self.quick {
            Some(set) if !text.bytes().any(|byte| set.contains(byte)) => Ok(text),
            Some(set) if self.only_ends && !text.contains('\n') => {
                let is_in = |c: char| u8::try_from(c).is_ok_and(|byte| c.is_ascii() && set.contains(byte));
                Ok(text.part(text.trim_matches(is_in)))
            }
            _ => self.cut_by_pattern(&text),
        }
    }

    fn cut_by_pattern(&self, text: &Text) -> Result<Text, GaveUp> {
        let mut out = String::new();
        let mut end = 0;
        for captures in self.pattern.captures_iter(text) {
            let range = captures?.range();
            out.push_str(text.get(end..range.start).unwrap_or_default());
            end = range.end;
        }
        out.push_str(text.get(end..).unwrap_or_default());
        Ok(Text::from(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_cut_at_the_ends_of_lines_or_everywhere() {
        let ends = |class: &str, text: &str| Cutter::ends(class).unwrap().cut(Text::from(text)).unwrap().to_string();
        assert_eq!(ends("<>", "<<a<b>"), "a<b");
        assert_eq!(ends(" ", " a \n b "), "a\nb");
        assert_eq!(ends("a-c", "abxcb"), "x");
        assert_eq!(ends(r"\[\]", "[x]"), "x");
        let everywhere = Cutter::everywhere("é.").unwrap();
        assert_eq!(everywhere.cut(Text::from("a.bé.c")).unwrap(), "abc");
        assert!(Cutter::ends("b-a").is_err());
    }
}
