//! Inputs, one file each, named as in a `.conf`.

pub mod beats;
pub mod dead_letter_queue;
pub mod elasticsearch;
pub mod file;
pub mod generator;
pub mod heartbeat;
mod host_field;
pub mod http;
#[cfg(feature = "kafka")]
pub mod kafka;
mod net;
pub mod pipeline;
pub mod stdin;
pub mod syslog;
pub mod tcp;
pub mod udp;
pub mod unix;
