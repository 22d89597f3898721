//! Outputs, one file each, named as in a `.conf`.

pub mod clickhouse;
pub mod csv;
pub mod elasticsearch;
pub mod file;
pub mod http;
#[cfg(feature = "kafka")]
pub mod kafka;
mod misconfigured;
pub mod null;
pub mod pipeline;
pub mod stdout;
pub mod tcp;
pub mod udp;
mod waits;
