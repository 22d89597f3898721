//! Which options are refused, and which events have no record.

use super::options::Settings;
use crate::config::ast::PluginBlock;
use crate::config::diagnostic::Diagnostics;
use crate::plugins::testing::{compiled, event, warnings};
use crate::plugins::{Context, Options};

fn errors(options: &str) -> String {
    compiled(&format!("output {{ kafka {{ {options} }} }}")).err().unwrap_or_default()
}

#[test]
fn options_that_cannot_be_honoured_are_refused() {
    for (options, words) in [
        ("", "topic_id"),
        ("topic_id => tt forbid_topics => ['tt']", "forbid_topics"),
        ("topic_id => 'a/b'", "no name for a topic"),
        ("topic_id => tt partitioner => 'com.example.Mine'", "no partitioner"),
        ("topic_id => tt value_serializer => 'com.example.Mine'", "Java classes cannot be loaded"),
        ("topic_id => tt acks => '1' enable_idempotence => true", "needs `acks"),
        ("topic_id => tt transactional_id => xx acks => '1'", "a transaction needs"),
        ("topic_id => tt transaction_interval => 5", "belongs to `transactional_id`"),
        ("topic_id => tt transactional_id => xx transaction_interval => '10m'", "five minutes at most"),
        ("topic_id => tt retries => -1", "not negative"),
        ("topic_id => tt max_request_size => 10", "from 1000"),
    ] {
        let errors = errors(options);
        assert!(errors.contains(words), "{options}: {errors}");
    }
    assert!(warnings("output { kafka { topic_id => tt retries => 3 } }").contains("given up"));
}

#[test]
fn one_pipeline_has_one_transaction() {
    let two =
        "output { kafka { topic_id => tt transactional_id => xx } kafka { topic_id => uu transactional_id => yy } }";
    assert!(compiled(two).err().unwrap().contains("share one transaction"));
}

/// The output that an options text describes.
fn settings(options: &str) -> Settings {
    let loaded = crate::config::parse(&format!("output {{ kafka {{ {options} }} }}"));
    let mut blocks: Vec<PluginBlock> = Vec::new();
    for node in loaded.config.outputs {
        if let crate::config::ast::Node::Plugin(block) = node {
            blocks.push(block);
        }
    }
    let (context, mut diagnostics) = (Context::alone("kafka"), Diagnostics::default());
    Options::new(&blocks[0], &context, &mut diagnostics).finish_with(Settings::read).plugin.unwrap().unwrap()
}

#[test]
fn an_event_becomes_a_record() {
    let settings = settings(
        "topic_id => 'logs-%{app}' message_key => '%{k}' timestamp => event forbid_topics => ['logs-secret'] \
         message_headers => { 'a' => '%{h}' 'b' => '%{none}' } codec => plain { format => '%{message}' }",
    );
    let made = event(r#"{"app":"x","k":"key","h":1,"message":"m","@timestamp":"2026-01-01T00:00:00.005Z"}"#);
    let record = settings.form.record(&made).unwrap();
    assert_eq!(
        (record.topic.as_str(), record.key.as_deref(), record.value.as_slice()),
        ("logs-x", Some(&b"key"[..]), &b"m"[..])
    );
    assert_eq!(record.headers.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), [("a", "1")]);
    assert_eq!(record.timestamp, Some(1_767_225_600_005));
    for (app, words) in [(r#""app":"secret""#, "forbid_topics"), (r#""app":"a b""#, "no name"), (r#""b":1"#, "no name")]
    {
        let error = settings.form.record(&event(&format!("{{{app}}}"))).unwrap_err();
        assert!(error.contains(words), "{app}: {error}");
    }
    let replayed =
        |more: &str| format!(r#"{{"app":"x","@metadata":{{"replay":{{"original_topic":"logs-x"{more}}}}}}}"#);
    assert!(settings.form.record(&event(&replayed(""))).unwrap_err().contains("may not go back"));
    assert!(settings.form.record(&event(&replayed(r#","allow_loop":true"#))).is_ok());
}
