//! What became of a case.

use super::compare::Difference;
use super::route::Route;

/// What became of one case.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// All is as expected.
    Passed,
    /// Something is not.
    Failed(Failure),
    /// It could not be run, for this reason.
    Skipped(String),
}

/// Why a case failed.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// What went wrong.
    pub findings: Vec<Finding>,
    /// Which way the events went.
    pub route: Route,
}

/// One thing that is not as expected.
#[derive(Clone, Debug)]
pub enum Finding {
    /// Anything that needs no layout of its own: a case that is written wrongly, a step that failed.
    Message(String),
    /// The pipeline does not start; the errors.
    Refused(String),
    /// The pipeline starts, and these texts were expected in a refusal.
    Started(Vec<String>),
    /// The refusal lacks some of the expected texts.
    OtherRefusal {
        /// Those it lacks.
        lacks: Vec<String>,
        /// What it says.
        refusal: String,
    },
    /// The case expects nothing; what came out.
    NothingExpected(Vec<String>),
    /// An event (or its metadata, or a dead letter) differs.
    Differs {
        /// What is compared.
        what: What,
        /// Its place among those that came out, from 0.
        at: usize,
        /// How many came out.
        of: usize,
        /// Where it differs, sorted.
        differences: Vec<Difference>,
    },
    /// An expected event did not come.
    Missing {
        /// What is missing.
        what: What,
        /// Its place among those that are expected, from 0.
        at: usize,
        /// What was expected.
        shown: String,
    },
    /// An event came that nobody expected.
    Extra {
        /// What is too much.
        what: What,
        /// Its place among those that came out, from 0.
        at: usize,
        /// Its fields.
        shown: String,
    },
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Fields of an event.
    Event,
    /// `[@metadata]` of an event.
    Metadata,
    /// An entry of the dead letter queue.
    DeadLetter,
}

impl What {
    /// `event`, `metadata of event`, `dead letter`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Metadata => "metadata of event",
            Self::DeadLetter => "dead letter",
        }
    }
}

/// How many cases ended how, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// As expected.
    pub passed: usize,
    /// Not as expected.
    pub failed: usize,
    /// Not run.
    pub skipped: usize,
}

impl Tally {
    /// Counts one.
    pub fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped(_) => self.skipped += 1,
        }
    }
}
