//! A ClickHouse node that does as it is told: it pings, lists the nodes of a cluster, and answers inserts by a script.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value as Json;

use crate::elasticsearch_support::server::{Reply, Request, Server};

/// An insert as it came.
#[derive(Clone, Debug)]
pub struct Insert {
    /// As in the statement: "`logs`".
    pub table: String,
    pub token: String,
    pub query: BTreeMap<String, String>,
    pub headers: Vec<(String, String)>,
    /// Not compressed.
    pub body: Vec<u8>,
    pub rows: Vec<Json>,
}

impl Insert {
    /// The place of the first row for which this is true, counted from 1.
    pub fn first(&self, is_it: impl Fn(&Json) -> bool) -> Option<usize> {
        self.rows.iter().position(is_it).map(|at| at + 1)
    }
}

type Script = Box<dyn FnMut(&Insert) -> Option<Reply> + Send>;

struct State {
    inserts: Vec<Insert>,
    stored: Vec<(String, Json)>,
    tokens: HashSet<String>,
    pings: usize,
    script: Script,
    /// What it answers to other questions; the first text that the statement holds decides.
    answers: Vec<(&'static str, Reply)>,
}

/// A running node.
pub struct Node {
    pub server: Server,
    state: Arc<Mutex<State>>,
}

impl Node {
    /// Stores what comes.
    pub fn start() -> Self {
        Self::with(|_| None)
    }

    /// Answers inserts by a script; `None` stores.
    pub fn with(script: impl FnMut(&Insert) -> Option<Reply> + Send + 'static) -> Self {
        Self::at(("127.0.0.1", 0), script)
    }

    /// At another address of this machine.
    pub fn at(place: (&'static str, u16), script: impl FnMut(&Insert) -> Option<Reply> + Send + 'static) -> Self {
        let state = Self::state(script);
        let shared = state.clone();
        Self { server: Server::start_at(place, move |request| answer(&shared, request)), state }
    }

    /// Speaks TLS.
    pub fn with_tls(tls: Arc<rustls::ServerConfig>) -> Self {
        let state = Self::state(|_| None);
        let shared = state.clone();
        Self { server: Server::start_tls(tls, move |request| answer(&shared, request)), state }
    }

    fn state(script: impl FnMut(&Insert) -> Option<Reply> + Send + 'static) -> Arc<Mutex<State>> {
        Arc::new(Mutex::new(State {
            inserts: Vec::new(),
            stored: Vec::new(),
            tokens: HashSet::new(),
            pings: 0,
            script: Box::new(script),
            answers: Vec::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Changes how inserts are answered.
    pub fn script(&self, script: impl FnMut(&Insert) -> Option<Reply> + Send + 'static) {
        self.lock().script = Box::new(script);
    }

    /// Answers statements that hold a text.
    pub fn answers(&self, to: &'static str, reply: Reply) {
        let mut state = self.lock();
        state.answers.retain(|(text, _)| *text != to);
        state.answers.push((to, reply));
    }

    /// All inserts, also those that were refused.
    pub fn inserts(&self) -> Vec<Insert> {
        self.lock().inserts.clone()
    }

    pub fn pings(&self) -> usize {
        self.lock().pings
    }

    /// Table and value of a field of each stored row, sorted.
    pub fn stored(&self, field: &str) -> Vec<(String, Json)> {
        let mut rows: Vec<_> =
            self.lock().stored.iter().map(|(table, row)| (table.clone(), row[field].clone())).collect();
        rows.sort_by_key(|(table, value)| (table.clone(), value.as_i64(), value.to_string()));
        rows
    }

    /// The values of `n` of each stored row, sorted.
    pub fn numbers(&self) -> Vec<i64> {
        let mut numbers: Vec<i64> = self.lock().stored.iter().map(|(_, row)| row["n"].as_i64().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// An error as a server of today writes it.
pub fn exception(status: u16, code: u32, text: &str) -> Reply {
    Reply::Http {
        status,
        headers: vec![("X-ClickHouse-Exception-Code".to_owned(), code.to_string())],
        body: format!("Code: {code}. DB::Exception: {text}\n: While executing. (NAME)").into_bytes(),
    }
}

/// Text with status 200.
pub fn text(body: &str) -> Reply {
    Reply::Http { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() }
}

fn answer(state: &Mutex<State>, request: &Request) -> Reply {
    let mut state = state.lock().unwrap();
    if request.path().ends_with("/ping") {
        state.pings += 1;
        return text("Ok.\n");
    }
    let query: BTreeMap<String, String> =
        url::form_urlencoded::parse(request.target.split_once('?').unwrap_or_default().1.as_bytes())
            .into_owned()
            .collect();
    let statement = query.get("query").cloned().unwrap_or_default();
    let Some(rest) = statement.strip_prefix("INSERT INTO ") else {
        let known = state.answers.iter().find(|(text, _)| statement.contains(text));
        return known.map_or_else(|| text("1\n"), |(_, reply)| reply.clone());
    };
    assert_eq!(request.method, "POST");
    let body = unpacked(request);
    let rows = body.split_inclusive(|b| *b == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect();
    let insert = Insert {
        table: rest.strip_suffix(" FORMAT JSONEachRow").unwrap().to_owned(),
        token: query.get("insert_deduplication_token").cloned().unwrap_or_default(),
        query,
        headers: request.headers.clone(),
        body,
        rows,
    };
    let reply = (state.script)(&insert);
    state.inserts.push(insert.clone());
    let is_refused = |reply: &Reply| match reply {
        Reply::Http { status, headers, .. } => *status != 200 || !headers.is_empty(),
        Reply::Late(..) => false,
        Reply::Close | Reply::Reset | Reply::Raw(_) => true,
    };
    if reply.as_ref().is_some_and(is_refused) {
        return reply.unwrap();
    }
    if insert.token.is_empty() || state.tokens.insert(insert.token.clone()) {
        state.stored.extend(insert.rows.iter().map(|row| (insert.table.clone(), row.clone())));
    }
    reply.unwrap_or_else(|| text(""))
}

fn unpacked(request: &Request) -> Vec<u8> {
    let body = request.body.as_slice();
    let mut out = Vec::new();
    match request.header("content-encoding") {
        None => out.extend_from_slice(body),
        Some("gzip") => drop(flate2::read::GzDecoder::new(body).read_to_end(&mut out).unwrap()),
        Some("zstd") => drop(zstd::Decoder::new(body).unwrap().read_to_end(&mut out).unwrap()),
        Some("lz4") => drop(lz4_flex::frame::FrameDecoder::new(body).read_to_end(&mut out).unwrap()),
        Some(other) => panic!("{other}"),
    }
    out
}
