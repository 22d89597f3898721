//! `sleep`: slows a pipeline down, or replays events at the pace of their times.

use std::time::Duration;

use parking_lot::Mutex;

use crate::event::{Event, Template, Timestamp};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome, Stop};

/// The plugin.
pub const PLUGIN: FilterPlugin = FilterPlugin { name: "sleep", summary: "Makes the worker wait.", build };

/// Longest wait for one event; a mistyped field must not stop a pipeline for good.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How soon a waiting worker notices that the pipeline is to end.
const NAP: Duration = Duration::from_millis(100);

struct Sleep {
    /// Seconds, or the speed of a replay.
    time: Option<Template>,
    every: i64,
    replay: bool,
    progress: Mutex<Progress>,
    stop: Stop,
}

#[derive(Default)]
struct Progress {
    /// Events since the last wait.
    count: i64,
    /// Time of the last event of a replay.
    last: Option<Timestamp>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let replay = options
        .boolean("replay")
        .doc("Whether to wait as long as lies between the times of two events, divided by `time`.")
        .default(false);
    let time = options.template("time").doc("Seconds to wait; may come from a field.");
    let time = if replay { time.optional() } else { Some(time.required()) };
    let every = options.integer("every").doc("Waits only at every so-manieth event.").default(1);
    Box::new(Sleep { time, every, replay, progress: Mutex::default(), stop: options.context().stop.clone() })
}

impl Filter for Sleep {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            if let Some(wait) = self.wait(event) {
                self.pause(wait);
            }
            Outcome::Matched
        });
    }
}

impl Sleep {
    /// Waits, unless the pipeline is to end: what is in flight then goes on at once.
    fn pause(&self, wait: Duration) {
        let mut left = wait;
        while !left.is_zero() && !self.stop.is_cancelled() {
            let nap = left.min(NAP);
            std::thread::sleep(nap);
            left -= nap;
        }
    }

    fn wait(&self, event: &Event) -> Option<Duration> {
        let mut progress = self.progress.lock();
        let seconds = if self.replay {
            let now = event.timestamp()?;
            let last = progress.last.replace(now)?;
            let between =
                (now.seconds() - last.seconds()) as f64 + (f64::from(now.nanos()) - f64::from(last.nanos())) / 1e9;
            between / self.time.as_ref().map_or(1.0, |time| leading_number(&time.render(event)))
        } else {
            progress.count += 1;
            if progress.count < self.every {
                return None;
            }
            progress.count = 0;
            leading_number(&self.time.as_ref()?.render(event))
        };
        // Nothing to wait for is negative in a replay, and not a number when two events have one time and `time` is 0.
        (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).map_or(LONGEST, |wait| wait.min(LONGEST)))
    }
}

/// The number that a text begins with; 0 without one, as Ruby's `to_f`.
fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E')).unwrap_or(text.len());
    (0..=end).rev().find_map(|end| text.get(..end)?.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::{compiled, event};

    fn sleep(time: Option<&str>, every: i64, replay: bool) -> Sleep {
        let time = time.map(|time| Template::compile(time, crate::event::EscapeStyle::None).unwrap());
        Sleep { time, every, replay, progress: Mutex::default(), stop: Stop::new() }
    }

    #[test]
    fn every_so_manieth_event_waits() {
        let sleep = sleep(Some("%{t}"), 2, false);
        let event = event(r#"{"t":"1.5s"}"#);
        let waits: Vec<_> = (0..4).map(|_| sleep.wait(&event)).collect();
        let wait = Some(Duration::from_millis(1500));
        assert_eq!(waits, [None, wait, None, wait]);
    }

    #[test]
    fn a_replay_keeps_the_pace_of_the_events() {
        let sleep = sleep(Some("2"), 1, true);
        let times = ["10.000", "11.000", "10.500", "10.500", "10.750"];
        let waits: Vec<_> = times
            .iter()
            .map(|time| sleep.wait(&event(&format!(r#"{{"@timestamp":"2024-01-01T00:00:{time}Z"}}"#))))
            .collect();
        let half = Some(Duration::from_millis(500));
        assert_eq!(waits, [None, half, None, None, Some(Duration::from_millis(125))]);
    }

    #[test]
    fn time_is_required_unless_replaying() {
        assert!(compiled("filter { sleep { } }").is_err_and(|errors| errors.contains("`time`")));
        assert!(compiled("filter { sleep { replay => true } }").is_ok());
        assert_eq!(leading_number("1e2x"), 100.0);
        assert_eq!(leading_number("x"), 0.0);
        assert_eq!(leading_number("-1-"), -1.0);
    }
}
