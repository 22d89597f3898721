//! What becomes of events when servers accept, refuse, choke, break and come back.

mod elasticsearch_support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use elasticsearch_support::bulk::{self, elasticsearch};
use elasticsearch_support::direct::Direct;
use elasticsearch_support::eventually;
use elasticsearch_support::program::Program;
use elasticsearch_support::server::{Reply, Request, Server};
use elasticsearch_support::store::{self, Accepted, Dice};

const QUICK: &str = "retry_initial_interval => 0.05 retry_max_interval => 0.1 resurrect_delay => 0.1";

fn options(server: &Server, more: &str) -> String {
    format!("hosts => [\"{}\"] index => \"logs\" document_id => \"%{{id}}\" {QUICK} {more}", server.url())
}

fn events(ids: impl IntoIterator<Item = usize>) -> Vec<Json> {
    ids.into_iter().map(|id| json!({ "id": format!("{id:03}") })).collect()
}

fn ids(server: &Server) -> Vec<Vec<Json>> {
    server.bulks().iter().map(bulk::ids).collect()
}

/// A server that gives these answers first, then accepts everything.
fn scripted(answers: Vec<fn(&Request) -> Reply>) -> Server {
    let mut answers = VecDeque::from(answers);
    elasticsearch(move |request| answers.pop_front().map_or_else(|| bulk::accepted(request), |answer| answer(request)))
}

#[test]
fn every_status_takes_its_own_road_in_one_bulk() {
    let server = scripted(vec![|request| {
        let kinds = [
            (200, ""),
            (201, ""),
            (400, "a"),
            (404, "b"),
            (409, "c"),
            (403, "d"),
            (429, "e"),
            (503, "f"),
            (500, "old"),
            (413, "g"),
            (202, "h"),
        ];
        let mut items: Vec<Json> = kinds.iter().map(|(status, kind)| bulk::item(*status, kind, "r")).collect();
        items.push(json!({ "odd": "no status" }));
        bulk::sorted(request, &items)
    }]);
    let output = Direct::start(&options(&server, "dlq_custom_codes => [403] drop_error_types => [\"old\"]"), true);
    let dead = output.dead(&events(0..12));
    assert_eq!(dead.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2, 3, 5]);
    assert_eq!(
        dead[0].1.replace(&now(&dead[0].1), "T"),
        "Could not index event to Elasticsearch. status: 400, action: [\"index\", {_id: \"002\", _index: \"logs\", \
         routing: nil}, {\"id\" => \"002\", \"@timestamp\" => T, \"@version\" => \"1\"}], response: {\"index\" => \
         {\"status\" => 400, \"error\" => {\"type\" => \"a\", \"reason\" => \"r\"}}}"
    );
    assert_eq!(ids(&server)[1..], [vec![json!("006"), json!("007"), json!("009"), json!("010"), json!("011")]]);
    assert_eq!(
        output.counters(),
        [
            "bulk_requests.responses.200=2",
            "bulk_requests.successes=1",
            "bulk_requests.with_errors=1",
            "documents.dlq_routed=3",
            "documents.non_retryable_failures=2",
            "documents.retryable_failures=5",
            "documents.successes=7",
        ]
    );
}

/// The timestamp in a reason.
fn now(reason: &str) -> String {
    reason.split("\"@timestamp\" => ").nth(1).unwrap().split(',').next().unwrap().to_owned()
}

#[test]
fn an_accepted_event_is_never_sent_again() {
    let accepted = Accepted::default();
    let (stored, mut dice) = (accepted.clone(), Dice::new(7));
    let server = elasticsearch(move |request| store::partly(request, &mut dice, &[429, 503, 500, 403, 413], &stored));
    let quick = "retry_initial_interval => 0.001 retry_max_interval => 0.002";
    let options = options(&server, "").replace(QUICK, quick);
    let output = Direct::start(&options, true);
    for batch in 0..20 {
        assert!(output.dead(&events(batch * 50..batch * 50 + 50)).is_empty());
    }
    let accepted = accepted.lock().unwrap();
    assert_eq!(accepted.len(), 1000);
    assert!(accepted.values().all(|times| *times == 1), "{accepted:?}");
    assert_eq!(output.count("documents.successes"), 1000);
}

/// Two documents of 9 MB fit into one request, so that these five take three.
#[test]
fn a_failed_request_of_a_large_batch_does_not_send_the_accepted_ones_again() {
    let server = scripted(vec![
        |request| {
            let refused = [bulk::item(201, "", ""), bulk::item(429, "es_rejected_execution_exception", "full")];
            bulk::sorted(request, &refused)
        },
        |_| Reply::status(503),
        |_| Reply::status(429),
        bulk::accepted,
        |_| Reply::status(502),
    ]);
    let output = Direct::start(&options(&server, ""), true);
    let pad = "x".repeat(9_000_000);
    let events: Vec<Json> = (0..5).map(|n| json!({ "id": format!("{n:03}"), "pad": pad })).collect();
    assert!(output.dead(&events).is_empty());
    let (middle, last) = (vec![json!("002"), json!("003")], vec![json!("004")]);
    let sent = [vec![json!("000"), json!("001")], middle.clone(), middle.clone(), middle, last.clone(), last];
    assert_eq!(ids(&server)[..6], sent);
    assert_eq!(ids(&server)[6..], [vec![json!("001")]], "then the one that was refused");
}

#[test]
fn storms_of_429_and_503_end_with_every_document_stored_once() {
    let accepted = Accepted::default();
    let (stored, mut dice) = (accepted.clone(), Dice::new(42));
    let server = elasticsearch(move |request| match dice.roll(4) {
        0 => Reply::status(429),
        1 => Reply::Http { status: 503, headers: vec![], body: b"no master".to_vec() },
        _ => store::partly(request, &mut dice, &[429, 503], &stored),
    });
    let quick = "retry_initial_interval => 0.001 retry_max_interval => 0.01";
    let output = Direct::start(&options(&server, "").replace(QUICK, quick), true);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let output = &output;
            scope.spawn(move || {
                for batch in 0..10 {
                    let first = (worker * 10 + batch) * 25;
                    assert!(output.dead(&events(first..first + 25)).is_empty());
                }
            });
        }
    });
    let accepted = accepted.lock().unwrap();
    assert_eq!(accepted.len(), 1000);
    assert!(accepted.values().all(|times| *times == 1), "{accepted:?}");
}

#[test]
fn a_connection_reset_in_mid_bulk_loses_and_doubles_nothing() {
    let accepted = Accepted::default();
    let (stored, mut resets) = (accepted.clone(), 3);
    let server = elasticsearch(move |request| {
        // All of it was stored before the connection broke; the ids make the second time harmless.
        store::accept(&stored, &bulk::ids(request));
        if resets > 0 {
            resets -= 1;
            return if resets % 2 == 0 { Reply::Close } else { Reply::Reset };
        }
        bulk::accepted(request)
    });
    let output = Direct::start(&options(&server, ""), false);
    assert!(output.dead(&events(0..10)).is_empty());
    assert_eq!(accepted.lock().unwrap().len(), 10);
    let bodies: Vec<Vec<u8>> = server.bulks().iter().map(bulk::plain).collect();
    assert_eq!(bodies.len(), 4);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "sent again byte for byte");
    assert_eq!(output.count("documents.successes"), 10);
    assert!(output.count("bulk_requests.failures") >= 3);
}

#[test]
fn all_hosts_down_and_back() {
    let (one, two) = (elasticsearch(bulk::accepted), elasticsearch(bulk::accepted));
    let hosts = format!("hosts => [\"{}\", \"{}\"] index => \"logs\" {QUICK}", one.url(), two.url());
    let output = Direct::start(&hosts, false);
    assert!(output.dead(&events(0..3)).is_empty());
    one.down();
    two.down();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| output.dead(&events(3..6)));
        std::thread::sleep(Duration::from_millis(600));
        assert!(!writing.is_finished(), "waits for the servers");
        two.up();
        assert!(writing.join().unwrap().is_empty());
    });
    let sent: usize = ids(&one).iter().chain(&ids(&two)).map(Vec::len).sum();
    assert_eq!(sent, 6);
    assert_eq!(output.count("documents.successes"), 6);
}

#[test]
fn a_dead_host_gets_nothing_until_it_answers_again() {
    let (one, two) = (elasticsearch(bulk::accepted), elasticsearch(bulk::accepted));
    let hosts = format!("hosts => [\"{}\", \"{}\"] index => \"logs\" {QUICK}", one.url(), two.url());
    let output = Direct::start(&hosts, false);
    for round in 0..4 {
        output.dead(&events(round..=round));
    }
    assert_eq!((one.bulks().len(), two.bulks().len()), (2, 2), "idle hosts take turns");
    one.down();
    for round in 4..8 {
        output.dead(&events(round..=round));
    }
    assert_eq!((one.bulks().len(), two.bulks().len()), (2, 6));
    one.up();
    let back = eventually(Duration::from_secs(10), || {
        output.dead(&events(9..10));
        one.bulks().len() > 2
    });
    assert!(back);
}

#[test]
fn retries_use_the_same_address_and_bytes_each_time() {
    let mut refusals = 50;
    let server = elasticsearch(move |request| {
        refusals -= 1;
        if refusals >= 0 { Reply::status(503) } else { bulk::accepted(request) }
    });
    let quick = "retry_initial_interval => 0.001 retry_max_interval => 0.001";
    let output = Direct::start(&options(&server, "").replace(QUICK, quick), false);
    output.dead(&events(0..2));
    let bulks = server.bulks();
    assert_eq!(bulks.len(), 51);
    assert!(bulks.iter().all(|request| request.target == bulks[0].target && request.body == bulks[0].body));
}

#[test]
fn a_stop_during_retries_gives_the_batch_back() {
    for answer in [|_: &Request| Reply::status(503), |request: &Request| bulk::statuses(request, &[503])] {
        let server = elasticsearch(answer);
        let slow = options(&server, "").replace(QUICK, "retry_initial_interval => 30");
        let output = Direct::start(&slow, false);
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| output.write(&events(0..1)).is_err());
            assert!(eventually(Duration::from_secs(10), || !server.bulks().is_empty()));
            output.stop.cancel();
            assert!(writing.join().unwrap(), "given back");
        });
        assert_eq!(server.bulks().len(), 1);
    }
}

#[test]
fn a_stop_before_any_server_was_there_gives_the_batch_back() {
    let server = elasticsearch(bulk::accepted);
    server.down();
    let output = Direct::start(&options(&server, ""), false);
    output.stop.cancel();
    assert!(output.write(&events(0..1)).is_err());
}

#[test]
fn a_bulk_in_flight_is_waited_for_when_the_pipeline_stops() {
    let server = elasticsearch(|request| Reply::Late(Duration::from_millis(300), Box::new(bulk::accepted(request))));
    let output = Direct::start(&options(&server, ""), false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| output.write(&events(0..1)).is_ok());
        assert!(eventually(Duration::from_secs(10), || !server.bulks().is_empty()));
        output.stop.cancel();
        assert!(writing.join().unwrap(), "delivered");
    });
}

#[test]
fn sigterm_during_retries_ends_the_program_and_keeps_what_is_dead() {
    let server = elasticsearch(|request| match bulk::docs(request).len() {
        2 => bulk::statuses(request, &[400, 503]),
        _ => bulk::statuses(request, &[503]),
    });
    let config = format!("output {{ elasticsearch {{ {} }} }}", options(&server, ""));
    let settings = [("dead_letter_queue.enable", "true".to_owned()), ("pipeline.batch.size", "2".to_owned())];
    let mut program = Program::start(&config, &settings);
    program.send(&events(0..2));
    assert!(eventually(Duration::from_secs(20), || server.bulks().len() > 2));
    let asked = Instant::now();
    program.terminate();
    program.wait(Duration::from_secs(20));
    assert!(asked.elapsed() < Duration::from_secs(15));
    let dead = program.dead_letters();
    assert_eq!(dead.len(), 1);
    assert!(dead[0].reason.contains("status: 400"));
    assert!(program.has_logged("INFO", &["Aborting the batch due to shutdown request"]));
}

#[test]
fn a_body_that_is_too_large_is_retried_or_dead_but_never_blocks_with_a_custom_code() {
    let server = scripted(vec![|_| Reply::status(413)]);
    let output = Direct::start(&options(&server, ""), true);
    assert!(output.dead(&events(0..2)).is_empty());
    assert_eq!(ids(&server).len(), 2);
    assert_eq!(output.count("documents.retryable_failures"), 2);
    assert_eq!(output.count("bulk_requests.responses.413"), 1);

    let server = scripted(vec![|_| Reply::status(413)]);
    let output = Direct::start(&options(&server, "dlq_custom_codes => [413]"), true);
    let dead = output.dead(&events(0..2));
    assert_eq!(dead.len(), 2);
    let end = "response: {\"index\" => {\"status\" => 413, \"error\" => {\"type\" => \"payload_too_large\"}}}";
    assert!(dead[0].1.ends_with(end), "{}", dead[0].1);
    assert!(output.dead(&events(2..4)).is_empty(), "the next batch flows");
}

#[test]
fn without_a_dead_letter_queue_refused_events_are_dropped() {
    let server = scripted(vec![|request| bulk::statuses(request, &[400, 201, 404])]);
    let output = Direct::start(&options(&server, ""), false);
    assert!(output.write(&events(0..3)).unwrap().is_empty());
    assert_eq!(ids(&server).len(), 1);
    assert_eq!(output.count("documents.dlq_routed"), 2);
    let unmapped = Direct::start(&format!("hosts => [\"{}\"] index => \"%{{app}}-logs\"", server.url()), false);
    assert!(unmapped.write(&[json!({}), json!({ "app": "pay" })]).unwrap().is_empty());
    assert_eq!(server.bulks().len(), 2);
    assert_eq!(unmapped.count("documents.non_retryable_failures"), 1);
}

/// Refuses a whole request when one of its ids is too long, as servers do.
fn choosy(accepted: Accepted) -> Server {
    elasticsearch(move |request| {
        let ids = bulk::ids(request);
        if ids.iter().any(|id| id.as_str().unwrap().len() > 512) {
            let error = json!({ "type": "action_request_validation_exception", "reason": "Validation Failed: 1: id is too long" });
            return Reply::json(400, &json!({ "error": error, "status": 400 }));
        }
        store::accept(&accepted, &ids);
        bulk::accepted(request)
    })
}

#[test]
fn one_poisoned_action_is_found_and_the_others_are_stored() {
    let accepted = Accepted::default();
    let server = choosy(accepted.clone());
    let output = Direct::start(&options(&server, ""), true);
    let mut batch = events(0..20);
    for at in [0, 13] {
        batch[at]["id"] = json!("x".repeat(600));
    }
    let dead = output.dead(&batch);
    assert_eq!(dead.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 13]);
    assert!(dead[0].1.contains("status: 400") && dead[0].1.contains("id is too long"), "{}", dead[0].1);
    let accepted = accepted.lock().unwrap();
    assert_eq!(accepted.len(), 18);
    assert!(accepted.values().all(|times| *times == 1));
    assert_eq!(output.count("documents.successes"), 18);
    assert_eq!(output.count("bulk_requests.with_errors"), 1);
}

#[test]
fn a_request_is_not_taken_apart_without_a_queue_or_for_a_fault_of_its_own() {
    let poisoned = Accepted::default();
    let server = choosy(poisoned);
    let output = Direct::start(&options(&server, ""), false);
    let mut batch = events(0..4);
    batch[1]["id"] = json!("x".repeat(600));
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| output.write(&batch).is_err());
        assert!(eventually(Duration::from_secs(10), || server.bulks().len() > 2));
        output.stop.cancel();
        assert!(writing.join().unwrap());
    });
    assert!(ids(&server).iter().all(|ids| ids.len() == 4));

    let foreign: [fn(&Request) -> Reply; 3] = [
        |_| Reply::Http { status: 400, headers: vec![], body: b"<html>bad request</html>".to_vec() },
        |_| {
            Reply::json(
                400,
                &json!({ "error": { "type": "illegal_argument_exception",
            "reason": "request [/_bulk] contains unrecognized parameter: [foo]" }, "status": 400 }),
            )
        },
        |_| Reply::json(400, &json!({ "error": "no", "status": 400 })),
    ];
    let server = scripted(foreign.to_vec());
    let output = Direct::start(&options(&server, ""), true);
    assert!(output.dead(&events(0..4)).is_empty());
    assert!(ids(&server).iter().all(|ids| ids.len() == 4));
}

#[test]
fn items_out_of_order_reach_their_own_events() {
    let server = scripted(vec![|request| {
        let item = |id: &str, status: i64| {
            let mut item = bulk::item(status, "t", "r");
            item["_id"] = json!(id);
            json!({ "index": item })
        };
        assert!(request.target.ends_with("items.*._id"), "{}", request.target);
        let items = [item("000", 201), item("002", 400), item("001", 200), item("003", 201)];
        Reply::json(200, &json!({ "errors": true, "items": items }))
    }]);
    let output = Direct::start(&options(&server, ""), true);
    let dead = output.dead(&events(0..4));
    assert_eq!(dead.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2]);
    let end = "response: {\"index\" => {\"status\" => 400, \"error\" => {\"type\" => \"t\", \"reason\" => \"r\"}}}";
    assert!(dead[0].1.ends_with(end), "{}", dead[0].1);
}

#[test]
fn what_cannot_be_told_apart_is_dead_lettered_and_gets_ids_from_then_on() {
    let server = scripted(vec![|request| bulk::statuses(request, &[201, 400, 200, 201])]);
    let options = format!("hosts => [\"{}\"] index => \"logs\" {QUICK}", server.url());
    let output = Direct::start(&options, true);
    let dead = output.dead(&events(0..4));
    assert_eq!(dead.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 2]);
    assert!(dead.iter().all(|(_, reason)| reason.contains("ambiguous reply")));
    assert!(output.dead(&events(4..6)).is_empty());
    assert_eq!(ids(&server)[0], vec![Json::Null; 4]);
    assert!(ids(&server)[1].iter().all(Json::is_string));
}

#[test]
fn a_reply_that_does_not_fit_is_not_believed() {
    let answers: Vec<fn(&Request) -> Reply> = vec![
        |_| Reply::json(200, &json!({ "errors": true, "items": [{ "index": { "status": 400 } }] })),
        |_| Reply::json(200, &json!({ "errors": true })),
        |_| Reply::Http { status: 200, headers: vec![], body: b"<html>ok</html>".to_vec() },
        |_| Reply::Http { status: 200, headers: vec![], body: b"[]".to_vec() },
        |_| Reply::status(302),
    ];
    let server = scripted(answers);
    let output = Direct::start(&options(&server, ""), true);
    assert!(output.dead(&events(0..3)).is_empty());
    assert_eq!(server.bulks().len(), 6);
    assert_eq!(output.count("bulk_requests.with_errors"), 2);
    assert_eq!(output.count("bulk_requests.failures"), 3);
}

#[test]
fn compressed_replies_are_understood() {
    use std::io::Write;
    let reply = json!({ "errors": true, "items": [{ "index": { "status": 400, "error": { "type": "t" } } }] });
    for encoding in ["gzip", "deflate"] {
        let body = reply.to_string().into_bytes();
        let packed = Arc::new(Mutex::new(match encoding {
            "gzip" => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&body).unwrap();
                encoder.finish().unwrap()
            }
            _ => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&body).unwrap();
                encoder.finish().unwrap()
            }
        }));
        let server = elasticsearch(move |_| Reply::Http {
            status: 200,
            headers: vec![("Content-Encoding".to_owned(), encoding.to_owned())],
            body: packed.lock().unwrap().clone(),
        });
        let output = Direct::start(&options(&server, ""), true);
        assert_eq!(output.dead(&events(0..1)).len(), 1, "{encoding}");
    }
}

#[test]
fn what_an_operator_should_know_is_said_once() {
    let server = scripted(vec![
        |request| bulk::sorted(request, &vec![bulk::item(403, "cluster_block_exception", "index [logs] blocked"); 2]),
        |request| bulk::sorted(request, &vec![bulk::item(403, "cluster_block_exception", "index [logs] blocked"); 2]),
    ]);
    let config = format!("output {{ elasticsearch {{ {} }} }}", options(&server, ""));
    let mut program = Program::start(&config, &[("pipeline.batch.size", "2".to_owned())]);
    program.send(&[json!({ "n": 1 }), json!({ "n": 2 })]);
    assert!(eventually(Duration::from_secs(20), || server.bulks().len() > 2));
    assert!(program.finish(Duration::from_secs(20)).success());
    let lines = |words: &str| program.log().iter().filter(|line| line.contains(words)).count();
    assert_eq!(lines("`document_id` is still `%{id}`"), 1);
    assert_eq!(lines("The index `logs` refuses events with status 403"), 1);
    assert_eq!(lines("Retrying failed action"), 4);
}
