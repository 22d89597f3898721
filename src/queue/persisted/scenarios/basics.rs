//! In and out, over restarts.

use super::*;

#[tokio::test]
async fn what_is_pushed_comes_out_in_order_and_no_page_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("main");
    let queue = open(settings(&path));
    push(&queue, 0..300).await;
    assert_eq!(drain(&queue), (0..300).collect::<Vec<_>>());
    assert_eq!(queue.shut(), 0);
    let names: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(drain(&open(settings(&path))), Vec::<u64>::new());
}

#[tokio::test]
async fn what_is_not_acknowledged_comes_again() {
    let dir = tempfile::tempdir().unwrap();
    let queue = open(settings(dir.path()));
    push(&queue, 0..100).await;
    let (a, b, c) = (queue.take(10, DELAY).unwrap(), queue.take(10, DELAY).unwrap(), queue.take(10, DELAY).unwrap());
    settle(a);
    settle(c);
    drop(b);
    queue.shut();
    drop(queue);
    let queue = open(settings(dir.path()));
    let drained = drain(&queue);
    // What is behind a gap in its page is forgotten.
    assert_eq!(drained[0], 10);
    assert_eq!(*drained.last().unwrap(), 99);
    assert!(drained.is_sorted() && drained.len() >= 80, "{drained:?}");
}

#[tokio::test]
async fn a_queue_that_was_never_shut_has_everything() {
    let dir = tempfile::tempdir().unwrap();
    let queue = open(Settings { checkpoint_writes: 0, ..settings(dir.path()) });
    push(&queue, 0..250).await;
    drop(queue);
    let queue = open(settings(dir.path()));
    push(&queue, 250..260).await;
    assert_eq!(drain(&queue), (0..260).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_lease_is_settled_when_its_events_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let queue = open(Settings { durability: crate::queue::persisted::Durability::Disk, ..settings(dir.path()) });
    let (send, receive) = std::sync::mpsc::channel();
    let lease = Lease::new(move |ok| send.send(ok).unwrap());
    queue.push(Chunk::new(events(0..5), Some(lease)), |_| {}).await.unwrap();
    assert!(receive.recv().unwrap());
    assert_eq!(queue.stats().unread, 5);
}
