//! `throttle`: which events of a kind come before or after so many others in a period.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::event::{Template, Text};
use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "throttle", summary: "Marks events that are too few or too many in a period.", build };

/// A period of no time.
const USUAL_PERIOD: i64 = 60;

struct Throttle {
    key: Template,
    before_count: i64,
    after_count: i64,
    period: Template,
    max_age: i64,
    max_counters: usize,
    counters: Mutex<Counters>,
}

/// Counters by key. Time is that of the events.
#[derive(Default)]
struct Counters {
    keys: HashMap<Text, Key>,
    /// Of all keys.
    count: usize,
    /// Time of the newest event, in seconds.
    newest: i64,
}

struct Key {
    /// Where its periods start.
    first: i64,
    newest: i64,
    /// Start of each period, and how many events fell into it.
    periods: Vec<(i64, i64)>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let key = options.template("key").doc("Events with the same key are counted together.").required();
    let before_count = options.integer("before_count").doc("Fewer events than these match; -1 for none.").default(-1);
    let after_count = options.integer("after_count").doc("Events behind so many match; -1 for none.").default(-1);
    let period = options.template("period").doc("Seconds that are counted together; may come from a field.");
    let period = period.default(Template::constant("60"));
    let max_age = options.integer("max_age").doc("Seconds after which a counter is forgotten.").default(3600);
    let max_counters = options.integer("max_counters").doc("Most counters to keep; those longest unused go first.");
    let max_counters = usize::try_from(max_counters.default(100_000)).unwrap_or(0).max(1);
    Box::new(Throttle { key, before_count, after_count, period, max_age, max_counters, counters: Mutex::default() })
}

impl Filter for Throttle {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            let Some(at) = event.timestamp() else { return Outcome::Unmatched };
            let period = match self.period.render(event).trim().parse::<f64>() {
                Ok(period) if period >= 1.0 => period as i64,
                _ => USUAL_PERIOD,
            };
            let count = self.counters.lock().count_one(self, self.key.render(event), at.seconds(), period);
            let is_before = self.before_count != -1 && count < self.before_count;
            let is_after = self.after_count != -1 && count > self.after_count;
            if is_before || is_after { Outcome::Matched } else { Outcome::Unmatched }
        });
    }

    fn remembers(&self) -> bool {
        true
    }
}

impl Counters {
    /// Counts an event; the result is its place in its period, from 1.
    fn count_one(&mut self, limits: &Throttle, key: Text, now: i64, period: i64) -> i64 {
        if now > self.newest {
            self.newest = now;
        }
        if self.count >= limits.max_counters {
            self.make_room(limits);
        }
        // A copy, so that no counter keeps the chunk that an event was read with.
        let key = self.keys.entry(Text::from(key.as_str())).or_insert_with(|| Key {
            first: now,
            newest: now,
            periods: Vec::new(),
        });
        key.newest = key.newest.max(now);
        let start = now - now.wrapping_sub(key.first).rem_euclid(period);
        let oldest = key.newest.saturating_sub(limits.max_age);
        let before = key.periods.len();
        key.periods.retain(|(at, _)| *at == start || at.saturating_add(period) > oldest);
        self.count -= before - key.periods.len();
        if let Some((_, count)) = key.periods.iter_mut().find(|(at, _)| *at == start) {
            *count += 1;
            return *count;
        }
        key.periods.push((start, 1));
        self.count += 1;
        1
    }

    /// Forgets keys that are too old, and if that is not enough the half that was not used for longest.
    fn make_room(&mut self, limits: &Throttle) {
        let oldest = self.newest.saturating_sub(limits.max_age);
        self.keys.retain(|_, key| key.newest >= oldest);
        if self.keys.values().map(|key| key.periods.len()).sum::<usize>() >= limits.max_counters {
            let mut ages: Vec<i64> = self.keys.values().map(|key| key.newest).collect();
            ages.sort_unstable();
            let middle = ages.get(ages.len().saturating_sub(1) / 2).copied().unwrap_or(self.newest);
            self.keys.retain(|_, key| key.newest > middle);
        }
        self.count = self.keys.values().map(|key| key.periods.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::{compiled, event, run_filters};

    /// `x` for each event that matched. Events are key and second.
    fn marks(options: &str, events: &[(&str, i64)]) -> String {
        let compiled =
            compiled(&format!("filter {{ throttle {{ key => \"%{{k}}\" {options} add_tag => [\"t\"] }} }}")).unwrap();
        let events = events.iter().map(|(key, second)| {
            let (minute, second) = (second / 60, second % 60);
            event(&format!(r#"{{"k":"{key}","@timestamp":"2020-01-01T00:{minute:02}:{second:02}Z"}}"#))
        });
        let out = run_filters(&compiled, events.collect());
        out.iter().map(|event| if event.fields().contains_key("tags") { 'x' } else { '.' }).collect()
    }

    #[test]
    fn events_before_and_after_a_count() {
        let events = [("a", 0), ("a", 1), ("b", 1), ("a", 2), ("a", 3), ("a", 60), ("a", 59)];
        assert_eq!(marks("after_count => 2", &events), "...xx.x");
        assert_eq!(marks("before_count => 2", &events), "x.x..x.");
        assert_eq!(marks("before_count => 2 after_count => 3", &events), "x.x.xxx");
        assert_eq!(marks("", &events), ".......");
    }

    #[test]
    fn periods_start_at_the_first_event_of_a_key() {
        assert_eq!(
            marks(r#"after_count => 1 period => "10""#, &[("a", 5), ("a", 14), ("a", 15), ("a", 24), ("a", 4)]),
            ".x.x."
        );
        assert_eq!(marks(r#"after_count => 1 period => "0""#, &[("a", 5), ("a", 64), ("a", 65)]), ".x.");
    }

    #[test]
    fn counters_are_forgotten() {
        let old = r#"after_count => 1 period => "10" max_age => 20"#;
        assert_eq!(marks(old, &[("a", 0), ("a", 40), ("a", 1)]), "...");
        // The half that was not used for longest makes room: `c` is still known, `a` is not.
        let few = [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("c", 4), ("a", 4)];
        assert_eq!(marks("after_count => 1 max_counters => 3", &few), "....x.");
        assert_eq!(marks("after_count => 1 max_counters => 9", &few), "....xx");
    }
}
