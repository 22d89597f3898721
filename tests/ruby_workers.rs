//! How many Ruby processes a pipeline has, and that what scripts keep is right with several workers.

mod program;

use std::collections::BTreeSet;

use program::{Place, Said};

const EVENTS: usize = 2000;

/// Runs generated events through a filter on four workers; prints `%{n} %{pid}` of each.
fn run(filter: &str, settings: &str) -> Said {
    let config = format!(
        "input {{ generator {{ count => {EVENTS} message => \"x\" }} }} filter {{ {filter} }} \
         output {{ stdout {{ codec => line {{ format => \"%{{n}} %{{pid}}\" }} }} }}"
    );
    let place = Place::new()
        .file("pipe.conf", &config)
        .file("cfg/logstash.yml", "path.data: data\npipeline.workers: 4\npipeline.batch.size: 50\n")
        .file("cfg/spillway.yml", settings);
    let said = place.run("-f pipe.conf --path.settings cfg");
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(said.out.lines().count(), EVENTS, "{}", said.err);
    said
}

/// The words at a place of the lines, each once.
fn words(said: &Said, at: usize) -> BTreeSet<&str> {
    said.out.lines().filter_map(|line| line.split(' ').nth(at)).collect()
}

#[test]
fn a_script_that_counts_counts_every_event_once() {
    let said = run("ruby { init => '@n = 0' code => '@n += 1; event.set(\"n\", @n); event.set(\"pid\", $$)' }", "");
    assert_eq!(words(&said, 0).len(), EVENTS);
    assert_eq!(words(&said, 1).len(), 1);
    said.err_says(&["the script keeps `@n` from event to event"]);
}

#[test]
fn one_interpreter_for_all_workers_can_be_asked_for() {
    let said = run("ruby { code => 'event.set(\"pid\", $$)' }", "spillway.ruby.isolation: pipeline\n");
    assert_eq!(words(&said, 1).len(), 1);
}

#[test]
fn workers_have_an_interpreter_each_at_most() {
    let said = run("ruby { code => 'event.set(\"pid\", $$)' } ruby { code => 'event.set(\"n\", $$)' }", "");
    assert!(words(&said, 1).len() <= 4, "{:?}", words(&said, 1));
}

#[test]
fn an_aggregate_adds_up_whatever_worker_an_event_is_on() {
    let said = run(
        "mutate { add_field => { \"id\" => \"a\" } } \
         aggregate { task_id => '%{id}' code => 'map[:n] ||= 0; map[:n] += 1; event.set(\"n\", map[:n])' }",
        "",
    );
    assert_eq!(words(&said, 0).len(), EVENTS);
    said.err_says(&["with 4 workers events of a task may come out of order"]);
}
