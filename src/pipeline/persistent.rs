//! What a pipeline has to do with its queue on disk: open it, show it, and end it.

use super::prepare::Prepared;
use crate::metrics::QueueView;
use crate::plugins::Sent;
use crate::queue::persisted::{OpenError, PersistedQueue};

/// Who a dead letter is from that the queue could not take.
const ITSELF: &str = "persisted-queue";

/// Opens it. An event that it can never hold is a dead letter, or dropped with an error.
pub(super) fn open(prepared: &Prepared) -> Result<PersistedQueue, OpenError> {
    let (settings, dead_letters) = (prepared.settings.queue.clone(), prepared.dead_letters.clone());
    let pipeline = prepared.settings.id.clone();
    PersistedQueue::open(
        settings,
        Box::new(move |event, unfit| {
            let sent = dead_letters.send(event, ITSELF, ITSELF, &unfit.to_string());
            if sent == Sent::Skipped {
                tracing::error!(target: "logstash.queue", { pipeline.id = %pipeline },
                    "event dropped, the persisted queue cannot hold it: {unfit}");
            }
            sent != Sent::NotStored
        }),
    )
}

/// As the monitoring API shows it.
pub(super) fn view(queue: &PersistedQueue) -> QueueView {
    let (stats, size) = (queue.clone(), queue.clone());
    QueueView { stats: Box::new(move || stats.stats()), size: Box::new(move || size.size()) }
}

/// Ends it, and says what it keeps.
pub(super) fn shut(queue: &PersistedQueue) {
    let left = queue.shut();
    if left > 0 {
        tracing::info!(target: "logstash.javapipeline", count = left,
            "the persisted queue keeps events for the next start: {}", queue.settings().directory.display());
    }
}
