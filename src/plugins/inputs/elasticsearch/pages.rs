//! One run of a query: hits page by page, with a scroll or behind the last hit at a point in time.

use std::time::Duration;

use futures_util::future::try_join_all;
use reqwest::Method;
use serde_json::{Value as Json, json};

use super::cursor::Cursor;
use super::options::{Response, SearchApi, Settings};
use super::query::Filled;
use super::{Broken, LOG, hit, push};
use crate::event::{Event, Value, json as own_json};
use crate::plugins::elasticsearch::about::{Product, Server};
use crate::plugins::elasticsearch::esql;
use crate::plugins::elasticsearch::search::{Failure, Searcher, index_path, take_hits};
use crate::plugins::{InputSink, Stop};

/// Time between two attempts at one page.
const PAUSE: Duration = Duration::from_secs(1);
/// Points in time sort by themselves from these versions on.
const ELASTICSEARCH_SINCE: (u32, u32) = (7, 12);
const OPENSEARCH_SINCE: (u32, u32) = (3, 3);

/// One run.
pub(super) struct Run<'a> {
    pub settings: &'a Settings,
    pub searcher: &'a Searcher,
    pub cursor: Option<&'a Cursor>,
    pub sink: &'a InputSink,
    pub stop: &'a Stop,
}

/// How a question may be asked again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// The same question has the same answer.
    Always,
    /// The server goes on by answering: only when it is certain that it has not.
    UnlessUncertain,
}

impl Run<'_> {
    /// Gets everything and gives it to the pipeline.
    pub async fn to_end(&self, query: Filled) -> Result<(), Broken> {
        let query = match query {
            Filled::Esql(text) => return self.rows(&text).await,
            Filled::Dsl(query) => query,
        };
        if self.settings.response == Response::Aggregations {
            return self.aggregations(&query).await;
        }
        let server = self.asking(Repeat::Always, || self.searcher.server()).await?;
        match self.settings.search_api {
            SearchApi::Scroll => self.scroll_all(&query).await,
            SearchApi::Auto if server.product == Product::OpenSearch || server.major < 8 => {
                self.scroll_all(&query).await
            }
            SearchApi::Auto | SearchApi::SearchAfter => self.search_after_all(&query, server).await,
        }
    }

    async fn rows(&self, query: &str) -> Result<(), Broken> {
        let rows = self.asking(Repeat::Always, || esql::ask(self.searcher, query, &[])).await?;
        let events = rows.into_iter().map(|row| self.settings.places.placed(row)).collect();
        self.give(events).await
    }

    async fn aggregations(&self, query: &Json) -> Result<(), Broken> {
        let path = format!("{}/_search?size=0", index_path(&self.settings.index));
        let search = || self.searcher.search(Method::POST, &path, Some(query));
        let mut answer = self.asking(Repeat::Always, search).await?;
        match answer.remove("aggregations") {
            Some(Value::Map(found)) => self.give(vec![self.settings.places.placed(found)]).await,
            _ => {
                tracing::warn!(target: LOG, "The answer holds no aggregations: the query asks for none");
                Ok(())
            }
        }
    }

    async fn scroll_all(&self, query: &Json) -> Result<(), Broken> {
        try_join_all(self.slices(query).map(|body| self.scroll(body))).await.map(|_| ())
    }

    async fn scroll(&self, body: Json) -> Result<(), Broken> {
        let (index, keep, size) = (index_path(&self.settings.index), &self.settings.keep_alive, self.settings.size);
        let path = format!("{index}/_search?scroll={keep}&size={size}");
        let first = || self.searcher.search(Method::POST, &path, Some(&body));
        let mut answer = self.asking(Repeat::Always, first).await?;
        loop {
            let id = answer.get("_scroll_id").and_then(Value::as_str).map(str::to_owned);
            let hits = take_hits(&mut answer);
            let is_last = hits.is_empty();
            let given = self.give_hits(hits).await;
            let Some(id) = id.filter(|_| given.is_ok() && !is_last) else {
                self.clear(answer.get("_scroll_id").and_then(Value::as_str), "/_search/scroll", "scroll_id").await;
                return given;
            };
            let next = json!({ "scroll": keep, "scroll_id": id });
            let page = || self.searcher.search(Method::POST, "/_search/scroll", Some(&next));
            answer = self.asking(Repeat::UnlessUncertain, page).await?;
        }
    }

    async fn search_after_all(&self, query: &Json, server: Server) -> Result<(), Broken> {
        let api = PointApi::of(server).map_err(Broken::Refused)?;
        let path = format!("{}{}?keep_alive={}", index_path(&self.settings.index), api.open, self.settings.keep_alive);
        let open = || self.searcher.ask(Method::POST, &path, None);
        let opened = self.asking(Repeat::Always, open).await?;
        let id = opened.get(api.opened).and_then(Value::as_str);
        let Some(id) = id else { return Err(Broken::Failed("a point in time was opened without an id".to_owned())) };
        let all = self.slices(query).map(|body| self.search_after(body, id.to_owned()));
        let ended = try_join_all(all).await.map(|_| ());
        self.clear(Some(id), api.close, api.closed).await;
        ended
    }

    async fn search_after(&self, mut body: Json, mut point: String) -> Result<(), Broken> {
        let path = format!("/_search?size={}", self.settings.size);
        if body.get("sort").is_none() {
            set(&mut body, "sort", json!([{ "_shard_doc": "asc" }]));
        }
        loop {
            set(&mut body, "pit", json!({ "id": point, "keep_alive": self.settings.keep_alive }));
            let page = || self.searcher.search(Method::POST, &path, Some(&body));
            let mut answer = self.asking(Repeat::Always, page).await?;
            if let Some(new) = answer.get("pit_id").and_then(Value::as_str) {
                new.clone_into(&mut point);
            }
            let hits = take_hits(&mut answer);
            let Some(last) = hits.last() else { return Ok(()) };
            let Some(after) = last.as_map().and_then(|hit| hit.get("sort")).and_then(as_json) else {
                return Err(Broken::Failed("hits come without `sort`: there is no way to the next page".to_owned()));
            };
            set(&mut body, "search_after", after);
            self.give_hits(hits).await?;
        }
    }

    /// The body of each slice.
    fn slices(&self, query: &Json) -> impl Iterator<Item = Json> {
        let (count, query) = (self.settings.slices, query.clone());
        (0..count).map(move |number| {
            let mut body = query.clone();
            if count > 1 {
                set(&mut body, "slice", json!({ "id": number, "max": count }));
            }
            body
        })
    }

    async fn give_hits(&self, hits: Vec<Value>) -> Result<(), Broken> {
        let event = |hit: Value| match hit {
            Value::Map(hit) if self.sink.gives_ids() => {
                let part = |name: &str| hit.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                let (index, id) = (part("_index"), part("_id"));
                let mut event = self.settings.places.event(hit);
                hit::name(&mut event, &index, &id);
                event
            }
            Value::Map(hit) => self.settings.places.event(hit),
            other => self.settings.places.event([("_source", other)].into_iter().collect()),
        };
        self.give(hits.into_iter().map(event).collect()).await
    }

    async fn give(&self, events: Vec<Event>) -> Result<(), Broken> {
        let lease = self.cursor.and_then(|cursor| cursor.lend(&events));
        if events.is_empty() {
            return Ok(());
        }
        push(self.sink, events, lease).await
    }

    /// Asks, and asks again as often as `retries` says, where that is safe.
    async fn asking<T, F>(&self, repeat: Repeat, mut question: impl FnMut() -> F) -> Result<T, Broken>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut left = self.settings.retries;
        loop {
            let asked = tokio::select! {
                asked = question() => asked,
                () = self.stop.cancelled() => return Err(Broken::Stopped),
            };
            let failure = match asked {
                Ok(answer) => return Ok(answer),
                Err(failure) if !failure.is_passing() => return Err(Broken::Refused(failure.to_string())),
                Err(failure) => failure,
            };
            if left == 0 || (repeat == Repeat::UnlessUncertain && failure.is_uncertain()) {
                return Err(Broken::Failed(failure.to_string()));
            }
            left -= 1;
            tracing::warn!(target: LOG, "Asking again in {} s: {failure}", PAUSE.as_secs());
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = self.stop.cancelled() => return Err(Broken::Stopped),
            }
        }
    }

    /// Lets the server forget; it does so by itself after a while.
    async fn clear(&self, id: Option<&str>, path: &str, name: &str) {
        let Some(id) = id else { return };
        let body = json!({ name: if name == "id" { json!(id) } else { json!([id]) } });
        if let Err(failure) = self.searcher.ask(Method::DELETE, path, Some(&body)).await {
            tracing::debug!(target: LOG, "the server keeps a search open until its time is over: {failure}");
        }
    }
}

/// How points in time are opened and closed.
struct PointApi {
    open: &'static str,
    /// Member of the answer.
    opened: &'static str,
    close: &'static str,
    /// Member of the request.
    closed: &'static str,
}

impl PointApi {
    fn of(server: Server) -> Result<Self, String> {
        let (is_opensearch, version) = (server.product == Product::OpenSearch, (server.major, server.minor));
        let since = if is_opensearch { OPENSEARCH_SINCE } else { ELASTICSEARCH_SINCE };
        if version < since {
            return Err(format!(
                "`search_api => search_after` needs a server of version {}.{} or newer, and this one has {}.{}: use scroll",
                since.0, since.1, version.0, version.1
            ));
        }
        Ok(if is_opensearch {
            let path = "/_search/point_in_time";
            Self { open: path, opened: "pit_id", close: path, closed: "pit_id" }
        } else {
            Self { open: "/_pit", opened: "id", close: "/_pit", closed: "id" }
        })
    }
}

fn set(body: &mut Json, name: &str, value: Json) {
    if let Some(body) = body.as_object_mut() {
        body.insert(name.to_owned(), value);
    }
}

/// Sort values go back as they came.
fn as_json(value: &Value) -> Option<Json> {
    let mut text = Vec::new();
    own_json::write_value(value, &mut text);
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_time_by_server() {
        let api = |product, major, minor| PointApi::of(Server { product, major, minor }).map(|api| api.open);
        assert_eq!(api(Product::Elasticsearch, 8, 19), Ok("/_pit"));
        assert_eq!(api(Product::OpenSearch, 3, 8), Ok("/_search/point_in_time"));
        for (product, major, minor) in [(Product::OpenSearch, 2, 19), (Product::Elasticsearch, 7, 10)] {
            assert!(api(product, major, minor).is_err_and(|why| why.contains("use scroll")));
        }
    }
}
