//! Which Spillway this is, and which Logstash it behaves like.

/// The version of Spillway.
pub const SPILLWAY: &str = env!("CARGO_PKG_VERSION");

/// The version of Logstash whose configurations, files and API it follows. Clients of the monitoring API read it.
pub const LOGSTASH: &str = "9.5.2";
