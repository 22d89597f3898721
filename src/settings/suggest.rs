//! "Did you mean": the known names nearest to a mistyped one.

use crate::config;

/// At most three names, the best first: few edits away, another case of the same letters, or, where there is none,
/// names that end like it (`pipeline.workers` for `workers`).
pub fn nearest<'n>(word: &str, known: impl Iterator<Item = &'n str> + Clone) -> Vec<String> {
    let found = config::nearest(word, known.clone());
    if !found.is_empty() {
        return found;
    }
    let tail = format!(".{}", word.to_lowercase());
    let tails: Vec<String> = known.filter(|name| name.ends_with(&tail)).map(str::to_owned).collect();
    if tails.len() > 3 { Vec::new() } else { tails }
}

/// `did you mean `a` or `b`?`, or nothing.
pub fn question(names: &[String]) -> Option<String> {
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
    fn near_names_are_found() {
        let known = ["pipeline.workers", "pipeline.id", "log.level", "test", "api.http.port"];
        let near = |word| nearest(word, known.iter().copied());
        assert_eq!(near("pipeline.worker"), ["pipeline.workers"]);
        assert_eq!(near("workers"), ["pipeline.workers"]);
        assert!(near("something.else").is_empty());
        assert_eq!(question(&["a".into(), "b".into()]).as_deref(), Some("did you mean `a` or `b`?"));
        assert_eq!(question(&[]), None);
    }
}
