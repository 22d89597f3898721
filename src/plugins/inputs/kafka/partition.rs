//! The partitions that we have, and how far each of them is dealt with.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rdkafka::{Offset, TopicPartitionList};

use crate::event::Text;
use crate::plugins::Progress;

/// A partition from its assignment to its revocation.
pub(super) struct Partition {
    pub topic: Text,
    pub number: i32,
    /// Offsets of the next records to read.
    pub progress: Progress<i64>,
    offsets: Mutex<Offsets>,
    is_gone: AtomicBool,
}

#[derive(Default)]
struct Offsets {
    /// Everything before is dealt with.
    reached: Option<i64>,
    /// The group knows.
    committed: Option<i64>,
}

impl Partition {
    fn new(topic: &str, number: i32) -> Self {
        Self {
            topic: Text::from(topic),
            number,
            progress: Progress::new(),
            offsets: Mutex::default(),
            is_gone: AtomicBool::new(false),
        }
    }

    /// One of so many workers, always the same.
    pub fn lane(&self, lanes: usize) -> usize {
        let topic = self.topic.bytes().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        topic.wrapping_add(usize::try_from(self.number).unwrap_or(0)) % lanes.max(1)
    }

    /// Whether somebody else has it by now.
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// The offset before which everything is dealt with.
    fn reached(&self) -> Option<i64> {
        let mut offsets = self.offsets.lock();
        if let Some(reached) = self.progress.take_reached() {
            offsets.reached = Some(reached);
        }
        offsets.reached
    }

    /// The same, if the group does not know it yet.
    fn due(&self) -> Option<i64> {
        let reached = self.reached();
        reached.filter(|_| reached != self.offsets.lock().committed)
    }

    /// The group knows this offset.
    pub fn committed(&self, offset: i64) {
        self.offsets.lock().committed = Some(offset);
    }

    /// Everything before is dealt with; none while nothing is known.
    pub fn position(&self) -> Option<i64> {
        let offsets = self.offsets.lock();
        offsets.reached.max(offsets.committed)
    }
}

/// All partitions of a consumer.
#[derive(Default)]
pub(super) struct Assignment(Mutex<HashMap<(Text, i32), Arc<Partition>>>);

impl Assignment {
    pub fn add(&self, list: &TopicPartitionList) {
        let mut partitions = self.0.lock();
        for element in list.elements() {
            let key = (Text::from(element.topic()), element.partition());
            partitions.insert(key, Arc::new(Partition::new(element.topic(), element.partition())));
        }
    }

    pub fn find(&self, topic: &str, number: i32) -> Option<Arc<Partition>> {
        self.0.lock().get(&(Text::from(topic), number)).cloned()
    }

    /// Those of a list.
    pub fn of(&self, list: &TopicPartitionList) -> Vec<Arc<Partition>> {
        list.elements().iter().filter_map(|element| self.find(element.topic(), element.partition())).collect()
    }

    pub fn all(&self) -> Vec<Arc<Partition>> {
        self.0.lock().values().cloned().collect()
    }

    /// Nothing that is read of them counts any more.
    pub fn remove(&self, list: &TopicPartitionList) {
        let mut partitions = self.0.lock();
        for element in list.elements() {
            if let Some(gone) = partitions.remove(&(Text::from(element.topic()), element.partition())) {
                gone.is_gone.store(true, Ordering::Release);
            }
        }
    }

    /// The group knows these offsets.
    pub fn committed(&self, list: &TopicPartitionList) -> u64 {
        let mut count = 0;
        for element in list.elements() {
            if let (Ok(()), Offset::Offset(offset)) = (element.error(), element.offset())
                && let Some(partition) = self.find(element.topic(), element.partition())
            {
                partition.committed(offset);
                count += 1;
            }
        }
        count
    }
}

/// What the group does not know yet of these partitions.
pub(super) fn due(partitions: &[Arc<Partition>]) -> Option<TopicPartitionList> {
    let due = partitions.iter().filter_map(|partition| Some((&**partition, partition.due()?)));
    let list = list(due);
    (list.count() > 0).then_some(list)
}

/// All that is dealt with of these partitions.
pub(super) fn reached(partitions: &[Arc<Partition>]) -> Option<TopicPartitionList> {
    let reached = partitions.iter().filter_map(|partition| Some((&**partition, partition.reached()?)));
    let list = list(reached);
    (list.count() > 0).then_some(list)
}

/// Partitions with offsets.
pub(super) fn list<'p>(positions: impl IntoIterator<Item = (&'p Partition, i64)>) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for (partition, next) in positions {
        // Only an offset that is none is refused.
        let _ = list.add_partition_offset(&partition.topic, partition.number, Offset::Offset(next));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_due_until_the_group_knows_it() {
        let assignment = Assignment::default();
        let mut named = TopicPartitionList::new();
        named.add_partition("t", 3);
        assignment.add(&named);
        let partition = assignment.find("t", 3).unwrap();
        let (first, second) = (partition.progress.lend(10), partition.progress.lend(20));
        second.settle();
        assert!(due(&assignment.all()).is_none());
        first.settle();
        let list = due(&assignment.all()).unwrap();
        assert_eq!(list.elements()[0].offset(), Offset::Offset(20));
        assert!(due(&assignment.all()).is_some());
        assert_eq!(assignment.committed(&list), 1);
        assert!(due(&assignment.all()).is_none());
        assignment.remove(&named);
        assert!(partition.is_gone() && assignment.all().is_empty());
    }
}
