//! When maps become events, and which options exclude each other.

use crate::pipeline::Flush;
use crate::plugins::testing::{compiled, event, json, run_and_flush};

fn error(filters: &str) -> String {
    compiled(&format!("filter {{ {filters} }}")).err().unwrap_or_default()
}

/// What comes of events and the last flush.
fn outcome(filter: &str, events: &[&str]) -> Vec<String> {
    let compiled =
        compiled(&format!("filter {{ aggregate {{ {filter} }} }}")).unwrap_or_else(|errors| panic!("{errors}"));
    for slot in &compiled.plan.filters {
        slot.filter.register().expect("registered");
    }
    let events = events.iter().map(|json| event(json)).collect();
    let out = run_and_flush(&compiled, events, Some(Flush::Last)).iter().map(json).collect();
    for slot in &compiled.plan.filters {
        slot.filter.close();
    }
    out
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let one = "aggregate { task_id => '%{a}' code => '' timeout => 5 }";
    assert!(error(&format!("{one} {one}")).contains("only one may have them"));
    assert_eq!(error(&format!("{one} aggregate {{ task_id => '%{{b}}' code => '' timeout => 5 }}")), "");
    assert!(error("aggregate { task_id => '%{a}' code => 'map[' }").contains("syntax error"));
    let path = "aggregate { task_id => '%{a}' code => '' aggregate_maps_path => 'x' }";
    assert!(error(&format!("{path} {path}")).contains("aggregate_maps_path"));
}

#[test]
fn old_maps_become_events_with_what_timeout_code_adds() {
    let filter = "task_id => '%{id}' code => 'map[\"n\"] = 1; map_meta.timeout = 0' push_map_as_event_on_timeout => true
        timeout_task_id_field => 'id' timeout_tags => ['t'] timeout_code => 'event.set(\"late\", event.get(\"n\") + 1)'";
    assert_eq!(
        outcome(filter, &[r#"{"id":"a"}"#]),
        [r#"{"id":"a"}"#, r#"{"n":1,"id":"a","tags":["t","_aggregatefinalflush"],"late":2}"#]
    );
}

#[test]
fn maps_that_are_not_old_stay_in_a_file_until_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("maps");
    let filter = format!(
        "task_id => '%{{id}}' code => 'map[:n] ||= 0; map[:n] += 1; event.set(\"n\", map[:n])' aggregate_maps_path => '{}'",
        path.display()
    );
    assert_eq!(outcome(&filter, &[r#"{"id":1}"#, r#"{"id":1}"#]), [r#"{"id":1,"n":1}"#, r#"{"id":1,"n":2}"#]);
    assert_eq!(outcome(&filter, &[r#"{"id":1}"#, r#"{"id":2}"#]), [r#"{"id":1,"n":3}"#, r#"{"id":2,"n":1}"#]);
    std::fs::write(&path, "no maps").unwrap();
    let compiled =
        compiled(&format!("filter {{ aggregate {{ {filter} }} }}")).unwrap_or_else(|errors| panic!("{errors}"));
    let error = compiled.plan.filters[0].filter.register().unwrap_err().to_string();
    assert!(error.contains("could not be read"), "{error}");
}
