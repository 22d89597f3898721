//! What a new user does at the command line, as told in `cases/user-experience.yml`.

#[path = "support/ports.rs"]
mod ports;
#[path = "support/scenario/mod.rs"]
mod scenario;

use std::path::Path;

use spillway::testing::{Verdict, file, report};

fn passes(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/user-experience.yml");
    let entries = file::read(&path).unwrap();
    let entry = entries.iter().find(|entry| entry.name == name).unwrap();
    match scenario::run(entry) {
        Verdict::Passed => {}
        Verdict::Failed(failure) => panic!("{}", report::failure(entry, &failure, "cargo test --test scenarios")),
        Verdict::Skipped(reason) => panic!("{name} was not run: {reason}"),
    }
}

#[test]
fn the_shortest_trial_works() {
    passes("ux.first-line");
}

#[test]
fn a_mistyped_arrow_gets_a_sentence() {
    passes("ux.arrow-typo");
}

#[test]
fn a_broken_second_pipeline_is_found_and_named() {
    passes("ux.t-checks-every-pipeline");
}

#[test]
fn the_trap_of_the_metadata_prefix_is_named_before_anything_runs() {
    passes("ux.dlq-prefix-trap");
}

#[test]
fn a_script_gets_the_facts_of_a_check() {
    passes("ux.check-json");
}

#[test]
fn branches_that_no_case_reaches_are_named() {
    passes("ux.test-coverage");
}

#[test]
fn a_config_mistake_looks_exactly_so() {
    passes("ux.unknown-option-layout");
}

#[test]
fn independent_mistakes_are_told_at_once() {
    passes("ux.three-errors-one-run");
}

#[test]
fn a_number_is_never_a_text() {
    passes("ux.number-compared-with-text");
}

#[test]
fn a_failed_case_shows_what_differs_and_is_rewritten() {
    passes("ux.test-failure-diff");
}

#[test]
fn files_of_logstash_filter_verifier_run_unchanged() {
    passes("ux.test-lfv-file");
}
