//! `document_id => "auto"`: an event that is read, sent or replayed again never becomes a second document.

mod elasticsearch_support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use elasticsearch_support::bulk::{self, elasticsearch};
use elasticsearch_support::direct::Direct;
use elasticsearch_support::eventually;
use elasticsearch_support::program::Program;
use elasticsearch_support::server::{Reply, Server};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(60);

/// The documents by id, as a server keeps them, without the time of reading.
type Documents = Arc<Mutex<BTreeMap<String, Json>>>;

/// A server that stores everything, and then answers as told.
fn storing(documents: &Documents, answers: impl Fn(usize) -> Option<Reply> + Send + 'static) -> Server {
    let documents = documents.clone();
    let mut turn = 0;
    elasticsearch(move |request| {
        turn += 1;
        for (action, document) in bulk::docs(request) {
            let id = action["index"]["_id"].as_str().expect("an id was sent").to_owned();
            let mut document = document.unwrap();
            document.as_object_mut().unwrap().remove("@timestamp");
            documents.lock().unwrap().insert(id, document);
        }
        answers(turn).unwrap_or_else(|| bulk::accepted(request))
    })
}

fn output(server: &Server, id: &str) -> String {
    format!(
        "output {{ elasticsearch {{ hosts => \"{}\" index => docs manage_template => false document_id => \"{id}\" \
         retry_initial_interval => 0.1 }} }}",
        server.url()
    )
}

fn reading(file: &Path, more: &str) -> String {
    format!(
        "input {{ file {{ path => \"{}\" mode => read file_completed_action => log sincedb_path => \"/dev/null\" \
         file_completed_log_path => \"{}.done\" exit_after_read => true {more} }} }}",
        file.display(),
        file.display()
    )
}

/// Runs a pipeline until everything is read.
fn run(home: &Arc<TempDir>, config: &str, settings: &[(&str, String)]) -> Program {
    let mut program = Program::start_in(home.clone(), config, settings);
    let status = program.finish(LIMIT);
    assert!(status.success(), "{}", program.log().join("\n"));
    program
}

fn count(documents: &Documents) -> usize {
    documents.lock().unwrap().len()
}

#[test]
fn files_that_are_read_again_give_the_same_documents() {
    let home = Arc::new(TempDir::new().unwrap());
    let file = home.path().join("in.log");
    std::fs::write(&file, "same\nsame\n{\"a\":[1,2]}\nstart\n  more\n  and more\nlast\n").unwrap();
    for (codec, expected) in [
        ("", 7),
        ("codec => json", 7),
        ("codec => multiline { pattern => \"^ \" what => previous }", 5),
        ("codec => multiline { pattern => \"^ \" what => previous auto_flush_interval => 1 }", 5),
    ] {
        let documents = Documents::default();
        let server = storing(&documents, |_| None);
        let config = format!("{}\n{}", reading(&file, codec), output(&server, "auto"));
        run(&home, &config, &[]);
        let first = documents.lock().unwrap().clone();
        assert_eq!(first.len(), expected, "{codec}: lines that say the same are events of their own: {first:?}");
        run(&home, &config, &[]);
        assert_eq!(*documents.lock().unwrap(), first, "{codec}");
    }
}

#[test]
fn what_filters_make_of_an_event_is_told_apart_and_the_same_each_time() {
    let home = Arc::new(TempDir::new().unwrap());
    let file = home.path().join("in.log");
    std::fs::write(&file, "a,a,b\nc\n").unwrap();
    let documents = Documents::default();
    let server = storing(&documents, |_| None);
    let filter = "filter { split { terminator => \",\" } clone { clones => [one, two] } clone { clones => [three] } }";
    let config = format!("{}\n{filter}\n{}", reading(&file, ""), output(&server, "auto"));
    run(&home, &config, &[]);
    let first = documents.lock().unwrap().clone();
    // Four parts, three of each, and those once more.
    assert_eq!(first.len(), 4 * 3 * 2, "{first:?}");
    run(&home, &config, &[]);
    assert_eq!(*documents.lock().unwrap(), first);
}

#[test]
fn a_file_that_is_written_anew_has_new_events_at_the_same_places() {
    let home = Arc::new(TempDir::new().unwrap());
    let file = home.path().join("in.log");
    let documents = Documents::default();
    let server = storing(&documents, |_| None);
    let config = format!("{}\n{}", reading(&file, ""), output(&server, "auto"));
    for text in ["one\ntwo\n", "uno\ndos\n"] {
        // The same inode: it is overwritten in place.
        std::fs::write(&file, text).unwrap();
        run(&home, &config, &[]);
    }
    assert_eq!(count(&documents), 4);
    // Under another name it is the same file.
    let moved = home.path().join("in.log.1");
    std::fs::rename(&file, &moved).unwrap();
    run(&home, &format!("{}\n{}", reading(&moved, ""), output(&server, "auto")), &[]);
    assert_eq!(documents.lock().unwrap().len(), 4);
}

/// The server has stored the documents, but nobody hears of it before the program is killed.
#[test]
fn a_program_that_is_killed_before_the_answer_stores_nothing_twice() {
    let home = Arc::new(TempDir::new().unwrap());
    let file = home.path().join("in.log");
    let text: String = (0..50).map(|n| format!("line {n}\n")).collect();
    std::fs::write(&file, &text).unwrap();
    let documents = Documents::default();
    let answers = Arc::new(AtomicBool::new(false));
    let answering = answers.clone();
    let server = storing(&documents, move |_| (!answering.load(Ordering::SeqCst)).then_some(Reply::Close));
    let input = format!(
        "input {{ file {{ path => \"{}\" start_position => beginning stat_interval => 0.1 }} }}",
        file.display()
    );
    let config = format!("{input}\n{}", output(&server, "auto"));
    let program = Program::start_in(home.clone(), &config, &[]);
    assert!(eventually(LIMIT, || count(&documents) == 50), "{}", program.log().join("\n"));
    drop(program);
    let before = server.bulks().len();
    answers.store(true, Ordering::SeqCst);
    let program = Program::start_in(home, &config, &[]);
    assert!(eventually(LIMIT, || server.bulks().len() > before), "{}", program.log().join("\n"));
    program.terminate();
    assert_eq!(count(&documents), 50, "they were sent again under the same ids");
}

#[test]
fn an_event_keeps_its_id_in_the_dead_letter_queue_and_every_replay() {
    let refused = Documents::default();
    let refusing = {
        let refused = refused.clone();
        elasticsearch(move |request| {
            for id in bulk::ids(request) {
                refused.lock().unwrap().insert(id.as_str().unwrap_or_default().to_owned(), Json::Null);
            }
            bulk::statuses(request, &vec![400; bulk::docs(request).len()])
        })
    };
    let with_queue = [("dead_letter_queue.enable", "true".to_owned())];
    // With and without an id from the start: then the place in the queue gives one.
    for id in ["auto", ""] {
        refused.lock().unwrap().clear();
        let home = Arc::new(TempDir::new().unwrap());
        let lines = ["{\"n\":1}", "{\"n\":1}", "{\"n\":2}"].join("\n") + "\n";
        let file = home.path().join("in.log");
        std::fs::write(&file, lines).unwrap();
        let write = output(&refusing, id).replace("document_id => \"\"", "");
        run(&home, &format!("{}\n{write}", reading(&file, "codec => json")), &with_queue);
        let documents = Documents::default();
        let server = storing(&documents, |_| None);
        let replay = format!(
            "input {{ dead_letter_queue {{ path => \"{}\" commit_offsets => false exit_after_read => true }} }}\n{}",
            home.path().join("data/dead_letter_queue").display(),
            output(&server, "auto")
        );
        for _ in 0..2 {
            run(&Arc::new(TempDir::new().unwrap()), &replay, &[]);
        }
        let stored = documents.lock().unwrap();
        assert_eq!(stored.len(), 3, "{id}: {stored:?}");
        if id == "auto" {
            assert!(stored.keys().eq(refused.lock().unwrap().keys()), "{stored:?}");
        }
    }
}

#[test]
fn an_event_without_a_place_has_one_id_over_all_retries() {
    let documents = Documents::default();
    let server =
        storing(&documents, |turn| (turn < 4).then(|| if turn == 2 { Reply::status(503) } else { Reply::Close }));
    let options = format!(
        "hosts => \"{}\" index => docs manage_template => false document_id => auto retry_initial_interval => 0.05 \
         resurrect_delay => 0.1",
        server.url()
    );
    let output = Direct::start(&options, false);
    assert!(output.dead(&[json!({ "n": 1 }), json!({ "n": 1 })]).is_empty());
    assert_eq!(server.bulks().len(), 4);
    assert_eq!(count(&documents), 2);
}

#[test]
fn auto_names_nothing_that_could_be_updated_or_deleted() {
    let refused = |options: &str| Direct::build(&format!("index => docs document_id => auto {options}"), false).err();
    for options in ["action => delete", "action => update"] {
        assert!(refused(options).is_some_and(|why| why.contains("names a new document")), "{options}");
    }
    for options in ["action => update doc_as_upsert => true", "action => create", ""] {
        assert_eq!(refused(options), None, "{options}");
    }
}
