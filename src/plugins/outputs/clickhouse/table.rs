//! Which table a row goes to: the option `table` with every `%{…}` in it put right, checked and quoted.
//!
//! What comes from an event is never part of a statement unless it is made of letters, digits and underscores; all
//! else is a reason to refuse the event.

use crate::event::EscapeStyle;
use crate::event::{Event, FieldRef, Template, TemplateError, Text, Value};

/// Longest name of a table: it is the name of a folder on the server.
const LONGEST_NAME: usize = 255;

/// The option `table`, taken apart.
pub(super) struct TableNames {
    pieces: Vec<Piece>,
    lower: bool,
    replace: Vec<(String, String)>,
}

enum Piece {
    Literal(String),
    /// One `%{…}`, and how it was written.
    Inserted(Template, String),
}

/// A table that rows go to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// As the option and the event name it: `logs`, `other.logs`.
    pub name: Text,
    /// With its database, for people: `default.logs`.
    pub label: String,
    /// Quoted, for a statement.
    pub quoted: String,
}

impl Table {
    /// The table of that name; without a database of its own it is in `database`.
    pub fn new(name: Text, database: &str) -> Self {
        let (label, quoted) = match name.as_str().split_once('.') {
            Some((own, table)) if !own.is_empty() && !table.is_empty() => {
                (name.to_string(), format!("{}.{}", quoted(own), quoted(table)))
            }
            _ => (format!("{database}.{name}"), quoted(&name)),
        };
        Self { name, label, quoted }
    }
}

/// A name between backticks.
fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    out.push('`');
    for c in name.chars() {
        if matches!(c, '`' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('`');
    out
}

impl TableNames {
    /// Takes the option apart. `lower` and `replace` are done to what events insert.
    pub fn new(
        source: &str,
        style: EscapeStyle,
        lower: bool,
        replace: Vec<(String, String)>,
    ) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = source;
        while let Some(open) = rest.find("%{") {
            let (before, from) = rest.split_at(open);
            let close = if from.starts_with("%{{") { "}}" } else { "}" };
            let Some(end) = from.find(close) else { break };
            let (inserted, after) = from.split_at(end + close.len());
            if !before.is_empty() {
                pieces.push(Piece::Literal(before.to_owned()));
            }
            pieces.push(Piece::Inserted(Template::compile(inserted, style)?, inserted.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.to_owned()));
        }
        Ok(Self { pieces, lower, replace })
    }

    /// The name, when it is the same for every event.
    pub fn fixed(&self) -> Option<&str> {
        match &*self.pieces {
            [Piece::Literal(name)] => Some(name),
            _ => None,
        }
    }

    /// Writes the name of an event's table. The error says why the event has none.
    pub fn write(&self, event: &Event, out: &mut String) -> Result<(), String> {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Inserted(template, source) => self.insert(template, source, event, out)?,
            }
        }
        if out.len() > LONGEST_NAME {
            return Err(format!("the name of the table has {} bytes, at most {LONGEST_NAME} are allowed", out.len()));
        }
        Ok(())
    }

    fn insert(&self, template: &Template, source: &str, event: &Event, out: &mut String) -> Result<(), String> {
        let is_missing = |field: &FieldRef| matches!(event.get(field), None | Some(Value::Null));
        if template.references().any(is_missing) {
            return Err(format!("the event has no {source} for the name of the table"));
        }
        let mut text = template.render(event).to_string();
        for (from, to) in &self.replace {
            text = text.replace(from.as_str(), to);
        }
        if self.lower {
            text = text.to_lowercase();
        }
        if text.is_empty() {
            return Err(format!("{source} is empty, which makes no name of a table"));
        }
        if let Some(odd) = text.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '_') {
            return Err(format!("{source} holds {odd:?}; only letters, digits and _ make the name of a table"));
        }
        out.push_str(&text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::event;

    fn name(template: &str, json: &str) -> Result<String, String> {
        let replace = vec![("-".to_owned(), "_".to_owned())];
        let names = TableNames::new(template, EscapeStyle::None, true, replace).unwrap();
        let mut out = String::new();
        names.write(&event(json), &mut out).map(|()| out)
    }

    fn sql(name: &str) -> String {
        Table::new(Text::from(name), "default").quoted
    }

    #[test]
    fn what_an_event_inserts_is_lower_case_with_underscores() {
        let of = |json| name("tb_logs_%{application}", json);
        assert_eq!(of(r#"{"application":"Order-Service"}"#).unwrap(), "tb_logs_order_service");
        assert_eq!(of(r#"{"application":7}"#).unwrap(), "tb_logs_7");
        assert_eq!(name("Logs-X.%{a}_%{[b][c]}", r#"{"a":"A","b":{"c":"C"}}"#).unwrap(), "Logs-X.a_c");
        assert_eq!(name("l_%{+yyyy_MM}", r#"{"@timestamp":"2026-03-01T00:00:00Z"}"#).unwrap(), "l_2026_03");
        assert_eq!(name("open %{ x", "{}").unwrap(), "open %{ x");
    }

    #[test]
    fn what_makes_no_name_is_refused_never_sent() {
        for (json, why) in [
            ("{}", "no %{application}"),
            (r#"{"application":null}"#, "no %{application}"),
            (r#"{"application":""}"#, "is empty"),
            (r#"{"application":"x; DROP TABLE y"}"#, "holds ';'"),
            (r#"{"application":"a`b"}"#, "holds '`'"),
            (r#"{"application":"a.b"}"#, "holds '.'"),
            (r#"{"application":"é"}"#, "holds 'é'"),
            (r#"{"application":{"a":1}}"#, "holds"),
        ] {
            let error = name("t_%{application}", json).unwrap_err();
            assert!(error.contains(why), "{json}: {error}");
        }
        let long = format!(r#"{{"application":"{}"}}"#, "x".repeat(300));
        assert!(name("t_%{application}", &long).unwrap_err().contains("302 bytes"));
    }

    #[test]
    fn each_part_of_a_name_is_quoted_by_itself() {
        assert_eq!(sql("logs"), "`logs`");
        assert_eq!(sql("db.logs"), "`db`.`logs`");
        assert_eq!(sql("a`b\\c"), "`a\\`b\\\\c`");
        assert_eq!(sql(".x"), "`.x`");
        assert_eq!(Table::new(Text::from("t"), "d").label, "d.t");
        assert_eq!(Table::new(Text::from("o.t"), "d").label, "o.t");
    }

    #[test]
    fn a_name_without_references_is_fixed() {
        let names = |source| TableNames::new(source, EscapeStyle::None, true, Vec::new());
        assert_eq!(names("Logs").unwrap().fixed(), Some("Logs"));
        assert_eq!(names("l%{a}").unwrap().fixed(), None);
        assert!(names("%{[a}").is_err());
    }
}
