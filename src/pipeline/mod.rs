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
mod plan;
mod prepare;
mod register;
mod run;
mod supervisor;
mod switch;
mod worker;

pub use decisions::{Decided, Decisions};
pub use filtering::{Filtering, Flush};
pub use plan::{Compiled, Environment, FilterSlot, InputSlot, OutputSlot, Plan, Step, StepBranch, Switch, compile};
pub use prepare::{Prepared, Shared, assemble, look_between, prepare, read};
pub use run::{Finish, Opened, Running, StartError};
pub use supervisor::{RunEnd, run};
