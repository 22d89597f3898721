//! What the tests of the elasticsearch output share: a scripted bulk server, the program under test, case files.

#![allow(dead_code, reason = "every test binary uses its own part")]

pub mod bulk;
pub mod direct;
pub mod program;
pub mod scenario;
pub mod server;
pub mod store;
pub mod tls;
pub mod yaml;

use std::time::{Duration, Instant};

/// Waits until something is true, at most so long; tells whether it came true.
pub fn eventually(limit: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is_true() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
