//! What is wrong with a pipeline: its state, workers that never rest, and how often it had to be started again.

use super::health::Status;
use crate::metrics::{PipelineState, PipelineStatus};

/// Something that is not as it should be. Ids are those of Logstash, without what they begin with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Concern {
    /// How bad it is.
    pub status: Status,
    /// What was found, such as `status:diagnosis:finished`.
    pub diagnosis: &'static str,
    /// Why it is so.
    pub cause: &'static str,
    /// What to do about it.
    pub action: &'static str,
    /// What it leads to, such as `status:impact:not_processing`.
    pub impact: &'static str,
    /// From 1, which is the worst.
    pub severity: u8,
    /// What that means.
    pub description: &'static str,
}

/// The same on every pipeline: nothing goes through it.
const NOT_PROCESSING: (&str, &str) = ("status:impact:not_processing", "the pipeline processes no events at present");
const BLOCKED: (&str, &str) =
    ("flow:impact:blocked_processing", "events wait for workers, and sources are slowed down");
const INTERMITTENT: (&str, &str) =
    ("recovery:impact:intermittent_processing", "processing was interrupted, and events may have come twice");

impl Concern {
    const fn new(
        status: Status,
        (diagnosis, cause, action): (&'static str, &'static str, &'static str),
        (impact, description): (&'static str, &'static str),
        severity: u8,
    ) -> Self {
        Self { status, diagnosis, cause, action, impact, severity, description }
    }
}

/// Everything that is wrong with a pipeline, worst last.
pub(super) fn concerns(pipeline: &PipelineStatus) -> Vec<Concern> {
    let by_load = pipeline.alive().and_then(|run| {
        let utilization = run.worker_utilization();
        of_utilization(utilization.get("last_1_minute"), utilization.get("last_5_minutes"))
    });
    let found = [of_state(pipeline.state), by_load, of_recoveries(pipeline.recoveries.recent().len())];
    found.into_iter().flatten().collect()
}

fn of_state(state: PipelineState) -> Option<Concern> {
    let (status, diagnosis, severity) = match state {
        PipelineState::Running => return None,
        PipelineState::Loading => (
            Status::Yellow,
            (
                "status:diagnosis:loading",
                "the pipeline is being loaded",
                "wait; if it stays so, see the log for what its plugins wait for",
            ),
            1,
        ),
        PipelineState::Finished => (
            Status::Yellow,
            (
                "status:diagnosis:finished",
                "the pipeline has finished, because all of its inputs came to their end",
                "start it again when it was meant to go on; see the log for why its inputs ended",
            ),
            10,
        ),
        PipelineState::Terminated => (
            Status::Red,
            (
                "status:diagnosis:terminated",
                "the pipeline was ended by an error that it did not expect",
                "see the log for the error, and start the pipeline again",
            ),
            1,
        ),
        PipelineState::Unknown => (
            Status::Unknown,
            (
                "status:diagnosis:unknown",
                "the pipeline is not known to run: it could not be started, or is no longer there",
                "see the log for why it could not be started",
            ),
            2,
        ),
    };
    Some(Concern::new(status, diagnosis, NOT_PROCESSING, severity))
}

/// Workers that never rest: over a minute that is concerning, over five it is a blockage.
fn of_utilization(one_minute: Option<f64>, five_minutes: Option<f64>) -> Option<Concern> {
    const BLOCKED_FOR: &str = "see which filter or output takes the time, in its `worker_utilization`, and whether what it \
                               writes to answers";
    let (one, five) = (one_minute.unwrap_or(0.0), five_minutes.unwrap_or(0.0));
    let (status, diagnosis, severity) = if five > 99.999 {
        let diagnosis = "flow:worker_utilization:diagnosis:5m-blocked";
        (Status::Red, (diagnosis, "workers were busy all the time for five minutes", BLOCKED_FOR), 1)
    } else if five >= 95.0 && one_minute.is_some_and(|one| one <= 80.0) {
        let cause = "workers were busy nearly all the time for five minutes, but they appear to be recovering";
        (
            Status::Yellow,
            ("flow:worker_utilization:diagnosis:5m-nearly-blocked", cause, "continue to monitor the pipeline"),
            1,
        )
    } else if five >= 95.0 {
        let diagnosis = "flow:worker_utilization:diagnosis:5m-nearly-blocked";
        (Status::Yellow, (diagnosis, "workers were busy nearly all the time for five minutes", BLOCKED_FOR), 1)
    } else if one > 99.999 {
        let diagnosis = "flow:worker_utilization:diagnosis:1m-blocked";
        (Status::Yellow, (diagnosis, "workers were busy all the time for a minute", BLOCKED_FOR), 2)
    } else if one >= 95.0 {
        let diagnosis = "flow:worker_utilization:diagnosis:1m-nearly-blocked";
        (Status::Yellow, (diagnosis, "workers were busy nearly all the time for a minute", BLOCKED_FOR), 2)
    } else {
        return None;
    };
    Some(Concern::new(status, diagnosis, BLOCKED, severity))
}

/// How often it was started again in the last five minutes, after it had crashed.
fn of_recoveries(count: usize) -> Option<Concern> {
    const ACTION: &str = "see the log for the error that ended the pipeline";
    let (status, diagnosis, severity) = match count {
        0 => return None,
        1..5 => (
            Status::Yellow,
            ("recovery:diagnosis:5m-recovery-recent", "the pipeline crashed lately and was started again", ACTION),
            2,
        ),
        _ => (
            Status::Red,
            ("recovery:diagnosis:5m-recovery-repeated", "the pipeline crashes again and again", ACTION),
            1,
        ),
    };
    Some(Concern::new(status, diagnosis, INTERMITTENT, severity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_workers_are_concerning_and_blocked_ones_unhealthy() {
        for (one, five, found) in [
            (None, None, None),
            (Some(94.9), None, None),
            (Some(95.0), None, Some((Status::Yellow, "1m-nearly-blocked", 2))),
            (Some(100.0), None, Some((Status::Yellow, "1m-blocked", 2))),
            (Some(100.0), Some(50.0), Some((Status::Yellow, "1m-blocked", 2))),
            (Some(10.0), Some(95.0), Some((Status::Yellow, "5m-nearly-blocked", 1))),
            (Some(100.0), Some(99.0), Some((Status::Yellow, "5m-nearly-blocked", 1))),
            (Some(100.0), Some(100.0), Some((Status::Red, "5m-blocked", 1))),
        ] {
            let concern = of_utilization(one, five);
            let short = concern.map(|c| (c.status, c.diagnosis.rsplit(':').next().unwrap(), c.severity));
            assert_eq!(short, found, "{one:?} {five:?}");
            let recovers = concern.is_some_and(|concern| concern.cause.ends_with("but they appear to be recovering"));
            assert_eq!(recovers, one == Some(10.0), "{one:?} {five:?}");
        }
    }

    #[test]
    fn a_pipeline_that_crashes_again_and_again_is_unhealthy() {
        let statuses = [0, 1, 4, 5, 9].map(|count| of_recoveries(count).map(|concern| concern.status));
        assert_eq!(statuses, [None, Some(Status::Yellow), Some(Status::Yellow), Some(Status::Red), Some(Status::Red)]);
    }
}
