//! Runs a scenario of `cases/elasticsearch-output.yml`: the program against a scripted server.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::bulk;
use super::eventually;
use super::program::{Program, is_line};
use super::server::{Reply, Request, Server};

/// How long a scenario may take to show what it expects.
const PATIENCE: Duration = Duration::from_secs(40);

/// Runs a scenario; the error says what is not as expected.
pub fn run(case: &Json) -> Result<(), String> {
    Scenario::new(case).run()
}

struct Scenario<'a> {
    case: &'a Json,
    expect: &'a Json,
    server: Server,
    second: Server,
}

type Verdict = Result<(), String>;

fn check(is_true: bool, why: impl FnOnce() -> String) -> Verdict {
    if is_true { Ok(()) } else { Err(why()) }
}

impl<'a> Scenario<'a> {
    fn new(case: &'a Json) -> Self {
        let mut script = Script::new(&case["server"]);
        let server = Server::start(move |request| script.answer(request));
        let mut plain = Script::new(&Json::Null);
        let second = Server::start(move |request| plain.answer(request));
        Self { case, expect: &case["expect"], server, second }
    }

    fn run(&self) -> Verdict {
        let steps = self.steps();
        let mut steps: VecDeque<&Json> = steps.iter().collect();
        while let Some(step) = steps.front().filter(|step| step.get("server").is_some()) {
            self.switch(step["server"].as_str().unwrap());
            steps.pop_front();
        }
        let mut program = Program::start(&self.config(), &self.settings());
        for step in steps {
            if let Some(events) = step.get("send") {
                program.send(events.as_array().unwrap());
            } else if let Some(seconds) = step["wait_s"].as_f64() {
                std::thread::sleep(Duration::from_secs_f64(seconds));
            } else {
                self.switch(step["server"].as_str().unwrap());
            }
        }
        let refused = self.expect["start"] == "refused";
        if refused {
            let status = program.wait(PATIENCE);
            check(!status.success(), || "it started".to_owned())?;
        } else {
            eventually(PATIENCE, || {
                let ended = program.has_ended();
                let shown = self.requests_are_right().and_then(|()| self.log_is_right(&program));
                ended || shown.and_then(|()| self.metrics_are_right(&program)).is_ok()
            });
            let counted = self.metrics_are_right(&program);
            self.stops_as_expected(&mut program)?;
            let status = program.finish(PATIENCE);
            let log = || format!("it ended with {status}; its log:\n{}", program.log().join("\n"));
            let stops = self.expect["stops"].is_string();
            check(status.success() != stops, log)?;
            counted?;
        }
        let right = self.error_is_right(&program).and_then(|()| self.requests_are_right());
        let right =
            right.and_then(|()| self.log_is_right(&program)).and_then(|()| self.dead_letters_are_right(&program));
        right.map_err(|why| format!("{why}; its log:\n{}", program.log().join("\n")))
    }

    /// A pipeline that shuts itself down does so although its input goes on.
    fn stops_as_expected(&self, program: &mut Program) -> Verdict {
        let Some(words) = self.expect["stops"].as_str() else { return Ok(()) };
        let ended = eventually(PATIENCE, || program.has_ended());
        check(ended, || "it goes on".to_owned())?;
        check(program.has_logged("error", &[words]), || format!("no error says `{words}`"))
    }

    /// `events` is one step.
    fn steps(&self) -> Vec<Json> {
        if let Some(steps) = self.case["steps"].as_array() {
            return steps.clone();
        }
        let events = &self.case["events"];
        let Some(generate) = events.get("generate") else { return vec![json!({ "send": events })] };
        let pad = "x".repeat(generate["pad"]["bytes"].as_u64().unwrap_or(0) as usize);
        let event =
            |n| json!({ generate["field"].as_str().unwrap(): n, generate["pad"]["field"].as_str().unwrap(): pad });
        vec![json!({ "send": (0..generate["count"].as_u64().unwrap()).map(event).collect::<Vec<_>>() })]
    }

    fn switch(&self, to: &str) {
        if to == "down" { self.server.down() } else { self.server.up() }
    }

    fn config(&self) -> String {
        let hosts = [("${URL}", self.server.url()), ("${URL2}", self.second.url())];
        let config = self.case["config"].as_str().unwrap().to_owned();
        let config = hosts.iter().fold(config, |config, (name, url)| config.replace(name, url));
        config.replace("${HOSTPORT}", &format!("127.0.0.1:{}", self.server.port))
    }

    fn settings(&self) -> Vec<(&'a str, String)> {
        let mut settings: Vec<(&str, String)> = Vec::new();
        if let Some(own) = self.case["settings"].as_object() {
            settings.extend(own.iter().map(|(name, value)| (name.as_str(), value.to_string())));
        }
        // A batch is full when all events of a step are there, however long they take.
        let most = self.steps().iter().filter_map(|step| step["send"].as_array().map(Vec::len)).max().unwrap_or(0);
        settings.push(("pipeline.batch.size", most.max(1).to_string()));
        settings.push(("pipeline.batch.delay", "10000".to_owned()));
        settings
    }

    fn error_is_right(&self, program: &Program) -> Verdict {
        let Some(words) = self.expect["error"].as_str() else { return Ok(()) };
        let log = program.log().join("\n").to_lowercase();
        check(log.contains(&words.to_lowercase()), || format!("no error says `{words}`"))
    }

    fn requests_are_right(&self) -> Verdict {
        self.bulks_are_right("bulk", &self.server)?;
        self.bulks_are_right("bulk_second_server", &self.second)?;
        self.waits_are_right()?;
        if let Some(auth) = self.expect["auth_header"].as_str() {
            let requests = self.server.requests();
            let all = requests.iter().all(|request| request.header("authorization") == Some(auth));
            check(all && !requests.is_empty(), || "a request lacks the login".to_owned())?;
        }
        self.puts_are_right()?;
        let Some(expected) = self.expect["requests"].as_array() else { return Ok(()) };
        let others = self.server.requests().into_iter().filter(|request| !request.is_bulk());
        let seen: Vec<Json> = others.map(|r| Json::from(format!("{} {}", r.method, r.path()))).collect();
        if self.expect["exact"] == true {
            return check(seen == *expected, || format!("expected {expected:?}, got {seen:?}"));
        }
        let mut left = seen.iter();
        let in_order = expected.iter().all(|wanted| left.any(|request| request == wanted));
        check(in_order, || format!("expected in this order {expected:?}, got {seen:?}"))
    }

    fn puts_are_right(&self) -> Verdict {
        let requests = self.server.requests();
        let body = |path: &str| {
            let put = requests.iter().find(|request| request.method == "PUT" && request.path() == path);
            put.and_then(|put| serde_json::from_slice::<Json>(&put.body).ok()).ok_or(format!("no PUT {path}"))
        };
        for (path, expected) in self.expect["put_body"].as_object().into_iter().flatten() {
            let body = body(path)?;
            check(is_subset(expected, &body), || format!("expected {expected} in the body of {path}, got {body}"))?;
        }
        for (path, absent) in self.expect["put_body_absent"].as_object().into_iter().flatten() {
            let body = body(path)?.to_string();
            check(!body.contains(absent.as_str().unwrap()), || format!("{absent} is in {body}"))?;
        }
        Ok(())
    }

    fn bulks_are_right(&self, which: &str, server: &Server) -> Verdict {
        let Some(expected) = self.expect[which].as_array() else { return Ok(()) };
        let requests = server.bulks();
        let count = || {
            let ids: Vec<_> = requests.iter().map(bulk::ids).collect();
            format!("expected {} bulk requests, got {} with the ids {ids:?}", expected.len(), requests.len())
        };
        check(expected.len() == requests.len(), count)?;
        expected.iter().zip(&requests).try_for_each(|(expected, request)| bulk_is_right(expected, request))
    }

    fn waits_are_right(&self) -> Verdict {
        let Some(expected) = self.expect["waits_s"].as_array() else { return Ok(()) };
        let bulks = self.server.bulks();
        let waits = bulks.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64());
        for (expected, wait) in expected.iter().zip(waits) {
            // Upper bounds only say that it goes on at all: the machine may be busy.
            let least = expected[0].as_f64().unwrap();
            check(wait >= least, || format!("waited {wait} s, expected at least {least} s"))?;
        }
        Ok(())
    }

    fn log_is_right(&self, program: &Program) -> Verdict {
        let log = program.log();
        for expected in self.expect["log"].as_array().into_iter().flatten() {
            let words: Vec<&str> = expected["has"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
            let level = expected["level"].as_str().unwrap();
            let there = log.iter().any(|line| is_line(line, level, &words));
            check(there, || format!("no log line of level {level} has {words:?}"))?;
        }
        for words in self.expect["log_not"].as_array().into_iter().flatten() {
            let line = log.iter().find(|line| line.contains(words.as_str().unwrap()));
            check(line.is_none(), || format!("logged, and should not be: {line:?}"))?;
        }
        Ok(())
    }

    fn metrics_are_right(&self, program: &Program) -> Verdict {
        let Some(expected) = self.expect["metrics"].as_object() else { return Ok(()) };
        let stats = program.stats().unwrap_or_default();
        let right = expected.iter().all(|(name, counters)| is_subset(counters, &stats[name]));
        check(right, || format!("expected {expected:?}, got {stats}"))
    }

    fn dead_letters_are_right(&self, program: &Program) -> Verdict {
        let Some(expected) = self.expect["dlq"].as_array() else { return Ok(()) };
        let entries = program.dead_letters();
        check(expected.len() == entries.len(), || {
            format!("expected {} dead letters, got {entries:?}", expected.len())
        })?;
        for (expected, entry) in expected.iter().zip(&entries) {
            let event: Json = serde_json::from_str(&entry.event.to_json()).unwrap();
            check(is_subset(&expected["event"], &event), || format!("wrong dead letter {event}"))?;
            for absent in expected["absent"].as_array().into_iter().flatten() {
                check(event.get(absent.as_str().unwrap()).is_none(), || format!("{absent} is in {event}"))?;
            }
            for part in expected["reason"].as_array().into_iter().flatten() {
                let there = entry.reason.contains(part.as_str().unwrap());
                check(there, || format!("`{part}` is not in the reason `{}`", entry.reason))?;
            }
            for (name, value) in [("plugin_id", &entry.plugin_id), ("plugin_type", &entry.plugin_type)] {
                let wanted = expected[name].as_str();
                check(wanted.is_none_or(|w| w == value.as_str()), || format!("wrong {name} {value}"))?;
            }
        }
        Ok(())
    }
}

fn bulk_is_right(expected: &Json, request: &Request) -> Verdict {
    let body = bulk::plain(request);
    if let Some(path) = expected["path"].as_str() {
        check(request.target == path, || format!("expected {path}, got {}", request.target))?;
    }
    for (name, value) in expected["headers"].as_object().into_iter().flatten() {
        let header = request.header(name);
        let right = match value.as_str() {
            None => header.is_none(),
            Some("~") => header.is_some(),
            Some(value) => header == Some(value),
        };
        check(right, || format!("the header {name} is {header:?}, not {value}"))?;
    }
    if let Some(first) = expected["first_bytes"].as_str() {
        check(body.starts_with(first.as_bytes()), || "wrong first bytes".to_owned())?;
    }
    if let Some(last) = expected["last_byte"].as_str() {
        check(body.ends_with(last.as_bytes()), || "wrong last byte".to_owned())?;
    }
    if expected["gzip_complete"] == true {
        check(request.header("content-encoding") == Some("gzip"), || "not compressed".to_owned())?;
    }
    let docs = bulk::docs(request);
    let actual: Vec<Json> =
        docs.iter().map(|(action, document)| json!([action, document.as_ref().map(shown)])).collect();
    compare(&expected["docs"], actual)?;
    let member = |name: &str| docs.iter().map(|doc| bulk::action(doc).1[name].clone()).collect();
    compare(&expected["ids"], member("_id"))?;
    compare(&expected["indices"], member("_index"))?;
    let Some(fields) = expected["fields"].as_array() else { return Ok(()) };
    let documents: Vec<&Json> = docs.iter().filter_map(|(_, document)| document.as_ref()).collect();
    let right = fields.len() == documents.len() && fields.iter().zip(&documents).all(|(f, d)| is_subset(f, d));
    check(right, || format!("expected {fields:?}, got {documents:?}"))
}

fn compare(expected: &Json, actual: Vec<Json>) -> Verdict {
    let Some(expected) = expected.as_array() else { return Ok(()) };
    check(*expected == actual, || format!("expected {expected:?}, got {actual:?}"))
}

/// The document without what every event has.
fn shown(document: &Json) -> Json {
    let mut document = document.clone();
    for inner in ["", "/doc", "/script/params/e", "/script/params/event"] {
        if let Some(Json::Object(fields)) = document.pointer_mut(inner) {
            fields.remove("@timestamp");
            fields.remove("@version");
            // Put there by the input.
            fields.remove("host");
        }
    }
    document
}

fn is_subset(expected: &Json, actual: &Json) -> bool {
    match expected {
        Json::Object(members) => members.iter().all(|(name, value)| is_subset(value, &actual[name])),
        other => other == actual,
    }
}

/// What the server of a scenario answers.
struct Script {
    product: String,
    prefix: String,
    routes: Vec<(String, VecDeque<Json>)>,
    bulk: VecDeque<Json>,
}

impl Script {
    fn new(script: &Json) -> Self {
        let list = |replies: &Json| -> VecDeque<Json> {
            replies.as_array().map_or_else(|| [replies.clone()].into(), |list| list.iter().cloned().collect())
        };
        let routes = script["routes"].as_object().into_iter().flatten();
        Self {
            product: script["product"].as_str().unwrap_or("es9").to_owned(),
            prefix: script["prefix"].as_str().unwrap_or_default().to_owned(),
            routes: routes.map(|(route, replies)| (route.clone(), list(replies))).collect(),
            bulk: script["bulk"].as_array().into_iter().flatten().cloned().collect(),
        }
    }

    fn answer(&mut self, request: &Request) -> Reply {
        let Some(path) = request.path().strip_prefix(&self.prefix) else { return Reply::status(404) };
        let route = format!("{} {path}", request.method);
        if let Some((_, replies)) = self.routes.iter_mut().find(|(wanted, _)| *wanted == route) {
            let reply = if replies.len() > 1 { replies.pop_front().unwrap() } else { replies[0].clone() };
            return scripted(&reply, request);
        }
        if !request.is_bulk() {
            return bulk::product(&self.product, request, path);
        }
        match self.bulk.pop_front() {
            Some(reply) => scripted(&reply, request),
            None => bulk::accepted(request),
        }
    }
}

fn scripted(reply: &Json, request: &Request) -> Reply {
    if let Some(items) = reply["items"].as_array() {
        let text = |item: &Json, name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let item = |item: &Json| match item.as_i64() {
            Some(status) => bulk::item(status, "", ""),
            None => bulk::item(item["status"].as_i64().unwrap(), &text(item, "type"), &text(item, "reason")),
        };
        return bulk::sorted(request, &items.iter().map(item).collect::<Vec<_>>());
    }
    if let Some(items) = reply.get("raw_items") {
        return Reply::json(200, &json!({ "errors": reply["errors"], "items": items }));
    }
    if reply["close"] == true {
        return Reply::Close;
    }
    if let Some(seconds) = reply["hold_s"].as_u64() {
        return Reply::Late(Duration::from_secs(seconds), Box::new(bulk::accepted(request)));
    }
    let headers = reply["headers"].as_object().into_iter().flatten();
    let body = match &reply["body"] {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    Reply::Http {
        status: reply["http"].as_u64().unwrap() as u16,
        headers: headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect(),
        body: body.into_bytes(),
    }
}
