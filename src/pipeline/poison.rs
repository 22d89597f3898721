//! Outputs that break: the batch is offered again, and when that does not help the event that breaks it is found and
//! becomes a dead letter, so that one event does not stop its pipeline.

use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt;

use super::plan::OutputSlot;
use crate::acknowledgement::Lease;
use crate::event::Event;
use crate::plugins::{Deliveries, Delivery, GivenBack, OutputBatch, Stop};

/// How often an output has broken at one batch, and how often it may.
pub(super) struct Tries {
    broken: u64,
    limit: u64,
}

impl Tries {
    /// After `limit` times the events of the batch are offered one by one; with 0, the first time ends the worker.
    pub fn new(limit: u64) -> Self {
        Self { broken: 0, limit }
    }
}

type Panic = Box<dyn Any + Send>;

/// Offers events to an output. One that breaks wants them again, until its tries are used up.
pub(super) async fn ask(
    slot: &OutputSlot,
    events: &[&Event],
    lease: &Lease,
    stop: &Stop,
    tries: &mut Tries,
) -> Result<Deliveries, GivenBack> {
    let is_suspect = tries.limit > 0 && tries.broken >= tries.limit;
    if is_suspect {
        return one_by_one(slot, events, lease, stop).await;
    }
    match write(slot, events, lease, stop).await {
        Ok(answer) => answer,
        Err(panic) if tries.limit == 0 => resume_unwind(panic),
        Err(panic) => {
            tries.broken += 1;
            let reason = format!("it broke ({}), time {} of {}", words(&panic), tries.broken, tries.limit);
            if tries.broken < tries.limit {
                return Ok(Deliveries::same(events.len(), &Delivery::Retry(reason)));
            }
            tracing::error!(target: "spillway.output", { plugin.id = %slot.info.label(), count = events.len() },
                "the {} output cannot deliver a batch: {reason}; its events are offered one by one", slot.info.name);
            one_by_one(slot, events, lease, stop).await
        }
    }
}

async fn one_by_one(slot: &OutputSlot, events: &[&Event], lease: &Lease, stop: &Stop) -> Result<Deliveries, GivenBack> {
    let mut answers = Vec::with_capacity(events.len());
    for event in events {
        answers.push(match write(slot, &[event], lease, stop).await {
            Ok(answer) => match answer? {
                Deliveries::All => Delivery::Delivered,
                Deliveries::Each(each) => {
                    let silent = || Delivery::Retry("it did not say what became of it".to_owned());
                    each.into_iter().next().unwrap_or_else(silent)
                }
            },
            Err(panic) => {
                let reason = format!("the {} output {} breaks on it: {}", slot.info.name, slot.info.id, words(&panic));
                tracing::error!(target: "spillway.output", { plugin.id = %slot.info.label() }, "{reason}");
                Delivery::Dead(reason)
            }
        });
    }
    Ok(Deliveries::Each(answers))
}

async fn write(
    slot: &OutputSlot,
    events: &[&Event],
    lease: &Lease,
    stop: &Stop,
) -> Result<Result<Deliveries, GivenBack>, Panic> {
    let batch = OutputBatch { events, lease };
    AssertUnwindSafe(slot.output.write(&batch, stop)).catch_unwind().await
}

fn words(panic: &Panic) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use parking_lot::Mutex;

    use super::*;
    use crate::plugins::Output;
    use crate::plugins::testing::{compiled, event, json};

    /// Breaks when a batch has an event with this text in it; notes the size of each batch that it took.
    struct Picky(Arc<Mutex<Vec<usize>>>);

    #[async_trait]
    impl Output for Picky {
        async fn write(&self, batch: &OutputBatch<'_>, _: &Stop) -> Result<Deliveries, GivenBack> {
            self.0.lock().push(batch.events.len());
            assert!(batch.events.iter().all(|event| !json(event).contains("poison")), "no poison please");
            Ok(Deliveries::All)
        }
    }

    /// The answers to three events of which the second is poison, when they are offered until none is to be retried.
    async fn answers(limit: u64) -> (Vec<Delivery>, Vec<usize>) {
        let mut compiled = compiled("input { generator { } } output { null { id => \"out\" } }").unwrap();
        let sizes: Arc<Mutex<Vec<usize>>> = Arc::default();
        compiled.plan.outputs[0].output = Box::new(Picky(sizes.clone()));
        let events = [event(r#"{"a":1}"#), event(r#"{"a":"poison"}"#), event(r#"{"a":3}"#)];
        let events: Vec<&Event> = events.iter().collect();
        let (lease, stop, mut tries) = (Lease::unclaimed(), Stop::new(), Tries::new(limit));
        loop {
            let answer = ask(&compiled.plan.outputs[0], &events, &lease, &stop, &mut tries).await.unwrap();
            let Deliveries::Each(each) = answer else { panic!("all were delivered") };
            if !each.iter().any(|answer| matches!(answer, Delivery::Retry(_))) {
                let sizes = sizes.lock().clone();
                return (each, sizes);
            }
        }
    }

    #[tokio::test]
    async fn the_event_at_which_an_output_breaks_is_found_and_the_others_are_delivered() {
        let (answers, sizes) = answers(3).await;
        let reason = "the null output out breaks on it: no poison please".to_owned();
        assert_eq!(answers, [Delivery::Delivered, Delivery::Dead(reason), Delivery::Delivered]);
        assert_eq!(sizes, [3, 3, 3, 1, 1, 1]);
    }

    #[tokio::test]
    #[should_panic(expected = "no poison please")]
    async fn without_tries_the_worker_ends() {
        answers(0).await;
    }
}
