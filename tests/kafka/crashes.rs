//! `kill -9` at moments that nobody chose.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::broker::{Broker, Got, broker, text};
use crate::number;
use crate::program::{Program, dead_letters, home};
use crate::records::{input, output};

/// Sends while the program is killed and started again; returns when all that was sent has arrived, or panics.
struct Killer<'b> {
    broker: &'b Broker,
    from: String,
    to: String,
    config: String,
    settings: &'static str,
    kills: usize,
    /// Records for each life.
    portion: usize,
}

impl Killer<'_> {
    /// How many records were sent, and the last life of the program.
    fn run(&self) -> (usize, Program) {
        let home = home();
        let mut sent = 0;
        for kill in 0..self.kills {
            let names: Vec<String> = (sent..sent + self.portion).map(|n| n.to_string()).collect();
            self.broker.send(&self.from, names.iter().map(|n| text(n)));
            sent += self.portion;
            let mut program = Program::start_in(&home, &self.config, self.settings);
            let before = self.broker.read(&self.to).len();
            // Every second one dies at work, the others wherever they are.
            if kill % 2 == 0 {
                let is_at_work = || self.broker.read(&self.to).len() > before;
                crate::eventually(Duration::from_secs(10), is_at_work);
            }
            std::thread::sleep(Duration::from_millis(37 * (kill as u64 * 7 % 11)));
            assert!(!program.has_ended(), "{}", program.log());
            program.kill();
        }
        (sent, Program::start_in(&home, &self.config, self.settings))
    }
}

/// How often each number arrived.
fn counts(got: &[Got]) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for got in got {
        *counts.entry(got.value.as_deref().unwrap().parse().unwrap()).or_default() += 1;
    }
    counts
}

#[test]
fn killed_again_and_again_it_loses_nothing() {
    let Some(broker) = broker() else { return };
    let (from, to) = (broker.topic("from", 4), broker.topic("to", 2));
    let more = "session_timeout_ms => 6000 group_instance_id => one";
    let config = input(&broker.address, &from, &broker.name("g"), more) + &output(&broker.address, &to, "acks => all");
    let kills = number("SPILLWAY_KAFKA_KILLS", 8);
    let killer = Killer { broker: &broker, from, to: to.clone(), config, settings: "", kills, portion: 2000 };
    let (sent, mut program) = killer.run();
    program.within(Duration::from_secs(90), "all records arrive", || counts(&broker.read(&to)).len() == sent);
    program.stop();
    let counts = counts(&broker.read(&to));
    let repeated: usize = counts.values().map(|count| count - 1).sum();
    println!("{kills} kills: {sent} records sent, none lost, {repeated} repeated");
    assert_eq!(counts.len(), sent);
}

#[test]
fn killed_again_and_again_with_transactions_each_record_is_there_once() {
    let Some(broker) = broker() else { return };
    let (from, to) = (broker.topic("from", 4), broker.topic("to", 2));
    let reads = "commit => transaction session_timeout_ms => 6000 group_instance_id => one";
    let writes = format!("transactional_id => '{}' transaction_interval => '300ms'", broker.name("x"));
    let config = input(&broker.address, &from, &broker.name("g"), reads) + &output(&broker.address, &to, &writes);
    let kills = number("SPILLWAY_KAFKA_KILLS", 8);
    let killer = Killer {
        broker: &broker,
        from,
        to: to.clone(),
        config,
        settings: "pipeline.workers: 2\n",
        kills,
        portion: 2000,
    };
    let (sent, mut program) = killer.run();
    program.within(Duration::from_secs(90), "all records arrive", || counts(&broker.read(&to)).len() == sent);
    program.stop();
    let counts = counts(&broker.read(&to));
    assert_eq!(counts.len(), sent);
    let repeated: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(repeated.is_empty(), "{repeated:?}");
}

/// One record that is refused takes its transaction along, and the transaction is made again without it.
#[test]
fn a_refused_record_costs_its_transaction_nothing_else() {
    let Some(broker) = broker() else { return };
    let (from, group) = (broker.topic("from", 1), broker.name("g"));
    let to = broker.topic_with("to", 1, &[("max.message.bytes", "2000")]);
    let reads = "commit => transaction max_poll_records => 3";
    let writes = format!("transactional_id => '{}' transaction_interval => '500ms'", broker.name("x"));
    let config = input(&broker.address, &from, &group, reads) + &output(&broker.address, &to, &writes);
    let large = "L".repeat(3000);
    let values = ["1", "2", "3", "4", &large, "5", "6", "7"];
    broker.send(&from, values.map(text));
    let mut program = Program::start(&config);
    program.until("all is committed", || broker.committed(&group, &from, 1)[&0] >= 8);
    assert_eq!(broker.values(&to), ["1", "2", "3", "4", "5", "6", "7"]);
    let home = program.home.clone();
    program.stop();
    let dead = dead_letters(&home);
    assert!(
        dead.len() == 1 && dead[0].reason.contains("Message size too large"),
        "{:?}",
        dead.iter().map(|d| d.reason.to_string()).collect::<Vec<_>>()
    );
}

/// Two with the same id: the older one must not go on.
#[test]
fn the_second_with_the_same_transactional_id_ends_the_first() {
    let Some(broker) = broker() else { return };
    let (from, to) = (broker.topic("from", 1), broker.topic("to", 1));
    let writes = format!("transactional_id => '{}'", broker.name("x"));
    let config = |group: &str| {
        input(&broker.address, &from, group, "commit => transaction") + &output(&broker.address, &to, &writes)
    };
    let mut first = Program::start(&config(&broker.name("g1")));
    broker.send(&from, [text("1")]);
    first.until("the record arrives", || broker.values(&to) == ["1"]);
    let mut second = Program::start(&config(&broker.name("g2")));
    second.until("the second one reads everything", || broker.values(&to).len() == 2);
    broker.send(&from, [text("2")]);
    second.until("the second one goes on", || broker.values(&to).len() >= 3);
    first.until_logged("the pipeline is stopped");
    assert_eq!(broker.values(&to).iter().filter(|value| *value == "2").count(), 1);
}
