//! The options of the input.

use std::time::Duration;

use rdkafka::ClientConfig;

use super::pattern;
use super::record::Decorations;
use crate::event::Text;
use crate::plugins::kafka::client;
use crate::plugins::kafka::numbers::{self, Number};
use crate::plugins::{Decoders, Options};

const REGISTRY: &str = "records with an Avro schema cannot be read yet; write JSON to the topic";
const STRINGS: &str = "org.apache.kafka.common.serialization.StringDeserializer";
const BYTES: &str = "org.apache.kafka.common.serialization.ByteArrayDeserializer";

const NUMBERS: &[Number] = &[
    Number {
        option: "session_timeout_ms",
        property: "session.timeout.ms",
        default: 10_000,
        range: 1..=3_600_000,
        doc: "How long the group waits for a sign of life.",
    },
    Number {
        option: "heartbeat_interval_ms",
        property: "heartbeat.interval.ms",
        default: 3000,
        range: 1..=3_600_000,
        doc: "How often we give one.",
    },
    Number {
        option: "max_poll_interval_ms",
        property: "max.poll.interval.ms",
        default: 300_000,
        range: 1..=86_400_000,
        doc: "Longest time in which nothing is asked of the group. A pipeline that is blocked goes on asking.",
    },
    Number {
        option: "fetch_min_bytes",
        property: "fetch.min.bytes",
        default: 1,
        range: 1..=100_000_000,
        doc: "A broker waits until it has so much.",
    },
    Number {
        option: "fetch_max_bytes",
        property: "fetch.max.bytes",
        default: 52_428_800,
        range: 0..=2_147_483_135,
        doc: "Most that a broker sends at once.",
    },
    Number {
        option: "fetch_max_wait_ms",
        property: "fetch.wait.max.ms",
        default: 500,
        range: 0..=290_000,
        doc: "How long it waits for `fetch_min_bytes`.",
    },
    Number {
        option: "max_partition_fetch_bytes",
        property: "max.partition.fetch.bytes",
        default: 1_048_576,
        range: 1..=1_000_000_000,
        doc: "Most that it sends of one partition.",
    },
    Number {
        option: "request_timeout_ms",
        property: "socket.timeout.ms",
        default: 40_000,
        range: 10..=300_000,
        doc: "How long an answer is waited for.",
    },
];

/// When the group hears how far we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commit {
    /// What is in the queue of the pipeline counts as read.
    Auto,
    /// What the pipeline has dealt with.
    Acknowledged,
    /// With the records that the pipeline wrote.
    Transaction,
}

/// What the input was told.
#[derive(Clone)]
pub(super) struct Settings {
    /// Without the ids of client and instance.
    pub client: ClientConfig,
    pub client_id: String,
    pub instance_id: Option<String>,
    pub threads: usize,
    /// Topics, or one pattern that begins with `^`.
    pub subscription: Vec<String>,
    pub group_id: Text,
    pub commit: Commit,
    /// Zero for as soon as there is something.
    pub commit_interval: Duration,
    /// Most records that are pushed at once.
    pub chunk: usize,
    pub poll_timeout: Duration,
    pub decorations: Decorations,
    pub decoders: Decoders,
}

impl Settings {
    /// Declares and reads them. Fails after telling what is wrong.
    pub fn read(options: &mut Options<'_>) -> Option<Self> {
        let topics = options.strings("topics").doc("Topics to read.").default(vec!["logstash".to_owned()]);
        let pattern = options
            .string("topics_pattern")
            .doc("Reads every topic whose whole name matches; `topics` do not count then.")
            .optional();
        let group_id = options
            .string("group_id")
            .doc("Consumers of one group share the partitions.")
            .default("logstash".to_owned());
        let instance_id = options
            .string("group_instance_id")
            .doc("Keeps its partitions over a restart within `session_timeout_ms`.")
            .optional();
        let client_id =
            options.string("client_id").doc("Names us in the brokers' logs.").default("logstash".to_owned());
        let threads = options.integer("consumer_threads").doc("So many consumers.").default(1);
        let client = client::read(options);
        let mut config = client.clone().unwrap_or_default();
        numbers::read(NUMBERS, options, &mut config);
        fit_sizes(&mut config);
        group(options, &mut config);
        let reset = options.word("auto_offset_reset", &["earliest", "latest", "none"]);
        let reset = reset.doc("Where to begin in a partition without a committed offset.").default("latest".to_owned());
        config.set("auto.offset.reset", if reset == "none" { "error" } else { &reset });
        let (commit, commit_interval) = commit(options);
        let chunk =
            options.integer("max_poll_records").doc("Most records that enter the pipeline at once.").default(500);
        let poll_timeout =
            options.integer("poll_timeout_ms").doc("How long is waited for the first of them.").default(100);
        let decorations = decorations(options);
        reading(options, &mut config);
        for (name, why) in [
            ("schema_registry_url", REGISTRY),
            ("schema_registry_key", REGISTRY),
            ("schema_registry_secret", REGISTRY),
            ("schema_registry_proxy", REGISTRY),
            ("schema_registry_validation", REGISTRY),
        ] {
            options.unsupported(name, why);
        }
        let decoders = options.decoder("codec", "plain", &[]);
        config.set("group.id", &group_id);
        options.context().claims.hold(format_args!("group_id {group_id}"));
        if group_id.is_empty() {
            options.invalid("group_id", "`group_id` is not empty");
        }
        if commit == Commit::Transaction {
            fits_a_transaction(options, &config, threads);
        }
        if !(1..=1000).contains(&threads) {
            options.invalid("consumer_threads", format!("`consumer_threads` is from 1 to 1000, and not {threads}"));
        }
        let subscription = match pattern.map(|pattern| pattern::translated(&pattern)) {
            None => topics,
            Some(Ok(pattern)) => vec![pattern],
            Some(Err(why)) => {
                options.invalid("topics_pattern", why);
                return None;
            }
        };
        client?;
        client::check(&config, options).then(|| Self {
            client: config,
            client_id,
            instance_id,
            threads: usize::try_from(threads).unwrap_or(1),
            subscription,
            group_id: Text::from(group_id),
            commit,
            commit_interval,
            chunk: usize::try_from(chunk).unwrap_or(1).max(1),
            poll_timeout: Duration::from_millis(u64::try_from(poll_timeout).unwrap_or(100).clamp(1, 1000)),
            decorations,
            decoders,
        })
    }
}

/// One consumer commits, and what it does not have any more it has to read from the committed offset when it is back.
fn fits_a_transaction(options: &mut Options<'_>, config: &ClientConfig, threads: i64) {
    if threads != 1 {
        let message = "a transaction has one consumer: with `commit => \"transaction\"` leave `consumer_threads` out";
        options.invalid("consumer_threads", message);
    }
    if config.get("partition.assignment.strategy") == Some("cooperative-sticky") {
        let message = "members with transactions give all partitions back: write `range` or `round_robin`";
        options.invalid("partition_assignment_strategy", message);
    }
    if config.get("group.protocol") == Some("consumer") {
        options.invalid("group_protocol", "transactions need `group_protocol => \"classic\"`");
    }
}

/// librdkafka asks for sizes and times that fit each other; Java does not mind.
fn fit_sizes(config: &mut ClientConfig) {
    let fetch = numbers::value(config, "fetch.max.bytes").max(1_000_000);
    config.set("receive.message.max.bytes", (fetch + 512).max(100_000_000).to_string());
    let wait = numbers::value(config, "fetch.wait.max.ms") + 1000;
    let socket = numbers::value(config, "socket.timeout.ms").max(wait);
    config.set("socket.timeout.ms", socket.to_string());
}

/// How we are a member of the group.
fn group(options: &mut Options<'_>, config: &mut ClientConfig) {
    let strategy = options
        .word("partition_assignment_strategy", &["range", "round_robin", "sticky", "cooperative_sticky"])
        .doc("How the members share partitions; all of them say the same. `range` or `round_robin` unless given.")
        .optional();
    let protocol = options.word("group_protocol", &["classic", "consumer"]);
    let protocol =
        protocol.doc("`consumer`: the brokers share partitions out (KIP-848).").default("classic".to_owned());
    let property = match strategy.as_deref() {
        Some("round_robin") => Some("roundrobin"),
        Some("cooperative_sticky") => Some("cooperative-sticky"),
        Some("sticky") => {
            options.invalid(
                "partition_assignment_strategy",
                "`sticky` is not supported: write `cooperative_sticky`, which moves no more partitions and stops nobody",
            );
            None
        }
        other => other,
    };
    if let Some(strategy) = property {
        config.set("partition.assignment.strategy", strategy);
    }
    if protocol == "consumer" {
        for option in ["partition_assignment_strategy", "heartbeat_interval_ms", "session_timeout_ms"] {
            if options.is_set(option) {
                options.invalid(
                    option,
                    format!("with `group_protocol => \"consumer\"` the brokers decide: leave `{option}` out"),
                );
            }
        }
        config.remove("session.timeout.ms").remove("heartbeat.interval.ms");
    } else if numbers::value(config, "session.timeout.ms") > numbers::value(config, "max.poll.interval.ms") {
        options.invalid("max_poll_interval_ms", "`max_poll_interval_ms` is not less than `session_timeout_ms`");
    }
    config.set("group.protocol", protocol);
}

fn commit(options: &mut Options<'_>) -> (Commit, Duration) {
    let given = options
        .word("commit", &["auto", "ack", "transaction"])
        .doc(
            "When an offset is committed: after its events are queued, when they are dealt with, or with what the \
              `kafka` outputs wrote (Spillway).",
        )
        .default("ack".to_owned());
    let automatic = options
        .boolean("enable_auto_commit")
        .doc("Commits every `auto_commit_interval_ms`; false: as soon as there is something to commit.")
        .default(true);
    let interval = options.integer("auto_commit_interval_ms").doc("How often offsets are committed.").default(5000);
    if given != "auto" && automatic && options.is_set("enable_auto_commit") && options.is_set("commit") {
        let message = format!("`commit => \"{given}\"` commits what is dealt with: leave `enable_auto_commit` out");
        options.invalid("enable_auto_commit", message);
    }
    let commit = match given.as_str() {
        "auto" => Commit::Auto,
        "transaction" => Commit::Transaction,
        _ => Commit::Acknowledged,
    };
    let interval = Duration::from_millis(u64::try_from(interval).unwrap_or(0));
    (commit, if automatic { interval } else { Duration::ZERO })
}

fn decorations(options: &mut Options<'_>) -> Decorations {
    let word = options
        .word("decorate_events", &["none", "basic", "extended", "false", "true"])
        .doc("Whether `[@metadata][kafka]` says where an event comes from; `extended` with the headers.")
        .default("none".to_owned());
    if word == "true" || word == "false" {
        let instead = if word == "true" { "basic" } else { "none" };
        options.warn("decorate_events", "deprecated-option", format!("`{word}` is deprecated here: write `{instead}`"));
    }
    match word.as_str() {
        "basic" | "true" => Decorations::Basic,
        "extended" => Decorations::Extended,
        _ => Decorations::None,
    }
}

/// What is read, and how.
fn reading(options: &mut Options<'_>, config: &mut ClientConfig) {
    let mut flag = |name, default: bool, doc| options.boolean(name).doc(doc).default(default).to_string();
    config.set("check.crcs", flag("check_crcs", true, "Whether checksums of records are looked at."));
    config.set(
        "allow.auto.create.topics",
        flag("auto_create_topics", true, "Whether a topic that is missing may be made by the broker."),
    );
    if flag("exclude_internal_topics", true, "Whether a pattern leaves Kafka's own topics out.") == "true" {
        config.set("topic.blacklist", "^__consumer_offsets$,^__transaction_state$,^__share_group_state$");
    }
    let isolation = options
        .word("isolation_level", &["read_uncommitted", "read_committed"])
        .doc("Whether records of transactions that are open or aborted are left out.")
        .default("read_uncommitted".to_owned());
    config.set("isolation.level", isolation);
    if let Some(rack) = options.string("client_rack").doc("Where we are, to read from a replica nearby.").optional() {
        config.set("client.rack", rack);
    }
    config.set("enable.auto.commit", "false").set("enable.auto.offset.store", "false");
    for name in ["key_deserializer_class", "value_deserializer_class"] {
        let class =
            options.string(name).doc("String or ByteArray; the codec makes text of bytes.").default(STRINGS.to_owned());
        if class != STRINGS && class != BYTES {
            options.invalid(name, format!("Java classes cannot be loaded: `{name}` is {STRINGS} or {BYTES}"));
        }
    }
}
