//! `/_node/logging`: which loggers say how much, and changing that while the program runs.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::Api;
use super::reply::{Request, object};
use crate::settings::LogLevel;

/// `GET`: the level of every logger that ever spoke.
pub(super) async fn levels(State(api): State<Api>, request: Request) -> Response {
    let loggers: Map<String, Value> =
        api.levels.all().into_iter().map(|(name, level)| (name, json!(level.as_str()))).collect();
    request.answer(&api.node, object(json!({ "loggers": loggers })))
}

/// `PUT`: `{"logger.<name>": "<level>"}`. What comes before a mistake is applied, and the mistake is told with 200, as
/// Logstash does.
pub(super) async fn set(State(api): State<Api>, request: Request, body: Bytes) -> Response {
    let answer = match set_all(&api, &body) {
        Ok(()) => json!({ "acknowledged": true }),
        Err(error) => json!({ "error": error }),
    };
    request.answer(&api.node, object(answer))
}

/// `PUT /_node/logging/reset`: back to the settings.
pub(super) async fn reset(State(api): State<Api>, request: Request) -> Response {
    api.levels.reset();
    request.answer(&api.node, object(json!({ "acknowledged": true })))
}

fn set_all(api: &Api, body: &[u8]) -> Result<(), String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("the body is no JSON object: {error}"))?;
    let Value::Object(wanted) = body else { return Err("the body is no JSON object".to_owned()) };
    for (key, level) in wanted {
        let Some(logger) = key.strip_prefix("logger.") else { return Err(format!("unrecognized option [{key}]")) };
        let word = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
        let parsed = LogLevel::parse(&word.to_ascii_lowercase());
        let level = parsed.ok_or_else(|| format!("invalid level[{word}] for logger[{logger}]"))?;
        api.levels.set(logger, level);
    }
    Ok(())
}
