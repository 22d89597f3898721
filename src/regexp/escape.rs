//! What follows a backslash, and the characters that need one.

use super::RegexpError;

/// A backslash and what belongs to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Escape<'s> {
    /// One character.
    Char(char),
    /// The inside of a class.
    Class(String),
    /// A place, for every engine.
    Assertion(&'static str),
    /// Something that only the backtracking engine has.
    Backtracking(&'static str),
    /// `\1`
    Number(usize),
    /// `\k<name>`
    Name(&'s str),
    /// `\g<name>`
    Call(&'s str),
}

/// Appends a character so that no engine sees more in it.
pub(super) fn push_literal(c: char, out: &mut String) {
    if c.is_ascii_punctuation() && c != '_' || c == ' ' {
        // `\<` and `\>` would be word boundaries, and `\ ` is nothing special.
        if !matches!(c, '<' | '>' | ' ' | '"' | '\'' | '/' | ',' | ';' | ':' | '!' | '=' | '@' | '`' | '%') {
            out.push('\\');
        }
        out.push(c);
    } else if c.is_control() {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    } else {
        out.push(c);
    }
}

/// Reads what follows a backslash, in a pattern of so many capturing groups.
pub(super) fn read(rest: &str, groups: usize) -> Result<(Escape<'_>, &str), RegexpError> {
    let c = rest.chars().next().ok_or_else(|| RegexpError("too short escape sequence".to_owned()))?;
    let behind = rest.get(c.len_utf8()..).unwrap_or_default();
    let escape = match c {
        'A' => Escape::Assertion("\\A"),
        'z' => Escape::Assertion("\\z"),
        'b' => Escape::Assertion("\\b"),
        'B' => Escape::Assertion("\\B"),
        'Z' => Escape::Backtracking("(?=\\n?\\z)"),
        'G' => Escape::Backtracking("\\G"),
        'K' => Escape::Backtracking("\\K"),
        'R' => Escape::Backtracking("(?>\\r\\n|[\\n\\x0b\\f\\r\\x{85}\\x{2028}\\x{2029}])"),
        // A base character with its marks: the graphemes that occur in practice.
        'X' => Escape::Backtracking("(?>\\r\\n|(?s:.)\\p{M}*)"),
        'k' | 'g' if behind.starts_with(['<', '\'']) => {
            let close = if behind.starts_with('<') { '>' } else { '\'' };
            let inside = behind.get(1..).unwrap_or_default();
            let (name, behind) =
                inside.split_once(close).ok_or_else(|| RegexpError("invalid backref number/name".to_owned()))?;
            return Ok((if c == 'k' { Escape::Name(name) } else { Escape::Call(name) }, behind));
        }
        '1'..='9' => return number(rest, groups),
        _ => {
            let (class, behind) = read_in_class(rest)?;
            return Ok((class, behind));
        }
    };
    Ok((escape, behind))
}

/// `\1`, or an octal character where there are not so many groups.
fn number(rest: &str, groups: usize) -> Result<(Escape<'_>, &str), RegexpError> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest.get(..digits).and_then(|digits| digits.parse::<usize>().ok());
    match number.filter(|number| *number <= groups || *number < 10) {
        Some(number) => Ok((Escape::Number(number), rest.get(digits..).unwrap_or_default())),
        None => read_in_class(rest),
    }
}

/// Reads what follows a backslash where no place and no reference can stand.
pub(super) fn read_in_class(rest: &str) -> Result<(Escape<'_>, &str), RegexpError> {
    let c = rest.chars().next().ok_or_else(|| RegexpError("too short escape sequence".to_owned()))?;
    let behind = rest.get(c.len_utf8()..).unwrap_or_default();
    let class = |inside: &str| Ok((Escape::Class(inside.to_owned()), behind));
    match c {
        'd' => class("0-9"),
        'D' => class("[^0-9]"),
        'w' => class("0-9A-Za-z_"),
        'W' => class("[^0-9A-Za-z_]"),
        's' => class("\\t\\n\\x0b\\f\\r\\x20"),
        'S' => class("[^\\t\\n\\x0b\\f\\r\\x20]"),
        'h' => class("0-9A-Fa-f"),
        'H' => class("[^0-9A-Fa-f]"),
        'p' | 'P' if behind.starts_with('{') => {
            let inside = behind.get(1..).unwrap_or_default();
            let (name, behind) =
                inside.split_once('}').ok_or_else(|| RegexpError("invalid character property name".to_owned()))?;
            let (name, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
            Ok((Escape::Class(property(name, negated != (c == 'P'))?), behind))
        }
        _ => character(rest).map(|(c, behind)| (Escape::Char(c), behind)),
    }
}

/// `\n`, `\x41`, `\u00e9`, `\101`, `\cA`, or the character itself.
fn character(rest: &str) -> Result<(char, &str), RegexpError> {
    let c = rest.chars().next().unwrap_or('\\');
    let behind = rest.get(c.len_utf8()..).unwrap_or_default();
    let simple = match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'f' => '\u{c}',
        'v' => '\u{b}',
        'a' => '\u{7}',
        'e' => '\u{1b}',
        'x' if behind.starts_with('{') => {
            let inside = behind.get(1..).unwrap_or_default();
            let (digits, behind) =
                inside.split_once('}').ok_or_else(|| RegexpError("invalid code point value".to_owned()))?;
            return Ok((code_point(digits.trim(), 16)?, behind));
        }
        'x' => return digits(behind, 16, 2),
        'u' => return digits(behind, 16, 4),
        '0'..='7' => return digits(rest, 8, 3),
        'c' => return control(behind),
        'C' if behind.starts_with('-') => return control(behind.get(1..).unwrap_or_default()),
        other => other,
    };
    Ok((simple, behind))
}

fn digits(rest: &str, radix: u32, most: usize) -> Result<(char, &str), RegexpError> {
    let count = rest.chars().take(most).take_while(|c| c.is_digit(radix)).count();
    let (digits, behind) = rest.split_at_checked(count).unwrap_or(("", rest));
    // `\x` without a digit is a zero byte.
    let digits = if digits.is_empty() { "0" } else { digits };
    Ok((code_point(digits, radix)?, behind))
}

fn code_point(digits: &str, radix: u32) -> Result<char, RegexpError> {
    let invalid = || RegexpError(format!("`{digits}` is no code point"));
    u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).ok_or_else(invalid)
}

fn control(rest: &str) -> Result<(char, &str), RegexpError> {
    let c = rest
        .chars()
        .next()
        .filter(char::is_ascii)
        .ok_or_else(|| RegexpError("too short control sequence".to_owned()))?;
    let behind = rest.get(1..).unwrap_or_default();
    Ok((if c == '?' { '\u{7f}' } else { char::from(c as u8 & 0x1f) }, behind))
}

/// The inside of a class for a POSIX bracket or property. Ruby's are Unicode aware.
pub(super) fn property(name: &str, negated: bool) -> Result<String, RegexpError> {
    let plain: String =
        name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let inside = match plain.as_str() {
        "alpha" => "\\p{Alphabetic}",
        "digit" => "\\p{Nd}",
        "alnum" => "\\p{Alphabetic}\\p{Nd}",
        "upper" => "\\p{Uppercase}",
        "lower" => "\\p{Lowercase}",
        "space" => "\\p{White_Space}",
        "blank" => "\\t\\p{Zs}",
        "cntrl" => "\\p{Cc}",
        "punct" => "\\p{P}$+<=>\\^`|\\~",
        "xdigit" => "0-9A-Fa-f",
        "word" => "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}",
        "graph" => "[^\\p{White_Space}\\p{Cc}\\p{Cn}\\p{Cs}]",
        "print" => "[^\\p{White_Space}\\p{Cc}\\p{Cn}\\p{Cs}]\\p{Zs}",
        "ascii" => "\\x00-\\x7f",
        "any" => "\\x00-\\x{10ffff}",
        "assigned" => "\\P{Cn}",
        _ => {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '-' | '=');
            if name.is_empty() || !name.chars().all(plain) {
                return Err(RegexpError(format!("invalid character property name {{{name}}}")));
            }
            return Ok(format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' }));
        }
    };
    Ok(if negated { format!("[^{inside}]") } else { inside.to_owned() })
}
