//! Spillway runs Logstash pipelines and loses nothing on the way.
//!
//! Read the rooms from the bottom up: [`event`] is what flows, `config` turns a `.conf` into a checked plan, `plugins`
//! do the work, `pipeline` runs them, `dead_letter` and `queue` keep events on disk, `cli` ties it together.

#![warn(missing_docs)]

pub mod dead_letter;
pub mod event;
