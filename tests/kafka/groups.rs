//! Several programs that share the partitions of a topic.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::broker::{Sent, broker};
use crate::program::Program;
use crate::records::{input, output};

const PARTITIONS: i32 = 6;

/// Numbers by partition: the value says the partition of the source and the number in it.
fn names(partition: i32, range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("{partition} {n}")).collect()
}

/// What is wrong with the order in which the numbers of a partition arrived, when repeats are left out.
fn disorder(values: &[String]) -> Vec<String> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for value in values {
        let (partition, number) = value.split_once(' ').unwrap();
        let number: usize = number.parse().unwrap();
        if !seen.insert(value.clone()) {
            continue;
        }
        if last.insert(partition, number).is_some_and(|last| last > number) {
            wrong.push(value.clone());
        }
    }
    wrong
}

/// Three members, of which one is killed, and another one that joins. `reads` and `writes` are options of input and
/// output; `{n}` in them is the number of the member. Gives how many records arrived more than once.
fn members_come_and_go(reads: &str, writes: &str) -> usize {
    let Some(broker) = broker() else { return 0 };
    let (from, to, group) = (broker.topic("from", PARTITIONS), broker.topic("to", 1), broker.name("g"));
    let reads = format!("max_poll_records => 50 {reads}");
    let member = |n: usize| {
        let own = |options: &str| options.replace("{n}", &broker.name(&n.to_string()));
        let config = input(&broker.address, &from, &group, &own(&reads)) + &output(&broker.address, &to, &own(writes));
        Program::start(&config)
    };
    let send = |range: std::ops::Range<usize>| {
        for partition in 0..PARTITIONS {
            let names = names(partition, range.clone());
            let sent = |name| Sent { partition: Some(partition), ..crate::broker::text(name) };
            broker.send(&from, names.iter().map(|name| sent(name)));
        }
    };
    let distinct = || broker.values(&to).into_iter().collect::<BTreeSet<_>>().len();
    send(0..500);
    let (mut first, second) = (member(1), member(2));
    let third = member(3);
    first.until("the first records arrive", || distinct() > 100);
    send(500..1000);
    second.kill();
    let fourth = member(4);
    send(1000..1500);
    let all = 1500 * PARTITIONS as usize;
    first.within(Duration::from_secs(90), "all records arrive", || distinct() == all);
    for program in [first, third, fourth] {
        program.stop();
    }
    let values = broker.values(&to);
    assert_eq!(disorder(&values), Vec::<String>::new());
    assert_eq!(broker.committed(&group, &from, PARTITIONS).values().sum::<i64>(), all as i64);
    values.len() - all
}

#[test]
fn members_that_come_and_go_lose_nothing_and_keep_the_order() {
    let repeated =
        members_come_and_go("session_timeout_ms => 6000 partition_assignment_strategy => range", "acks => all");
    println!("{repeated} repeated");
}

#[test]
fn cooperative_members_do_so_too() {
    let repeated = members_come_and_go(
        "session_timeout_ms => 6000 partition_assignment_strategy => cooperative_sticky",
        "acks => all",
    );
    println!("{repeated} repeated");
}

/// KIP-848: the brokers share the partitions out.
#[test]
fn members_of_a_group_that_the_brokers_lead_do_so_too() {
    let repeated = members_come_and_go("group_protocol => consumer", "acks => all");
    println!("{repeated} repeated");
}

#[test]
fn members_with_transactions_write_each_record_once() {
    let writes = "transactional_id => 'member-{n}' transaction_interval => '300ms'";
    assert_eq!(members_come_and_go("session_timeout_ms => 6000 commit => transaction", writes), 0);
}

/// With an output that takes nothing the input pauses, and another member can join and leave all the same.
#[test]
fn a_member_joins_while_the_pipeline_is_blocked() {
    let Some(broker) = broker() else { return };
    let (from, to, group) = (broker.topic("from", 2), broker.topic("to", 1), broker.name("g"));
    let reads = "max_poll_interval_ms => 12000 session_timeout_ms => 6000";
    let blocked = input(&broker.address, &from, &group, reads) + &output("127.0.0.1:1", "t", "");
    for partition in 0..2 {
        let names = names(partition, 0..2000);
        broker.send(&from, names.iter().map(|name| Sent { partition: Some(partition), ..crate::broker::text(name) }));
    }
    let mut stuck = Program::start_in(&crate::program::home(), &blocked, "pipeline.batch.size: 20\n");
    stuck.until_logged("Connection refused");
    let healthy = input(&broker.address, &from, &group, reads) + &output(&broker.address, &to, "acks => all");
    let mut other = Program::start(&healthy);
    other.until("it gets its part", || broker.read(&to).len() >= 2000);
    stuck.stop();
    other.until("it gets the rest", || broker.values(&to).into_iter().collect::<BTreeSet<_>>().len() == 4000);
}

/// Several workers, and each partition belongs to one of them.
#[test]
fn with_affinity_several_workers_keep_the_order_of_a_partition() {
    let Some(broker) = broker() else { return };
    let (from, to) = (broker.topic("from", PARTITIONS), broker.topic("to", 1));
    // A worker that is slow now and then would let others pass.
    let sleeps = "filter { if [message] =~ /7$/ { sleep { time => 0.002 } } }\n";
    let config =
        input(&broker.address, &from, &broker.name("g"), "") + sleeps + &output(&broker.address, &to, "acks => all");
    let home = crate::program::home();
    std::fs::write(home.path().join("spillway.yml"), "pipeline.partition_affinity: true\n").unwrap();
    for partition in 0..PARTITIONS {
        let names = names(partition, 0..1000);
        broker.send(&from, names.iter().map(|name| Sent { partition: Some(partition), ..crate::broker::text(name) }));
    }
    let mut program = Program::start_in(&home, &config, "pipeline.workers: 4\npipeline.batch.size: 20\n");
    program.until("all records arrive", || broker.read(&to).len() == 1000 * PARTITIONS as usize);
    assert_eq!(disorder(&broker.values(&to)), Vec::<String>::new());
}
