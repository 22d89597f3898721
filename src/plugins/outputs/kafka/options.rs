//! The options of the output.

use std::time::Duration;

use rdkafka::ClientConfig;

use super::encode::{Form, Replay};
use crate::event::Template;
use crate::plugins::Options;
use crate::plugins::kafka::numbers::{self, Number};
use crate::plugins::kafka::{client, record};

const STRINGS: &str = "org.apache.kafka.common.serialization.StringSerializer";
const BYTES: &str = "org.apache.kafka.common.serialization.ByteArraySerializer";

const NUMBERS: &[Number] = &[
    Number {
        option: "batch_size",
        property: "batch.size",
        default: 16_384,
        range: 1..=2_147_483_647,
        doc: "Most bytes that are sent to a partition at once.",
    },
    Number {
        option: "linger_ms",
        property: "linger.ms",
        default: 5,
        range: 0..=900_000,
        doc: "How long a record waits for others.",
    },
    Number {
        option: "request_timeout_ms",
        property: "request.timeout.ms",
        default: 40_000,
        range: 1..=900_000,
        doc: "How long the answer of a broker is waited for.",
    },
    Number {
        option: "metadata_fetch_timeout_ms",
        property: "topic.metadata.propagation.max.ms",
        default: 60_000,
        range: 0..=3_600_000,
        doc: "How long a topic that is missing is looked for.",
    },
];

/// How a partition is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Partitioning {
    ByKey,
    RoundRobin,
    Sticky,
}

/// The transaction that the records are part of.
pub(super) struct Transaction {
    pub id: String,
    /// How long it lasts; none ends it as soon as it can.
    pub interval: Option<Duration>,
}

/// What the output was told.
pub(super) struct Settings {
    pub client: ClientConfig,
    pub form: Form,
    pub partitioning: Partitioning,
    pub retries: Option<u32>,
    pub retry_backoff: Duration,
    pub transaction: Option<Transaction>,
}

impl Settings {
    /// Declares and reads them. Fails after telling what is wrong.
    pub fn read(options: &mut Options<'_>) -> Option<Self> {
        let topic = options.template("topic_id").doc("The topic.").required();
        let key = options.template("message_key").doc("The key; none unless given.").optional();
        let headers = options
            .template_hash("message_headers")
            .doc("Names and values of headers. One whose value refers to a field that is missing is left out.")
            .optional()
            .unwrap_or_default();
        let forbidden = options
            .strings("forbid_topics")
            .doc("Topics that nothing is sent to, for the sake of which events become dead letters (Spillway).")
            .optional()
            .unwrap_or_default();
        let time = options
            .word("timestamp", &["send", "event"])
            .doc("Whether records have the time of sending or that of the event (Spillway).")
            .default("send".to_owned());
        let client_id =
            options.string("client_id").doc("Names us in the brokers' logs.").default("logstash".to_owned());
        let client = client::read(options);
        let mut config = client.clone().unwrap_or_default();
        config.set("client.id", client_id);
        numbers::read(NUMBERS, options, &mut config);
        sizes(options, &mut config);
        let partitioning = partitioning(options, &mut config);
        let retries = retries(options, &mut config);
        let transaction = guarantees(options, &mut config);
        if transaction.is_some() && partitioning != Partitioning::ByKey {
            options.invalid("partitioner", "in a transaction the key decides: leave `partitioner` out");
        }
        serializers(options);
        let encoder = options.encoder("codec", "plain");
        check_topic(options, &topic, &forbidden);
        client?;
        let headers = headers.into_iter().map(|(name, value)| (name.source().clone(), value)).collect();
        let with_event_time = time == "event";
        client::check(&config, options).then(|| Self {
            retry_backoff: Duration::from_millis(
                u64::try_from(numbers::value(&config, "retry.backoff.ms")).unwrap_or(100),
            ),
            client: config,
            form: Form { topic, key, headers, encoder, forbidden, with_event_time, replay: Replay::default() },
            partitioning,
            retries,
            transaction,
        })
    }
}

fn check_topic(options: &mut Options<'_>, topic: &Template, forbidden: &[String]) {
    let Some(name) = topic.as_constant().filter(|name| !name.is_empty()) else { return };
    if forbidden.iter().any(|forbidden| forbidden == name.as_str()) {
        options.invalid("topic_id", format!("`{name}` is one of `forbid_topics`: nothing would ever be sent"));
    } else if !record::is_topic_name(name) {
        options.invalid(
            "topic_id",
            format!("`{name}` is no name for a topic: letters, digits, `.`, `_` and `-`, 249 at most"),
        );
    }
}

fn sizes(options: &mut Options<'_>, config: &mut ClientConfig) {
    let request = options.integer("max_request_size").doc("Most bytes of a record.").default(1_048_576);
    let memory = options.integer("buffer_memory").doc("Most bytes that wait for brokers.").default(33_554_432);
    let compression = options
        .word("compression_type", &["none", "gzip", "snappy", "lz4", "zstd"])
        .doc("How batches are compressed.")
        .default("none".to_owned());
    if !(1000..=1_000_000_000).contains(&request) {
        options
            .invalid("max_request_size", format!("`max_request_size` is from 1000 to 1000000000, and not {request}"));
    } else {
        config.set("message.max.bytes", request.to_string());
    }
    config.set("queue.buffering.max.kbytes", (memory.max(request) / 1024).clamp(1, 2_147_483_647).to_string());
    config.set("compression.type", compression);
    // A worker that waits is told at once, however many wait.
    config.set("queue.buffering.max.messages", "1000000");
}

fn partitioning(options: &mut Options<'_>, config: &mut ClientConfig) -> Partitioning {
    let given = options
        .string("partitioner")
        .doc("`round_robin` or `uniform_sticky` spread records whatever their keys; the key decides unless given.")
        .default("default".to_owned());
    // As Java: the same key goes to the same partition, whoever sends it.
    config.set("partitioner", "murmur2_random");
    match given.as_str() {
        "default" => Partitioning::ByKey,
        "round_robin" => Partitioning::RoundRobin,
        "uniform_sticky" => Partitioning::Sticky,
        other => {
            let message = format!(
                "`{other}` is no partitioner: there are default, round_robin and uniform_sticky; Java classes cannot be loaded"
            );
            options.invalid("partitioner", message);
            Partitioning::ByKey
        }
    }
}

fn retries(options: &mut Options<'_>, config: &mut ClientConfig) -> Option<u32> {
    let retries = options
        .integer("retries")
        .doc("Tries after the first, then the event is a dead letter; as many as it takes unless given.")
        .optional();
    // librdkafka goes on by itself, and keeps the order in doing so.
    let patience = if retries.is_some() { numbers::value(config, "request.timeout.ms").max(1000) } else { 0 };
    config.set("message.timeout.ms", patience.to_string());
    let retries = retries?;
    match u32::try_from(retries) {
        Ok(retries) => {
            options.warn(
                "retries",
                "may-drop",
                "with `retries` events are given up when brokers are away for long; without it they wait",
            );
            Some(retries)
        }
        Err(_) => {
            options.invalid("retries", "`retries` is not negative; without it there is no limit");
            None
        }
    }
}

/// What brokers promise: how many have a record, that it is stored once, that it is part of a transaction.
fn guarantees(options: &mut Options<'_>, config: &mut ClientConfig) -> Option<Transaction> {
    let id = options
        .string("transactional_id")
        .doc("The records are part of a transaction with what a `kafka` input commits; one id for each process (Spillway).")
        .optional();
    if let Some(id) = &id {
        options.context().claims.hold(format_args!("transactional_id {id}"));
    }
    let interval = options
        .duration("transaction_interval")
        .doc("How long a transaction lasts; it ends as soon as it can unless given (Spillway).")
        .optional();
    let acks = options.word("acks", &["0", "1", "all"]);
    let acks =
        acks.doc("How many replicas have a record before it counts; `all` in a transaction.").default("1".to_owned());
    let acks = if id.is_some() && !options.is_set("acks") { "all".to_owned() } else { acks };
    let idempotence = options
        .boolean("enable_idempotence")
        .doc("Whether a retry is never stored twice; true with `acks => \"all\"` unless given (Spillway).")
        .optional();
    let is_idempotent = idempotence.unwrap_or(acks == "all");
    if is_idempotent && acks != "all" {
        options.invalid("enable_idempotence", "`enable_idempotence` needs `acks => \"all\"`");
    }
    if id.is_some() && (acks != "all" || !is_idempotent) {
        options.invalid("acks", "a transaction needs `acks => \"all\"`, with `enable_idempotence`: leave both out");
    }
    if interval.is_some() && id.is_none() {
        options.invalid("transaction_interval", "`transaction_interval` belongs to `transactional_id`");
    }
    config.set("acks", if acks == "all" { "-1" } else { &acks });
    config.set("enable.idempotence", (is_idempotent && acks == "all").to_string());
    config.set("max.in.flight.requests.per.connection", "5");
    let id = id?;
    let longest = interval.unwrap_or_default().as_millis();
    if longest > 300_000 {
        options
            .invalid("transaction_interval", "`transaction_interval` is five minutes at most: brokers end longer ones");
    }
    config.set("transactional.id", &id);
    let timeout = (longest * 3).clamp(60_000, 900_000).to_string();
    config.set("message.timeout.ms", &timeout).set("transaction.timeout.ms", timeout);
    Some(Transaction { id, interval })
}

fn serializers(options: &mut Options<'_>) {
    for (name, classes) in [("key_serializer", &[STRINGS][..]), ("value_serializer", &[STRINGS, BYTES][..])] {
        let class =
            options.string(name).doc("String; the codec makes the bytes of values.").default(STRINGS.to_owned());
        if !classes.contains(&class.as_str()) {
            options.invalid(name, format!("Java classes cannot be loaded: `{name}` is {}", classes.join(" or ")));
        }
    }
}
