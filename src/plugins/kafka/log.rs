//! What librdkafka has to say, in the program's log.

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use super::LOG;

/// A line of librdkafka.
pub fn line(level: RDKafkaLogLevel, facility: &str, message: &str) {
    match level {
        // These come as errors, too.
        _ if facility == "FAIL" || facility == "ERROR" => tracing::debug!(target: LOG, "{message} ({facility})"),
        RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical | RDKafkaLogLevel::Error => {
            tracing::error!(target: LOG, "{message} ({facility})");
        }
        RDKafkaLogLevel::Warning => tracing::warn!(target: LOG, "{message} ({facility})"),
        RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
            tracing::debug!(target: LOG, "{message} ({facility})");
        }
    }
}

/// An error of the connection, after which librdkafka tries again by itself.
pub fn trouble(error: &KafkaError, reason: &str) {
    match error.rdkafka_error_code() {
        // What makes a transaction end is told where that happens.
        Some(RDKafkaErrorCode::Fatal | RDKafkaErrorCode::PurgeQueue | RDKafkaErrorCode::PurgeInflight) => {
            tracing::debug!(target: LOG, "{reason}");
        }
        Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed | RDKafkaErrorCode::SSL) => {
            tracing::error!(target: LOG, "{reason}");
        }
        _ => tracing::warn!(target: LOG, "{reason}"),
    }
}
