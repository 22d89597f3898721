//! Keys as text, for `spillway dedupe export` and `import`.

use serde::{Deserialize, Serialize};

use super::segment::{Record, Seed};

/// What `spillway_dedupe` says.
const VERSION: u32 = 1;

#[derive(Deserialize, Serialize)]
struct Head {
    spillway_dedupe: u32,
    seed: String,
}

/// A line of exported keys.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The first one.
    Head(Seed),
    /// Any other.
    Key(Record),
}

/// The first line.
pub fn head(seed: &Seed) -> String {
    let head = Head { spillway_dedupe: VERSION, seed: format!("{:032x}", u128::from_be_bytes(*seed)) };
    serde_json::to_string(&head).unwrap_or_default()
}

/// The line of a key.
pub fn line((hash, seen): &Record) -> String {
    format!("{hash:032x} {seen}")
}

/// Reads a line.
pub fn parse(line: &str) -> Option<Line> {
    let number = |hex: &str| (hex.len() == 32).then(|| u128::from_str_radix(hex, 16).ok())?;
    if line.starts_with('{') {
        let head: Head = serde_json::from_str(line).ok()?;
        let seed = number(&head.seed).filter(|_| head.spillway_dedupe == VERSION)?;
        return Some(Line::Head(seed.to_be_bytes()));
    }
    let (hash, seen) = line.split_once(' ')?;
    Some(Line::Key((number(hash)?, seen.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back() {
        let (seed, key) = ([7; 16], (5, -1));
        assert_eq!(parse(&head(&seed)), Some(Line::Head(seed)));
        assert_eq!(parse(&line(&key)), Some(Line::Key(key)));
        for text in ["", "{}", "5 1", &head(&seed).replace(":1,", ":2,"), &line(&key)[1..]] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
