//! Tests of pipelines: given events, a configuration, expected events.
//!
//! [`mod@file`] reads case files and [`case`] what one case says. A [`Runner`] puts the given events through the filters
//! of the case's configuration; inputs and outputs are built, but never open anything. What comes out is held
//! against what is expected in [`compare`], and [`report`] prints what differs.

mod align;
mod build;
pub mod case;
pub mod compare;
pub mod coverage;
mod dead_letters;
pub mod expected;
pub mod file;
mod given;
mod judge;
pub mod junit;
mod lfv;
mod mocks;
pub mod report;
mod route;
mod run;
mod show;
mod steps;
pub mod update;
mod values;
mod verdict;
pub mod yaml_text;

pub use build::Defaults;
pub use case::Case;
pub use file::Entry;
pub use judge::{Expectation, judge_events};
pub use mocks::{Mocks, reaching_out};
pub use route::Route;
pub use run::{Observed, Runner};
pub use values::{timestamp, typed_event};
pub use verdict::{Failure, Finding, Tally, Verdict, What};
