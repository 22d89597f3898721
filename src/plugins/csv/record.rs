//! Taking the first record of a text apart, as strictly as Ruby's csv library does.

use memchr::memmem::Finder;

use crate::event::Text;
use crate::plugins::Options;

/// Separator and quote.
pub struct Syntax {
    pub(super) separator: Box<[u8]>,
    finder: Finder<'static>,
    pub(super) quote: Option<Box<[u8]>>,
}

/// A text that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Nothing at all, not even a line end.
    #[error("the text is empty")]
    Empty,
    /// A quote inside a value that does not begin with one.
    #[error("Illegal quoting: a quote in a value that does not begin with one")]
    StrayQuote,
    /// Neither separator nor line end behind a closing quote.
    #[error("Any value after quoted field isn't allowed")]
    TextBehindQuote,
    /// A quote without its end.
    #[error("Unclosed quoted field")]
    Unclosed,
}

impl Syntax {
    /// `quote` is one character, or none when there is no quoting.
    pub fn new(separator: &str, quote: Option<char>) -> Self {
        let quote = quote.map(|quote| quote.to_string().into_bytes().into_boxed_slice());
        Self { separator: separator.as_bytes().into(), finder: Finder::new(separator).into_owned(), quote }
    }

    /// Declares and reads `separator` and `quote_char`. None when the quote is an empty text.
    pub fn from_options(options: &mut Options<'_>) -> Option<Self> {
        let separator = options.string("separator").doc("What separates columns.").default(",".to_owned());
        let quote = options
            .string("quote_char")
            .doc("The character that quotes values; `\\x00` for none.")
            .default("\"".to_owned());
        if separator.is_empty() {
            options.invalid("separator", "`separator` cannot be empty");
        }
        if quote == r"\x00" || quote == "\0" {
            return Some(Self::new(&separator, None));
        }
        let mut characters = quote.chars();
        let first = characters.next();
        if characters.next().is_some() {
            options.invalid("quote_char", format!("`quote_char` is one character, got `{quote}`"));
        }
        first.map(|quote| Self::new(&separator, Some(quote)))
    }

    /// Appends the values of the first record. A value that is empty and not quoted is none; an empty line has no
    /// value at all.
    pub fn read(&self, text: &Text, values: &mut Vec<Option<Text>>) -> Result<(), Malformed> {
        let bytes = text.as_bytes();
        if bytes.is_empty() {
            return Err(Malformed::Empty);
        }
        if is_line_end(bytes.first()) {
            return Ok(());
        }
        let mut at = 0;
        loop {
            at = match &self.quote {
                Some(quote) if rest(bytes, at).starts_with(quote) => {
                    let (value, end) = quoted(text, at, quote)?;
                    values.push(Some(value));
                    end
                }
                quote => {
                    let end = at + self.length(rest(bytes, at));
                    let value = bytes.get(at..end).unwrap_or_default();
                    if quote.as_deref().is_some_and(|quote| memchr::memmem::find(value, quote).is_some()) {
                        return Err(Malformed::StrayQuote);
                    }
                    values.push((end > at).then(|| text.piece(at..end)));
                    end
                }
            };
            if rest(bytes, at).starts_with(&self.separator) {
                at += self.separator.len();
            } else if at == bytes.len() || is_line_end(bytes.get(at)) {
                return Ok(());
            } else {
                return Err(Malformed::TextBehindQuote);
            }
        }
    }

    /// How long a value that is not quoted is.
    fn length(&self, text: &[u8]) -> usize {
        if let [separator] = *self.separator {
            return memchr::memchr3(separator, b'\n', b'\r', text).unwrap_or(text.len());
        }
        let value = self.finder.find(text).and_then(|end| text.get(..end)).unwrap_or(text);
        // Looked for only as far as the separator: a line of a million values is not read a million times.
        memchr::memchr2(b'\n', b'\r', value).unwrap_or(value.len())
    }
}

fn rest(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

fn is_line_end(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'\n' | b'\r'))
}

/// The value in quotes that begins at `start`, and where it ends. Two quotes are one.
fn quoted(text: &Text, start: usize, quote: &[u8]) -> Result<(Text, usize), Malformed> {
    let bytes = text.as_bytes();
    let begin = start + quote.len();
    let mut at = begin;
    let mut unescaped = String::new();
    let mut kept = begin;
    loop {
        let found = memchr::memmem::find(rest(bytes, at), quote).ok_or(Malformed::Unclosed)?;
        let close = at + found;
        at = close + quote.len();
        if !rest(bytes, at).starts_with(quote) {
            let tail = text.piece(kept..close);
            let value = if unescaped.is_empty() { tail } else { Text::from(unescaped + &tail) };
            return Ok((value, at));
        }
        unescaped.push_str(text.get(kept..at).unwrap_or_default());
        at += quote.len();
        kept = at;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(syntax: &Syntax, text: &str) -> Result<Vec<Option<String>>, Malformed> {
        let mut values = Vec::new();
        syntax.read(&Text::from(text), &mut values)?;
        Ok(values.into_iter().map(|value| value.map(|value| value.to_string())).collect())
    }

    #[test]
    fn records_and_what_is_none() {
        let syntax = Syntax::new(",", Some('"'));
        let some = |text: &str| Some(text.to_owned());
        for (text, expected) in [
            ("a,,\"\",b", Ok(vec![some("a"), None, some(""), some("b")])),
            ("a,", Ok(vec![some("a"), None])),
            ("\n\"", Ok(vec![])),
            ("\"a\"\r\nb", Ok(vec![some("a")])),
            ("\"a\"\"\"\"b\"", Ok(vec![some("a\"\"b")])),
            ("\"\"\"\"", Ok(vec![some("\"")])),
            ("a\rb", Ok(vec![some("a")])),
            ("", Err(Malformed::Empty)),
            ("a\"", Err(Malformed::StrayQuote)),
            ("a, \"b\"", Err(Malformed::StrayQuote)),
            ("\"a\" ,b", Err(Malformed::TextBehindQuote)),
            ("\"a\"\"", Err(Malformed::Unclosed)),
        ] {
            assert_eq!(read(&syntax, text), expected, "{text}");
        }
        assert_eq!(read(&Syntax::new("é", None), "\"aé\""), Ok(vec![some("\"a"), some("\"")]));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            values in prop::collection::vec(prop::option::of("[a,;|'\"\r\né ]{0,6}"), 2..6),
            separator in prop::sample::select(vec![",", ";", "||", "\t", "é"]),
            quote in prop::sample::select(vec!['"', '\'', 'ü']),
        ) {
            let syntax = Syntax::new(separator, Some(quote));
            let mut line = Vec::new();
            syntax.write_line(values.iter().map(|value| value.clone().map(String::into_bytes)), &mut line);
            let line = String::from_utf8(line).unwrap();
            prop_assert_eq!(read(&syntax, &line), Ok(values), "{}", line);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a,\"\n\r' é]{0,24}") {
            let _ = read(&Syntax::new(",", Some('"')), &text);
            let _ = read(&Syntax::new(", ", None), &text);
        }
    }
}
