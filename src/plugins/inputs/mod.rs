//! Inputs, one file each, named as in a `.conf`.

pub mod dead_letter_queue;
pub mod stdin;
