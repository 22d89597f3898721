//! From a request to its answer.

use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::{Bytes as Content, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, EXPECT, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Request, Response, StatusCode};
use tokio::sync::oneshot;

use super::body::{Bodies, Refusal};
use super::credentials::{Credentials, Verdict};
use super::fields::Fields;
use super::gate::{Gate, Pass};
use crate::event::{Bytes, Event};
use crate::plugins::{Decoders, InputSink, Lease, Stop};

/// What an answer is.
pub(super) type Answer = Response<Full<Content>>;

/// Answers requests.
pub(super) struct Service {
    pub credentials: Option<Credentials>,
    pub decoders: Decoders,
    pub by_type: Vec<(String, Decoders)>,
    pub fields: Fields,
    /// Status and headers of the answer to a request that was taken.
    pub code: u16,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether to wait until the events are delivered.
    pub acknowledged: bool,
    pub gate: Gate,
    pub bodies: Bodies,
}

impl Service {
    /// Takes the events of a request.
    pub async fn answer(&self, request: Request<Incoming>, peer: SocketAddr, sink: &InputSink, stop: &Stop) -> Answer {
        let (head, body) = request.into_parts();
        if self.gate.is_stuck() {
            // One who waits to be asked for the body may keep the connection.
            return busy(!head.headers.contains_key(EXPECT));
        }
        match self.credentials.as_ref().map_or(Verdict::Known, |credentials| credentials.judge(&head.headers)) {
            Verdict::Known => {}
            Verdict::Unknown => return empty(StatusCode::UNAUTHORIZED),
            Verdict::Absent => {
                let mut answer = empty(StatusCode::UNAUTHORIZED);
                let realm = HeaderValue::from_static("Basic realm=\"Logstash HTTP Input\"");
                answer.headers_mut().insert(WWW_AUTHENTICATE, realm);
                return answer;
            }
        }
        let content = tokio::select! {
            content = self.bodies.read(body, &head.headers) => content,
            // It was not taken, so it comes again.
            () = stop.cancelled() => return closing(text(StatusCode::SERVICE_UNAVAILABLE, "stopping")),
        };
        let content = match content {
            Ok(content) => content,
            Err(Refusal::TooLarge) => return closing(text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")),
            Err(Refusal::Broken(why)) => return closing(text(StatusCode::BAD_REQUEST, &why)),
            Err(Refusal::TooSlow) => return closing(text(StatusCode::REQUEST_TIMEOUT, "the body did not come")),
            Err(Refusal::NoMemory) => return busy(true),
        };
        let Some(pass) = self.gate.enter() else { return busy(false) };
        let mut events: Vec<Event> = Vec::new();
        let mut decoder = self.decoders(&head.headers).create();
        decoder.decode(Bytes::from(content.take()), &mut events);
        decoder.flush(&mut events);
        self.fields.put(&head, peer, &mut events);
        if self.deliver(events, sink, pass).await { self.taken() } else { empty(StatusCode::INTERNAL_SERVER_ERROR) }
    }

    /// Hands events over; whether that went well.
    async fn deliver(&self, events: Vec<Event>, sink: &InputSink, pass: Pass) -> bool {
        if !self.acknowledged {
            return sink.push(events, None).await.is_ok();
        }
        let (settled, delivered) = oneshot::channel();
        // Nobody listens any more when the sender has gone.
        let lease = Lease::new(move |ok| {
            let _ = settled.send(ok);
        });
        if sink.push(events, Some(lease)).await.is_err() {
            return false;
        }
        drop(pass);
        delivered.await.unwrap_or(false)
    }

    fn decoders(&self, headers: &HeaderMap) -> &Decoders {
        let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let special = self.by_type.iter().find(|(known, _)| *known == media_type);
        special.map_or(&self.decoders, |(_, decoders)| decoders)
    }

    fn taken(&self) -> Answer {
        let status = StatusCode::from_u16(self.code).unwrap_or(StatusCode::OK);
        let has_body = status != StatusCode::NO_CONTENT;
        let mut answer = if has_body { text(status, "ok") } else { empty(status) };
        for (name, value) in self.headers.iter().filter(|(name, _)| *name != CONTENT_TYPE || !has_body) {
            answer.headers_mut().append(name.clone(), value.clone());
        }
        answer
    }
}

fn busy(close: bool) -> Answer {
    let answer = empty(StatusCode::TOO_MANY_REQUESTS);
    if close { closing(answer) } else { answer }
}

fn closing(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

fn text(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::from(text.to_owned()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    answer
}
