//! Holds back log lines that a plugin repeats: the first is written at once, then one line per period says how many
//! more there were.
//!
//! Only lines count, never events: nothing is lost but repetition.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tracing::Event;
use tracing::callsite::Identifier;

use super::Output;
use super::record::Record;
use crate::settings::LogLevel;

/// One message of one plugin: the call in the program, and where it was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    call: Identifier,
    pipeline: Option<String>,
    plugin: Option<String>,
    place: Option<String>,
}

impl Key {
    pub(super) fn of(event: &Event<'_>, record: &Record) -> Self {
        let context = record.context.clone();
        let call = event.metadata().callsite();
        Self { call, pipeline: context.pipeline, plugin: context.plugin, place: context.place }
    }
}

/// More different reasons than these are not told apart.
const MAX_REASONS: usize = 16;

/// The lines held back now.
#[derive(Debug)]
pub(super) struct Limiter {
    period: Duration,
    windows: Mutex<HashMap<Key, Window>>,
    held_something: Condvar,
}

#[derive(Debug)]
struct Window {
    since: Instant,
    held: u64,
    reasons: BTreeMap<String, u64>,
    first: Record,
}

impl Limiter {
    /// One that lets a line through per period; zero holds nothing back.
    pub(super) fn new(period: Duration) -> Self {
        Self { period, windows: Mutex::default(), held_something: Condvar::new() }
    }

    /// Whether a line may be written now.
    pub(super) fn admit(&self, key: Key, record: &Record) -> bool {
        let of_plugin = key.plugin.is_some() || key.place.is_some();
        if self.period.is_zero() || !of_plugin || record.level > LogLevel::Info {
            return true;
        }
        let mut windows = self.windows.lock();
        match windows.get_mut(&key) {
            None => {
                let since = Instant::now();
                let window = Window { since, held: 0, reasons: BTreeMap::new(), first: record.clone() };
                windows.insert(key, window);
                self.held_something.notify_one();
                true
            }
            Some(window) => {
                window.held += 1;
                window.count_reason(record);
                false
            }
        }
    }

    /// The lines that are due, and when the next are.
    fn due(&self, windows: &mut HashMap<Key, Window>, now: Instant) -> (Vec<Record>, Option<Instant>) {
        let mut lines = Vec::new();
        windows.retain(|_, window| {
            if now < window.since + self.period {
                return true;
            }
            // A quiet period ends it: the next such line is a first one again.
            let goes_on = window.held > 0;
            lines.extend(window.summary(now));
            window.since = now;
            goes_on
        });
        (lines, windows.values().map(|window| window.since + self.period).min())
    }

    /// What is still held back, at the end.
    pub(super) fn drain(&self) -> Vec<Record> {
        let now = Instant::now();
        self.windows.lock().drain().filter_map(|(_, mut window)| window.summary(now)).collect()
    }
}

impl Window {
    fn count_reason(&mut self, record: &Record) {
        let reason = record.details.iter().find(|(name, _)| name == "status" || name == "reason");
        let Some((_, reason)) = reason else { return };
        let reason = reason.clone().into_text();
        let reason = if self.reasons.len() < MAX_REASONS || self.reasons.contains_key(&reason) {
            reason
        } else {
            "other".into()
        };
        *self.reasons.entry(reason).or_default() += 1;
    }

    fn summary(&mut self, now: Instant) -> Option<Record> {
        if self.held == 0 {
            return None;
        }
        let mut record = self.first.clone();
        record.time = jiff::ZonedDateTime::now();
        let seconds = now.duration_since(self.since).as_secs_f64().ceil();
        let count = grouped(self.held);
        record.message.push_str(&format!(" … {count} more of these log lines in {seconds} s (events are not limited)"));
        record.details = self
            .reasons
            .iter()
            .map(|(reason, n)| (reason.clone(), super::record::Detail::Integer((*n).into())))
            .collect();
        self.held = 0;
        self.reasons.clear();
        Some(record)
    }
}

/// `4,211`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Writes the lines that are due, in a thread that sleeps while nothing is held back.
pub(super) fn report_in_background(limiter: Arc<Limiter>, output: Arc<Output>) {
    if limiter.period.is_zero() {
        return;
    }
    let report = move || {
        let mut windows = limiter.windows.lock();
        loop {
            let (lines, next) = limiter.due(&mut windows, Instant::now());
            if !lines.is_empty() {
                parking_lot::MutexGuard::unlocked(&mut windows, || lines.iter().for_each(|line| output.write(line)));
                continue;
            }
            match next {
                Some(next) => drop(limiter.held_something.wait_until(&mut windows, next)),
                None => limiter.held_something.wait(&mut windows),
            }
        }
    };
    // Without the thread counts are only told at the end, which is no reason not to run.
    let _missing = std::thread::Builder::new().name("log-limit".into()).spawn(report);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(7, "7"), (999, "999"), (4211, "4,211"), (1_000_000, "1,000,000")] {
            assert_eq!(grouped(number), text);
        }
    }
}
