//! Error codes: they become names of metrics, so they are short, plain and known before the first event.

/// Longest code.
const LONGEST: usize = 64;

/// Whether a text may be a code: `[A-Z][A-Z0-9_]{0,63}`.
pub(super) fn is_code(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    text.len() <= LONGEST && text.starts_with(|c: char| c.is_ascii_uppercase()) && text.bytes().all(plain)
}

/// Names as one code without suffix: `userId` is `USER_ID`, `a` and `b` are `A_B`.
pub(super) fn stem<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut out = String::new();
    for name in names {
        separate(&mut out);
        let chars: Vec<char> = name.chars().collect();
        for (at, &c) in chars.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| chars.get(at));
            let after = chars.get(at + 1);
            let starts_word = c.is_ascii_uppercase()
                && before.is_some_and(|b| {
                    b.is_ascii_lowercase()
                        || b.is_ascii_digit()
                        || (b.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
                });
            if starts_word || !c.is_ascii_alphanumeric() {
                separate(&mut out);
            }
            if c.is_ascii_alphanumeric() {
                out.push(c.to_ascii_uppercase());
            }
        }
    }
    out.trim_end_matches('_').to_owned()
}

fn separate(out: &mut String) {
    if !out.is_empty() && !out.ends_with('_') {
        out.push('_');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_codes() {
        for (names, expected) in [
            (&["userId"][..], "USER_ID"),
            (&["user_id"], "USER_ID"),
            (&["a", "b"], "A_B"),
            (&["items", "sku"], "ITEMS_SKU"),
            (&["HTTPStatus"], "HTTP_STATUS"),
            (&["x-request.id"], "X_REQUEST_ID"),
            (&["ipv4Address"], "IPV4_ADDRESS"),
            (&["_id_"], "ID"),
        ] {
            assert_eq!(stem(names.iter().copied()), expected);
        }
    }

    #[test]
    fn codes_are_plain() {
        assert!(is_code("A") && is_code(&"A".repeat(64)) && is_code("A_1"));
        for text in ["", "a", "1A", "_A", "A B", "Ä", "A%", &"A".repeat(65)] {
            assert!(!is_code(text), "{text}");
        }
    }
}
