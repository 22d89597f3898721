//! "Did you mean …?"

/// The candidates that a name was likely meant to be: at most three, the nearest first.
///
/// Near is an edit distance of 2 (1 for names under 5 characters; swapping two neighbours is one edit), or the same
/// letters in another case.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Vec<String> {
    const MOST: usize = 3;
    let furthest = if name.chars().count() < 5 { 1 } else { 2 };
    let lower = name.to_lowercase();
    let distance = |candidate: &str| {
        if candidate.to_lowercase() == lower { 0 } else { strsim::osa_distance(name, candidate) }
    };
    // Lengths are compared first: the distance is quadratic, and names come from outside.
    let close = |candidate: &&str| candidate.len().abs_diff(name.len()) <= 4 * furthest && *candidate != name;
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter(close)
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= furthest)
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MOST).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// `did you mean `a` or `b`?`, or nothing where there is no name.
pub fn did_you_mean(names: &[String]) -> Option<String> {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let (last, others) = quoted.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_lists_all_names() {
        let question = |names: &[&str]| did_you_mean(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        assert_eq!(question(&["a"]).as_deref(), Some("did you mean `a`?"));
        assert_eq!(question(&["a", "b", "c"]).as_deref(), Some("did you mean `a`, `b` or `c`?"));
        assert_eq!(question(&[]), None);
    }

    #[test]
    fn near_names_are_suggested() {
        for (name, candidates, expected) in [
            ("mach", &["match", "mapping", "march"][..], &["march", "match"][..]),
            ("covnert", &["convert"], &["convert"]),
            ("convret", &["convert"], &["convert"]),
            ("GROK", &["grok"], &["grok"]),
            ("abc", &["xyc", "abd"], &["abd"]),
            ("hosts", &["host", "hosts", "ports"], &["host", "ports"]),
            ("nothing", &["grok"], &[]),
        ] {
            assert_eq!(nearest(name, candidates.iter().copied()), expected, "{name}");
        }
    }
}
