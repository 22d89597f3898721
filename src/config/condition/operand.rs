//! What can stand beside an operator.

use pest::iterators::Pair;

use super::membership::text_of;
use crate::config::diagnostic::Diagnostic;
use crate::config::grammar::Rule;
use crate::config::literal;
use crate::config::scope::Scope;
use crate::event::{FieldRef, Text, Value};

/// An operand with its literals typed.
#[derive(Debug)]
pub(super) enum Operand {
    Field(FieldRef),
    Text(Text),
    /// An integer or a float.
    Number(Value),
    /// No element, or two and more: with one it is a field.
    List(Vec<Value>),
    /// The source of a regexp.
    Regexp(Text),
}

impl Operand {
    pub(super) fn read(pair: &Pair<'_, Rule>, scope: &mut Scope<'_>) -> Option<Self> {
        match pair.as_rule() {
            Rule::string => Some(Self::Text(string(pair, scope))),
            Rule::number => number(pair, scope).map(Self::Number),
            Rule::selector => match FieldRef::parse(pair.as_str(), scope.language.escape_style) {
                Ok(field) => Some(Self::Field(field)),
                Err(error) => {
                    let diagnostic = Diagnostic::error("bad-reference", scope.span(pair), error.to_string());
                    scope.diagnostics.push(diagnostic.label("not a field reference"));
                    None
                }
            },
            Rule::array => list(pair, scope).map(Self::List),
            Rule::regexp => Some(Self::Regexp(Text::from(literal::unquoted(pair.as_str())))),
            _ => None,
        }
    }

    /// In a user's words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Field(_) => "a field",
            Self::Text(_) => "a string",
            Self::Number(_) => "a number",
            Self::List(_) => "a list",
            Self::Regexp(_) => "a regexp",
        }
    }

    /// A string or number as a value.
    pub(super) fn scalar(&self) -> Option<Value> {
        match self {
            Self::Text(text) => Some(Value::String(text.clone())),
            Self::Number(number) => Some(number.clone()),
            _ => None,
        }
    }

    /// What a condition that is only this literal makes of every event.
    pub(super) fn constant(&self) -> Option<bool> {
        match self {
            Self::Field(_) => None,
            Self::Text(text) => Some(!matches!(text.as_str(), "" | "false")),
            Self::Number(_) | Self::List(_) | Self::Regexp(_) => Some(true),
        }
    }
}

/// A quoted string with its escapes, or the variable that it consists of.
pub(super) fn string(pair: &Pair<'_, Rule>, scope: &mut Scope<'_>) -> Text {
    let span = scope.span(pair);
    let text = literal::string(pair.as_str(), scope.language.support_escapes);
    scope.variables.resolve_exact(text, span, scope.undefined)
}

fn number(pair: &Pair<'_, Rule>, scope: &mut Scope<'_>) -> Option<Value> {
    match literal::number(pair.as_str()) {
        Ok(number) => Some(number),
        Err(message) => {
            scope.diagnostics.push(Diagnostic::error("syntax", scope.span(pair), message).label("not a number"));
            None
        }
    }
}

fn list(pair: &Pair<'_, Rule>, scope: &mut Scope<'_>) -> Option<Vec<Value>> {
    let mut elements = Vec::new();
    for element in pair.clone().into_inner() {
        match element.as_rule() {
            Rule::string => elements.push(Value::String(string(&element, scope))),
            Rule::bareword => elements.push(Value::String(Text::from(element.as_str()))),
            Rule::number => elements.push(number(&element, scope)?),
            Rule::array | Rule::hash | Rule::plugin => {
                let message = "a list in a condition can hold only strings and numbers";
                scope.diagnostics.push(Diagnostic::error("bad-condition", scope.span(&element), message));
                return None;
            }
            _ => {}
        }
    }
    Some(elements)
}

/// The elements of a list as `in` compares them.
pub(super) fn texts(list: &[Value]) -> Vec<Text> {
    list.iter().map(|value| value.as_text().cloned().unwrap_or_else(|| Text::from(text_of(value)))).collect()
}
