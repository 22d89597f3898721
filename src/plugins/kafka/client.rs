//! The options of a connection, which input and output have in common.

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

use super::numbers::{self, Number};
use super::security;
use crate::plugins::Options;

const NUMBERS: &[Number] = &[
    Number {
        option: "metadata_max_age_ms",
        property: "topic.metadata.refresh.interval.ms",
        default: 300_000,
        range: 1..=3_600_000,
        doc: "How often new topics and partitions are looked for.",
    },
    Number {
        option: "connections_max_idle_ms",
        property: "connections.max.idle.ms",
        default: 540_000,
        range: 0..=2_147_483_647,
        doc: "When an idle connection is closed.",
    },
    Number {
        option: "reconnect_backoff_ms",
        property: "reconnect.backoff.ms",
        default: 50,
        range: 0..=3_600_000,
        doc: "Rest before a broker is connected to again.",
    },
    Number {
        option: "reconnect_backoff_max_ms",
        property: "reconnect.backoff.max.ms",
        default: 1000,
        range: 0..=3_600_000,
        doc: "Longest such rest.",
    },
    Number {
        option: "retry_backoff_ms",
        property: "retry.backoff.ms",
        default: 100,
        range: 1..=300_000,
        doc: "Rest before a request is sent again.",
    },
];

const BUFFERS: [(&str, &str, i64, &str); 2] = [
    (
        "receive_buffer_bytes",
        "socket.receive.buffer.bytes",
        32_768,
        "Buffer of a socket for reading; -1 for the system's.",
    ),
    ("send_buffer_bytes", "socket.send.buffer.bytes", 131_072, "Buffer of a socket for writing; -1 for the system's."),
];

/// Declares and reads them. Fails, after telling it, when a connection cannot be made of them.
pub fn read(options: &mut Options<'_>) -> Option<ClientConfig> {
    let mut client = ClientConfig::new();
    client.set_log_level(RDKafkaLogLevel::Info);
    // Brokers close idle connections, which is nothing to tell.
    client.set("log.connection.close", "false");
    let servers = options
        .string("bootstrap_servers")
        .doc("Brokers to ask for all others, as `host:port`, with commas between.")
        .default("localhost:9092".to_owned());
    client.set("bootstrap.servers", servers);
    numbers::read(NUMBERS, options, &mut client);
    for (option, property, default, doc) in BUFFERS {
        let bytes = options.integer(option).doc(doc).default(default);
        client.set(property, bytes.clamp(0, 100_000_000).to_string());
    }
    let lookup = options
        .word("client_dns_lookup", &["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"])
        .doc("What is made of a name with several addresses.")
        .default("use_all_dns_ips".to_owned());
    client.set("client.dns.lookup", lookup);
    let longest = numbers::value(&client, "retry.backoff.ms").max(1000);
    client.set("retry.backoff.max.ms", longest.to_string());
    security::read(options, &mut client).then_some(client)
}

/// Whether librdkafka takes the properties; tells the user when it does not.
pub fn check(client: &ClientConfig, options: &mut Options<'_>) -> bool {
    let refused = client.create_native_config().err();
    if let Some(error) = &refused {
        options.invalid("bootstrap_servers", format!("the Kafka client cannot be made of these options: {error}"));
    }
    refused.is_none()
}
