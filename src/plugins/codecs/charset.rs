//! Bytes of a declared character set to text.
//!
//! Bytes that are no UTF-8 although they should be turn the whole text into Ruby's escape form, as Logstash does;
//! bytes of another set that mean nothing become U+FFFD.

use encoding_rs::Encoding;

use crate::event::{Bytes, Text, text_form};
use crate::plugins::Options;

/// A character set of the `charset` option.
#[derive(Clone, Copy)]
pub(in crate::plugins) enum Charset {
    Utf8,
    /// Every byte above 127 is unknown.
    Ascii,
    Other(&'static Encoding),
}

impl Charset {
    /// Declares and reads the option.
    pub fn read(options: &mut Options<'_>) -> Self {
        let name = options.string("charset").doc("Character set of the bytes.").default("UTF-8".to_owned());
        match name.as_str() {
            "UTF-8" => Self::Utf8,
            "ASCII-8BIT" | "BINARY" | "US-ASCII" | "ASCII" => Self::Ascii,
            other => match Encoding::for_label(ruby_to_label(other).as_bytes()) {
                Some(encoding) => Self::Other(encoding),
                None => {
                    options.invalid("charset", format!("unknown character set `{other}`"));
                    Self::Utf8
                }
            },
        }
    }

    /// Whether bytes that are UTF-8 are the text.
    pub fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8)
    }

    /// All of `bytes` as text.
    pub fn text(self, bytes: Bytes) -> Text {
        match self {
            Self::Utf8 => match Text::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => escaped(&error.0),
            },
            Self::Ascii => {
                let ascii = |&b: &u8| if b < 0x80 { char::from(b) } else { char::REPLACEMENT_CHARACTER };
                Text::from(bytes.iter().map(ascii).collect::<String>())
            }
            Self::Other(encoding) => Text::from(encoding.decode_without_bom_handling(&bytes).0.into_owned()),
        }
    }
}

/// The names of Ruby that the WHATWG does not know.
fn ruby_to_label(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    if let Some(page) = lower.strip_prefix("cp125") {
        return format!("windows-125{page}");
    }
    match lower.as_str() {
        "cp936" => "gbk".to_owned(),
        "cp932" | "windows-31j" => "shift_jis".to_owned(),
        "cp949" => "euc-kr".to_owned(),
        "cp950" => "big5".to_owned(),
        "utf-16" | "utf-16be" => "utf-16be".to_owned(),
        _ => lower,
    }
}

/// Ruby's escape form of bytes that are no UTF-8: bad bytes as `\xHH`, and everything else as in `inspect`.
fn escaped(bytes: &[u8]) -> Text {
    let mut out = Vec::with_capacity(bytes.len() + 16);
    for piece in bytes.utf8_chunks() {
        text_form::write_ruby_escaped(piece.valid(), &mut out);
        for bad in piece.invalid() {
            out.extend_from_slice(format!("\\x{bad:02X}").as_bytes());
        }
    }
    let text = Text::from(text_form::utf8(out));
    tracing::warn!(target: "logstash.codecs", "Received an event that has a different character encoding than you \
        configured. {{text: {text:?}, expected_charset: \"UTF-8\"}}");
    text
}
