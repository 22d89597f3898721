//! Outputs, one file each, named as in a `.conf`.

pub mod elasticsearch;
pub mod file;
pub mod null;
pub mod stdout;
