//! The line layout for people: `[time][LEVEL][logger][pipeline][plugin] message {details}`.
//!
//! Details look like a printed Ruby hash, which people's scripts parse: `{count: 1, "pipeline.id" => "main"}`.

use std::fmt::Write;

use super::record::{Detail, Record};

/// The whole line, line feed included.
pub(super) fn line(record: &Record) -> String {
    let mut out = String::with_capacity(128);
    let t = &record.time;
    let _infallible = write!(
        out,
        "[{:04}-{:02}-{:02}T{:02}:{:02}:{:02},{:03}][{:<5}][{:<25}]",
        t.year(),
        t.month(),
        t.day(),
        t.hour(),
        t.minute(),
        t.second(),
        t.millisecond(),
        record.level.as_str(),
        record.logger
    );
    for id in [&record.context.pipeline, &record.context.plugin].into_iter().flatten() {
        out.push('[');
        harmless(id, &mut out);
        out.push(']');
    }
    out.push(' ');
    harmless(&record.message, &mut out);
    if let Some(place) = &record.context.place {
        out.push_str(" at ");
        harmless(place, &mut out);
    }
    details(&record.details, &mut out);
    out.push('\n');
    out
}

fn details(details: &[(String, Detail)], out: &mut String) {
    let mut before = " {";
    // The code of a mistake is for programs.
    for (name, detail) in details.iter().filter(|(name, _)| name != "code") {
        out.push_str(before);
        before = ", ";
        // A name that is no plain symbol is written as a text key.
        if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            out.push_str(name);
            out.push_str(": ");
        } else {
            quote(name, out);
            out.push_str(" => ");
        }
        match detail {
            Detail::Text(text) => quote(text, out),
            Detail::Formatted(text) => harmless_in_line(text, out),
            Detail::Float(n) => {
                let _infallible = write!(out, "{n:?}");
            }
            Detail::Integer(_) | Detail::Bool(_) => out.push_str(&detail.clone().into_text()),
        }
    }
    if before == ", " {
        out.push('}');
    }
}

/// A text in quotes, as Ruby prints it.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '#' if matches!(characters.peek(), Some('{' | '$' | '@')) => out.push_str("\\#"),
            c => escape_control(c, out),
        }
    }
    out.push('"');
}

fn escape_control(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{1b}' => out.push_str("\\e"),
        c if c.is_control() => {
            let _infallible = write!(out, "\\u{:04X}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Without characters that steer a terminal. Line feeds stay: some messages have several lines.
fn harmless(text: &str, out: &mut String) {
    text.chars().for_each(|c| if matches!(c, '\n' | '\t') { out.push(c) } else { escape_control(c, out) });
}

fn harmless_in_line(text: &str, out: &mut String) {
    text.chars().for_each(|c| escape_control(c, out));
}

#[cfg(test)]
mod tests {
    use super::super::record::Context;
    use super::*;
    use crate::settings::LogLevel;

    #[test]
    fn lines_look_like_logstash() {
        let time = jiff::civil::date(2026, 3, 4).at(9, 55, 2, 120_000_000).in_tz("UTC").unwrap();
        let mut record = Record {
            time,
            level: LogLevel::Warn,
            logger: "spillway.grok".into(),
            thread: "main".into(),
            context: Context {
                pipeline: Some("main".into()),
                plugin: Some("grok-web".into()),
                place: Some("conf.d/20-web.conf:12".into()),
            },
            message: "no match (timeout 30 s)".into(),
            details: vec![("event".into(), Detail::Formatted("\"GET /…\" (4.1 KiB)".into()))],
        };
        assert_eq!(
            line(&record),
            "[2026-03-04T09:55:02,120][WARN ][spillway.grok            ][main][grok-web] no match (timeout 30 s) \
             at conf.d/20-web.conf:12 {event: \"GET /…\" (4.1 KiB)}\n"
        );
        record.level = LogLevel::Info;
        record.logger = "logstash.javapipeline".into();
        record.context = Context { pipeline: Some("main".into()), ..Context::default() };
        record.message = "Pipeline started".into();
        record.details = vec![("pipeline.id".into(), Detail::Text("main".into()))];
        assert_eq!(
            line(&record),
            "[2026-03-04T09:55:02,120][INFO ][logstash.javapipeline    ][main] Pipeline started \
             {\"pipeline.id\" => \"main\"}\n"
        );
        record.context = Context::default();
        record.logger = "a.logger.name.that.is.longer.than.25".into();
        record.message = "x".into();
        record.details = vec![
            ("count".into(), Detail::Integer(1)),
            ("text".into(), Detail::Text("a\"b\n\u{1b}[0m #{x}".into())),
            ("list".into(), Detail::Formatted("[:main]".into())),
            ("took".into(), Detail::Float(1.0)),
        ];
        assert_eq!(
            line(&record),
            "[2026-03-04T09:55:02,120][INFO ][a.logger.name.that.is.longer.than.25] x {count: 1, \
             text: \"a\\\"b\\n\\e[0m \\#{x}\", list: [:main], took: 1.0}\n"
        );
    }
}
