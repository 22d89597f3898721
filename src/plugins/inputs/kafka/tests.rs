//! Which options are refused, and with what words.

use crate::plugins::testing::{compiled, configured, warnings};

use super::options::{Commit, Settings};

fn errors(options: &str) -> String {
    compiled(&format!("input {{ kafka {{ {options} }} }}")).err().unwrap_or_default()
}

#[test]
fn options_that_cannot_be_honoured_are_refused() {
    for (options, words) in [
        ("schema_registry_url => 'http://x'", "schema_registry_url"),
        ("partition_assignment_strategy => sticky", "cooperative_sticky"),
        ("group_protocol => consumer session_timeout_ms => 6000", "leave `session_timeout_ms` out"),
        ("key_deserializer_class => 'com.example.Mine'", "Java classes cannot be loaded"),
        ("topics_pattern => 'a(?!b)'", "topics_pattern"),
        ("security_protocol => SASL_SSL", "GSSAPI is not supported"),
        ("security_protocol => SASL_SSL sasl_mechanism => PLAIN", "sasl_jaas_config"),
        ("security_protocol => SASL_SSL sasl_mechanism => OAUTHBEARER", "OAUTHBEARER is not supported"),
        ("sasl_kerberos_service_name => kafka", "not supported"),
        ("commit => ack enable_auto_commit => true", "enable_auto_commit"),
        ("commit => transaction consumer_threads => 2", "one consumer"),
        ("commit => transaction partition_assignment_strategy => cooperative_sticky", "give all partitions back"),
        ("consumer_threads => 0", "from 1 to 1000"),
        ("fetch_min_bytes => 0", "`fetch_min_bytes` is from 1"),
        ("group_id => ''", "`group_id` is not empty"),
    ] {
        let errors = errors(options);
        assert!(errors.contains(words), "{options}: {errors}");
    }
}

#[test]
fn options_of_logstash_are_taken() {
    for options in [
        "",
        "enable_auto_commit => true",
        "enable_auto_commit => 'false' auto_commit_interval_ms => 1000",
        "decorate_events => true topics => ['a', 'b'] codec => json",
        "fetch_max_bytes => 200000000 request_timeout_ms => 1000 send_buffer_bytes => -1",
        "group_protocol => consumer",
        "value_deserializer_class => 'org.apache.kafka.common.serialization.ByteArrayDeserializer'",
    ] {
        assert_eq!(errors(options), "", "{options}");
    }
    assert!(warnings("input { kafka { decorate_events => true } }").contains("write `basic`"));
}

#[test]
fn what_is_dealt_with_is_committed_unless_told_otherwise() {
    let commit = |options: &str| {
        let settings = configured(&format!("input {{ kafka {{ {options} }} }}"), Settings::read).unwrap().unwrap();
        (settings.commit, settings.commit_interval.as_millis())
    };
    assert_eq!(commit(""), (Commit::Acknowledged, 5000));
    assert_eq!(commit("enable_auto_commit => false"), (Commit::Acknowledged, 0));
    assert_eq!(commit("commit => auto auto_commit_interval_ms => 100"), (Commit::Auto, 100));
}
