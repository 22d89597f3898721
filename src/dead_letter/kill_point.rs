//! Places where a crash test kills the process: named points of the write, seal and commit paths, active only in the
//! library's own tests.

/// The environment variable that names the point to die at.
#[cfg(test)]
pub const POINT: &str = "SPILLWAY_KILL_AT";
/// How often the point is passed unharmed before that, so that there is something to lose.
#[cfg(test)]
pub const AFTER: &str = "SPILLWAY_KILL_AFTER";

#[cfg(test)]
fn armed(name: &str) -> bool {
    use std::sync::OnceLock;
    static ARMED: OnceLock<Option<String>> = OnceLock::new();
    ARMED.get_or_init(|| std::env::var(POINT).ok()).as_deref() == Some(name)
}

/// Dies here if the test says so.
#[cfg(test)]
pub fn reach(name: &str) {
    if armed(name) && countdown() {
        die();
    }
}

/// In the product there is no such place.
#[cfg(not(test))]
#[inline(always)]
pub fn reach(_name: &str) {}

/// The number of bytes of a write that still reach the file before the process dies in its middle.
#[cfg(test)]
pub fn cut(framed: &[u8], end: u64) -> Option<usize> {
    use super::record::{HEADER, next_block};
    let to_next_block = (next_block(end) - end) as usize;
    let cut = if armed("after-header") {
        HEADER
    } else if armed("mid-data") {
        framed.len() / 2
    } else if armed("between-fragments") && framed.len() > to_next_block {
        to_next_block
    } else {
        return None;
    };
    countdown().then_some(cut)
}

/// The half of a write that still reaches the file before the process dies, if the test says so.
#[cfg(test)]
pub fn half<'b>(name: &str, bytes: &'b [u8]) -> Option<&'b [u8]> {
    (armed(name) && countdown()).then(|| &bytes[..bytes.len() / 2])
}

#[cfg(test)]
fn countdown() -> bool {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let wanted = std::env::var(AFTER).ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    PASSED.fetch_add(1, Ordering::SeqCst) == wanted
}

/// As `kill -9` would.
#[cfg(test)]
pub fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
