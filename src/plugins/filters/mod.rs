//! Filters, one file each, named as in a `.conf`.

pub mod clone;
pub mod dlq;
pub mod drop;
pub mod json;
pub mod mutate;
pub mod sleep;
pub mod truncate;
