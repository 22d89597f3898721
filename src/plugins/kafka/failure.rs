//! What follows from an error of a broker for the record that met it.

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// A record that was not stored.
#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: Kind,
    /// In librdkafka's words.
    pub message: String,
}

/// Whom an error concerns, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It may go better later.
    Later,
    /// There is no topic of that name, or we may not write to it. An operator can mend both, but a name that an event
    /// chose need not be meant to exist.
    Closed,
    /// This record is refused for good.
    Refused,
    /// A record of the batch that it was sent in is refused for good, perhaps another one.
    Suspect,
    /// The client cannot go on.
    Broken,
}

impl Failure {
    /// Of what a broker or librdkafka said.
    pub fn of(error: &KafkaError) -> Self {
        let kind = match error.rdkafka_error_code() {
            Some(code) => kind(code),
            // A name with a zero byte in it.
            None if matches!(error, KafkaError::Nul(_)) => Kind::Refused,
            None => Kind::Later,
        };
        let message = match error.rdkafka_error_code() {
            Some(code) => code.to_string(),
            None => error.to_string(),
        };
        Self { kind, message }
    }
}

fn kind(code: Code) -> Kind {
    match code {
        Code::UnknownTopic
        | Code::UnknownPartition
        | Code::UnknownTopicOrPartition
        | Code::TopicAuthorizationFailed => Kind::Closed,
        Code::InvalidTopic | Code::PolicyViolation | Code::InvalidRequiredAcks | Code::InvalidArgument => Kind::Refused,
        Code::MessageSizeTooLarge
        | Code::MessageBatchTooLarge
        | Code::InvalidMessage
        | Code::InvalidMessageSize
        | Code::InvalidRecord
        | Code::InvalidTimestamp
        | Code::UnsupportedForMessageFormat
        | Code::UnsupportedCompressionType => Kind::Suspect,
        Code::Fatal
        | Code::Fenced
        | Code::ProducerFenced
        | Code::TransactionalIdAuthorizationFailed
        | Code::TransactionCoordinatorFenced => Kind::Broken,
        _ => Kind::Later,
    }
}
