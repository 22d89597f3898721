//! Ports for programs that are started a moment later.
//!
//! A port of the kernel's own choice (`bind` to 0) is taken from the range that every outgoing connection takes its port
//! from: once it is let go, any connection on the machine may have it before the program does. These are from below
//! that range.

use std::net::{TcpListener, UdpSocket};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where they begin: above the ports that the services of `tests/services` have by themselves.
const FIRST: u32 = 20_000;
/// How many there are, up to the range of connections, which begins at 32768 on Linux.
const COUNT: u32 = 12_000;

/// A port that is free for TCP and UDP, as is the one above it. Those of one process differ; processes begin at places
/// that are far from each other most of the time.
pub fn free_port() -> u16 {
    static NEXT: OnceLock<AtomicU32> = OnceLock::new();
    let next = NEXT.get_or_init(|| AtomicU32::new(uuid::Uuid::new_v4().as_fields().0 / 2));
    for _ in 0..COUNT / 2 {
        let pair = next.fetch_add(1, Ordering::Relaxed) % (COUNT / 2);
        let port = u16::try_from(FIRST + pair * 2).unwrap();
        if is_free(port) && is_free(port + 1) {
            return port;
        }
    }
    panic!("all ports from {FIRST} on are in use");
}

/// Whether nobody listens there, at whatever address of this machine.
fn is_free(port: u16) -> bool {
    TcpListener::bind(("0.0.0.0", port)).is_ok() && UdpSocket::bind(("0.0.0.0", port)).is_ok()
}
