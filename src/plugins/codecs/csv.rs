//! `csv`: a line of values is an event, and an event a line of values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::charset::Charset;
use super::message;
use crate::event::{Bytes, Event, FieldRef, Map, Text, Timestamp, Value};
use crate::plugins::csv::{Conversion, Malformed, Syntax};
use crate::plugins::{Codec, CodecPlugin, Decoder, Decoders, Ecs, EncodeError, Encoder, Options};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "csv", summary: "Values separated by commas.", build };

/// How a line becomes an event.
struct Settings {
    charset: Charset,
    syntax: Arc<Syntax>,
    columns: Vec<Text>,
    conversions: Vec<(String, Conversion)>,
    /// Values without a name get one.
    autogenerate: bool,
    /// The first line has the names.
    autodetect: bool,
    skip_empty: bool,
    target: Option<FieldRef>,
    keep_original: bool,
}

fn build(options: &mut Options<'_>) -> Codec {
    let columns = options.strings("columns").doc("Names of the values, in order.").default(Vec::new());
    let style = options.context().escape_style;
    // To write, names are references; to read, they are plain.
    let reference = |name: &String| FieldRef::parse(name, style).unwrap_or_else(|_| FieldRef::top(name));
    let references = columns.iter().map(reference).collect();
    let syntax = Arc::new(syntax(options));
    let autogenerate = options
        .boolean("autogenerate_column_names")
        .doc("Whether values without a name are kept as column1, column2, …")
        .default(true);
    let autodetect = options
        .boolean("autodetect_column_names")
        .doc("Whether the first line of a stream has the names.")
        .default(false);
    let skip_empty = options.boolean("skip_empty_columns").doc("Whether empty values are left out.").default(false);
    let include_headers =
        options.boolean("include_headers").doc("Whether the names are written as the first line.").default(false);
    let conversions = Conversion::from_options(options);
    let charset = Charset::read(options);
    let target = options.field("target").doc("Field that takes the values; without it the whole event.").optional();
    let settings = Arc::new(Settings {
        charset,
        syntax: syntax.clone(),
        columns: columns.into_iter().map(Text::from).collect(),
        conversions,
        autogenerate,
        autodetect,
        skip_empty,
        target,
        keep_original: !Ecs::read(options).is_disabled(),
    });
    let encoder = CsvEncoder { syntax, columns: references, headers_due: AtomicBool::new(include_headers) };
    Codec {
        decoders: Some(Decoders::new(move || CsvDecoder {
            columns: settings.columns.clone(),
            settings: settings.clone(),
        })),
        encoder: Some(Arc::new(encoder)),
    }
}

fn syntax(options: &mut Options<'_>) -> Syntax {
    Syntax::from_options(options).unwrap_or_else(|| {
        options.invalid("quote_char", "`quote_char` must be one character, or `\\x00` for none");
        Syntax::new(",", None)
    })
}

struct CsvDecoder {
    settings: Arc<Settings>,
    columns: Vec<Text>,
}

impl Decoder for CsvDecoder {
    fn decode(&mut self, chunk: Bytes, out: &mut Vec<Event>) {
        let text = self.settings.charset.text(chunk);
        let mut values = Vec::new();
        match self.settings.syntax.read(&text, &mut values) {
            // Nothing but a line end, or not even that.
            Ok(()) | Err(Malformed::Empty) if values.is_empty() => {}
            Ok(()) if self.settings.autodetect && self.columns.is_empty() => {
                self.columns = values.into_iter().map(Option::unwrap_or_default).collect();
            }
            Ok(()) => match self.event(values) {
                Ok(mut event) => {
                    if self.settings.keep_original {
                        message::keep_original(&mut event, text);
                    }
                    out.push(event);
                }
                Err(problem) => out.push(failure(text, &problem)),
            },
            Err(problem) => out.push(failure(text, &problem.to_string())),
        }
    }

    fn needs_lines(&self) -> bool {
        true
    }
}

/// An event that keeps what is no CSV as text.
fn failure(text: Text, problem: &str) -> Event {
    tracing::warn!(target: "logstash.codecs.csv", "CSV parse error, original data now in message field: {problem}");
    let mut event = Event::from_message(text, Timestamp::now());
    event.tag("_csvparsefailure");
    event
}

impl CsvDecoder {
    fn event(&self, values: Vec<Option<Text>>) -> Result<Event, String> {
        let mut fields = Map::with_capacity(values.len() + 3);
        for (at, value) in values.into_iter().enumerate() {
            let is_empty = value.as_ref().is_none_or(|value| value.is_empty());
            let Some(name) = self.name(at).filter(|_| !(is_empty && self.settings.skip_empty)) else { continue };
            let conversion = self.settings.conversions.iter().find(|(column, _)| *column == *name);
            let value = match value {
                None => Value::Null,
                Some(text) => conversion.and_then(|(_, to)| to.convert(&text)).unwrap_or(Value::String(text)),
            };
            fields.insert(name, value);
        }
        match &self.settings.target {
            None => Ok(Event::from_map(fields)),
            Some(target) => {
                let mut event = Event::new();
                event.set(target, fields).map_err(|error| error.to_string())?;
                Ok(event)
            }
        }
    }

    fn name(&self, at: usize) -> Option<Text> {
        let given = self.columns.get(at).cloned();
        given.or_else(|| self.settings.autogenerate.then(|| Text::from(format!("column{}", at + 1))))
    }
}

struct CsvEncoder {
    syntax: Arc<Syntax>,
    /// All fields when empty.
    columns: Vec<FieldRef>,
    headers_due: AtomicBool,
}

impl Encoder for CsvEncoder {
    fn encode(&self, event: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if self.headers_due.load(Ordering::Relaxed) && self.headers_due.swap(false, Ordering::Relaxed) {
            if self.columns.is_empty() {
                self.syntax.write_line(event.fields().keys().map(|name| Some(name.to_string().into_bytes())), out);
            } else {
                self.syntax.write_line(self.columns.iter().map(|name| Some(name.to_string().into_bytes())), out);
            }
        }
        if self.columns.is_empty() {
            self.syntax.write_values(event.fields().iter().map(|(_, value)| Some(value)), out);
        } else {
            self.syntax.write_values(self.columns.iter().map(|field| event.get(field)), out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{codec, decoded, encoded, json};

    fn shown(options: &str, chunks: &[&str]) -> Vec<String> {
        let chunks: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();
        decoded(&format!("csv {{ ecs_compatibility => disabled {options} }}"), &chunks).iter().map(json).collect()
    }

    #[test]
    fn values_get_their_names() {
        assert_eq!(shown(r#"columns => ["a"]"#, &["1,,\"\"\n"]), [r#"{"a":"1","column2":null,"column3":""}"#]);
        assert_eq!(shown(r#"columns => ["a"] autogenerate_column_names => false"#, &["1,2"]), [r#"{"a":"1"}"#]);
        assert_eq!(shown("skip_empty_columns => true", &["1,,\"\""]), [r#"{"column1":"1"}"#]);
        assert_eq!(shown(r#"target => "[t]""#, &["1"]), [r#"{"t":{"column1":"1"}}"#]);
        assert_eq!(
            shown("autodetect_column_names => true", &["x,y", "1,2", "3"]),
            [r#"{"x":"1","y":"2"}"#, r#"{"x":"3"}"#]
        );
        assert!(shown("", &["", "\n"]).is_empty());
    }

    #[test]
    fn a_line_of_a_hundred_thousand_values_is_no_endless_loop() {
        let line = "1,".repeat(100_000) + "\r\n2,3";
        let read = shown("", &[&line]);
        assert!(read.len() == 1 && read[0].ends_with(r#""column100000":"1","column100001":null}"#));
    }

    #[test]
    fn the_text_is_kept_with_ecs_unless_it_cannot_be_read() {
        let events = decoded("csv { }", &[b"1,2", b"a,\"b"]);
        assert_eq!(json(&events[0]), r#"{"column1":"1","column2":"2","event":{"original":"1,2"}}"#);
        assert_eq!(json(&events[1]), r#"{"message":"a,\"b","tags":["_csvparsefailure"]}"#);
    }

    #[test]
    fn values_are_converted() {
        let options = r#"columns => ["i", "f", "b"] convert => { "i" => "integer" "f" => "float" "b" => "boolean" }"#;
        assert_eq!(
            shown(options, &["0x1f,1.5, TRUE ", "x,y,z", ",,"]),
            [r#"{"i":31,"f":1.5,"b":true}"#, r#"{"i":"x","f":"y","b":"z"}"#, r#"{"i":null,"f":null,"b":null}"#]
        );
        assert!(codec(r#"csv { convert => { "a" => "text" } }"#).err().unwrap().contains("Invalid conversion types"));
    }

    #[test]
    fn events_are_written_as_lines() {
        let at = r#""@timestamp":"2020-01-02T03:04:05.006Z""#;
        let event = format!(r#"{{{at},"a":"x,y","b":1.0,"c":[1,{{"k":null}}],"d":"","e":null}}"#);
        assert_eq!(
            encoded(r#"csv { columns => ["a","b","c","d","e","@timestamp"] include_headers => true }"#, &[&event]),
            "a,b,c,d,e,@timestamp\n\"x,y\",1.0,\"[1, {\"\"k\"\" => nil}]\",\"\",,2020-01-02T03:04:05.006Z\n"
        );
        let headers = r#"csv { columns => ["a"] include_headers => true }"#;
        assert_eq!(encoded(headers, &[r#"{"a":1}"#, r#"{"a":2}"#]), "a\n1\n2\n");
        assert_eq!(
            encoded(r#"csv { columns => ["[a][b]"] separator => ";" }"#, &[r#"{"a":{"b":"x;\"y"}}"#]),
            "\"x;\"\"y\"\n"
        );
        assert_eq!(encoded(r#"csv { columns => ["a"] quote_char => "\x00" }"#, &[r#"{"a":"x\"y"}"#]), "x\"y\n");
    }
}
