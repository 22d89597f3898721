//! From topic to topic: the program beside a bare loop over librdkafka that does the same.
//!
//! `SPILLWAY_KAFKA=127.0.0.1:19092 cargo bench --bench kafka` after `tests/services/kafka.sh start`. Both read
//! `SPILLWAY_KAFKA_RECORDS` records (300000) of 200 bytes from 4 partitions and write them with `acks => all`, and commit
//! what was stored. Prints records for each second of the clock, and for each second of CPU time. The second is what
//! counts where broker and program share the cores: two programs in one group that have 0.85 of the rate of one for each
//! second of CPU time have 1.7 times its rate on two cores. `taskset -c 0 cargo bench ...` keeps
//! the bare loop and the program on one core.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

const PARTITIONS: i32 = 4;
const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    let Ok(address) = std::env::var("SPILLWAY_KAFKA") else {
        return println!("skipped: SPILLWAY_KAFKA names no broker");
    };
    let count = std::env::var("SPILLWAY_KAFKA_RECORDS").ok().and_then(|text| text.parse().ok()).unwrap_or(300_000);
    let bench = Bench { config: ClientConfig::new().set("bootstrap.servers", &address).clone(), address, count };
    let from = bench.topic("from");
    bench.fill(&from);
    for round in 1..=3 {
        bench.tell(round, "bare loop", bench.bare_loop(&from, &bench.topic("bare")));
        bench.tell(round, "spillway", bench.spillway(&from, &bench.topic("spillway"), 1));
        bench.tell(round, "two of one group", bench.spillway(&from, &bench.topic("two"), 2));
    }
}

struct Bench {
    config: ClientConfig,
    address: String,
    count: usize,
}

/// Seconds of the clock and of CPU time.
type Spent = (f64, f64);

impl Bench {
    fn tell(&self, round: usize, who: &str, (clock, cpu): Spent) {
        let rate = |seconds: f64| self.count as f64 / seconds / 1000.0;
        println!("{round} {who:<16} {:8.1} k/s {:8.1} k/CPU s", rate(clock), rate(cpu));
    }

    fn topic(&self, name: &str) -> String {
        let name = format!("bench-{name}-{}", uuid::Uuid::new_v4().simple());
        let admin: AdminClient<DefaultClientContext> = self.config.create().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let topic = NewTopic::new(&name, PARTITIONS, TopicReplication::Fixed(1));
        runtime.block_on(admin.create_topics(&[topic], &AdminOptions::new())).unwrap();
        name
    }

    fn producer(&self) -> BaseProducer {
        self.config
            .clone()
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("batch.size", "16384")
            .create()
            .unwrap()
    }

    fn fill(&self, topic: &str) {
        let producer = self.producer();
        let value = "x".repeat(200);
        for n in 0..self.count {
            let partition = (n % PARTITIONS as usize) as i32;
            while producer.send(BaseRecord::<(), str>::to(topic).payload(&value).partition(partition)).is_err() {
                producer.poll(Duration::from_millis(10));
            }
        }
        producer.flush(LIMIT).unwrap();
    }

    fn bare_loop(&self, from: &str, to: &str) -> Spent {
        let (start, cpu) = (Instant::now(), own_cpu());
        let mut config = self.config.clone();
        config.set("group.id", to).set("auto.offset.reset", "earliest").set("enable.auto.commit", "false");
        let consumer: BaseConsumer = config.create().unwrap();
        let producer = self.producer();
        consumer.subscribe(&[from]).unwrap();
        let mut passed = 0;
        while passed < self.count {
            // A portion is sent and waited for, then committed.
            let mut portion = 0;
            while portion < 5000 && passed < self.count {
                let Some(message) = consumer.poll(Duration::from_millis(100)) else { break };
                let message = message.unwrap();
                while producer.send(BaseRecord::<(), [u8]>::to(to).payload(message.payload().unwrap())).is_err() {
                    producer.poll(Duration::from_millis(10));
                }
                portion += 1;
                passed += 1;
            }
            producer.flush(LIMIT).unwrap();
            let _ = consumer.commit_consumer_state(CommitMode::Async);
        }
        (start.elapsed().as_secs_f64(), own_cpu() - cpu)
    }

    /// The program, or several that share the partitions.
    fn spillway(&self, from: &str, to: &str, members: usize) -> Spent {
        let address = &self.address;
        let config = format!(
            "input {{ kafka {{ bootstrap_servers => '{address}' topics => ['{from}'] group_id => '{to}' auto_offset_reset => earliest \
             codec => plain {{ ecs_compatibility => disabled }} }} }}
             output {{ kafka {{ bootstrap_servers => '{address}' topic_id => '{to}' acks => all codec => plain {{ format => '%{{message}}' }} }} }}"
        );
        let start = Instant::now();
        let mut running: Vec<(Child, tempfile::TempDir)> = (0..members)
            .map(|_| {
                let home = tempfile::tempdir().unwrap();
                (program(&config, home.path()).spawn().unwrap(), home)
            })
            .collect();
        let watcher: BaseConsumer = self.config.create().unwrap();
        let stored =
            || (0..PARTITIONS).map(|p| watcher.fetch_watermarks(to, p, LIMIT).map_or(0, |marks| marks.1)).sum::<i64>();
        while (stored() as usize) < self.count {
            std::thread::sleep(Duration::from_millis(20));
        }
        let clock = start.elapsed().as_secs_f64();
        let cpu = running.iter().map(|(child, _)| cpu_of(&format!("/proc/{}/stat", child.id()))).sum();
        for (child, _) in &mut running {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        (clock, cpu)
    }
}

fn program(config: &str, home: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spillway"));
    command.args(["-e", config, "--api.enabled", "false", "-b", "1000", "--path.data"]).arg(home);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn own_cpu() -> f64 {
    cpu_of("/proc/self/stat")
}

/// User and system time of a process, in seconds; a tick is 10 ms on Linux.
fn cpu_of(path: &str) -> f64 {
    let stat = std::fs::read_to_string(path).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}
