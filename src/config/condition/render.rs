//! A condition's text on one line: comments gone, one blank between words, variables left as written.

use pest::iterators::Pair;

use crate::config::grammar::Rule;

pub(super) fn render(pair: &Pair<'_, Rule>) -> String {
    let mut out = String::new();
    write(pair, &mut out);
    out
}

fn write(pair: &Pair<'_, Rule>, out: &mut String) {
    match pair.as_rule() {
        Rule::condition | Rule::comparison => {
            for (n, part) in pair.clone().into_inner().enumerate() {
                if n > 0 {
                    out.push(' ');
                }
                write(&part, out);
            }
        }
        Rule::group => {
            out.push('(');
            pair.clone().into_inner().filter(|p| p.as_rule() == Rule::condition).for_each(|p| write(&p, out));
            out.push(')');
        }
        Rule::negated_group | Rule::negated_field => {
            out.push('!');
            pair.clone().into_inner().for_each(|p| write(&p, out));
        }
        Rule::membership_operator => out.push_str(if pair.as_str() == "in" { "in" } else { "not in" }),
        Rule::array => {
            out.push('[');
            let parts = pair.clone().into_inner();
            let elements = parts.filter(|p| !matches!(p.as_rule(), Rule::open_list | Rule::close_list | Rule::comma));
            for (n, element) in elements.enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                write(&element, out);
            }
            out.push(']');
        }
        _ => pair.as_str().chars().for_each(|c| match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }),
    }
}
