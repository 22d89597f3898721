//! From parsed text to a [`Test`]: which operands an operator takes, and what is warned about.

use pest::iterators::Pair;

use super::advice::{one_element, spread_literal};
use super::evaluate::is_all_metadata;
use super::grouping::{Boolean, Joined, group};
use super::membership::{Membership, TextSet};
use super::operand::{Operand, texts};
use super::order::{Comparison, OrderOperator, Right, compare_literals};
use super::render::render;
use super::{Condition, Test};
use crate::config::grammar::Rule;
use crate::config::literal;
use crate::config::scope::Scope;
use crate::event::{FieldRef, Text, Value};
use crate::regexp::RubyRegex;

/// Compiles a condition. `None` when it is wrong, which is then among the scope's diagnostics.
pub(in crate::config) fn compile(pair: &Pair<'_, Rule>, scope: &mut Scope<'_>) -> Option<Condition> {
    let span = scope.span(pair);
    let mut compiler = Compiler { scope, fields: Vec::new(), constant_explained: false };
    let (test, _) = compiler.condition(pair)?;
    if let (Test::Constant(answer), false) = (&test, compiler.constant_explained) {
        let (code, verdict) = if *answer { ("always-true", "true") } else { ("never-true", "false") };
        compiler.warn(pair, code, format!("this condition is {verdict} for every event"), "does not look at the event");
    }
    let fields = compiler.fields;
    Some(Condition::new(test, span, render(pair), fields))
}

pub(super) struct Compiler<'s, 'a> {
    pub(super) scope: &'s mut Scope<'a>,
    fields: Vec<FieldRef>,
    /// Whether a warning has said already why the answer is always the same.
    constant_explained: bool,
}

/// An operand of `and`, `or`, `xor`, `nand`.
pub(super) struct Part<'i> {
    pub(super) pair: Pair<'i, Rule>,
    test: Test,
    depth: usize,
    /// Whether it is a bare literal, which cannot stand beside `and`.
    pub(super) literal: bool,
}

impl Compiler<'_, '_> {
    fn condition(&mut self, pair: &Pair<'_, Rule>) -> Option<(Test, usize)> {
        let mut parts = Vec::new();
        let mut operators = Vec::new();
        let mut sound = true;
        for inner in pair.clone().into_inner() {
            if inner.as_rule() == Rule::boolean_operator {
                operators.extend(Boolean::parse(inner.as_str()));
            } else {
                let part = self.expression(inner);
                sound &= part.is_some();
                parts.extend(part);
            }
        }
        sound.then_some(())?;
        if operators.is_empty() {
            return parts.pop().map(|part| (part.test, part.depth));
        }
        self.check_literals(&parts, &operators)?;
        self.check_lonely(pair, &operators)?;
        self.join(pair, parts, &operators)
    }

    fn join(&mut self, pair: &Pair<'_, Rule>, parts: Vec<Part<'_>>, operators: &[Boolean]) -> Option<(Test, usize)> {
        let texts: Vec<String> = parts.iter().map(|part| render(&part.pair)).collect();
        let leaves = parts.into_iter().map(|part| Joined::Leaf(part.test, part.depth)).collect();
        let (joined, surprising) = group(leaves, operators, Joined::join);
        if surprising {
            self.warn_grouping(pair, texts, operators);
        }
        let finished = joined?.finish();
        if finished.is_none() {
            self.error(pair, "bad-condition", "this condition alternates between `and` and `or` too often", "too deep")
                .help("split it into nested ifs, or put parentheses round its parts");
        }
        finished
    }

    fn check_literals(&mut self, parts: &[Part<'_>], operators: &[Boolean]) -> Option<()> {
        let mut found = false;
        for (n, part) in parts.iter().enumerate().filter(|(_, part)| part.literal) {
            found = true;
            let operator = operators.get(n).or(operators.last()).map_or("and", |o| o.as_str());
            let text = render(&part.pair);
            let message = format!("`{operator}` joins comparisons and fields, but `{text}` is a literal");
            let help = spread_literal(&text, parts, operators)
                .map_or("write a comparison or a `[field]` there".to_owned(), |better| format!("write `{better}`"));
            self.error(&part.pair, "literal-operand", message, "a literal").help(help);
        }
        (!found).then_some(())
    }

    /// `xor` and `nand` only work as the sole operator of their group.
    fn check_lonely(&mut self, pair: &Pair<'_, Rule>, operators: &[Boolean]) -> Option<()> {
        let lonely = |o: &&Boolean| matches!(o, Boolean::Xor | Boolean::Nand);
        let (Some(lonely), true) = (operators.iter().find(lonely), operators.len() > 1) else { return Some(()) };
        let name = lonely.as_str();
        let place = pair.clone().into_inner().find(|p| p.as_rule() == Rule::boolean_operator && p.as_str() == name);
        let message = format!("`{name}` must be the only operator of its group");
        self.error(place.as_ref().unwrap_or(pair), "bad-condition", message, "needs parentheses")
            .help(format!("put parentheses round the two operands of `{name}`, as in `([a] {name} [b]) and [c]`"));
        None
    }

    fn expression<'i>(&mut self, pair: Pair<'i, Rule>) -> Option<Part<'i>> {
        let (test, depth, literal) = match pair.as_rule() {
            Rule::group => {
                let inner = pair.clone().into_inner().find(|p| p.as_rule() == Rule::condition)?;
                let (test, depth) = self.condition(&inner)?;
                (test, depth + 1, is_literal(&inner))
            }
            Rule::negated_group => {
                let inner = self.expression(pair.clone().into_inner().next()?)?;
                (not(inner.test), inner.depth + 1, false)
            }
            Rule::negated_field => {
                let selector = pair.clone().into_inner().next()?;
                let field = self.operand(&selector)?;
                self.warn_quoted_field(&selector);
                (not(self.truth(field)), 1, false)
            }
            _ => {
                let mut inner = pair.clone().into_inner();
                let left = inner.next()?;
                match (inner.next(), inner.next()) {
                    (Some(operator), Some(right)) => (self.comparison(&pair, &left, &operator, &right)?, 1, false),
                    _ => {
                        let operand = self.operand(&left)?;
                        self.warn_quoted_field(&left);
                        let literal = operand.constant().is_some();
                        (self.truth(operand), 1, literal)
                    }
                }
            }
        };
        Some(Part { pair, test, depth, literal })
    }

    /// `if ["a"]`
    fn warn_quoted_field(&mut self, selector: &Pair<'_, Rule>) {
        if let Some(element) = one_element(selector, false) {
            let message = format!("`{}` is the field named `{element}`, quotes included", selector.as_str());
            let help = format!("write `[{}]` for the field", element.trim_matches(['"', '\'']));
            self.warn(selector, "one-element-list", message, "never true for ordinary data").help(help);
        }
    }

    fn truth(&mut self, operand: Operand) -> Test {
        match (operand.constant(), operand) {
            (Some(answer), _) => Test::Constant(answer),
            (None, Operand::Field(field)) if is_all_metadata(&field) => Test::Constant(true),
            (None, Operand::Field(field)) => Test::Truthy(field),
            (None, _) => Test::Constant(false),
        }
    }

    fn comparison(
        &mut self,
        pair: &Pair<'_, Rule>,
        left: &Pair<'_, Rule>,
        operator: &Pair<'_, Rule>,
        right: &Pair<'_, Rule>,
    ) -> Option<Test> {
        if operator.as_rule() == Rule::match_operator {
            return self.matches(left, operator, right);
        }
        // Both sides are looked at before giving up, so that both may be reported.
        let sides = (self.operand(left), self.operand(right));
        let (left_operand, right_operand) = (sides.0?, sides.1?);
        self.warn_one_element(pair, left, operator, right);
        if operator.as_rule() == Rule::membership_operator {
            let test = self.membership(pair, left_operand, right_operand)?;
            return Some(if operator.as_str() == "in" { test } else { not(test) });
        }
        let left_operand = self.first_of_list(left, operator, left_operand)?;
        let right_operand = self.first_of_list(right, operator, right_operand)?;
        match OrderOperator::parse(operator.as_str()) {
            Some(order) => self.ordered(pair, left_operand, order, right_operand),
            None => {
                let test = equal(left_operand, right_operand);
                Some(if operator.as_str() == "==" { test } else { not(test) })
            }
        }
    }

    fn operand(&mut self, pair: &Pair<'_, Rule>) -> Option<Operand> {
        let operand = Operand::read(pair, self.scope)?;
        if let Operand::Field(field) = &operand {
            self.fields.push(field.clone());
        }
        Some(operand)
    }

    /// What `==` and `<` make of a list: its first element. Regexps they do not take at all.
    fn first_of_list(&mut self, pair: &Pair<'_, Rule>, operator: &Pair<'_, Rule>, operand: Operand) -> Option<Operand> {
        let operator = operator.as_str();
        match operand {
            Operand::List(list) => {
                let Some(first) = list.into_iter().next() else {
                    let message = format!("`{operator}` cannot compare with an empty list");
                    self.error(pair, "bad-condition", message, "an empty list");
                    return None;
                };
                let message = format!("`{operator}` compares with the first element of this list only");
                self.warn(pair, "list-comparison", message, "only the first element counts")
                    .help("use `in` to compare with each element, or write the first element alone");
                Some(match first {
                    Value::String(text) => Operand::Text(text),
                    number => Operand::Number(number),
                })
            }
            Operand::Regexp(_) => {
                let message = format!("`{operator}` cannot compare with a regexp");
                let right = if operator == "!=" { "!~" } else { "=~" };
                let text = pair.as_str();
                self.error(pair, "bad-condition", message, "a regexp")
                    .help(format!("`{operator} {text}` should be `{right} {text}`"));
                None
            }
            other => Some(other),
        }
    }

    fn ordered(
        &mut self,
        pair: &Pair<'_, Rule>,
        left: Operand,
        operator: OrderOperator,
        right: Operand,
    ) -> Option<Test> {
        match (left, right) {
            (Operand::Field(left), Operand::Field(right)) => {
                Some(Test::Ordered(Comparison { left, operator, right: Right::Field(right) }))
            }
            (Operand::Field(left), right) => {
                let right = Right::Literal(right.scalar()?);
                Some(Test::Ordered(Comparison { left, operator, right }))
            }
            (left, Operand::Field(field)) => {
                let right = Right::Literal(left.scalar()?);
                Some(Test::Ordered(Comparison { left: field, operator: operator.mirrored(), right }))
            }
            (left, right) => match compare_literals(&left.scalar()?, &right.scalar()?) {
                Some(order) => Some(Test::Constant(operator.holds(order))),
                None => {
                    let message = format!("{} and {} cannot be ordered", left.kind(), right.kind());
                    self.error(pair, "bad-condition", message, "different types");
                    None
                }
            },
        }
    }

    fn matches(&mut self, left: &Pair<'_, Rule>, operator: &Pair<'_, Rule>, right: &Pair<'_, Rule>) -> Option<Test> {
        let left_operand = self.operand(left)?;
        let pattern = match right.as_rule() {
            // Variables are not looked for here.
            Rule::string => literal::string(right.as_str(), self.scope.language.support_escapes),
            _ => Text::from(literal::unquoted(right.as_str())),
        };
        let regexp = match RubyRegex::new(&pattern) {
            Ok(regexp) => regexp,
            Err(error) => {
                let message = format!("`{pattern}` is not a regexp: {error}");
                self.error(right, "bad-regexp", message, "invalid regexp");
                return None;
            }
        };
        let test = match left_operand {
            Operand::Field(field) => Test::Matches(field, Box::new(regexp)),
            Operand::Text(text) => Test::Constant(regexp.is_match(&text)),
            other => {
                let operator = operator.as_str();
                let message = format!("`{operator}` looks into a field or a string, not into {}", other.kind());
                self.error(left, "bad-condition", message, format!("{} cannot match", other.kind()))
                    .help(format!("write `[field] {operator} {}`", right.as_str()));
                return None;
            }
        };
        Some(if operator.as_str() == "=~" { test } else { not(test) })
    }

    fn membership(&mut self, pair: &Pair<'_, Rule>, left: Operand, right: Operand) -> Option<Test> {
        use Operand::{Field, List, Number, Regexp, Text};
        let membership = match (left, right) {
            (List(_), _) => {
                self.error(pair, "bad-condition", "a list cannot be looked for by `in`", "a list on the left");
                return None;
            }
            (Field(left), Field(right)) => Membership::FieldInField(left, right),
            (Field(field), List(list)) => Membership::FieldInList(field, TextSet::new(texts(&list))),
            (Field(field), Text(text) | Regexp(text)) => Membership::FieldInText(field, text),
            (Field(field), Number(number)) => {
                Membership::FieldInText(field, texts(std::slice::from_ref(&number)).pop()?)
            }
            (Text(text) | Regexp(text), Field(field)) => Membership::text_in_field(text, field),
            (Number(number), Field(field)) => Membership::NumberInField(number, field),
            (left, right) => {
                let equal = match (&left, &right) {
                    (Text(left) | Regexp(left), Text(right) | Regexp(right)) => left == right,
                    (Number(left), Number(right)) => left == right,
                    _ => false,
                };
                self.constant_explained = true;
                let message =
                    "`in` between two literals does not look inside the right one: it is true only when they are equal";
                let code = if equal { "always-true" } else { "never-true" };
                self.warn(pair, code, message.to_owned(), format!("always {equal}"))
                    .help("put a `[field]` on one side");
                return Some(Test::Constant(equal));
            }
        };
        Some(Test::In(Box::new(membership)))
    }
}

fn not(test: Test) -> Test {
    match test {
        Test::Constant(answer) => Test::Constant(!answer),
        Test::Not(test) => *test,
        test => Test::Not(Box::new(test)),
    }
}

fn equal(left: Operand, right: Operand) -> Test {
    match (left, right) {
        (Operand::Field(left), Operand::Field(right)) => Test::SameValue(left, right),
        (Operand::Field(field), literal) | (literal, Operand::Field(field)) => match literal.scalar() {
            Some(value) => Test::Equals(field, value),
            None => Test::Constant(false),
        },
        (left, right) => Test::Constant(left.scalar() == right.scalar()),
    }
}

/// Whether a condition is nothing but a literal, in parentheses or not.
fn is_literal(condition: &Pair<'_, Rule>) -> bool {
    let mut parts = condition.clone().into_inner();
    let (Some(only), None) = (parts.next(), parts.next()) else { return false };
    match only.as_rule() {
        Rule::comparison => {
            let mut operands = only.into_inner();
            let (Some(operand), None) = (operands.next(), operands.next()) else { return false };
            operand.as_rule() != Rule::selector
        }
        Rule::group => only.into_inner().find(|p| p.as_rule() == Rule::condition).is_some_and(|c| is_literal(&c)),
        _ => false,
    }
}
