//! `topics_pattern`, a regular expression of Java, in the form that librdkafka takes: POSIX with a `^` before it.

/// The pattern for a subscription; it matches whole names. Tells what has no form there.
pub(super) fn translated(java: &str) -> Result<String, String> {
    if let Err(error) = regex::Regex::new(java) {
        return Err(format!("`topics_pattern` is no regular expression that can be matched: {error}"));
    }
    let mut out = String::from("^(");
    let mut rest = java.chars().peekable();
    let mut in_class = false;
    let refused = |what: &str| {
        Err(format!("`{what}` cannot be used in `topics_pattern`; write it with classes such as [a-z0-9]"))
    };
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('d') => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
                Some('w') => out.push_str(if in_class { "A-Za-z0-9_" } else { "[A-Za-z0-9_]" }),
                Some(plain) if !plain.is_alphanumeric() && in_class => out.push(plain),
                Some(plain) if !plain.is_alphanumeric() => out.extend(['\\', plain]),
                Some(other) => return refused(&format!("\\{other}")),
                None => return refused("\\"),
            },
            '(' if !in_class && rest.next_if_eq(&'?').is_some() => match rest.next() {
                Some(':') => out.push('('),
                other => return refused(&format!("(?{}", other.unwrap_or_default())),
            },
            '*' | '+' | '?' | '}' if !in_class => {
                out.push(c);
                if let Some(second) = rest.next_if(|c| matches!(c, '?' | '+')) {
                    // Lazy or greedy, whole names are the same.
                    if second == '+' {
                        return refused("possessive quantifiers");
                    }
                }
            }
            '[' => {
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_names() {
        assert_eq!(translated(r"app-\d+\.log(?:s)?").as_deref(), Ok(r"^(app-[0-9]+\.log(s)?)$"));
        assert_eq!(translated(r"^a[\w-]*?$").as_deref(), Ok(r"^(^a[A-Za-z0-9_-]*$)$"));
        for wrong in ["(", "(?!x)y", r"\p{L}", "a++"] {
            assert!(translated(wrong).is_err(), "{wrong}");
        }
    }
}
