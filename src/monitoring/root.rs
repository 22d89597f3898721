//! `GET /`: which program this is, and waiting until it is healthy.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::Api;
use super::health::{self, Status};
use super::reply::{Request, object};
use crate::settings::kind;

/// How often the status is looked at while a client waits for it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Answers at once, or with `wait_for_status` as soon as the status is that or better.
pub(super) async fn root(State(api): State<Api>, request: Request) -> Response {
    match wanted(&request) {
        Err(message) => return request.error(StatusCode::BAD_REQUEST, &message),
        Ok(Some((status, timeout))) if !reached(&api, status, timeout).await => {
            let message = format!("timed out waiting for status [{}]", status.as_str());
            return request.error(StatusCode::REQUEST_TIMEOUT, &message);
        }
        Ok(_) => {}
    }
    let build = json!({
        "build_date": "unknown",
        "build_sha": "unknown",
        "build_snapshot": false,
    });
    request.answer(&api.node, object(build))
}

/// The status to wait for and how long, or what is wrong with the parameters.
fn wanted(request: &Request) -> Result<Option<(Status, Duration)>, String> {
    let status = match request.parameter("wait_for_status") {
        None => None,
        Some(word) => Some(
            [Status::Green, Status::Yellow, Status::Red]
                .into_iter()
                .find(|status| status.as_str() == word)
                .ok_or_else(|| format!("unknown status [{word}], expected green, yellow or red"))?,
        ),
    };
    let timeout = match request.parameter("timeout") {
        None => None,
        Some(text) => Some(
            kind::span(text)
                .ok_or_else(|| format!("invalid timeout [{text}], expected a whole number with a unit, as in 3s"))?,
        ),
    };
    match (status, timeout) {
        (None, _) => Ok(None),
        (Some(status), Some(timeout)) => Ok(Some((status, timeout))),
        (Some(_), None) => Err("`wait_for_status` needs a `timeout`, as in timeout=3s".to_owned()),
    }
}

async fn reached(api: &Api, wanted: Status, timeout: Duration) -> bool {
    let asked = Instant::now();
    loop {
        let status = health::status(&api.node);
        if status != Status::Unknown && status <= wanted {
            return true;
        }
        let left = timeout.saturating_sub(asked.elapsed());
        if left.is_zero() {
            return false;
        }
        tokio::select! {
            () = sleep(LOOK_EVERY.min(left)) => {}
            () = api.stop.cancelled() => return false,
        }
    }
}
