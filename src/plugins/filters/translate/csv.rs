//! Dictionaries as CSV: key and value of each line, with Ruby's strictness about quotes.

use crate::event::{Text, Value};

/// The key and the value of each line. An empty cell without quotes is null; cells behind the second do not count.
pub(super) fn entries(text: &str) -> Result<Vec<(Value, Value)>, String> {
    let mut entries = Vec::new();
    let mut cells = Cells { rest: text, line: 1 };
    while !cells.rest.is_empty() {
        let (mut key, mut value, mut count) = (Value::Null, Value::Null, 0);
        loop {
            let (cell, end) = cells.next()?;
            match count {
                0 => key = cell,
                1 => value = cell,
                _ => {}
            }
            count += 1;
            if end == End::Line {
                break;
            }
        }
        if count > 1 || !key.is_null() {
            entries.push((key, value));
        }
    }
    Ok(entries)
}

struct Cells<'t> {
    rest: &'t str,
    line: usize,
}

/// What ends a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Cell,
    Line,
}

impl Cells<'_> {
    fn next(&mut self) -> Result<(Value, End), String> {
        let value = match self.rest.strip_prefix('"') {
            Some(rest) => {
                self.rest = rest;
                self.quoted()?
            }
            None => {
                let end = self.rest.find([',', '\n', '"']).unwrap_or(self.rest.len());
                let (cell, rest) = self.rest.split_at(end);
                let cell = if rest.starts_with(',') { cell } else { cell.strip_suffix('\r').unwrap_or(cell) };
                self.rest = rest;
                if cell.is_empty() { Value::Null } else { Value::String(Text::from(cell)) }
            }
        };
        Ok((value, self.end()?))
    }

    /// The inside of quotes; a doubled one is one.
    fn quoted(&mut self) -> Result<Value, String> {
        let start = self.line;
        let mut cell = String::new();
        loop {
            let Some((part, rest)) = self.rest.split_once('"') else {
                return Err(format!("line {start}: the quote is never closed"));
            };
            self.line += part.matches('\n').count();
            cell.push_str(part);
            match rest.strip_prefix('"') {
                Some(behind) => {
                    cell.push('"');
                    self.rest = behind;
                }
                None => {
                    self.rest = rest.strip_prefix('\r').filter(|rest| rest.starts_with('\n')).unwrap_or(rest);
                    return Ok(Value::from(cell));
                }
            }
        }
    }

    fn end(&mut self) -> Result<End, String> {
        if let Some(rest) = self.rest.strip_prefix(',') {
            self.rest = rest;
            return Ok(End::Cell);
        }
        match self.rest.strip_prefix('\n') {
            Some(rest) => {
                self.rest = rest;
                self.line += 1;
            }
            None if self.rest.is_empty() => {}
            None => return Err(format!("line {}: there is a quote where none can be", self.line)),
        }
        Ok(End::Line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entry = (Option<String>, Option<String>);

    fn read(text: &str) -> Result<Vec<Entry>, String> {
        let text_of = |value: Value| value.as_str().map(str::to_owned);
        Ok(entries(text)?.into_iter().map(|(key, value)| (text_of(key), text_of(value))).collect())
    }

    #[test]
    fn lines_are_a_key_and_a_value() {
        let entry = |key: &str, value: Option<&str>| (Some(key.to_owned()), value.map(str::to_owned));
        let text = "a,alpha\r\n\"b,c\",\"x \"\"y\"\"\",more,\n\nlone\n\"q\"\r\ne,\"\"\nn,\nl,\"1\n2\"";
        assert_eq!(
            read(text).unwrap(),
            [
                entry("a", Some("alpha")),
                entry("b,c", Some("x \"y\"")),
                entry("lone", None),
                entry("q", None),
                entry("e", Some("")),
                entry("n", None),
                entry("l", Some("1\n2")),
            ]
        );
    }

    #[test]
    fn quotes_that_are_wrong_are_errors() {
        for (text, line) in [("a,b\n\"c,d\n\n", 2), ("a,b\nc\"d,e", 2), ("\"a\nb\"c,d", 2)] {
            assert!(read(text).is_err_and(|error| error.starts_with(&format!("line {line}:"))), "{text}");
        }
    }
}
