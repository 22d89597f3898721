//! Watches a pipeline from outside: workers that stay in one call of a plugin, and a stop that does not come to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::worker::Crew;
use crate::metrics::PluginInfo;
use crate::plugins::Stop;

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looks from one report about a stop to the next; a stop is stalled when nothing got better in them.
const LOOKS_PER_REPORT: usize = 5;
/// Reports in a row of a stalled stop after which it is ended by force, where that is allowed.
const PATIENCE: usize = 3;

/// Watches until it is dropped. `force` is cancelled when a stalled stop is to be ended by force; without it, it never is.
pub(super) async fn watch(crew: Arc<Crew>, stall_warn: Option<Duration>, force: Option<Stop>) {
    tokio::select! {
        () = watch_calls(&crew, stall_warn) => {}
        () = crew.stop.cancelled() => {}
    }
    watch_stop(&crew, force).await;
}

/// Calls that run, by plugin: how many, and how many events have passed it.
type Busy = BTreeMap<String, (u64, u64)>;

fn busy(crew: &Crew) -> Busy {
    let filters = crew.plan.filters.iter().map(|slot| ("filter", &slot.info));
    let outputs = crew.plan.outputs.iter().map(|slot| ("output", &slot.info));
    let running = |(kind, info): (&str, &PluginInfo)| {
        let calls = info.metrics.duration.running();
        (calls > 0).then(|| (format!("{kind} {}", info.label()), (calls, info.metrics.events_out.get())))
    };
    filters.chain(outputs).filter_map(running).collect()
}

/// Tells of a plugin in which workers are for so long while no event passes it, and again after as long.
async fn watch_calls(crew: &Crew, stall_warn: Option<Duration>) {
    let Some(patience) = stall_warn else { return std::future::pending().await };
    let mut ticks = tokio::time::interval(patience.min(LOOK_EVERY * 5));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut since: BTreeMap<String, (u64, Instant)> = BTreeMap::new();
    loop {
        ticks.tick().await;
        let now = busy(crew);
        since.retain(|plugin, (passed, _)| now.get(plugin).is_some_and(|(_, out)| out == passed));
        for (plugin, (calls, passed)) in now {
            let (_, begun) = since.entry(plugin.clone()).or_insert_with(|| (passed, Instant::now()));
            if begun.elapsed() >= patience {
                tracing::warn!(target: "spillway.watchdog", workers = calls,
                    "no event has passed the {plugin} for {} s, and workers wait in it", patience.as_secs());
                *begun = Instant::now();
            }
        }
    }
}

async fn watch_stop(crew: &Crew, force: Option<Stop>) {
    let mut looks: Vec<(u64, Busy)> = Vec::new();
    let mut stalled = 0;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        looks.push((crew.metrics.in_flight.load(Ordering::Relaxed), busy(crew)));
        if looks.len() < LOOKS_PER_REPORT {
            continue;
        }
        let looks = std::mem::take(&mut looks);
        let Some((in_flight, busy)) = looks.last() else { continue };
        let threads: Vec<String> = busy.iter().map(|(plugin, (calls, _))| format!("{plugin}: {calls}")).collect();
        let threads = if threads.is_empty() { "none: plugins are being closed".to_owned() } else { threads.join(", ") };
        tracing::warn!(target: "org.logstash.execution.ShutdownWatcher", { always = true },
            "The pipeline is still stopping {{inflight_count: {in_flight}, stalling_threads_info: [{threads}]}}");
        if !is_stalled(&looks) {
            stalled = 0;
            continue;
        }
        stalled += 1;
        if stalled == 1 {
            tracing::error!(target: "org.logstash.execution.ShutdownWatcher", { always = true },
                "The shutdown process appears to be stalled due to busy or blocked plugins. Check the logs for more information.");
        }
        if let Some(force) = force.as_ref().filter(|_| stalled >= PATIENCE) {
            tracing::error!(target: "org.logstash.execution.ShutdownWatcher", { fatal = true, always = true },
                "Forcefully quitting {{inflight_count: {in_flight}, stalling_threads_info: [{threads}]}}");
            return force.cancel();
        }
    }
}

/// Whether workers have the same calls and no fewer events than before, at each look.
fn is_stalled(looks: &[(u64, Busy)]) -> bool {
    looks.windows(2).all(|pair| match pair {
        [(before, busy_before), (after, busy_after)] => after >= before && busy_after == busy_before,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plugin, calls that run, and events that have passed it.
    type Calls<'a> = &'a [(&'a str, u64, u64)];

    fn looks(looks: [(u64, Calls<'_>); 3]) -> bool {
        let busy = |calls: Calls<'_>| calls.iter().map(|(p, n, out)| ((*p).to_owned(), (*n, *out))).collect();
        is_stalled(&looks.map(|(in_flight, calls)| (in_flight, busy(calls))))
    }

    #[test]
    fn a_stop_is_stalled_when_nothing_gets_better() {
        assert!(looks([(5, &[("output x", 1, 0)]), (5, &[("output x", 1, 0)]), (5, &[("output x", 1, 0)])]));
        assert!(!looks([(5, &[("output x", 1, 0)]), (5, &[("output x", 1, 0)]), (4, &[("output x", 1, 0)])]));
        assert!(!looks([(5, &[("output x", 1, 0)]), (5, &[("output x", 1, 3)]), (5, &[("output x", 1, 3)])]));
        assert!(!looks([(5, &[("output x", 1, 0)]), (5, &[("output y", 1, 0)]), (5, &[("output y", 1, 0)])]));
        assert!(looks([(0, &[]), (0, &[]), (0, &[])]));
    }
}
