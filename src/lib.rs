//! Spillway runs Logstash pipelines and loses nothing on the way.
//!
//! Read the rooms from the bottom up: [`event`] is what flows, [`config`] turns a `.conf` into a checked tree,
//! [`plugins`] do the work, [`pipeline`] runs them, [`dead_letter`] and [`queue`] keep events, `cli` ties it together.

#![warn(missing_docs)]
// Data from outside must never bring the process down.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented)]

pub mod acknowledgement;
mod allocator;
pub mod cli;
pub mod config;
pub mod dead_letter;
pub mod event;
pub mod logging;
pub mod metrics;
pub mod monitoring;
pub mod pipeline;
pub mod plugins;
pub mod queue;
pub mod regexp;
pub mod settings;
mod storage;
pub mod testing;
pub mod version;

pub use allocator::Allocator;
