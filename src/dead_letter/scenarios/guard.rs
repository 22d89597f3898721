//! Events that come out of a queue and fail again.

use super::super::{LoopGuard, METADATA_KEY};
use super::*;
use crate::event::{Map, Value};

fn with_key(value: Value) -> Event {
    let mut event = Event::at(at(T));
    event.metadata_mut().insert(METADATA_KEY, value);
    event
}

fn put(writer: &Writer, event: &Event, reason: &str) -> Written {
    writer.write(event, "elasticsearch", "out", reason).unwrap()
}

fn origin(event: &Event) -> &Map {
    event.metadata().get(METADATA_KEY).unwrap().as_map().unwrap()
}

#[test]
fn guard_key() {
    let mut q = Queue::new();
    q.settings.loop_guard = LoopGuard::Skip;
    let writer = q.open();
    let (written, warned) = warnings(|| put(&writer, &with_key(Value::Null), "again"));
    assert_eq!((written, warned.len()), (Written::Skipped, 1), "{warned:?}");
    assert!(warned[0].contains("previously submitted to dead letter queue"), "{warned:?}");
    assert_eq!(writer.stats().dropped_events, 0);
    let mut event = Event::at(at(T));
    event.fields_mut().insert(METADATA_KEY, [("x", "y")].into_iter().collect::<Map>());
    assert_eq!(put(&writer, &event, "field"), Written::Stored);
    let mut event = with_key(Value::Null);
    event.metadata_mut().remove(METADATA_KEY);
    assert_eq!(put(&writer, &event, "removed"), Written::Stored);
    let ((), warned) = warnings(|| writer.close().unwrap());
    assert!(warned[0].contains("1 events"), "{warned:?}");
    assert_eq!(q.read(), ["field", "removed"]);
}

#[test]
fn replay_odd_metadata() {
    let q = Queue::new();
    let writer = q.open();
    for odd in [Value::Null, Value::from("x"), Value::Map(Map::new())] {
        assert_eq!(put(&writer, &with_key(odd), "first"), Written::Stored);
    }
    writer.close().unwrap();
    let letters = drain(&mut Reader::new(&q.dir, Start::Beginning));
    assert_eq!(letters.len(), 3);
    for letter in letters {
        let event = letter.into_event();
        assert!(!origin(&event).contains_key("attempt") && !origin(&event).contains_key("history"));
    }
}

#[test]
fn replay_second_round() {
    let q = Queue::new();
    let queue = |name: &str| Settings::new(q.root.path().join(name));
    let open = |name: &str| Writer::open_by(queue(name), q.clock.clone()).unwrap();
    let read = |name: &str| -> Vec<Event> {
        let letters = drain(&mut Reader::new(q.root.path().join(name), Start::Beginning));
        letters.into_iter().map(DeadLetter::into_event).collect()
    };
    let mut event = Event::at(at(T));
    event.metadata_mut().insert("kept", "k");
    let mut events = vec![event];
    for name in ["main", "replay", "third"] {
        let writer = open(name);
        for event in &events {
            assert_eq!(put(&writer, event, &format!("failed in {name}")), Written::Stored);
        }
        writer.close().unwrap();
        events = read(name);
        assert_eq!(events.len(), 1);
    }
    let origin = origin(&events[0]);
    assert_eq!(origin.get("reason"), Some(&Value::from("failed in third")));
    assert_eq!(origin.get("source_queue"), Some(&Value::from("third")));
    assert_eq!(origin.get("attempt"), Some(&Value::Integer(3)));
    let history = origin.get("history").unwrap().as_array().unwrap();
    let rounds: Vec<_> = history.iter().map(|round| round.as_map().unwrap()).collect();
    assert_eq!(rounds.len(), 2);
    for (round, name) in rounds.iter().zip(["main", "replay"]) {
        assert_eq!(round.get("reason"), Some(&Value::from(format!("failed in {name}"))));
        assert_eq!(round.get("source_queue"), Some(&Value::from(name)));
        assert_eq!(round.get("plugin_id"), Some(&Value::from("out")));
        assert_eq!(round.get("entry_time"), Some(&Value::Timestamp(at(T))));
    }
    assert_eq!(events[0].metadata().get("kept"), Some(&Value::from("k")));
}

#[test]
fn replay_own_queue_parked() {
    let q = Queue::new();
    let writer = q.open();
    for n in 0..100 {
        put(&writer, &Event::at(at(T)), &n.to_string());
    }
    q.pass(10.0);
    writer.tick();
    let mut reader = Reader::new(&q.dir, Start::Beginning);
    let ((), warned) = warnings(|| {
        for letter in drain(&mut reader) {
            assert_eq!(put(&writer, &letter.into_event(), "again"), Written::Parked);
        }
    });
    assert_eq!(warned.len(), 1, "{warned:?}");
    writer.close().unwrap();
    assert!(reasons(&mut reader).is_empty(), "the queue itself did not grow");
    let parked = drain(&mut Reader::new(q.root.path().join("main.parked"), Start::Beginning));
    assert_eq!(parked.len(), 100);
    for letter in parked {
        let event = letter.into_event();
        assert_eq!(origin(&event).get("attempt"), Some(&Value::Integer(2)));
    }
    assert_eq!(fs::read_dir(q.root.path().join("main.parked")).unwrap().count(), 1);
}

#[test]
fn the_parked_queue_is_not_made_before_it_is_needed() {
    let q = Queue::new();
    let writer = q.open();
    write(&writer, "x");
    writer.close().unwrap();
    assert!(!q.root.path().join("main.parked").exists());
}

#[test]
fn input_metadata() {
    let q = Queue::new();
    let mut event = Event::at(at("2020-01-01T00:00:00Z"));
    event.metadata_mut().insert("k", "v");
    let writer = q.open();
    writer.write(&event, "elasticsearch", "out-1", "reason \u{fc}").unwrap();
    writer.close().unwrap();
    let event = drain(&mut Reader::new(&q.dir, Start::Beginning)).remove(0).into_event();
    assert_eq!(event.metadata().get("k"), Some(&Value::from("v")));
    assert_eq!(event.timestamp(), Some(at("2020-01-01T00:00:00Z")));
    let origin = origin(&event);
    assert_eq!(origin.get("plugin_type"), Some(&Value::from("elasticsearch")));
    assert_eq!(origin.get("plugin_id"), Some(&Value::from("out-1")));
    assert_eq!(origin.get("reason"), Some(&Value::from("reason \u{fc}")));
    assert_eq!(origin.get("entry_time"), Some(&Value::Timestamp(at(T))));
}

#[test]
fn an_event_nested_too_deep_is_refused_and_said_so() {
    let q = Queue::new();
    let mut value = Value::Null;
    for _ in 0..2100 {
        value = Value::Array(vec![value]);
    }
    let mut event = Event::at(at(T));
    event.fields_mut().insert("deep", value);
    let writer = q.open();
    assert_eq!(put(&writer, &event, "x"), Written::Refused);
    assert_eq!(writer.stats().dropped_events, 1);
    assert!(writer.stats().last_error.contains("inside each other"));
}
