//! Topics of a broker, written and read without the program.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

const LIMIT: Duration = Duration::from_secs(60);

/// The broker that `SPILLWAY_KAFKA` names.
pub struct Broker {
    pub address: String,
    /// Sets the topics of this test apart.
    run: String,
}

/// A record as it stands in a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Got {
    pub partition: i32,
    pub offset: i64,
    pub key: Option<String>,
    pub value: Option<String>,
    pub headers: Vec<(String, String)>,
    pub timestamp: Option<i64>,
}

/// A record to send.
#[derive(Clone, Default)]
pub struct Sent<'a> {
    pub partition: Option<i32>,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: &'a [(&'a str, &'a [u8])],
    pub timestamp: Option<i64>,
}

/// Text without a key.
pub fn text(value: &str) -> Sent<'_> {
    Sent { value: Some(value.as_bytes()), ..Sent::default() }
}

/// The broker, or a line that says why nothing is tested.
pub fn broker() -> Option<Broker> {
    let address = std::env::var("SPILLWAY_KAFKA").ok();
    if address.is_none() {
        println!("skipped: SPILLWAY_KAFKA names no broker");
    }
    address.map(|address| Broker::at(&address))
}

impl Broker {
    /// The one that listens there.
    pub fn at(address: &str) -> Self {
        Self { address: address.to_owned(), run: uuid::Uuid::new_v4().simple().to_string()[..8].to_owned() }
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.address);
        config
    }

    /// A name of this test's own.
    pub fn name(&self, name: &str) -> String {
        format!("{name}-{}", self.run)
    }

    /// Makes a topic; gives its name.
    pub fn topic(&self, name: &str, partitions: i32) -> String {
        self.topic_with(name, partitions, &[])
    }

    pub fn topic_with(&self, name: &str, partitions: i32, settings: &[(&str, &str)]) -> String {
        let name = self.name(name);
        let admin: AdminClient<DefaultClientContext> = self.config().create().unwrap();
        // Tests send records with old timestamps: the broker's next look for what is too old would take them away unread.
        let mut topic = NewTopic::new(&name, partitions, TopicReplication::Fixed(1)).set("retention.ms", "-1");
        for (key, value) in settings {
            topic = topic.set(key, value);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let made = runtime
            .block_on(admin.create_topics(&[topic], &AdminOptions::new().operation_timeout(Some(LIMIT))))
            .unwrap();
        made.into_iter().for_each(|made| drop(made.unwrap()));
        name
    }

    /// Sends records and waits until they are stored.
    pub fn send<'a>(&self, topic: &str, records: impl IntoIterator<Item = Sent<'a>>) {
        let producer: BaseProducer = self.config().set("partitioner", "murmur2_random").create().unwrap();
        for sent in records {
            let headers = sent
                .headers
                .iter()
                .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(*value) }));
            let record = || {
                let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(topic).headers(headers.clone());
                (record.key, record.payload, record.partition, record.timestamp) =
                    (sent.key, sent.value, sent.partition, sent.timestamp);
                record
            };
            while producer.send(record()).is_err() {
                producer.poll(Duration::from_millis(10));
            }
        }
        producer.flush(LIMIT).unwrap();
    }

    /// All that is in a topic, partition by partition; of transactions only what is committed.
    pub fn read(&self, topic: &str) -> Vec<Got> {
        let consumer: BaseConsumer = self
            .config()
            .set("group.id", self.name("reader"))
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .set("isolation.level", "read_committed")
            .create()
            .unwrap();
        let metadata = answered(|| consumer.fetch_metadata(Some(topic), LIMIT));
        let partitions: Vec<i32> = metadata.topics()[0].partitions().iter().map(|p| p.id()).collect();
        let mut list = TopicPartitionList::new();
        for partition in &partitions {
            list.add_partition_offset(topic, *partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&list).unwrap();
        let (mut got, mut ended, end) = (Vec::new(), 0, Instant::now() + LIMIT);
        while ended < partitions.len() {
            assert!(Instant::now() < end, "{topic} cannot be read to its end");
            match consumer.poll(Duration::from_millis(200)) {
                Some(Ok(message)) => got.push(record(&message)),
                Some(Err(KafkaError::PartitionEOF(_))) => ended += 1,
                Some(Err(error)) => println!("{topic}: {error}"),
                None => {}
            }
        }
        got.sort_by_key(|got| (got.partition, got.offset));
        got
    }

    /// The values in a topic.
    pub fn values(&self, topic: &str) -> Vec<String> {
        self.read(topic).into_iter().map(|got| got.value.unwrap_or_default()).collect()
    }

    /// Offsets of a group by partition.
    pub fn committed(&self, group: &str, topic: &str, partitions: i32) -> BTreeMap<i32, i64> {
        let consumer: BaseConsumer = self.config().set("group.id", group).create().unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_range(topic, 0, partitions - 1);
        let list = answered(|| consumer.committed_offsets(list.clone(), LIMIT));
        let offset = |offset| if let Offset::Offset(offset) = offset { offset } else { -1 };
        list.elements().iter().map(|e| (e.partition(), offset(e.offset()))).collect()
    }
}

/// What a broker answers, who may say for a moment that a new group has no coordinator yet.
fn answered<T>(ask: impl Fn() -> Result<T, KafkaError>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(error) => assert!(Instant::now() < end, "the broker answers only with: {error}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn record(message: &impl Message) -> Got {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = message
        .headers()
        .map(|all| all.iter().map(|header| (header.key.to_owned(), text(header.value.unwrap_or_default()))).collect());
    Got {
        partition: message.partition(),
        offset: message.offset(),
        key: message.key().map(text),
        value: message.payload().map(text),
        headers: headers.unwrap_or_default(),
        timestamp: message.timestamp().to_millis(),
    }
}
