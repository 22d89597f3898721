//! Flow metrics: how fast counters moved in the last ten seconds, minute, five minutes, … and since the start.
//!
//! [`Windows`] keeps captures of a set of counters, each window in its own ring at its own resolution, so that a day
//! of history costs some hundred captures. A rate is a difference between the latest capture and the youngest one
//! that is older than the window.

use std::collections::VecDeque;
use std::ops::Sub;
use std::time::Duration;

/// How often captures are taken beside those that requests cause.
pub const CAPTURE_EVERY: Duration = Duration::from_secs(5);

/// One window of a flow metric.
struct Window {
    name: &'static str,
    length: Duration,
    /// Captures closer together than this are not kept.
    resolution: Duration,
    /// Whether it reports before the uptime is as long as the window.
    reports_early: bool,
}

const fn window(name: &'static str, seconds: u64, resolution: u64) -> Window {
    let reports_early = seconds == 10;
    Window { name, length: Duration::from_secs(seconds), resolution: Duration::from_secs(resolution), reports_early }
}

/// Lengths and resolutions as in Logstash.
const WINDOWS: [Window; 6] = [
    window("current", 10, 1),
    window("last_1_minute", 60, 3),
    window("last_5_minutes", 300, 15),
    window("last_15_minutes", 900, 30),
    window("last_1_hour", 3600, 60),
    window("last_24_hours", 86_400, 900),
];

/// Rates by the name of their window; a window without a rate is left out. Rounded to four significant digits, and
/// infinite where something took time and nothing came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow(Vec<(&'static str, f64)>);

impl Flow {
    /// The rate of one window.
    pub fn get(&self, window: &str) -> Option<f64> {
        self.0.iter().find(|(name, _)| *name == window).map(|(_, rate)| *rate)
    }

    /// All windows that have a rate, the shortest first, `lifetime` last.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0.iter().copied()
    }
}

/// Counters at one time.
#[derive(Clone, Copy, Debug)]
struct Capture<T> {
    uptime: Duration,
    totals: T,
}

/// The captures of one set of counters.
#[derive(Clone, Debug)]
pub struct Windows<T> {
    first: Capture<T>,
    latest: Capture<T>,
    rings: [VecDeque<Capture<T>>; WINDOWS.len()],
}

impl<T: Copy + Sub<Output = T>> Windows<T> {
    /// Starts at uptime zero with these counters.
    pub fn new(totals: T) -> Self {
        let first = Capture { uptime: Duration::ZERO, totals };
        Self { first, latest: first, rings: std::array::from_fn(|_| VecDeque::from([first])) }
    }

    /// Captures the counters. Any number of calls is fine: what is kept is bounded by the windows.
    pub fn record(&mut self, uptime: Duration, totals: T) {
        let now = Capture { uptime, totals };
        self.latest = now;
        for (window, ring) in WINDOWS.iter().zip(&mut self.rings) {
            let is_old = |capture: &Capture<T>| uptime.saturating_sub(capture.uptime) >= window.length;
            while ring.get(1).is_some_and(is_old) {
                ring.pop_front();
            }
            let newest = ring.back().map_or(Duration::ZERO, |capture| capture.uptime);
            if uptime.saturating_sub(newest) >= window.resolution {
                ring.push_back(now);
            }
        }
    }

    /// The rates up to the latest capture. `rate` makes one of the time between two captures and what the counters
    /// grew in it.
    pub fn flow(&self, rate: impl Fn(Duration, T) -> Option<f64>) -> Flow {
        let since = |name, earlier: &Capture<T>| {
            let elapsed = self.latest.uptime.saturating_sub(earlier.uptime);
            rate(elapsed, self.latest.totals - earlier.totals).map(|rate| (name, round(rate)))
        };
        let windows = WINDOWS.iter().zip(&self.rings);
        let windows = windows.filter_map(|(window, ring)| since(window.name, self.baseline(window, ring)?));
        Flow(windows.chain(since("lifetime", &self.first)).collect())
    }

    fn baseline<'r>(&self, window: &Window, ring: &'r VecDeque<Capture<T>>) -> Option<&'r Capture<T>> {
        let is_old = |capture: &&Capture<T>| self.latest.uptime.saturating_sub(capture.uptime) >= window.length;
        ring.iter().rev().find(is_old).or_else(|| ring.front().filter(|_| window.reports_early))
    }
}

/// A quotient of two differences. Nothing when neither moved, infinite when only the numerator did.
pub fn rate(numerator: f64, denominator: f64) -> Option<f64> {
    if denominator != 0.0 {
        Some(numerator / denominator)
    } else if numerator == 0.0 {
        None
    } else {
        Some(f64::INFINITY.copysign(numerator))
    }
}

/// A count as differences are made of.
pub(super) fn total(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A time as differences are made of.
pub(super) fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Four significant digits, half away from zero.
fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = 3 - value.abs().log10().floor() as i32;
    let scaled = if exponent >= 0 { value * 10f64.powi(exponent) } else { value / 10f64.powi(-exponent) };
    // Through text, because a division by a power of ten would leave digits behind the fourth.
    format!("{:.0}e{}", scaled.round(), -exponent).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_second(windows: &Windows<i64>) -> Flow {
        windows.flow(|elapsed, events| rate(events as f64, elapsed.as_secs_f64()))
    }

    /// Captures every five seconds up to `seconds`; `totals` says how far the counter was.
    fn recorded(seconds: u64, totals: impl Fn(u64) -> i64) -> Windows<i64> {
        let mut windows = Windows::new(totals(0));
        for second in (5..=seconds).step_by(5) {
            windows.record(Duration::from_secs(second), totals(second));
        }
        windows
    }

    fn names(flow: &Flow) -> Vec<&'static str> {
        flow.iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn windows_appear_with_uptime() {
        let all = ["current", "last_1_minute", "last_5_minutes", "last_15_minutes", "last_1_hour", "last_24_hours"];
        for (seconds, count) in
            [(5, 1), (55, 1), (60, 2), (295, 2), (300, 3), (900, 4), (3600, 5), (86_395, 5), (86_400, 6)]
        {
            let flow = per_second(&recorded(seconds, |second| second as i64));
            let mut expected = all[..count].to_vec();
            expected.push("lifetime");
            assert_eq!(names(&flow), expected, "after {seconds} s");
            assert!(flow.iter().all(|(_, rate)| rate == 1.0), "after {seconds} s: {flow:?}");
        }
    }

    #[test]
    fn a_window_forgets_what_is_older() {
        let flow = per_second(&recorded(400, |second| second.min(80) as i64 * 10));
        assert_eq!(flow.get("current"), Some(0.0));
        assert_eq!(flow.get("last_1_minute"), Some(0.0));
        assert_eq!(flow.get("last_5_minutes"), Some(0.0));
        assert_eq!(flow.get("lifetime"), Some(2.0));
    }

    #[test]
    fn nothing_before_the_second_capture() {
        assert_eq!(per_second(&Windows::new(7)), Flow::default());
    }

    #[test]
    fn memory_is_bounded_however_often_it_is_asked() {
        let mut windows = Windows::new(0);
        for tenth in 1..=900_000u64 {
            windows.record(Duration::from_millis(tenth * 100), tenth as i64);
        }
        for (window, ring) in WINDOWS.iter().zip(&windows.rings) {
            let most = (window.length.as_secs() / window.resolution.as_secs()) as usize + 2;
            assert!(ring.len() <= most, "{}: {} captures", window.name, ring.len());
        }
        assert_eq!(per_second(&windows).get("last_24_hours"), Some(10.0));
    }

    #[test]
    fn a_shrinking_gauge_has_a_negative_rate() {
        let flow = per_second(&recorded(20, |second| 1000 - second as i64 * 3));
        assert_eq!(flow.get("current"), Some(-3.0));
    }

    #[test]
    fn a_rate_without_denominator_is_absent_or_infinite() {
        assert_eq!(rate(0.0, 0.0), None);
        assert_eq!(rate(3.0, 0.0), Some(f64::INFINITY));
        assert_eq!(rate(-3.0, 0.0), Some(f64::NEG_INFINITY));
        assert_eq!(rate(0.0, 4.0), Some(0.0));
    }

    #[test]
    fn rates_have_four_significant_digits_rounded_half_up() {
        for (value, rounded) in [
            (0.0, 0.0),
            (1.0, 1.0),
            (0.123_45, 0.1235),
            (12_345.0, 12_350.0),
            (-12_345.0, -12_350.0),
            (999.96, 1000.0),
            (99_995.0, 100_000.0),
            (1_234_567.0, 1_235_000.0),
            (0.000_080_974_9, 0.000_080_97),
            (2.5e-31, 2.5e-31),
            (1.234_56e30, 1.235e30),
            (21.333_333_333, 21.33),
        ] {
            assert_eq!(round(value), rounded, "{value}");
        }
        assert_eq!(round(f64::INFINITY), f64::INFINITY);
    }
}
