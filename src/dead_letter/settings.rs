//! What can be set for a pipeline's dead letter queue, with defaults, limits and the warnings about them.

use std::path::PathBuf;
use std::time::Duration;

/// Size at which a segment is full.
pub const SEGMENT_BYTES: u64 = 10 * 1024 * 1024;
/// Smallest segment that a small queue is cut into.
const SMALLEST_SEGMENT: u64 = 32 * 1024;
/// Shortest interval that is used.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// What to give up when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoragePolicy {
    /// The new event.
    #[default]
    DropNewer,
    /// The oldest segments.
    DropOlder,
}

impl StoragePolicy {
    /// The name in `logstash.yml` and in the statistics.
    pub fn name(self) -> &'static str {
        match self {
            Self::DropNewer => "drop_newer",
            Self::DropOlder => "drop_older",
        }
    }

    /// The policy of that name.
    pub fn parse(name: &str) -> Result<Self, SettingError> {
        match name {
            "drop_newer" => Ok(Self::DropNewer),
            "drop_older" => Ok(Self::DropOlder),
            other => Err(SettingError::StoragePolicy(other.to_owned())),
        }
    }
}

/// What to do with an event that came out of a dead letter queue and failed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopGuard {
    /// Keep it, with the history of its earlier rounds.
    #[default]
    Requeue,
    /// Drop it with a warning, as Logstash does.
    Skip,
}

impl LoopGuard {
    /// The choice of that name.
    pub fn parse(name: &str) -> Result<Self, SettingError> {
        match name {
            "requeue" => Ok(Self::Requeue),
            "skip" => Ok(Self::Skip),
            other => Err(SettingError::LoopGuard(other.to_owned())),
        }
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// Not a storage policy.
    #[error("dead_letter_queue.storage_policy: `{0}` is unknown, use drop_newer or drop_older")]
    StoragePolicy(String),
    /// Not a loop guard.
    #[error("dead_letter_queue.loop_guard: `{0}` is unknown, use requeue or skip")]
    LoopGuard(String),
    /// Not an age.
    #[error("dead_letter_queue.retain.age: `{0}` is no age, write a whole number and one of d, h, m, s, such as 5d")]
    RetainAge(String),
}

/// Reads an age such as `5d`, `12 h`, `30m` or `90s`.
pub fn parse_retain_age(text: &str) -> Result<Duration, SettingError> {
    let refused = || SettingError::RetainAge(text.to_owned());
    let unit = match text.chars().last() {
        Some('d') => 86400,
        Some('h') => 3600,
        Some('m') => 60,
        Some('s') => 1,
        _ => return Err(refused()),
    };
    let digits = text.get(..text.len() - 1).unwrap_or_default().trim_end_matches(' ');
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(refused());
    }
    let seconds = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(refused)?;
    Ok(Duration::from_secs(seconds))
}

/// An interval that was outside its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is {limit}, {} ms are used", used.as_millis())]
pub struct Changed {
    /// The setting.
    pub name: &'static str,
    /// The limit in a user's words.
    limit: &'static str,
    /// What is used instead.
    used: Duration,
}

/// One pipeline's dead letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The queue's directory; its last part is the pipeline id.
    pub directory: PathBuf,
    /// Most bytes that the files may take.
    pub max_bytes: u64,
    /// A segment becomes readable when nothing was written to it for this long.
    pub flush_interval: Duration,
    /// How often that, and the age of segments, is looked at.
    pub flush_check_interval: Duration,
    /// What to give up when `max_bytes` is reached.
    pub storage_policy: StoragePolicy,
    /// Segments whose last entry is older than this are deleted.
    pub retain_age: Option<Duration>,
    /// What to do with an event that failed before.
    pub loop_guard: LoopGuard,
    /// Size at which a segment is full, instead of the one that follows from `max_bytes`.
    pub segment_bytes: Option<u64>,
}

impl Settings {
    /// The defaults, for a queue in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            max_bytes: 1024 * 1024 * 1024,
            flush_interval: Duration::from_millis(5000),
            flush_check_interval: Duration::from_millis(1000),
            storage_policy: StoragePolicy::default(),
            retain_age: None,
            loop_guard: LoopGuard::default(),
            segment_bytes: None,
        }
    }

    /// Brings intervals within the limits that hold for the settings of a pipeline, and says what was changed.
    pub fn keep_to_limits(&mut self) -> Vec<Changed> {
        let mut changed = Vec::new();
        let mut keep = |name, slot: &mut Duration, longest: Duration| {
            let limit = match *slot {
                wanted if wanted < SHORTEST_INTERVAL => "below 1000",
                wanted if wanted > longest => "above `dead_letter_queue.flush_interval`",
                _ => return,
            };
            *slot = (*slot).min(longest).max(SHORTEST_INTERVAL);
            changed.push(Changed { name, limit, used: *slot });
        };
        keep("dead_letter_queue.flush_interval", &mut self.flush_interval, Duration::MAX);
        keep("dead_letter_queue.flush_check_interval", &mut self.flush_check_interval, self.flush_interval);
        changed
    }

    /// Size at which a segment is full. A small queue that drops its oldest segment is cut into quarters, so that
    /// making room never costs all of it.
    pub(super) fn segment_limit(&self) -> u64 {
        match (self.segment_bytes, self.storage_policy) {
            (Some(bytes), _) => bytes,
            (None, StoragePolicy::DropOlder) => (self.max_bytes / 4).clamp(SMALLEST_SEGMENT, SEGMENT_BYTES),
            (None, StoragePolicy::DropNewer) => SEGMENT_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_a_whole_number_and_one_unit() {
        for (text, seconds) in
            [("5d", 432_000), ("5 d", 432_000), ("90s", 90), ("12h", 43200), ("30   m", 1800), ("0s", 0)]
        {
            assert_eq!(parse_retain_age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["5", "1w", "-1d", "", "d", " 5d", "5d ", "1d12h", "1.5d", "+5d", "5D", "99999999999999999999d"] {
            let error = parse_retain_age(text).unwrap_err().to_string();
            assert!(error.contains("retain.age") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn names_of_policies_are_checked() {
        assert_eq!(StoragePolicy::parse("drop_older"), Ok(StoragePolicy::DropOlder));
        assert!(StoragePolicy::parse("drop_all").unwrap_err().to_string().contains("storage_policy"));
        assert_eq!(LoopGuard::parse("skip"), Ok(LoopGuard::Skip));
        assert!(LoopGuard::parse("on").unwrap_err().to_string().contains("loop_guard"));
    }

    #[test]
    fn intervals_are_kept_to_their_limits_with_a_warning() {
        let ms = Duration::from_millis;
        for (flush, check, flush_used, check_used, warnings) in [
            (5000, 1000, 5000, 1000, 0),
            (100, 1000, 1000, 1000, 1),
            (5000, 6000, 5000, 5000, 1),
            (5000, 10, 5000, 1000, 1),
            (100, 5000, 1000, 1000, 2),
        ] {
            let mut settings = Settings::new("q");
            (settings.flush_interval, settings.flush_check_interval) = (ms(flush), ms(check));
            assert_eq!(settings.keep_to_limits().len(), warnings, "{flush} {check}");
            assert_eq!((settings.flush_interval, settings.flush_check_interval), (ms(flush_used), ms(check_used)));
        }
    }

    #[test]
    fn only_small_queues_that_drop_older_have_small_segments() {
        let mut settings = Settings::new("q");
        assert_eq!(settings.segment_limit(), SEGMENT_BYTES);
        settings.max_bytes = 1024 * 1024;
        assert_eq!(settings.segment_limit(), SEGMENT_BYTES);
        settings.storage_policy = StoragePolicy::DropOlder;
        assert_eq!(settings.segment_limit(), 256 * 1024);
        settings.max_bytes = 1000;
        assert_eq!(settings.segment_limit(), 32 * 1024);
    }
}
