//! "Did you mean": the known names nearest to a mistyped one.

/// At most three names, the best first: another case of the same letters, or few edits away. `fragment` also finds
/// `pipeline.workers` for `workers`.
pub fn nearest<'n>(word: &str, known: impl Iterator<Item = &'n str> + Clone) -> Vec<&'n str> {
    let allowed = if word.chars().count() < 5 { 1 } else { 2 };
    let lower = word.to_lowercase();
    let mut found: Vec<(usize, &str)> = known
        .clone()
        .filter_map(|name| {
            let edits = if name.to_lowercase() == lower { 0 } else { strsim::damerau_levenshtein(word, name) };
            (edits <= allowed).then_some((edits, name))
        })
        .collect();
    found.sort_by_key(|(edits, _)| *edits);
    if found.is_empty() {
        let tail = format!(".{lower}");
        found.extend(known.filter(|name| name.ends_with(&tail)).map(|name| (0, name)));
        if found.len() > 3 {
            found.clear();
        }
    }
    found.into_iter().map(|(_, name)| name).take(3).collect()
}

/// `did you mean `a` or `b`?`, or nothing.
pub fn question(names: &[&str]) -> Option<String> {
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
        assert_eq!(near("PIPELINE.WORKERS"), ["pipeline.workers"]);
        assert_eq!(near("workers"), ["pipeline.workers"]);
        assert_eq!(near("tset"), ["test"]);
        assert!(near("something.else").is_empty());
        assert_eq!(question(&["a", "b"]).as_deref(), Some("did you mean `a` or `b`?"));
    }
}
