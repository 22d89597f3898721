//! Running pipelines: the compiled plan, the workers that run it, acknowledgement, start and stop.
//!
//! ```text
//!  input ──decode──▶ queue ──batch──▶ worker: filters ──▶ outputs ──▶ lease returned to the source
//!                                                          │  └─ never: dead letter queue
//!                                                          └─ not now: wait and retry (back-pressure)
//! ```

mod batch;
mod delivery;
mod dispatch;
mod filtering;
mod graph;
mod lease;
mod plan;
mod prepare;
mod progress;
mod run;
mod sink;
mod supervisor;
mod worker;

pub use batch::{Emitter, FilterBatch, Outcome};
pub use filtering::{Filtering, Flush};
pub use lease::Lease;
pub use plan::{Compiled, Environment, FilterSlot, InputSlot, OutputSlot, Plan, Step, StepBranch, Switch, compile};
pub use prepare::{Prepared, Shared, prepare};
pub use progress::Progress;
pub use run::{Finish, Opened, Running, StartError};
pub use sink::InputSink;
pub use supervisor::{RunEnd, run};
