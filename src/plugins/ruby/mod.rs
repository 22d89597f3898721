//! Ruby code of a configuration, run by Ruby itself.
//!
//! Each worker has a Ruby process ([`interpreter`]) that holds all scripts of the pipeline ([`scripts`]). It gets a batch
//! of events in one message, of each only what the script can read ([`projection`]), and answers with what the script did
//! to each ([`answer`]). A process that dies or hangs is replaced, and the event it stumbled over is found. Messages are
//! in Ruby's own format ([`marshal`]): Ruby reads and writes it in C, without a library that would have to be installed.

mod answer;
mod burial;
mod interpreter;
mod marshal;
mod projection;
mod report;
mod scripts;

pub use answer::{Answer, Exception, Ran, items, new_event};
pub use burial::bury;
pub use report::report;
pub use scripts::{Fault, Given, Script, Scripts};
