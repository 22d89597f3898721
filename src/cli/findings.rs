//! What was found by `check`, in the forms that other programs read.

use serde_json::{Value, json};

use crate::version;

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// For people: with the line and a caret.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// Commands that make GitHub show each one beside its line.
    Github,
    /// SARIF 2.1.0, which code scanners exchange.
    Sarif,
}

impl Format {
    /// The words for it.
    pub const WORDS: &[(&str, Self)] =
        &[("text", Self::Text), ("json", Self::Json), ("github", Self::Github), ("sarif", Self::Sarif)];

    pub fn parse(word: &str) -> Result<Self, String> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, format)| *format);
        found.ok_or_else(|| format!("--format `{word}`: expected text, json, github or sarif"))
    }
}

/// One line for each finding, as GitHub's workflow commands want it. `findings` are those of [`super::report::json`].
pub(super) fn github(findings: &[Value]) -> String {
    let mut out = String::new();
    for finding in findings {
        let command = match text(finding, "level") {
            "error" => "error",
            "warning" => "warning",
            _ => "notice",
        };
        let mut properties = Vec::new();
        for (name, member) in [
            ("file", "file"),
            ("line", "line"),
            ("col", "column"),
            ("endLine", "end_line"),
            ("endColumn", "end_column"),
        ] {
            match finding.get(member) {
                Some(Value::String(value)) => properties.push(format!("{name}={}", escaped(value, true))),
                Some(Value::Number(value)) => properties.push(format!("{name}={value}")),
                _ => {}
            }
        }
        properties.push(format!("title={}", escaped(text(finding, "code"), true)));
        let message = escaped(&with_help(finding), false);
        out += &format!("::{command} {}::{message}\n", properties.join(","));
    }
    out
}

/// What a workflow command takes for text; in a property the signs that part properties as well.
fn escaped(text: &str, is_property: bool) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    if is_property { text.replace(':', "%3A").replace(',', "%2C") } else { text }
}

/// A log of one run. `findings` as in [`github`].
pub(super) fn sarif(findings: &[Value]) -> Value {
    let mut codes: Vec<&str> = findings.iter().map(|finding| text(finding, "code")).collect();
    codes.sort_unstable();
    codes.dedup();
    let rules: Vec<Value> = codes.iter().map(|code| json!({ "id": code })).collect();
    let driver = json!({ "name": "spillway", "version": version::SPILLWAY, "rules": rules });
    json!({
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "tool": { "driver": driver },
            // Columns count characters, not the halves that UTF-16 has for some of them.
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(sarif_result).collect::<Vec<_>>(),
        }],
    })
}

fn sarif_result(finding: &Value) -> Value {
    let mut result = json!({
        "ruleId": text(finding, "code"), "level": text(finding, "level"), "message": { "text": with_help(finding) },
    });
    if let Some(place) = sarif_place(finding) {
        result["locations"] = json!([place]);
    }
    let related = finding.get("related").and_then(Value::as_array).into_iter().flatten();
    let related: Vec<Value> = related.filter_map(sarif_related).collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    result
}

fn sarif_related(finding: &Value) -> Option<Value> {
    let mut place = sarif_place(finding)?;
    place["message"] = json!({ "text": text(finding, "label") });
    Some(place)
}

fn sarif_place(finding: &Value) -> Option<Value> {
    let file = finding.get("file")?.as_str()?;
    let member = |name: &str| finding.get(name).cloned().unwrap_or_default();
    let region = json!({
        "startLine": member("line"), "startColumn": member("column"),
        "endLine": member("end_line"), "endColumn": member("end_column"),
    });
    Some(json!({ "physicalLocation": { "artifactLocation": { "uri": file }, "region": region } }))
}

fn text<'f>(finding: &'f Value, member: &str) -> &'f str {
    finding.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn with_help(finding: &Value) -> String {
    match finding.get("help").and_then(Value::as_str) {
        Some(help) => format!("{}. {help}", text(finding, "message")),
        None => text(finding, "message").to_owned(),
    }
}
