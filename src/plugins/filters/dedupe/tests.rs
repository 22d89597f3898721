//! Keys over restarts, kills, workers and limits.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::log::Log;
use super::store::{Rules, Seen, Store, empty_shards, restore};
use crate::dead_letter::kill_point;
use crate::event::{Clock, Event, Timestamp};
use crate::metrics::PluginMetrics;
use crate::plugins::Stop;
use crate::plugins::testing::{compiled, event, json, run_filters};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).unwrap()
}

fn rules(ttl: i64) -> Rules {
    Rules { ttl, refresh: false, max_keys: 0, evicts: true, syncs: true }
}

fn open(folder: &Path, rules: Rules, clock: &Clock) -> Store {
    let (now, mut shards) = (clock.millis(), empty_shards());
    let log = Log::open(folder, rules.ttl, |record| {
        if now - record.1 < rules.ttl {
            restore(&mut shards, record);
        }
    });
    Store::new(rules, Some((log.unwrap(), shards)), clock.clone(), Stop::new(), &PluginMetrics::default())
}

fn in_memory(rules: Rules, clock: &Clock, metrics: &PluginMetrics) -> Store {
    Store::new(rules, None, clock.clone(), Stop::new(), metrics)
}

fn is_first(store: &Store, key: &str, batch: u64) -> bool {
    store.see(store.hash(key.as_bytes()), batch) == Seen::First
}

#[test]
fn a_key_is_known_for_good_only_with_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::standing_at(at(0));
    let store = open(folder.path(), rules(10_000), &clock);
    assert!(is_first(&store, "a", 1) && is_first(&store, "b", 2));
    // On its way, it is a duplicate however long that takes.
    clock.set(at(60_000));
    assert!(!is_first(&store, "a", 3));
    assert!(store.end(2, false) && store.end(3, true));
    assert!(is_first(&store, "b", 4), "a batch that was given up comes again");
    drop(store);
    let store = open(folder.path(), rules(10_000), &clock);
    assert!(is_first(&store, "a", 5) && is_first(&store, "b", 5), "nothing was dealt with");
    assert!(store.end(5, true));
    drop(store);
    let store = open(folder.path(), rules(10_000), &clock);
    assert!(!is_first(&store, "a", 6) && !is_first(&store, "b", 6));
}

#[test]
fn a_refresh_of_a_key_on_its_way_does_not_vouch_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::standing_at(at(0));
    let refreshing = || Rules { refresh: true, ..rules(10_000) };
    let store = open(folder.path(), refreshing(), &clock);
    assert!(is_first(&store, "a", 1) && !is_first(&store, "a", 2));
    assert!(store.end(2, true), "the duplicate is dealt with before the first");
    drop(store);
    let store = open(folder.path(), refreshing(), &clock);
    assert!(is_first(&store, "a", 3) && store.end(3, true));
    clock.set(at(9_000));
    assert!(!is_first(&store, "a", 4) && store.end(4, true));
    drop(store);
    clock.set(at(18_000));
    assert!(!is_first(&open(folder.path(), refreshing(), &clock), "a", 5), "the later time is on disk");
}

#[test]
fn of_workers_with_the_same_new_keys_each_is_first_once() {
    let store = Arc::new(in_memory(rules(10_000), &Clock::default(), &PluginMetrics::default()));
    let firsts: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let store = store.clone();
                scope.spawn(move || (0..5_000).filter(|n| is_first(&store, &n.to_string(), worker)).count())
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(firsts, 5_000);
}

#[test]
fn a_clock_that_goes_back_makes_no_key_new() {
    let clock = Clock::standing_at(at(50_000));
    let store = in_memory(rules(10_000), &clock, &PluginMetrics::default());
    assert!(is_first(&store, "a", 1) && store.end(1, true));
    clock.set(at(0));
    assert!(!is_first(&store, "a", 2));
}

#[test]
fn the_oldest_keys_make_room() {
    let (clock, metrics) = (Clock::standing_at(at(0)), PluginMetrics::default());
    let store = in_memory(Rules { max_keys: 2, ..rules(10_000) }, &clock, &metrics);
    for (n, key) in ["a", "b", "c"].iter().enumerate() {
        clock.set(at(n as i64));
        assert!(is_first(&store, key, n as u64) && store.end(n as u64, true));
    }
    assert!(!is_first(&store, "b", 9) && !is_first(&store, "c", 9) && is_first(&store, "a", 9));
    assert_eq!(metrics.counter("evicted").get(), 2);
    let store = in_memory(Rules { max_keys: 1, evicts: false, ..rules(10_000) }, &clock, &metrics);
    assert!(is_first(&store, "a", 1) && is_first(&store, "b", 1) && is_first(&store, "b", 1));
    assert!(!is_first(&store, "a", 1));
}

#[test]
fn expired_keys_give_their_space_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::standing_at(at(0));
    let store = open(folder.path(), rules(16_000), &clock);
    for second in 0..16_u64 {
        clock.set(at(second as i64 * 1000));
        assert!(is_first(&store, &second.to_string(), second) && store.end(second, true));
    }
    let segments = || fs::read_dir(folder.path()).unwrap().count() - 1;
    assert_eq!(segments(), 16);
    clock.set(at(20_000));
    store.purge_log();
    assert_eq!(segments(), 11);
    (0..super::store::SHARDS).for_each(|shard| store.purge_shard(shard));
    drop(store);
    clock.set(at(60_000));
    open(folder.path(), rules(16_000), &clock).purge_log();
    assert_eq!(segments(), 0);
}

#[test]
fn a_folder_belongs_to_one_store_and_a_newer_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), rules(1000), &Clock::standing_at(at(0)));
    let error = Log::open(folder.path(), 1000, |_| {}).err().unwrap().to_string();
    assert!(error.contains("is in use"), "{error}");
    assert!(is_first(&store, "a", 1) && store.end(1, true));
    drop(store);
    let path = folder.path().join(format!("{:020}.keys", 0));
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 9;
    fs::write(&path, bytes).unwrap();
    let error = Log::open(folder.path(), 1000, |_| {}).err().unwrap().to_string();
    assert!(error.contains("newer version"), "{error}");
}

const PLACE: &str = "SPILLWAY_DEDUPE_PLACE";

/// What runs in the child of the next test: batches of keys, each noted once it is dealt with, until it is killed.
#[test]
fn child() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let place = Path::new(&place);
    let mut notes = fs::OpenOptions::new().create(true).append(true).open(place.join("notes")).unwrap();
    let begin = fs::read_to_string(place.join("notes")).unwrap().lines().count() as u64;
    let clock = Clock::standing_at(at(begin as i64 * 100));
    let store = open(&place.join("keys"), rules(1600), &clock);
    for n in begin.. {
        clock.set(at(n as i64 * 100));
        for key in 0..20 {
            assert!(is_first(&store, &format!("{n}-{key}"), n), "a key that was never dealt with is known");
        }
        assert!(store.end(n, true));
        notes.write_all(format!("{n}\n").as_bytes()).unwrap();
        store.purge_log();
    }
}

/// A kill at any step: what was acknowledged is known, what was not is not, and half a batch is never there.
#[test]
fn every_step_of_a_write_can_be_the_last() {
    for point in [
        "keys-before-frame",
        "keys-mid-frame",
        "keys-after-frame",
        "keys-after-sync",
        "keys-new-segment",
        "keys-segment-deleted",
    ] {
        let place = tempfile::tempdir().unwrap();
        for after in ["0", "3", "7"] {
            let mut child = Command::new(std::env::current_exe().unwrap());
            let child = child.args(["--exact", "plugins::filters::dedupe::tests::child", "--test-threads=1"]);
            let child = child.env(PLACE, place.path()).env(kill_point::POINT, point).env(kill_point::AFTER, after);
            let status = child.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{point} was not reached");
            check(place.path(), point);
        }
    }
}

fn check(place: &Path, point: &str) {
    let noted = fs::read_to_string(place.join("notes")).unwrap_or_default().lines().count() as i64;
    let clock = Clock::standing_at(at(noted * 100));
    let store = open(&place.join("keys"), rules(1600), &clock);
    let known = |n: i64| (0..20).filter(|key| !is_first(&store, &format!("{n}-{key}"), u64::MAX)).count();
    for n in (noted - 15).max(0)..noted {
        assert_eq!(known(n), 20, "{point}: batch {n} of {noted} was acknowledged");
    }
    // The last batch may be written and not noted; then it is all there, and comes again as duplicates.
    let last = known(noted);
    assert!(last == 0 || last == 20, "{point}: {last} of 20");
    if last == 20 {
        let mut notes = fs::OpenOptions::new().append(true).create(true).open(place.join("notes")).unwrap();
        notes.write_all(format!("{noted}\n").as_bytes()).unwrap();
    }
}

fn run(options: &str, events: &[&str]) -> Vec<String> {
    let compiled = compiled(&format!("filter {{ dedupe {{ store => memory {options} }} }}")).unwrap();
    compiled.plan.filters[0].filter.register().unwrap();
    let events: Vec<Event> = events.iter().map(|json| event(json)).collect();
    run_filters(&compiled, events).iter().map(json).collect()
}

#[test]
fn fields_of_a_key_are_kept_apart() {
    let key = r#"key => ["a", "[b]"]"#;
    let events = [r#"{"a":"1","b":"23"}"#, r#"{"a":"12","b":"3"}"#, r#"{"a":1,"b":"23"}"#];
    assert_eq!(run(key, &events), events[..2]);
    assert_eq!(run(&format!("{key} key_as_text => false"), &events), events);
    assert_eq!(run(key, &[r#"{"a":1}"#]), [r#"{"a":1,"tags":["_dedupe_no_key"]}"#]);
    for drops in ["on_missing_key => drop", "on_failure => drop", "on_failure => tag on_missing_key => drop"] {
        assert_eq!(run(&format!("{key} {drops}"), &[r#"{"a":1}"#]), [""; 0], "{drops}");
    }
}

#[test]
fn common_options_are_for_the_first() {
    let out =
        run(r#"key => "%{k}" on_duplicate => tag add_field => { "new" => "yes" }"#, &[r#"{"k":1}"#, r#"{"k":1}"#]);
    assert_eq!(out, [r#"{"k":1,"new":"yes"}"#, r#"{"k":1,"tags":["_duplicate"]}"#]);
}

#[test]
fn mistakes_of_a_configuration() {
    for (options, part) in [
        (r#"key => "%{a}""#, "needs a `name`"),
        (r#"key => "%{a}" name => "../x""#, "`../x`"),
        (r#"key => "%{a}" store => memory name => "x""#, "belongs to"),
        (r#"key => "%{a}" store => memory sync => "often""#, "`often`"),
        (r#"key => "%{a}" store => memory ttl => "0s""#, "`ttl`"),
        (r#"key => "%{a}" store => memory max_keys => -1"#, "`max_keys`"),
        (r#"key => "%{a}" store => memory key_as_text => false"#, "list of fields"),
        (r#"key => "%{a}" store => memory on_duplicate => dlq"#, "dead_letter_queue.enable"),
        (r#"key => "%{a}" store => memory on_failure => dlq"#, "dead_letter_queue.enable"),
        (r#"key => ["a[", "b"] store => memory"#, "a["),
        (r#"store => memory"#, "`key`"),
    ] {
        let errors = compiled(&format!("filter {{ dedupe {{ {options} }} }}")).err().unwrap();
        assert!(errors.contains(part), "{options}: {errors}");
    }
    let twice = r#"filter { dedupe { key => "%{a}" name => "x" } dedupe { key => "%{b}" name => "x" } }"#;
    assert!(compiled(twice).err().unwrap().contains("two dedupe filters"));
}
