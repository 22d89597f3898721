//! Running pipelines: the compiled plan, the workers that run it, acknowledgement, start and stop.
//!
//! ```text
//!  input ──decode──▶ queue ──batch──▶ worker: filters ──▶ outputs ──▶ lease returned to the source
//!                                                          │  └─ never: dead letter queue
//!                                                          └─ not now: wait and retry (back-pressure)
//! ```

mod decisions;
mod delivery;
mod dispatch;
mod filtering;
mod graph;
mod neighbours;
mod persistent;
mod plan;
mod poison;
mod prepare;
mod register;
mod run;
mod stall;
mod supervisor;
mod switch;
mod worker;

pub use decisions::{Decided, Decisions};
pub use filtering::{Filtering, Flush};
pub use neighbours::look_between;
pub use plan::{Compiled, Environment, FilterSlot, InputSlot, OutputSlot, Plan, Step, StepBranch, Switch, compile};
pub use prepare::{Prepared, Shared, assemble, log, prepare, read};
pub use run::{Finish, Opened, Running, StartError};
pub use supervisor::{Assignment, RunEnd, run};
