//! Diagnostics on a screen: a head line that stands alone, an excerpt with carets, and what to do.

mod excerpt;
mod mask;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::diagnostic::{Diagnostic, Diagnostics, Level};
use super::source::Sources;

/// Prints diagnostics of one set of sources.
#[derive(Clone, Copy, Debug)]
pub struct Renderer<'a> {
    sources: &'a Sources,
    color: bool,
}

/// Diagnostics of one kind that are shown before the rest is only counted.
const SHOWN_OF_A_KIND: usize = 5;

impl<'a> Renderer<'a> {
    /// For a terminal with `color`, else plain.
    pub fn new(sources: &'a Sources, color: bool) -> Self {
        Self { sources, color }
    }

    /// All of them in the order of the sources, those without a place first. Of one kind five are shown in full.
    pub fn render_all(&self, diagnostics: &Diagnostics) -> String {
        let mut ordered: Vec<&Diagnostic> = diagnostics.0.iter().collect();
        ordered.sort_by_key(|diagnostic| diagnostic.span);
        let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
        let mut folded: BTreeMap<&str, usize> = BTreeMap::new();
        let mut out = String::new();
        for diagnostic in ordered {
            let count = counts.entry((diagnostic.code, kind_of(&diagnostic.message))).or_default();
            *count += 1;
            if *count > SHOWN_OF_A_KIND {
                *folded.entry(diagnostic.code).or_default() += 1;
                continue;
            }
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&self.render(diagnostic));
        }
        for (code, more) in folded {
            let _ = writeln!(out, "\n… and {more} more of [{code}]");
        }
        out
    }

    /// Head line, excerpts and help of one, with a line feed at the end.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let mut out = self.head(diagnostic, self.color);
        out.push('\n');
        let labels = diagnostic.span.map(|span| (span, diagnostic.label.as_str()));
        let places: Vec<_> =
            labels.into_iter().chain(diagnostic.related.iter().map(|(span, label)| (*span, label.as_str()))).collect();
        // One width for all excerpts of a diagnostic, so that their bars stand under each other.
        let width = places.iter().map(|(span, _)| digits(self.sources.place(*span).line)).max().unwrap_or(0).max(2);
        for (n, (span, label)) in places.iter().enumerate() {
            let paint = if n == 0 { Some(color_of(diagnostic.level)) } else { Some(BLUE) }.filter(|_| self.color);
            let label = mask::text(label, self.sources, Some(*span));
            excerpt::write(&mut out, self.sources, *span, &label, width, paint);
        }
        if let Some(help) = &diagnostic.help {
            if !places.is_empty() {
                let _ = writeln!(out, "{:width$}  |", "");
            }
            let _ = writeln!(out, "{:width$}  = help: {}", "", self.masked(help, diagnostic));
        }
        out
    }

    /// The head line and the help in one line, for logs.
    pub fn one_line(&self, diagnostic: &Diagnostic) -> String {
        let head = self.head(diagnostic, false);
        let line = match &diagnostic.help {
            Some(help) => format!("{head} (help: {})", self.masked(help, diagnostic)),
            None => head,
        };
        line.replace('\n', " ")
    }

    fn head(&self, diagnostic: &Diagnostic, color: bool) -> String {
        let level = level_word(diagnostic.level);
        let title = format!("{level}[{}]", diagnostic.code);
        let title = if color { format!("{}{title}{RESET}", color_of(diagnostic.level)) } else { title };
        let message = self.masked(&diagnostic.message, diagnostic);
        match diagnostic.span.map(|span| self.sources.place(span)) {
            Some(place) => {
                format!("{title}: {}: line {}, column {}: {message}", place.file, place.line, place.column)
            }
            None => format!("{title}: {message}"),
        }
    }

    /// What a diagnostic says, without secrets.
    fn masked(&self, text: &str, diagnostic: &Diagnostic) -> String {
        mask::text(text, self.sources, diagnostic.span)
    }
}

/// `3 errors, 1 warning in 2 files`, or `no problems in 2 files`.
pub fn summary(diagnostics: &Diagnostics, files: usize) -> String {
    let count = |level| diagnostics.0.iter().filter(|d| d.level == level).count();
    let counted = |n: usize, word: &str| match n {
        0 => None,
        1 => Some(format!("1 {word}")),
        n => Some(format!("{n} {word}s")),
    };
    let parts: Vec<String> = [(Level::Error, "error"), (Level::Warning, "warning")]
        .into_iter()
        .filter_map(|(level, word)| counted(count(level), word))
        .collect();
    let what = if parts.is_empty() { "no problems".to_owned() } else { parts.join(", ") };
    format!("{what} in {}", counted(files, "file").unwrap_or_else(|| "0 files".to_owned()))
}

const BLUE: &str = "\x1b[1;34m";
const RESET: &str = "\x1b[0m";

fn color_of(level: Level) -> &'static str {
    match level {
        Level::Error => "\x1b[1;31m",
        Level::Warning => "\x1b[1;33m",
        Level::Note => "\x1b[1;36m",
    }
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

fn digits(n: usize) -> usize {
    n.to_string().len()
}

/// A message without the names in it: the same mistake with another name is the same kind.
fn kind_of(message: &str) -> String {
    message.split('`').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::Span;

    fn sources() -> (Sources, Span) {
        let mut sources = Sources::default();
        let text = "filter {\n  grok {\n\tmach => { \"日本\" => \"x\" } # 語\n  }\n}\n";
        let source = sources.add("conf.d/20-web.conf", text);
        let start = text.find("mach").unwrap() as u32;
        (sources, Span { source, start, end: start + 4 })
    }

    #[test]
    fn an_error_is_laid_out_with_its_line() {
        let (sources, span) = sources();
        let error = Diagnostic::error("unknown-option", span, "the grok filter has no option `mach`")
            .label("unknown option")
            .help("did you mean `match`?");
        let expected = "\
error[unknown-option]: conf.d/20-web.conf: line 3, column 2: the grok filter has no option `mach`
   --> conf.d/20-web.conf:3:2
    |
  2 |   grok {
  3 |  mach => { \"日本\" => \"x\" } # 語
    |  ^^^^ unknown option
    |
    = help: did you mean `match`?
";
        assert_eq!(Renderer::new(&sources, false).render(&error), expected);
        let expected = "error[unknown-option]: conf.d/20-web.conf: line 3, column 2: the grok filter has no option \
                        `mach` (help: did you mean `match`?)";
        assert_eq!(Renderer::new(&sources, false).one_line(&error), expected);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let (sources, span) = sources();
        let text = sources.get(span.source).unwrap().text.clone();
        let at = |needle: &str| text.find(needle).unwrap() as u32;
        let wide = Span { start: at("\"日"), end: at("\"日") + 8, ..span };
        let behind = Span { start: at("\"x\""), end: at("\"x\"") + 3, ..span };
        let rendered = Renderer::new(&sources, false).render(&Diagnostic::warning("w", wide, "m").related(behind, "r"));
        assert!(rendered.contains("\n    |            ^^^^^^\n"), "{rendered}");
        assert!(rendered.contains("\n    |                      ^^^ r\n"), "{rendered}");
    }

    #[test]
    fn without_a_place_there_is_no_excerpt() {
        let (sources, _) = sources();
        let error = Diagnostic::global("not-readable", "nothing found").help("look elsewhere");
        let expected = "error[not-readable]: nothing found\n    = help: look elsewhere\n";
        assert_eq!(Renderer::new(&sources, false).render(&error), expected);
    }

    #[test]
    fn long_lines_are_cut_round_the_caret() {
        let mut sources = Sources::default();
        let text = format!("{}HERE{}", "a".repeat(400), "b".repeat(400));
        let source = sources.add("f", text);
        let error = Diagnostic::error("syntax", Span { source, start: 400, end: 404 }, "m");
        let rendered = Renderer::new(&sources, false).render(&error);
        let lines: Vec<&str> = rendered.lines().collect();
        let (excerpt, carets) = (lines[3], lines[4]);
        assert!(excerpt.chars().count() <= 168, "{excerpt}");
        assert_eq!(excerpt.chars().position(|c| c == 'H'), carets.chars().position(|c| c == '^'));
    }

    #[test]
    fn the_sixth_of_a_kind_is_only_counted() {
        let (sources, span) = sources();
        let mut diagnostics = Diagnostics::default();
        for n in 0..8 {
            diagnostics.push(Diagnostic::error("unknown-option", span, format!("no option `o{n}`")));
        }
        diagnostics.push(Diagnostic::warning("never-true", span, "never"));
        let rendered = Renderer::new(&sources, false).render_all(&diagnostics);
        assert_eq!(rendered.matches("error[unknown-option]").count(), 5);
        assert!(rendered.ends_with("… and 3 more of [unknown-option]\n"));
        assert_eq!(summary(&diagnostics, 2), "8 errors, 1 warning in 2 files");
        assert_eq!(summary(&Diagnostics::default(), 1), "no problems in 1 file");
    }
}
