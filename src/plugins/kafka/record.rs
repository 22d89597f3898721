//! A record on its way to a broker.

use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::BaseRecord;
use rdkafka::util::IntoOpaque;

use crate::event::Text;

/// What is sent.
#[derive(Clone, Debug)]
pub struct Record {
    pub topic: Text,
    pub key: Option<Vec<u8>>,
    pub value: Vec<u8>,
    pub headers: Vec<(Text, Text)>,
    /// Milliseconds since 1970; the time of sending without it.
    pub timestamp: Option<i64>,
}

impl Record {
    /// Bytes of memory, about.
    pub fn size(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        size_of::<Self>() + self.key.as_ref().map_or(0, Vec::len) + self.value.len() + headers
    }

    /// As librdkafka takes it.
    pub fn to_send<T: IntoOpaque>(&self, ticket: T) -> BaseRecord<'_, [u8], [u8], T> {
        let mut record = BaseRecord::with_opaque_to(&self.topic, ticket).payload(self.value.as_slice());
        record.key = self.key.as_deref();
        record.timestamp = self.timestamp;
        if !self.headers.is_empty() {
            let add = |headers: OwnedHeaders, (name, value): &(Text, Text)| {
                headers.insert(Header { key: name.as_str(), value: Some(value.as_str()) })
            };
            record.headers = Some(self.headers.iter().fold(OwnedHeaders::new(), add));
        }
        record
    }
}

/// Whether brokers take a topic of this name at all.
pub fn is_topic_name(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=249).contains(&name.len()) && name.bytes().all(is_plain) && name != "." && name != ".."
}
