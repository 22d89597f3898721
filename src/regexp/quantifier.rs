//! How often an atom repeats.

use super::RegexpError;

/// A quantifier for the engines.
pub(super) struct Quantifier {
    pub text: String,
    /// The fewest repeats.
    pub least: u32,
    /// The most repeats, if there is an end.
    pub most: Option<u32>,
    /// Whether fewer repeats are tried first.
    pub lazy: bool,
    /// Whether it never gives back what it took; that needs backtracking to be forbidden.
    pub possessive: bool,
}

/// The quantifier that a pattern starts with, and the text behind it.
pub(super) fn read(rest: &str) -> Result<Option<(Quantifier, &str)>, RegexpError> {
    let (least, most) = match rest.chars().next() {
        Some('*') => (0, None),
        Some('?') => (0, Some(1)),
        Some('+') => (1, None),
        Some('{') => return interval(rest),
        _ => return Ok(None),
    };
    let (sign, behind) = rest.split_at_checked(1).unwrap_or((rest, ""));
    let (kind, behind) = match behind.chars().next() {
        Some('?') => ("?", behind.get(1..).unwrap_or_default()),
        Some('+') => ("+", behind.get(1..).unwrap_or_default()),
        _ => ("", behind),
    };
    let (lazy, possessive) = (kind == "?", kind == "+");
    Ok(Some((Quantifier { text: format!("{sign}{kind}"), least, most, lazy, possessive }, behind)))
}

/// `{n}`, `{n,}`, `{n,m}`, `{,m}`. Anything else behind a brace is literal.
fn interval(rest: &str) -> Result<Option<(Quantifier, &str)>, RegexpError> {
    let Some((inside, behind)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return Ok(None);
    };
    let (low, high) = inside.split_once(',').map_or((inside, None), |(low, high)| (low, Some(high)));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let bounded = !low.is_empty() || high.is_some_and(|high| !high.is_empty());
    if !bounded || !digits(low) || !high.is_none_or(digits) {
        return Ok(None);
    }
    let least = if low.is_empty() { 0 } else { number(low)? };
    let most = high.filter(|high| !high.is_empty()).map(number).transpose()?;
    if most.is_some_and(|most| most < least) {
        return Err(RegexpError(format!("the interval {{{inside}}} is empty")));
    }
    let (text, most) = match (high, most) {
        (None, _) => (format!("{{{least}}}"), Some(least)),
        (Some(_), None) => (format!("{{{least},}}"), None),
        (Some(_), Some(most)) => (format!("{{{least},{most}}}"), Some(most)),
    };
    // `a{2}?` is `(?:a{2})?` in Ruby: only a range can be lazy. `a{1,2}+` is a repeat of the repeat anyway.
    let lazy = behind.strip_prefix('?').filter(|_| high.is_some());
    let text = if lazy.is_some() { text + "?" } else { text };
    let quantifier = Quantifier { text, least, most, lazy: lazy.is_some(), possessive: false };
    Ok(Some((quantifier, lazy.unwrap_or(behind))))
}

fn number(text: &str) -> Result<u32, RegexpError> {
    // Onigmo's own limit.
    const MOST: u32 = 100_000;
    let number = text.parse::<u32>().ok().filter(|n| *n <= MOST);
    number.ok_or_else(|| RegexpError("too big number is specified for repeat".to_owned()))
}
