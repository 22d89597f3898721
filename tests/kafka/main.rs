//! A real broker: `SPILLWAY_KAFKA=127.0.0.1:19092 cargo test --test kafka` after `tests/services/kafka.sh start`. Without
//! it nothing is tested. `SPILLWAY_KAFKA_TLS`, `SPILLWAY_KAFKA_SASL` and `SPILLWAY_KAFKA_CERTIFICATES` name its other
//! listeners and the folder that `tests/services/certs.sh` prints. `SPILLWAY_KAFKA_KILLS=50` kills the program more often,
//! `SPILLWAY_KAFKA_RECORDS=200000` sends more records through the complete designs.

mod broker;
mod crashes;
mod designs;
mod groups;
mod own_broker;
#[path = "../support/ports.rs"]
mod ports;
mod program;
mod records;
mod refusals;
mod security;

use std::time::{Duration, Instant};

/// Whether something becomes true in time.
fn eventually(limit: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is_true() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A number from the environment.
fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
