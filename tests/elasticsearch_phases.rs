//! Connections that break at each phase of a bulk request, storms that last, and replies that are larger than anything:
//! no document is lost, none is there twice, and memory stays where it was.
//!
//! # Fault matrix
//!
//! Every fault of the list, and the tests that show it. `each_test_of_the_matrix_exists` keeps the names true.
//!
//! | fault | tests |
//! | --- | --- |
//! | reset while connecting, in the TLS handshake, in the headers, in half of the body, before, in and after the reply | `a_connection_that_breaks_at_any_phase_loses_and_doubles_nothing`, `a_tls_connection_that_breaks_at_any_phase_loses_and_doubles_nothing` |
//! | the same, and the answer is lost after the documents were stored | `a_connection_reset_in_mid_bulk_loses_and_doubles_nothing` |
//! | slow reply past the timeout | `whatever_a_server_does_every_document_is_stored_once_afterwards` |
//! | truncated and malformed JSON | `whatever_a_server_does_every_document_is_stored_once_afterwards` |
//! | gzip bombs in replies | `whatever_a_server_does_every_document_is_stored_once_afterwards`, `a_reply_that_unpacks_without_end_takes_no_memory` |
//! | 200 with fewer or more items than sent | `whatever_a_server_does_every_document_is_stored_once_afterwards`, `a_reply_that_does_not_fit_is_not_believed` |
//! | 413 with one huge document | `a_body_that_is_too_large_is_retried_or_dead_but_never_blocks_with_a_custom_code`, `one_document_that_is_too_large_is_dead_and_the_others_are_stored` |
//! | 429 and 503 storms | `storms_of_429_and_503_end_with_every_document_stored_once`, `a_storm_that_lasts_loses_and_doubles_nothing` (60 s with SPILLWAY_STORM=60) |
//! | one of three hosts dead | `one_good_server_of_three_is_enough`, `a_dead_host_gets_nothing_until_it_answers_again` |
//! | all hosts dead | `all_hosts_down_and_back`, `servers_that_are_not_there_yet_do_not_stop_the_start` |
//! | hosts that come and go | `a_flapping_cluster_loses_and_doubles_nothing` |
//! | DNS failing | `names_that_nobody_knows_are_waited_for` |
//! | sniffing that returns unreachable hosts | `a_found_server_that_cannot_be_reached_holds_nothing_up` |
//! | idle connection cut by a balancer | `a_connection_that_was_cut_while_idle_is_replaced_without_a_word` |
//! | a stop in each of these states | `a_pipeline_can_stop_whatever_a_server_does`, `a_stop_during_retries_gives_the_batch_back`, `a_stop_before_any_server_was_there_gives_the_batch_back`, `a_bulk_in_flight_is_waited_for_when_the_pipeline_stops`, `sigterm_during_retries_ends_the_program_and_keeps_what_is_dead`, `a_pipeline_can_stop_while_connections_break` |
//! | 413 over and over | `a_request_that_is_too_large_for_ever_takes_no_more_memory` |

mod elasticsearch_support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use elasticsearch_support::breaking::{Breaking, Phase};
use elasticsearch_support::bulk::{self, elasticsearch, product};
use elasticsearch_support::direct::Direct;
use elasticsearch_support::program::Program;
use elasticsearch_support::server::{Reply, Request, Server};
use elasticsearch_support::store::{self, Accepted, Dice};
use elasticsearch_support::{eventually, tls};
use serde_json::{Value as Json, json};

const QUICK: &str = "index => \"logs\" manage_template => false document_id => \"%{id}\" compression_level => 0 \
                     retry_initial_interval => 0.05 retry_max_interval => 0.1 resurrect_delay => 0.1 timeout => 10";
/// Documents of a batch, and bytes of each: a body that takes many packets.
const COUNT: usize = 20;
const BYTES: usize = 20_000;
const BODY: usize = COUNT * BYTES;

fn events() -> Vec<Json> {
    (0..COUNT).map(|n| json!({ "id": format!("{n:03}"), "text": "x".repeat(BYTES) })).collect()
}

/// How often each id was stored.
type Stored = Arc<Mutex<BTreeMap<String, usize>>>;

fn storing(stored: &Stored) -> impl FnMut(&Request) -> Reply + Send + 'static {
    let stored = stored.clone();
    move |request| {
        if !request.is_bulk() {
            return product("es9", request, request.path());
        }
        for id in bulk::ids(request) {
            *stored.lock().unwrap().entry(id.as_str().unwrap().to_owned()).or_default() += 1;
        }
        bulk::accepted(request)
    }
}

/// With each phase, whether the documents have been stored when it comes.
const PHASES: [(Phase, bool); 8] = [
    (Phase::Connect, false),
    (Phase::FirstBytes, false),
    (Phase::FirstAnswer, false),
    (Phase::Request(60), false),
    (Phase::Request(BODY / 2), false),
    (Phase::BeforeReply(BODY), true),
    (Phase::MidReply(BODY), true),
    (Phase::AfterReply(BODY), true),
];

fn breaks_at_each_phase(server: impl Fn(&Stored) -> Server, options: impl Fn(u16) -> String) {
    for (phase, is_stored) in PHASES {
        let stored = Stored::default();
        let server = server(&stored);
        let way = Breaking::before(server.port);
        let output = Direct::start(&options(way.port), true);
        way.break_at(phase, 2);
        assert!(output.dead(&events()).is_empty(), "{phase:?}");
        if matches!(phase, Phase::AfterReply(_)) {
            // It was answered; the next request finds the connection gone.
            assert!(output.dead(&events()).is_empty());
        } else {
            assert_eq!(way.broken(), 2, "{phase:?}");
        }
        let stored = stored.lock().unwrap();
        assert_eq!(stored.len(), COUNT, "{phase:?}: every document is there, under its id");
        let is_once = stored.values().all(|times| *times == 1);
        let is_early = !is_stored && !matches!(phase, Phase::FirstAnswer);
        assert!(!is_early || is_once, "{phase:?}: nothing was stored before it broke, {stored:?}");
    }
}

#[test]
fn a_connection_that_breaks_at_any_phase_loses_and_doubles_nothing() {
    breaks_at_each_phase(
        |stored| Server::start(storing(stored)),
        |port| format!("hosts => \"http://127.0.0.1:{port}\" {QUICK}"),
    );
}

#[test]
fn a_tls_connection_that_breaks_at_any_phase_loses_and_doubles_nothing() {
    let authority = tls::file("authority.crt");
    breaks_at_each_phase(
        |stored| Server::start_tls(tls::localhost(false), storing(stored)),
        |port| {
            let trust = format!("ssl_certificate_authorities => \"{}\"", authority.display());
            format!("hosts => \"https://localhost:{port}\" {trust} {QUICK}")
        },
    );
}

#[test]
fn a_pipeline_can_stop_while_connections_break() {
    for (phase, _) in PHASES {
        let server = Server::start(storing(&Stored::default()));
        let way = Breaking::before(server.port);
        let output = Direct::start(&format!("hosts => \"http://127.0.0.1:{}\" {QUICK}", way.port), true);
        way.break_at(phase, usize::MAX);
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| output.write(&events()));
            eventually(Duration::from_secs(5), || way.broken() > 1 || writing.is_finished());
            let asked = Instant::now();
            output.stop.cancel();
            let _ = writing.join().unwrap();
            assert!(asked.elapsed() < Duration::from_secs(15), "{phase:?}");
        });
    }
}

/// One document that no server takes, among others.
#[test]
fn one_document_that_is_too_large_is_dead_and_the_others_are_stored() {
    let stored = Stored::default();
    let mut store = storing(&stored);
    let server = Server::start(move |request| {
        if request.is_bulk() && request.body.len() > 1_000_000 { Reply::status(413) } else { store(request) }
    });
    let output = Direct::start(&format!("hosts => \"{}\" {QUICK} dlq_custom_codes => [413]", server.url()), true);
    assert!(output.dead(&events()).is_empty());
    let dead = output.dead(&[json!({ "id": "huge", "text": "x".repeat(2_000_000) })]);
    assert!(dead[0].1.contains("payload_too_large"), "{}", &dead[0].1[..200]);
    assert!(output.dead(&[json!({ "id": "after" })]).is_empty());
    assert_eq!(stored.lock().unwrap().len(), COUNT + 1);
}

/// Two seconds of it, or as many as SPILLWAY_STORM says: then all is stored, once.
#[test]
fn a_storm_that_lasts_loses_and_doubles_nothing() {
    let seconds = std::env::var("SPILLWAY_STORM").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let accepted = Accepted::default();
    let (stored, mut dice, end) = (accepted.clone(), Dice::new(7), Instant::now() + Duration::from_secs(seconds));
    let server = elasticsearch(move |request| {
        if Instant::now() > end {
            store::accept(&stored, &bulk::ids(request));
            return bulk::accepted(request);
        }
        match dice.roll(3) {
            0 => Reply::status(429),
            1 => Reply::status(503),
            _ => store::partly(request, &mut dice, &[429, 503], &stored),
        }
    });
    let output = Direct::start(&format!("hosts => \"{}\" {QUICK}", server.url()), true);
    let batches = 4 * seconds as usize;
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let output = &output;
            scope.spawn(move || {
                for batch in 0..batches {
                    let id = |n| json!({ "id": format!("{worker}-{batch}-{n}") });
                    assert!(output.dead(&(0..COUNT).map(id).collect::<Vec<_>>()).is_empty());
                }
            });
        }
    });
    let accepted = accepted.lock().unwrap();
    assert_eq!(accepted.len(), 4 * batches * COUNT);
    assert!(accepted.values().all(|times| *times == 1));
}

/// A program that sends one document to a server that answers like this; its memory when so many requests were made.
fn memory_after(requests: &[usize], answer: fn(&Request) -> Reply) -> Vec<u64> {
    let server = elasticsearch(answer);
    let options = format!("hosts => \"{}\" {QUICK}", server.url())
        .replace("initial_interval => 0.05", "initial_interval => 0.001")
        .replace("max_interval => 0.1", "max_interval => 0.001");
    let mut program = Program::start(&format!("output {{ elasticsearch {{ {options} }} }}"), &[]);
    program.send(&[json!({ "id": "1", "text": "x".repeat(BYTES) })]);
    let mut peaks = Vec::new();
    for count in requests {
        assert!(eventually(Duration::from_secs(60), || server.bulks().len() >= *count), "{}", program.log().join("\n"));
        peaks.push(program.peak_mib());
    }
    program.terminate();
    program.wait(Duration::from_secs(30));
    peaks
}

#[test]
fn a_request_that_is_too_large_for_ever_takes_no_more_memory() {
    let peaks = memory_after(&[200, 1000], |_| Reply::status(413));
    assert!(peaks[1] < peaks[0] + 8, "{peaks:?} MiB");
}

#[test]
fn a_reply_that_unpacks_without_end_takes_no_memory() {
    let bomb = |_: &Request| {
        use std::io::Write;
        static BOMB: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let made = || {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            let piece = vec![b' '; 1 << 20];
            (0..500).for_each(|_| encoder.write_all(&piece).unwrap());
            encoder.finish().unwrap()
        };
        let headers = vec![("content-encoding".to_owned(), "gzip".to_owned())];
        Reply::Http { status: 200, headers, body: BOMB.get_or_init(made).clone() }
    };
    let peaks = memory_after(&[3], bomb);
    assert!(peaks[0] < 96, "{peaks:?} MiB");
}

#[test]
fn each_test_of_the_matrix_exists() {
    elasticsearch_support::tests_exist(include_str!("elasticsearch_phases.rs"));
}
