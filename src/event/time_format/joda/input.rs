//! A text while it is read.

/// A text and how far it was read.
pub(super) struct Input<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Input<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// What was not read yet, as bytes.
    #[inline]
    pub fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Whether all was read.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// The next byte.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes on by so many bytes, which must end on a character.
    #[inline]
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// How far it was read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Takes this ASCII character, if it comes next.
    #[inline]
    pub fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.skip(1))
    }

    /// Takes a text that comes next, in any case.
    pub fn take_in_any_case(&mut self, literal: &str) -> Option<()> {
        let rest = self.rest();
        if let Some(same) = rest.get(..literal.len())
            && same.eq_ignore_ascii_case(literal.as_bytes())
        {
            self.skip(literal.len());
            return Some(());
        }
        if rest.is_ascii() && literal.is_ascii() {
            return None;
        }
        let mut chars = self.text.get(self.at..)?.chars();
        for wanted in literal.chars() {
            let found = chars.next()?;
            if !is_same_letter(found, wanted) {
                return None;
            }
        }
        self.at = self.text.len() - chars.as_str().len();
        Some(())
    }

    /// A number of one to `most` digits.
    #[inline]
    pub fn number(&mut self, most: usize) -> Option<i32> {
        let mut value = 0_i64;
        let mut count = 0;
        for byte in self.rest().iter().take(most) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.saturating_mul(10).saturating_add(i64::from(digit));
            count += 1;
        }
        self.skip(count);
        if count == 0 { None } else { i32::try_from(value).ok() }
    }

    /// A number of one to `most` digits, maybe with a sign before them.
    #[inline]
    pub fn signed_number(&mut self, most: usize) -> Option<i32> {
        match self.peek()? {
            b'-' => {
                self.skip(1);
                self.number(most).map(|n| -n)
            }
            b'+' => {
                self.skip(1);
                self.number(most)
            }
            _ => self.number(most),
        }
    }

    /// Exactly two digits.
    #[inline]
    pub fn two_digits(&mut self) -> Option<i32> {
        let [tens, ones] = *self.rest().first_chunk::<2>()?;
        let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
        if tens > 9 || ones > 9 {
            return None;
        }
        self.skip(2);
        Some(i32::from(tens) * 10 + i32::from(ones))
    }

    /// One to `most` digits of a fraction of something that lasts `unit` milliseconds, cut to whole ones.
    #[inline]
    pub fn fraction(&mut self, most: usize, unit: i32) -> Option<i32> {
        let mut millis = 0_i64;
        let mut worth = i64::from(unit) * 10;
        let mut count = 0;
        for byte in self.rest().iter().take(most).take_while(|byte| byte.is_ascii_digit()) {
            worth /= 10;
            millis += i64::from(byte - b'0') * worth;
            count += 1;
        }
        self.skip(count);
        if count == 0 { None } else { i32::try_from(millis / 10).ok() }
    }
}

/// Java's comparison of characters without case.
fn is_same_letter(a: char, b: char) -> bool {
    let single = |mut all: std::char::ToUppercase, own| all.next().filter(|_| all.next().is_none()).unwrap_or(own);
    let (a, b) = (single(a.to_uppercase(), a), single(b.to_uppercase(), b));
    a == b || a.to_lowercase().eq(b.to_lowercase())
}
