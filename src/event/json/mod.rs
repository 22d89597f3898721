//! JSON to values and back, the hot loop of most pipelines.
//!
//! Hand-written because no crate gives all of: strings that are slices of the line, decimals that keep their
//! digits, integers of any size, key order, a depth limit that a hostile document cannot pass, and Java's number
//! forms on the way out. `benches/event_model.rs` compares it with the fastest crates.

mod read;
mod scan;
mod write;

pub use read::{JsonError, Numbers, Reader};
pub use write::{write_map, write_map_with, write_string, write_value, write_value_with};
