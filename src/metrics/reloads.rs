//! How often a pipeline was loaded anew while the program ran, how the last attempts went, and what became of crashes.

use jiff::Timestamp;

/// How often a pipeline was reloaded. Lives as long as the pipeline's id is known, over all of its runs.
#[derive(Clone, Debug, Default)]
pub struct Reloads {
    /// Times that went well.
    pub successes: u64,
    /// Times that did not.
    pub failures: u64,
    /// Why the last failure was one.
    pub last_error: Option<ReloadError>,
    /// When it last went well.
    pub last_success: Option<Timestamp>,
    /// When it last did not.
    pub last_failure: Option<Timestamp>,
}

/// Why a pipeline could not be loaded.
#[derive(Clone, Debug)]
pub struct ReloadError {
    /// For people.
    pub message: String,
    /// Further lines: the places that the message is about.
    pub backtrace: Option<Vec<String>>,
}

/// When a pipeline was started again after a crash. Lives as long as [`Reloads`].
#[derive(Clone, Debug, Default)]
pub struct Recoveries(Vec<Timestamp>);

/// How long a recovery is remembered, in seconds.
const REMEMBERED: i64 = 5 * 60;

impl Recoveries {
    /// Those of the last five minutes.
    pub fn recent(&self) -> Vec<Timestamp> {
        let now = Timestamp::now();
        self.0.iter().copied().filter(|at| now.as_second() - at.as_second() < REMEMBERED).collect()
    }

    pub(super) fn note(&mut self) {
        self.0 = self.recent();
        self.0.push(Timestamp::now());
    }
}

impl Reloads {
    pub(super) fn succeeded(&mut self) {
        self.successes += 1;
        self.last_success = Some(Timestamp::now());
    }

    pub(super) fn failed(&mut self, error: ReloadError) {
        self.failures += 1;
        self.last_error = Some(error);
        self.last_failure = Some(Timestamp::now());
    }
}
