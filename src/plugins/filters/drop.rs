//! `drop`: cancels events, all of them or a share.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::plugins::{Filter, FilterBatch, FilterPlugin, Options, Outcome};

/// The plugin.
pub const PLUGIN: FilterPlugin =
    FilterPlugin { name: "drop", summary: "Drops every event that reaches it, or a share of them.", build };

struct Drop {
    /// Out of 2^32.
    share: u64,
    random: AtomicU64,
}

fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let percentage = options.number("percentage").doc("How many of 100 events to drop.").default(100.0);
    if !(0.0..=100.0).contains(&percentage) {
        let (meant, what) = if percentage < 0.0 { ("0", "no") } else { ("100", "every") };
        options.warn("percentage", "no-effect", format!("this is the same as {meant}: {what} event is dropped"));
    }
    let share = (percentage.clamp(0.0, 100.0) / 100.0 * (1_u64 << 32) as f64) as u64;
    Box::new(Drop { share, random: AtomicU64::new(0x9E37_79B9_7F4A_7C15) })
}

impl Filter for Drop {
    fn filter(&self, batch: &mut FilterBatch<'_>) {
        batch.each(|event| {
            if self.share >= 1 << 32 || self.next_random() < self.share {
                event.cancel();
            }
            Outcome::Unmatched
        });
    }
}

impl Drop {
    /// A number below 2^32: a Weyl sequence through the finalizer of splitmix64.
    fn next_random(&self) -> u64 {
        let mut z = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) >> 32
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::testing::filtered;

    #[test]
    fn all_events_none_or_a_share_are_dropped() {
        let events = vec!["{}"; 1000];
        let left = |options: &str| {
            let config = format!("filter {{ drop {{ {options} add_tag => [\"t\"] }} }}");
            let left = filtered(&config, &events);
            assert!(left.iter().all(|json| json == "{}"), "the common options never run");
            left.len()
        };
        assert_eq!(left(""), 0);
        assert_eq!(left("percentage => 0"), 1000);
        assert!((400..600).contains(&left("percentage => 50")));
    }
}
