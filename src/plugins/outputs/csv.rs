//! `csv`: as `file`, with chosen fields of each event as a line of comma-separated values.

use std::sync::Arc;

use super::file;
use crate::event::{Event, FieldRef, Value, json, text_form};
use crate::plugins::{EncodeError, Encoder, Options, Output, OutputPlugin};

/// The plugin.
pub const PLUGIN: OutputPlugin =
    OutputPlugin { name: "csv", summary: "Appends chosen fields of events to files.", build };

/// Beginnings that a spreadsheet takes for a formula.
const FORMULA: [char; 4] = ['=', '+', '-', '@'];

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let fields = options.fields("fields").doc("Fields of a line, in order.").required();
    let given = options.hash("csv_options").doc("Options of Ruby's CSV: col_sep, row_sep, quote_char, …").optional();
    let spreadsheet_safe = options
        .boolean("spreadsheet_safe")
        .doc("Whether a quote before text keeps spreadsheets from taking it for a formula.")
        .default(true);
    options.idle_codec("events are written as lines of CSV");
    let form = form(options, given.unwrap_or_default());
    file::build_with(options, Arc::new(Lines { fields, spreadsheet_safe, form }))
}

/// How values stand in a line.
struct Form {
    column: String,
    row: String,
    quote: char,
    force_quotes: bool,
    quote_empty: bool,
}

fn form(options: &mut Options<'_>, given: Vec<(String, Value)>) -> Form {
    let mut form = Form { column: ",".into(), row: "\n".into(), quote: '"', force_quotes: false, quote_empty: true };
    for (name, value) in given {
        let mut out = Vec::new();
        text_form::write_ruby(&value, &mut out);
        let text = text_form::utf8(out);
        let flag = match text.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        let mut quote = text.chars();
        match (name.as_str(), flag) {
            ("col_sep", _) if !text.is_empty() => form.column = text,
            ("row_sep", _) if !text.is_empty() => form.row = text,
            ("quote_char", _) if text.chars().count() == 1 => form.quote = quote.next().unwrap_or('"'),
            ("force_quotes", Some(flag)) => form.force_quotes = flag,
            ("quote_empty", Some(flag)) => form.quote_empty = flag,
            ("col_sep" | "row_sep" | "quote_char" | "force_quotes" | "quote_empty", _) => {
                options.invalid("csv_options", format!("`{text}` is no value for `{name}`"));
            }
            _ => options.invalid(
                "csv_options",
                format!("`{name}` is not supported: there are col_sep, row_sep, quote_char, force_quotes, quote_empty"),
            ),
        }
    }
    form
}

struct Lines {
    fields: Vec<FieldRef>,
    spreadsheet_safe: bool,
    form: Form,
}

impl Encoder for Lines {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut shown = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(self.form.column.as_bytes());
            }
            shown.clear();
            match event.value_of(field) {
                None | Some(Value::Null) => {
                    if self.form.force_quotes {
                        self.form.write("", out);
                    }
                    continue;
                }
                Some(Value::Map(map)) => json::write_map(&map, &mut shown),
                Some(Value::String(text)) => {
                    if self.spreadsheet_safe && text.starts_with(FORMULA) {
                        shown.push(b'\'');
                    }
                    shown.extend_from_slice(text.as_bytes());
                }
                Some(other) => text_form::write_ruby(&other, &mut shown),
            }
            self.form.write(&String::from_utf8_lossy(&shown), out);
        }
        out.extend_from_slice(self.form.row.as_bytes());
        Ok(())
    }

    fn delimiter(&self) -> Option<&[u8]> {
        Some(self.form.row.as_bytes())
    }
}

impl Form {
    fn write(&self, text: &str, out: &mut Vec<u8>) {
        let special = |c| c == '\r' || c == '\n' || c == self.quote;
        let needs_quotes =
            (text.is_empty() && self.quote_empty) || text.contains(&self.column) || text.contains(special);
        if !needs_quotes && !self.force_quotes {
            return out.extend_from_slice(text.as_bytes());
        }
        let mut quote = [0; 4];
        let quote = self.quote.encode_utf8(&mut quote);
        out.extend_from_slice(quote.as_bytes());
        for (at, part) in text.split(self.quote).enumerate() {
            if at > 0 {
                out.extend_from_slice(quote.as_bytes());
                out.extend_from_slice(quote.as_bytes());
            }
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(quote.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, deliver};

    async fn written(options: &str, events: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("o.csv");
        let path = path.display();
        let config = format!(r#"output {{ csv {{ path => "{path}" flush_interval => 0 {options} }} }}"#);
        assert!(deliver(&config, events).await.is_empty());
        std::fs::read_to_string(folder.path().join("o.csv")).unwrap()
    }

    #[tokio::test]
    async fn values_are_quoted_where_they_must_be() {
        let events = [
            r#"{"a":"x,\"y\"","h":{"k":"=1+1"},"n":5}"#,
            r#"{"a":"-1","h":{},"n":-1}"#,
            r#"{"a":"","n":[1,"x"],"h":"two\nlines"}"#,
        ];
        assert_eq!(
            written(r#"fields => ["a", "[h][k]", "h", "zz", "n"]"#, &events).await,
            "\"x,\"\"y\"\"\",'=1+1,\"{\"\"k\"\":\"\"=1+1\"\"}\",,5\n'-1,,{},,-1\n\"\",,\"two\nlines\",,\"[1, \"\"x\"\"]\"\n"
        );
    }

    #[tokio::test]
    async fn the_form_can_be_chosen() {
        let options = r#"fields => ["a", "b", "c"] spreadsheet_safe => false
            csv_options => { "col_sep" => ";" "row_sep" => "|" "quote_char" => "'" "force_quotes" => true }"#;
        assert_eq!(written(options, &[r#"{"a":"=it's","b":1.5}"#]).await, "'=it''s';'1.5';''|");
    }

    #[test]
    fn options_that_are_wrong() {
        for (options, words) in [
            ("", "fields"),
            (r#"fields => "a" csv_options => { "headers" => true }"#, "not supported"),
            (r#"fields => "a" csv_options => { "col_sep" => "" }"#, "no value for `col_sep`"),
        ] {
            let error = compiled(&format!("output {{ csv {{ path => \"/tmp/x\" {options} }} }}")).err().unwrap();
            assert!(error.contains(words), "{error}");
        }
    }
}
