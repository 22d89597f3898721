//! Literals that a text must have to match.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};

use super::{Engine, RubyRegex};

impl RubyRegex {
    /// Bytes of which at least one piece is in every text that matches. `None` when the pattern tells nothing.
    pub fn literals(&self) -> Option<Vec<Box<[u8]>>> {
        let Engine::Linear(regex) = &self.0.engine else { return None };
        let pattern = ParserBuilder::new().multi_line(true).build().parse(regex.as_str()).ok()?;
        let extract = |kind| Extractor::new().kind(kind).extract(&pattern);
        let ends = [extract(ExtractKind::Prefix), extract(ExtractKind::Suffix)];
        let most_telling = ends.iter().filter(|ends| ends.is_finite()).max_by_key(|ends| shortest(ends))?;
        Some(most_telling.literals()?.iter().map(|literal| literal.as_bytes().into()).collect())
    }

    /// Whether a match can be given up, see [`RubyRegex::try_is_match`].
    pub fn may_give_up(&self) -> bool {
        !matches!(self.0.engine, Engine::Linear(_))
    }
}

fn shortest(literals: &Seq) -> usize {
    literals.min_literal_len().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(pattern: &str) -> Option<Vec<String>> {
        let literals = RubyRegex::new(pattern).unwrap().literals()?;
        Some(literals.iter().map(|l| String::from_utf8_lossy(l).into_owned()).collect())
    }

    #[test]
    fn the_more_telling_end_counts() {
        for (pattern, expected) in [
            ("^k12$", Some(vec!["k12"])),
            ("error|failed", Some(vec!["error", "failed"])),
            (r".+ errors$", Some(vec![" errors"])),
            (r"^GET /api/\w+", Some(vec!["GET /api/"])),
            (r"\w+ \w+", None),
            (r"(a)\1", None),
        ] {
            let expected = expected.map(|list| list.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(literals(pattern), expected, "{pattern}");
        }
    }
}
