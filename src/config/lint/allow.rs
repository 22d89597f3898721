//! `# spillway: allow(code)` on the line before silences a warning. One that silences nothing is a note.

use crate::config::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::config::source::{Source, SourceId, Sources, Span};

/// Takes out what the sources allow.
pub fn apply(diagnostics: &mut Diagnostics, sources: &Sources) {
    let mut allowed: Vec<Allowed> = sources.iter().flat_map(|(id, source)| read(id, source)).collect();
    if allowed.is_empty() {
        return;
    }
    diagnostics.0.retain(|diagnostic| {
        let (Some(span), false) = (diagnostic.span, diagnostic.level == Level::Error) else { return true };
        let line = sources.place(span).line;
        let silenced =
            |a: &&mut Allowed| a.span.source == span.source && a.line + 1 == line && a.code == diagnostic.code;
        match allowed.iter_mut().find(silenced) {
            Some(allowed) => {
                allowed.used = true;
                false
            }
            None => true,
        }
    });
    for Allowed { code, span, .. } in allowed.into_iter().filter(|allowed| !allowed.used) {
        let message = format!("nothing on the next line has to be allowed: there is no `{code}`");
        diagnostics.push(Diagnostic::note("unused-allow", span, message).label("remove it"));
    }
}

struct Allowed {
    code: String,
    line: usize,
    span: Span,
    used: bool,
}

fn read(id: SourceId, source: &Source) -> Vec<Allowed> {
    let mut found = Vec::new();
    let mut at = 0;
    for (n, line) in source.text.split_inclusive('\n').enumerate() {
        let comment = line.trim().strip_prefix('#').and_then(|text| text.trim().strip_prefix("spillway: allow("));
        if let Some(codes) = comment.and_then(|text| text.strip_suffix(')')) {
            let start = at + line.find('#').unwrap_or(0);
            let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            let span = Span { source: id, start: byte(start), end: byte(at + line.trim_end().len()) };
            let one = |code: &str| Allowed { code: code.trim().to_owned(), line: n + 1, span, used: false };
            found.extend(codes.split(',').map(one));
        }
        at += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn left(config: &str) -> Vec<&'static str> {
        let mut loaded = parse(config);
        super::super::check(&loaded.config, &loaded.sources, false, &mut loaded.diagnostics);
        apply(&mut loaded.diagnostics, &loaded.sources);
        loaded.diagnostics.0.iter().map(|d| d.code).collect()
    }

    #[test]
    fn a_comment_allows_what_stands_on_the_next_line() {
        assert_eq!(left("filter {\n  if [n] > 1 { }\n}"), ["unguarded-compare"]);
        assert_eq!(
            left("filter {\n  # spillway: allow(never-true, unguarded-compare)\n  if [n] > 1 { }\n}"),
            ["unused-allow"]
        );
        assert_eq!(left("filter {\n  # spillway: allow(unguarded-compare)\n  if [n] > 1 { }\n}"), Vec::<&str>::new());
        assert_eq!(
            left("filter {\n  # spillway: allow(unguarded-compare)\n\n  if [n] > 1 { }\n}"),
            ["unguarded-compare", "unused-allow"]
        );
    }
}
