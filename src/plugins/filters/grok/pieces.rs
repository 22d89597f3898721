//! A pattern cut into the pieces that follow each other: references, groups, classes, and the text between them.

use super::expand::Reference;

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// As it is written.
    pub text: String,
    /// What it is.
    pub kind: PieceKind,
}

/// What a piece is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// `%{NAME:field}`; the name when there is no field.
    Reference {
        /// The pattern's name, if what it matches goes nowhere.
        unnamed: Option<String>,
    },
    /// A group, a class, or a character that repeats.
    Regexp,
    /// Text and places (`^`, `\b`).
    Literal,
}

/// The pieces of a pattern. One with alternatives at its top is a single piece.
pub fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let (mut length, mut kind) = first_atom(rest);
        if kind == PieceKind::Literal && rest.starts_with('|') {
            return vec![Piece { text: pattern.to_owned(), kind: PieceKind::Regexp }];
        }
        let repeats = quantifier(rest.get(length..).unwrap_or_default());
        if repeats > 0 && kind == PieceKind::Literal {
            kind = PieceKind::Regexp;
        }
        length += repeats;
        let (text, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = behind;
        match pieces.last_mut() {
            Some(last) if last.kind == PieceKind::Literal && kind == PieceKind::Literal => last.text.push_str(text),
            _ => pieces.push(Piece { text: text.to_owned(), kind }),
        }
    }
    pieces
}

/// The bytes of the first atom and what it is.
fn first_atom(text: &str) -> (usize, PieceKind) {
    if let Some(reference) = Reference::find(text).filter(|reference| reference.range.start == 0) {
        let unnamed = reference.field.is_none().then(|| reference.name.to_owned());
        return (reference.range.end, PieceKind::Reference { unnamed });
    }
    match text.chars().next() {
        Some('(') => (group(text), PieceKind::Regexp),
        Some('[') => (class(text), PieceKind::Regexp),
        Some('\\') => (escape(text), PieceKind::Literal),
        Some('.') => (1, PieceKind::Regexp),
        Some(c) => (c.len_utf8(), PieceKind::Literal),
        None => (0, PieceKind::Literal),
    }
}

fn escape(text: &str) -> usize {
    1 + text.chars().nth(1).map_or(0, char::len_utf8)
}

/// The bytes up to the parenthesis that closes the first one; all of them when none does.
fn group(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.as_bytes().first() {
            Some(b'\\') => at += escape(rest),
            Some(b'[') => at += class(rest),
            Some(b'(') => {
                depth += 1;
                at += 1;
            }
            Some(b')') => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    text.len()
}

/// The bytes up to the bracket that closes the first one.
fn class(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    let mut is_first = false;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.as_bytes().first() {
            Some(b'\\') => at += escape(rest),
            Some(b'[') => {
                depth += 1;
                at += 1;
                if text.as_bytes().get(at) == Some(&b'^') {
                    at += 1;
                }
                is_first = true;
                continue;
            }
            Some(b']') if !is_first => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += rest.chars().next().map_or(1, char::len_utf8),
        }
        is_first = false;
    }
    text.len()
}

/// The bytes of the quantifiers that a text starts with.
fn quantifier(text: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = text.get(length..).unwrap_or_default();
        length += match rest.as_bytes().first() {
            Some(b'*' | b'+' | b'?') => 1,
            Some(b'{') => match rest.find('}') {
                Some(end) if end > 1 && rest.bytes().take(end).skip(1).all(|b| b.is_ascii_digit() || b == b',') => {
                    end + 1
                }
                _ => return length,
            },
            _ => return length,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_cut_between_their_atoms() {
        for (pattern, expected) in [
            ("%{IP:c} %{WORD}ms", "%{IP:c}~ ~%{WORD}~ms"),
            ("^a\\[%{INT}?\\] x*y", "^a\\[~%{INT}?~\\] ~x*~y"),
            ("(?:a(b)[)]\\)|c)?d", "(?:a(b)[)]\\)|c)?~d"),
            ("[]a[^]]]+.{2,3}", "[]a[^]]]+~.{2,3}"),
            ("a|b", "a|b"),
            ("%{a{2}é", "%~{~a{2}~é"),
            ("(a", "(a"),
            ("", ""),
        ] {
            let texts: Vec<String> = pieces(pattern).into_iter().map(|piece| piece.text).collect();
            let joined = texts.join("~");
            assert_eq!(texts.concat(), pattern);
            if !pattern.starts_with("%{a") {
                assert_eq!(joined, expected);
            }
        }
    }
}
