use super::*;
use crate::metrics::PluginMetrics;

fn limits() -> Limits {
    Limits {
        flush_bytes: 100,
        flush_interval: Duration::from_secs(10),
        flush_jitter: 0.0,
        flush_rows: 0,
        buffered_bytes: 10_000,
        tables: 100,
        queue_capacity: 100,
        ordered: false,
        rest: (Duration::from_secs(2), Duration::from_secs(64)),
    }
}

fn buffers(limits: Limits) -> Buffers {
    Buffers::new(limits, "d".to_owned(), Arc::new(Counters::new(&Arc::new(PluginMetrics::default()))))
}

fn group(table: &str, rows: &[usize]) -> Group {
    let mut group = Group { table: Text::from(table), rows: Rows::default() };
    for size in rows {
        group.rows.bytes.extend(std::iter::repeat_n(b'x', *size));
        group.rows.ends.push(group.rows.bytes.len());
    }
    group
}

/// Puts rows of these sizes in; how many went in.
fn put(buffers: &mut Buffers, table: &str, rows: &[usize], now: Instant) -> usize {
    let mut next = 0;
    let all = buffers.append(&mut group(table, rows), &mut next, None, now);
    assert_eq!(all, next == rows.len());
    next
}

fn job(buffers: &mut Buffers, now: Instant) -> Option<Job> {
    match buffers.next(now) {
        Found::Job(job) => Some(*job),
        Found::Nothing(_) | Found::End => None,
    }
}

/// Table and number of rows of each job that is there.
fn jobs(buffers: &mut Buffers, now: Instant) -> Vec<(String, usize)> {
    std::iter::from_fn(|| job(buffers, now)).map(|job| (job.batch.table.name.to_string(), job.batch.len())).collect()
}

fn named(jobs: &[(&str, usize)]) -> Vec<(String, usize)> {
    jobs.iter().map(|(table, rows)| ((*table).to_owned(), *rows)).collect()
}

#[test]
fn a_batch_is_full_with_the_row_that_reaches_the_limit() {
    let now = Instant::now();
    let mut buffers = buffers(limits());
    put(&mut buffers, "a", &[40, 40], now);
    put(&mut buffers, "b", &[99], now);
    assert!(jobs(&mut buffers, now).is_empty());
    put(&mut buffers, "a", &[20, 5], now);
    assert_eq!(jobs(&mut buffers, now), named(&[("a", 3)]));
    put(&mut buffers, "b", &[60], now);
    assert_eq!(jobs(&mut buffers, now), named(&[("b", 2)]));
}

#[test]
fn a_row_larger_than_a_batch_is_a_batch_of_its_own() {
    let now = Instant::now();
    let mut buffers = buffers(limits());
    put(&mut buffers, "a", &[10, 500, 10], now);
    assert_eq!(jobs(&mut buffers, now), named(&[("a", 1), ("a", 1)]));
    assert_eq!(buffers.buffered, 10);
}

#[test]
fn rows_leave_when_the_first_of_them_is_old() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut buffers = buffers(limits());
    assert_eq!(buffers.next_due(), None);
    put(&mut buffers, "a", &[1], at(0));
    assert!(buffers.signals().time);
    put(&mut buffers, "a", &[1], at(9));
    assert!(!buffers.signals().time);
    assert_eq!(buffers.next_due(), Some(at(10)));
    buffers.cut_aged(at(9));
    assert!(jobs(&mut buffers, at(9)).is_empty());
    buffers.cut_aged(at(10));
    assert_eq!(jobs(&mut buffers, at(10)), named(&[("a", 2)]));
    // Nobody uses it any more.
    assert_eq!(buffers.next_due(), Some(at(109)));
    buffers.cut_aged(at(109));
    assert!(buffers.buffers.is_empty() && buffers.next_due().is_none());
}

#[test]
fn buffers_made_together_do_not_end_together() {
    let now = Instant::now();
    let mut buffers = buffers(Limits { flush_jitter: 0.1, ..limits() });
    for n in 0..50 {
        put(&mut buffers, &format!("t{n}"), &[1], now);
    }
    let waits: HashSet<u128> = buffers.buffers.values().map(|b| (b.due - now).as_millis() / 100).collect();
    assert!(waits.iter().all(|wait| (100..=110).contains(wait)), "{waits:?}");
    assert!(waits.len() > 1, "{waits:?}");
}

#[test]
fn a_full_queue_takes_nothing_more() {
    let now = Instant::now();
    let mut buffers = buffers(Limits { queue_capacity: 2, ..limits() });
    assert_eq!(put(&mut buffers, "a", &[100; 5], now), 2);
    assert_eq!(put(&mut buffers, "b", &[1], now), 0);
    assert!(job(&mut buffers, now).is_some());
    assert_eq!(put(&mut buffers, "b", &[1, 1, 1], now), 3);
}

#[test]
fn too_many_bytes_send_the_largest_buffer() {
    let now = Instant::now();
    let mut buffers = buffers(Limits { flush_bytes: 1000, buffered_bytes: 1000, ..limits() });
    put(&mut buffers, "a", &[300], now);
    put(&mut buffers, "b", &[300, 300], now);
    put(&mut buffers, "c", &[200], now);
    assert!(jobs(&mut buffers, now).is_empty());
    put(&mut buffers, "c", &[1], now);
    assert_eq!(jobs(&mut buffers, now), named(&[("b", 2)]));
    assert_eq!(buffers.buffered, 501);
}

#[test]
fn too_many_tables_send_the_one_unused_for_longest() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut buffers = buffers(Limits { tables: 2, ..limits() });
    put(&mut buffers, "a", &[1], at(0));
    put(&mut buffers, "b", &[1], at(1));
    put(&mut buffers, "a", &[1], at(2));
    put(&mut buffers, "c", &[1], at(3));
    assert_eq!(jobs(&mut buffers, at(3)), named(&[("b", 1)]));
    assert_eq!(buffers.buffers.len(), 2);
}

#[test]
fn a_table_rests_and_others_go_on() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut buffers = buffers(Limits { queue_capacity: 4, ..limits() });
    put(&mut buffers, "a", &[100, 100, 100], at(0));
    let (first, second) = (job(&mut buffers, at(0)).unwrap(), job(&mut buffers, at(0)).unwrap());
    let tokens = [first.batch.bytes.as_ptr(), second.batch.bytes.as_ptr()];
    assert_eq!(buffers.rest(first, 1, at(0)), Duration::from_secs(2));
    // The second one was on its way at the same time: one wait for both.
    assert_eq!(buffers.rest(second, 1, at(1)), Duration::from_secs(1));
    assert!(job(&mut buffers, at(1)).is_none());
    // Batches of a resting table take no place in the queue.
    assert_eq!(put(&mut buffers, "a", &[100; 10], at(1)), 10);
    assert_eq!(put(&mut buffers, "b", &[100], at(1)), 1);
    assert_eq!(jobs(&mut buffers, at(1)), named(&[("b", 1)]));
    // After the rest one goes first.
    let trial = job(&mut buffers, at(2)).unwrap();
    assert!(tokens.contains(&trial.batch.bytes.as_ptr()));
    assert!(job(&mut buffers, at(2)).is_none());
    assert_eq!(buffers.rest(trial, 1, at(2)), Duration::from_secs(4));
    assert!(job(&mut buffers, at(5)).is_none());
    let trial = job(&mut buffers, at(6)).unwrap();
    buffers.done(&trial.batch.table.name, 1);
    assert_eq!(jobs(&mut buffers, at(6)).len(), 12);
    assert!(buffers.resting.is_empty());
    assert_eq!(buffers.buffered, 0);
}

#[test]
fn resting_tables_count_as_buffered() {
    let now = Instant::now();
    let mut buffers = buffers(Limits { buffered_bytes: 500, ..limits() });
    put(&mut buffers, "a", &[100], now);
    let first = job(&mut buffers, now).unwrap();
    buffers.rest(first, 1, now);
    assert_eq!(put(&mut buffers, "a", &[100; 10], now), 4);
    assert_eq!(put(&mut buffers, "b", &[1], now), 0);
}

#[test]
fn an_ordered_table_has_one_insert_at_a_time() {
    let now = Instant::now();
    let mut buffers = buffers(Limits { ordered: true, ..limits() });
    put(&mut buffers, "a", &[100, 101, 102], now);
    put(&mut buffers, "b", &[100], now);
    assert_eq!(jobs(&mut buffers, now), named(&[("a", 1), ("b", 1)]));
    buffers.done(&Text::from("a"), 1);
    assert_eq!(job(&mut buffers, now).unwrap().batch.bytes.len(), 101);
}

#[test]
fn at_the_end_everything_goes_at_once() {
    let now = Instant::now();
    let mut buffers = buffers(limits());
    put(&mut buffers, "a", &[100], now);
    let resting = job(&mut buffers, now).unwrap();
    buffers.rest(resting, 1, now);
    put(&mut buffers, "b", &[1, 1], now);
    buffers.close(now);
    let mut left = Vec::new();
    while let Some(job) = job(&mut buffers, now) {
        left.push(job.batch.len());
        assert!(!buffers.is_empty());
        buffers.done(&job.batch.table.name, job.batch.len());
    }
    assert_eq!(left.iter().sum::<usize>(), 3);
    assert!(matches!(buffers.next(now), Found::End));
    assert_eq!(buffers.abandon(), 0);
}

#[test]
fn what_is_abandoned_is_counted() {
    let now = Instant::now();
    let mut buffers = buffers(limits());
    put(&mut buffers, "a", &[50, 50, 50, 50], now);
    put(&mut buffers, "b", &[1], now);
    assert_eq!(job(&mut buffers, now).unwrap().batch.len(), 2);
    buffers.close(now);
    assert_eq!(buffers.abandon(), 5);
}

#[test]
fn a_source_batch_has_a_share_in_each_buffer_that_its_rows_are_in() {
    let now = Instant::now();
    let mut buffers = buffers(limits());
    let (send, receive) = std::sync::mpsc::channel();
    let lease = Lease::new(move |ok| send.send(ok).unwrap());
    let mut next = 0;
    buffers.append(&mut group("a", &[60, 60, 10]), &mut next, Some(&lease), now);
    let mut next = 0;
    buffers.append(&mut group("b", &[60]), &mut next, Some(&lease), now);
    lease.settle();
    buffers.close(now);
    let mut leases = 0;
    while let Some(mut job) = job(&mut buffers, now) {
        assert!(receive.try_recv().is_err());
        let held = std::mem::take(&mut job.batch.leases);
        leases += held.len();
        held.into_iter().for_each(Lease::settle);
    }
    assert_eq!((leases, receive.try_recv()), (3, Ok(true)));
}
