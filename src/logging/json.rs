//! The line layout for programs: one JSON object a line, with Logstash's keys and a few more.

use serde_json::{Map, Value, json};

use super::record::{Detail, Record};

/// The whole line, line feed included.
pub(super) fn line(record: &Record) -> String {
    let mut object = Map::new();
    object.insert("level".into(), record.level.as_str().into());
    object.insert("loggerName".into(), record.logger.clone().into());
    object.insert("timeMillis".into(), record.time.timestamp().as_millisecond().into());
    object.insert("thread".into(), record.thread.clone().into());
    // Logstash's names and short ones.
    for (names, id) in
        [(["pipeline.id", "pipeline"], &record.context.pipeline), (["plugin.id", "plugin_id"], &record.context.plugin)]
    {
        if let Some(id) = id {
            names.into_iter().for_each(|name| drop(object.insert(name.into(), id.clone().into())));
        }
    }
    if let Some((file, line)) = record.context.place.as_deref().map(split_place) {
        object.insert("file".into(), file.into());
        object.extend(line.map(|line| ("line".into(), line.into())));
    }
    let mut event = Map::new();
    event.insert("message".into(), record.message.clone().into());
    for (name, detail) in &record.details {
        if name == "code" {
            object.insert("code".into(), value(detail));
        } else {
            event.insert(name.clone(), value(detail));
        }
    }
    object.insert("logEvent".into(), Value::Object(event));
    let mut line = Value::Object(object).to_string();
    line.push('\n');
    line
}

fn value(detail: &Detail) -> Value {
    match detail {
        Detail::Text(text) | Detail::Formatted(text) => text.clone().into(),
        Detail::Integer(n) => i64::try_from(*n).map_or_else(|_| json!(n.to_string()), Value::from),
        Detail::Float(n) => json!(n),
        Detail::Bool(b) => json!(b),
    }
}

/// `file:line` or `file:line:column`.
fn split_place(place: &str) -> (&str, Option<u64>) {
    let Some((rest, last)) = place.rsplit_once(':') else { return (place, None) };
    match (rest.rsplit_once(':'), last.parse()) {
        (_, Err(_)) => (place, None),
        (Some((file, line)), Ok(column)) => match line.parse() {
            Ok(line) => (file, Some(line)),
            Err(_) => (rest, Some(column)),
        },
        (None, Ok(line)) => (rest, Some(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Context;
    use super::*;
    use crate::settings::LogLevel;

    #[test]
    fn lines_have_the_keys_of_logstash() {
        let record = Record {
            time: jiff::Timestamp::from_millisecond(1_772_618_102_120).unwrap().in_tz("UTC").unwrap(),
            level: LogLevel::Warn,
            logger: "spillway.grok".into(),
            thread: "[main]>worker0".into(),
            context: Context {
                pipeline: Some("main".into()),
                plugin: Some("g".into()),
                place: Some("a.conf:12:3".into()),
            },
            message: "no match".into(),
            details: vec![("count".into(), Detail::Integer(2)), ("code".into(), Detail::Text("no-match".into()))],
        };
        assert_eq!(
            line(&record),
            "{\"level\":\"WARN\",\"loggerName\":\"spillway.grok\",\"timeMillis\":1772618102120,\
             \"thread\":\"[main]>worker0\",\"pipeline.id\":\"main\",\"pipeline\":\"main\",\"plugin.id\":\"g\",\
             \"plugin_id\":\"g\",\"file\":\"a.conf\",\"line\":12,\"code\":\"no-match\",\
             \"logEvent\":{\"message\":\"no match\",\"count\":2}}\n"
        );
    }

    #[test]
    fn places_are_split() {
        assert_eq!(split_place("a.conf:12"), ("a.conf", Some(12)));
        assert_eq!(split_place("a.conf:12:5"), ("a.conf", Some(12)));
        assert_eq!(split_place("config string"), ("config string", None));
        assert_eq!(split_place("c:\\x:y"), ("c:\\x:y", None));
    }
}
