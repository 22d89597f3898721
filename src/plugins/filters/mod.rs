//! Filters, one file each, named as in a `.conf`.

pub mod drop;
pub mod json;
pub mod mutate;
