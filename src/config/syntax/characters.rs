//! Characters that come with text from web pages and word processors.

/// What a character is called, if it looks like one of the language but is not. With what to write instead.
pub(super) fn impostor(c: char) -> Option<(&'static str, &'static str)> {
    Some(match c {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' | '\u{ff02}' => ("a typographic quote", "\""),
        '\u{ab}' | '\u{bb}' => ("a typographic quote", "\""),
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' | '\u{b4}' | '`' | '\u{ff07}' => {
            ("a typographic quote", "'")
        }
        '\u{a0}' | '\u{202f}' | '\u{2007}' => ("a non-breaking space", "a plain space"),
        '\u{2000}'..='\u{200a}' | '\u{3000}' | '\u{205f}' | '\u{1680}' => ("a wide space", "a plain space"),
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => ("an invisible character", "nothing"),
        '\u{85}' | '\u{2028}' | '\u{2029}' => ("a special line break", "a plain line break"),
        '\u{c}' | '\u{b}' => ("a form feed", "a plain line break"),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => ("a typographic dash", "-"),
        '\u{21d2}' | '\u{2192}' => ("an arrow character", "=>"),
        '\u{2026}' => ("an ellipsis", "..."),
        c if c.is_control() => ("a control character", "nothing"),
        _ => return None,
    })
}
