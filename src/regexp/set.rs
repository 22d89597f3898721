//! Many patterns asked at once: which is the first that matches?

use regex::{RegexSet, RegexSetBuilder};

use super::{RegexpError, RubyRegex, translate};

/// Patterns in an order. Those of the linear engine are tried together, in one pass over the text.
#[derive(Clone, Debug, Default)]
pub struct RegexpSet {
    /// The linear ones, and the place of each among all.
    together: Option<(RegexSet, Vec<usize>)>,
    /// The others, and their places.
    alone: Vec<(usize, RubyRegex)>,
}

/// Memory of the automaton for all patterns of a set, beyond which they are tried one by one.
const LARGEST: usize = 64 << 20;

impl RegexpSet {
    /// Compiles patterns in Ruby's syntax. An error comes with the pattern that is none.
    pub fn new<'p>(patterns: impl Iterator<Item = &'p str>) -> Result<Self, (&'p str, RegexpError)> {
        let (mut linear, mut places, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (place, pattern) in patterns.enumerate() {
            let translation = translate::translate(pattern, false).map_err(|error| (pattern, error))?;
            all.push((place, RubyRegex::new(pattern).map_err(|error| (pattern, error))?));
            if translation.linear && !translation.empty_line_start {
                linear.push(translation.pattern);
                places.push(place);
            }
        }
        let set = RegexSetBuilder::new(&linear).multi_line(true).size_limit(LARGEST).build();
        match set {
            Ok(set) if !linear.is_empty() => {
                all.retain(|(place, _)| places.binary_search(place).is_err());
                Ok(Self { together: Some((set, places)), alone: all })
            }
            // Each of them compiled, so together they are only too large.
            _ => Ok(Self { together: None, alone: all }),
        }
    }

    /// The place of the first pattern that matches anywhere in the text.
    pub fn first_match(&self, text: &str) -> Option<usize> {
        let first = self.together.as_ref().and_then(|(set, places)| {
            let matches = set.matches(text);
            matches.iter().next().and_then(|at| places.get(at).copied())
        });
        let before = self.alone.iter().take_while(|(place, _)| first.is_none_or(|first| *place < first));
        before.into_iter().find(|(_, regex)| regex.is_match(text)).map(|(place, _)| *place).or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_matches_wins_whatever_its_engine() {
        let patterns = [r"^b+$", r"(a)\1", r"a", r"(?=x)x", r"^"];
        let set = RegexpSet::new(patterns.into_iter()).unwrap();
        for text in ["bb", "aa", "a", "x", "ax", "", "q\n", "q\nbb"] {
            let one_by_one = patterns.iter().position(|pattern| RubyRegex::new(pattern).unwrap().is_match(text));
            assert_eq!(set.first_match(text), one_by_one, "{text:?}");
        }
        assert_eq!(RegexpSet::new(["a"].into_iter()).unwrap().first_match("b"), None);
        assert_eq!(RegexpSet::default().first_match("b"), None);
        assert_eq!(RegexpSet::new(["a", "("].into_iter()).unwrap_err().0, "(");
    }
}
