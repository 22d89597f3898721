//! What the `kafka` input and output share: the connection ([`client`], [`security`], [`jaas`]), the log of librdkafka
//! ([`log`]), and the transaction in which outputs write and the input commits ([`transaction`]).
//!
//! The protocol is librdkafka's. Options keep Logstash's names and defaults, which are those of the Java client; what
//! librdkafka cannot honour is refused.

pub mod client;
pub mod failure;
mod jaas;
pub mod log;
pub mod numbers;
pub mod producer;
pub mod record;
mod security;
pub mod transaction;

/// Name of the logger of what happens on the connection.
pub const LOG: &str = "logstash.kafka";
