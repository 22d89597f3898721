//! Inputs, one file each, named as in a `.conf`.

pub mod dead_letter_queue;
pub mod generator;
pub mod heartbeat;
mod host_field;
pub mod stdin;
