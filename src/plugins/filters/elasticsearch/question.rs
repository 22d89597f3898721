//! What is asked about an event.

use std::path::Path;

use reqwest::Method;
use serde_json::Value as Json;

use crate::event::{EscapeStyle, Event, FieldRef, Map, Template, Value, json};
use crate::plugins::elasticsearch::endpoint::encoded;
use crate::plugins::elasticsearch::esql;
use crate::plugins::elasticsearch::search::{Failure, Searcher, index_path};

/// A question that is asked about each event.
pub(super) enum Question {
    /// `query`: words of the query string language, in the address.
    Words { index: Template, words: Template, size: i64, sort: Option<String> },
    /// `query_template`: the body of a search.
    Body { index: Template, body: Body },
    /// `query_type => esql`, with the parameters that it names.
    Esql { query: String, params: Vec<(String, Param)> },
}

/// An answer.
pub(super) enum Answer {
    /// Of a search.
    Search(Map),
    /// Of ES|QL.
    Rows(Vec<Map>),
}

/// The body of a search with places for values of the event.
pub(super) enum Body {
    /// JSON whose texts are templates: whatever a field holds, the body stays what it is.
    Tree(Node),
    /// JSON only once values stand in it (`"size": %{n}`), which are pasted in as they are.
    Text(Template),
}

/// A part of a body.
pub(super) enum Node {
    Fixed(Json),
    Text(Template),
    List(Vec<Node>),
    Object(Vec<(Template, Node)>),
}

/// The value of a parameter.
pub(super) enum Param {
    /// Of that field.
    Field(FieldRef),
    /// With fields in it.
    Text(Template),
    /// As it is.
    Fixed(Json),
}

impl Question {
    /// Asks.
    pub async fn ask(&self, searcher: &Searcher, event: &Event) -> Result<Answer, Failure> {
        match self {
            Self::Words { index, words, size, sort } => {
                let sort = sort.as_ref().map(|sort| format!("&sort={}", encoded(sort))).unwrap_or_default();
                let words = encoded(&words.render(event));
                let path = format!("{}/_search?q={words}&size={size}{sort}", index_path(&index.render(event)));
                searcher.search(Method::GET, &path, None).await.map(Answer::Search)
            }
            Self::Body { index, body } => {
                let path = format!("{}/_search", index_path(&index.render(event)));
                let body = body.filled(event)?;
                searcher.search(Method::POST, &path, Some(&body)).await.map(Answer::Search)
            }
            Self::Esql { query, params } => {
                let params: Vec<_> = params.iter().map(|(name, param)| (name.clone(), param.value(event))).collect();
                esql::ask(searcher, query, &params).await.map(Answer::Rows)
            }
        }
    }
}

impl Body {
    /// Reads a file of `query_template`.
    pub fn read(path: &Path, style: EscapeStyle) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text, style).map_err(|why| format!("{}: {why}", path.display()))
    }

    fn parse(text: &str, style: EscapeStyle) -> Result<Self, String> {
        match serde_json::from_str(text) {
            Ok(json) => Node::compile(json, style).map(Self::Tree),
            Err(_) if text.contains("%{") => compiled(text, style).map(Self::Text),
            Err(error) => Err(format!("it is not JSON: {error}")),
        }
    }

    fn filled(&self, event: &Event) -> Result<Json, Failure> {
        match self {
            Self::Tree(node) => Ok(node.filled(event)),
            Self::Text(template) => serde_json::from_str(&template.render(event)).map_err(|error| Failure::Senseless {
                url: "query_template".to_owned(),
                why: format!("with the values of the event it is not JSON: {error}"),
            }),
        }
    }
}

impl Node {
    fn compile(json: Json, style: EscapeStyle) -> Result<Self, String> {
        Ok(match json {
            Json::String(text) => Self::Text(compiled(&text, style)?),
            Json::Array(list) => {
                Self::List(list.into_iter().map(|json| Self::compile(json, style)).collect::<Result<_, _>>()?)
            }
            Json::Object(object) => {
                let member = |(name, json): (String, Json)| Ok((compiled(&name, style)?, Self::compile(json, style)?));
                Self::Object(object.into_iter().map(member).collect::<Result<_, String>>()?)
            }
            other => Self::Fixed(other),
        })
    }

    fn filled(&self, event: &Event) -> Json {
        match self {
            Self::Fixed(json) => json.clone(),
            Self::Text(template) => Json::from(template.render(event).as_str()),
            Self::List(list) => list.iter().map(|node| node.filled(event)).collect(),
            Self::Object(members) => {
                let member = |(name, node): &(Template, Node)| (name.render(event).to_string(), node.filled(event));
                Json::Object(members.iter().map(member).collect())
            }
        }
    }
}

fn compiled(text: &str, style: EscapeStyle) -> Result<Template, String> {
    Template::compile(text, style).map_err(|error| error.to_string())
}

impl Param {
    /// Of a value in `query_params`: a reference such as `[user][id]` is the field, other texts are templates.
    pub fn new(value: &Value, style: EscapeStyle) -> Result<Self, String> {
        match value.as_str() {
            Some(text) if text.starts_with('[') && text.ends_with(']') => {
                FieldRef::parse(text, style).map(Self::Field).map_err(|error| error.to_string())
            }
            Some(text) => compiled(text, style).map(Self::Text),
            None => Ok(Self::Fixed(as_json(value))),
        }
    }

    fn value(&self, event: &Event) -> Json {
        match self {
            Self::Field(field) => event.value_of(field).as_ref().map_or(Json::Null, as_json),
            Self::Text(template) => Json::from(template.render(event).as_str()),
            Self::Fixed(json) => json.clone(),
        }
    }
}

fn as_json(value: &Value) -> Json {
    let mut text = Vec::new();
    json::write_value(value, &mut text);
    serde_json::from_slice(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::event;

    fn filled(text: &str, with: &str) -> Result<String, String> {
        let body = Body::parse(text, EscapeStyle::None)?;
        body.filled(&event(with)).map(|json| json.to_string()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn values_of_the_event_cannot_break_out_of_their_texts() {
        let body = r#"{"query":{"term":{"user":"%{u}"}},"size":1}"#;
        assert_eq!(filled(body, r#"{"u":"a"}"#).unwrap(), r#"{"query":{"term":{"user":"a"}},"size":1}"#);
        assert_eq!(
            filled(body, r#"{"u":"\"}},\"x\":{"}"#).unwrap(),
            r#"{"query":{"term":{"user":"\"}},\"x\":{"}},"size":1}"#
        );
    }

    #[test]
    fn numbers_can_be_pasted_in() {
        assert_eq!(filled(r#"{"size":%{n}}"#, r#"{"n":5}"#).unwrap(), r#"{"size":5}"#);
        assert!(filled(r#"{"size":%{n}}"#, "{}").is_err_and(|why| why.contains("not JSON")));
        assert!(filled("{", "{}").is_err_and(|why| why.contains("not JSON")));
    }
}
