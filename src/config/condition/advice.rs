//! What a condition's author is told: warnings about accidents that are kept, and how to write what was meant.

use pest::iterators::Pair;

use super::compile::{Compiler, Part};
use super::grouping::{Boolean, group};
use super::render::render;
use crate::config::diagnostic::Diagnostic;
use crate::config::grammar::Rule;

impl Compiler<'_, '_> {
    pub(super) fn warn_grouping(&mut self, pair: &Pair<'_, Rule>, texts: Vec<String>, operators: &[Boolean]) {
        let message =
            "`and` and `or` are grouped in an unexpected way here: before an `or`, only the last `and` is closed";
        // The two readings are spelled out as long as a person can take them in.
        const READABLE: usize = 12;
        let help = if texts.len() > READABLE {
            "put parentheses round each group of `and`s".to_owned()
        } else {
            let meant = meant_grouping(&texts, operators);
            let join = |operator: Boolean, left, right| format!("({left} {} {right})", operator.as_str());
            let actual = group(texts, operators, join).0.unwrap_or_default();
            let actual = actual.strip_prefix('(').and_then(|a| a.strip_suffix(')')).unwrap_or(&actual);
            format!("it is read as `{actual}`; if you mean `{meant}`, write the parentheses")
        };
        self.warn(pair, "and-or-grouping", message.to_owned(), "needs parentheses").help(help);
    }

    /// `["x"]` is not a list of one: it reads as the field named `"x"`, quotes included.
    pub(super) fn warn_one_element(
        &mut self,
        pair: &Pair<'_, Rule>,
        left: &Pair<'_, Rule>,
        operator: &Pair<'_, Rule>,
        right: &Pair<'_, Rule>,
    ) {
        for (side, other) in [(right, left), (left, right)] {
            let Some(element) = one_element(side, side.as_span() == right.as_span()) else { continue };
            let message =
                format!("`{}` is not a list with one element: it is the field named `{element}`", side.as_str());
            let other = other.as_str();
            let better = match (operator.as_str(), side.as_span() == right.as_span()) {
                ("in", true) => format!("{other} == {element}"),
                (operator, true) if operator.starts_with("not") => format!("{other} != {element}"),
                (operator, true) => format!("{other} {operator} {element}"),
                (operator, false) => format!("{element} {operator} {other}"),
            };
            self.warn(pair, "one-element-list", message, "never true for ordinary data")
                .help(format!("write `{better}`"));
        }
    }

    pub(super) fn warn(
        &mut self,
        pair: &Pair<'_, Rule>,
        code: &'static str,
        message: String,
        label: impl Into<String>,
    ) -> Remedy<'_> {
        let span = self.scope.span(pair);
        self.scope.diagnostics.push(Diagnostic::warning(code, span, message).label(label));
        Remedy(self.scope.diagnostics.0.last_mut())
    }

    pub(super) fn error(
        &mut self,
        pair: &Pair<'_, Rule>,
        code: &'static str,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Remedy<'_> {
        let span = self.scope.span(pair);
        self.scope.diagnostics.push(Diagnostic::error(code, span, message).label(label));
        Remedy(self.scope.diagnostics.0.last_mut())
    }
}

/// The diagnostic just made, to give it a remedy.
pub(super) struct Remedy<'d>(Option<&'d mut Diagnostic>);

impl Remedy<'_> {
    pub(super) fn help(self, help: impl Into<String>) {
        if let Some(diagnostic) = self.0 {
            diagnostic.help = Some(help.into());
        }
    }
}

/// The element that someone meant who wrote a "list" of one. A bare number is meant so only on the right.
pub(super) fn one_element<'i>(pair: &Pair<'i, Rule>, right: bool) -> Option<&'i str> {
    if pair.as_rule() != Rule::selector {
        return None;
    }
    let name = pair.as_str().strip_prefix('[')?.strip_suffix(']')?.trim();
    let quoted = |q: char| name.len() >= 2 && name.starts_with(q) && name.ends_with(q);
    let number = right && !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    (!name.contains('[') && (quoted('"') || quoted('\'') || number)).then_some(name)
}

/// `"a" or "b" in [tags]` as it was meant: the literal gets the comparison of its neighbour.
pub(super) fn spread_literal(literal: &str, parts: &[Part<'_>], operators: &[Boolean]) -> Option<String> {
    let neighbour = parts.iter().find(|p| p.pair.as_rule() == Rule::comparison && !p.literal)?;
    let inner: Vec<_> = neighbour.pair.clone().into_inner().collect();
    let [left, operator, right] = inner.as_slice() else { return None };
    let alike = match (left.as_rule(), right.as_rule()) {
        (Rule::selector, Rule::selector | Rule::array) => return None,
        (Rule::selector, _) => format!("{} {} {literal}", left.as_str(), render(operator)),
        (_, Rule::selector) => format!("{literal} {} {}", render(operator), right.as_str()),
        _ => return None,
    };
    let mut out = String::new();
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            out.push_str(&format!(" {} ", operators.get(n - 1)?.as_str()));
        }
        let text = render(&part.pair);
        out.push_str(if text == literal { &alike } else { &text });
    }
    Some(out)
}

/// The grouping that a reader expects: `and` before `or`, in parentheses where two or more stand together.
fn meant_grouping(texts: &[String], operators: &[Boolean]) -> String {
    let mut groups: Vec<Vec<&str>> = vec![Vec::new()];
    for (n, text) in texts.iter().enumerate() {
        if n > 0 && operators.get(n - 1) == Some(&Boolean::Or) {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.last_mut() {
            group.push(text);
        }
    }
    let spelled = groups.iter().map(|group| match group.as_slice() {
        [only] => (*only).to_owned(),
        several => format!("({})", several.join(" and ")),
    });
    spelled.collect::<Vec<_>>().join(" or ")
}
