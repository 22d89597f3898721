//! The output section at work on one batch: who gets what, retries, and dead letters.

use std::time::Duration;

use super::filtering::Filtering;
use super::plan::{OutputSlot, Step, StepBranch};
use super::poison::{self, Tries};
use crate::acknowledgement::Lease;
use crate::event::Event;
use crate::plugins::batch::Selection;
use crate::plugins::{Deliveries, Delivery, GivenBack, Sent, Stop};

/// First and longest wait before an output is offered an event again.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Hands each output the events that lead to it, in config order. `poison_batch_limit` as in [`Tries`].
pub(super) async fn deliver(
    filtering: &Filtering<'_>,
    events: &mut [Event],
    lease: &Lease,
    stop: &Stop,
    poison_batch_limit: u64,
) -> Result<(), GivenBack> {
    let targets = filtering.targets(events);
    for (slot, target) in filtering.plan.outputs.iter().zip(&targets) {
        let live = target.iter().filter_map(|&at| events.get(at as usize)).filter(|e| !e.is_cancelled());
        let events: Vec<&Event> = live.collect();
        if !events.is_empty() {
            let mut tries = Tries::new(poison_batch_limit);
            offer(slot, events, lease, stop, &mut tries).await?;
        }
    }
    Ok(())
}

impl Filtering<'_> {
    /// Which of the events lead to each output, in config order of the outputs. An event whose condition cannot be
    /// evaluated is cancelled.
    pub fn targets(&self, events: &mut [Event]) -> Vec<Vec<u32>> {
        let mut targets: Vec<Selection> = vec![Selection::new(); self.plan.outputs.len()];
        let all: Selection = (0..events.len() as u32).collect();
        route(self, &self.plan.output_steps, events, &all, &mut targets);
        targets
    }
}

fn route(
    filtering: &Filtering<'_>,
    steps: &[Step],
    events: &mut [Event],
    selection: &Selection,
    targets: &mut [Selection],
) {
    for step in steps {
        match step {
            Step::Plugin(at) => {
                if let Some(target) = targets.get_mut(*at) {
                    target.extend_from_slice(selection);
                }
            }
            Step::Branch(branch) => route_branch(filtering, branch, events, selection, targets),
            Step::Switch(switch) if filtering.decisions.is_some() => {
                for branch in &switch.branches {
                    route_branch(filtering, branch, events, selection, targets);
                }
            }
            Step::Switch(switch) => {
                for (place, taken) in filtering.sort_by_if(switch, events, selection) {
                    let bodies = switch.branches.get(place).into_iter().flat_map(StepBranch::bodies);
                    bodies.for_each(|steps| route(filtering, steps, events, &taken, targets));
                }
            }
        }
    }
}

fn route_branch(
    filtering: &Filtering<'_>,
    branch: &StepBranch,
    events: &mut [Event],
    selection: &Selection,
    targets: &mut [Selection],
) {
    let taken = filtering.sort_by_arm(branch, events, selection);
    for (steps, taken) in branch.bodies().zip(&taken) {
        route(filtering, steps, events, taken, targets);
    }
}

/// Offers events to an output until each one is delivered or dead.
async fn offer<'e>(
    slot: &OutputSlot,
    mut events: Vec<&'e Event>,
    lease: &Lease,
    stop: &Stop,
    tries: &mut Tries,
) -> Result<(), GivenBack> {
    let metrics = &slot.info.metrics;
    let count = events.len() as u64;
    metrics.events_in.add(count);
    let _running = metrics.duration.start();
    let mut wait = RETRY_AFTER.0;
    loop {
        let Deliveries::Each(answers) = poison::ask(slot, &events, lease, stop, tries).await? else {
            break;
        };
        let mut again: Vec<&'e Event> = Vec::new();
        let mut dead: Vec<(&'e Event, String)> = Vec::new();
        let mut why = String::from("it did not say what became of them");
        let mut answers = answers.into_iter();
        for event in events {
            match answers.next() {
                Some(Delivery::Delivered) => {}
                Some(Delivery::Dead(reason)) => dead.push((event, reason)),
                Some(Delivery::Retry(reason)) => {
                    why = reason;
                    again.push(event);
                }
                None => again.push(event),
            }
        }
        bury(slot, &dead)?;
        if again.is_empty() {
            break;
        }
        events = again;
        tracing::warn!(target: "spillway.output", { plugin.id = %slot.info.label(), count = events.len() },
            "the {} output could not deliver, next try in {} s: {why}", slot.info.name, wait.as_secs());
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => return Err(GivenBack),
        }
        wait = (wait * 2).min(RETRY_AFTER.1);
    }
    metrics.events_out.add(count);
    Ok(())
}

/// Hands over all dead events of one answer at once, which costs the queue one write for many of them.
fn bury(slot: &OutputSlot, dead: &[(&Event, String)]) -> Result<(), GivenBack> {
    if dead.is_empty() {
        return Ok(());
    }
    let sent = slot.dead_letters.send_all(dead);
    for ((_, reason), sent) in dead.iter().zip(&sent) {
        // The queue itself counts what it refuses, and keeps the last error.
        if *sent == Sent::Skipped {
            tracing::warn!(target: "spillway.output", { plugin.id = %slot.info.label() },
                "event dropped, the dead letter queue did not take it: {reason}");
        }
    }
    if sent.contains(&Sent::NotStored) { Err(GivenBack) } else { Ok(()) }
}
