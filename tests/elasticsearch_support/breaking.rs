//! A way to a server that breaks at a chosen place, for TCP and for TLS alike: it sees bytes only.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Where a connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// As soon as it is there.
    Connect,
    /// After the first bytes of the client, before any of the server: in TLS the handshake has begun.
    FirstBytes,
    /// After the first bytes of the server: in TLS in the middle of the handshake.
    FirstAnswer,
    /// So many bytes have come from the client.
    Request(usize),
    /// The client has sent so many bytes, and the server has answered, which the client does not see.
    BeforeReply(usize),
    /// As before; the client sees the first bytes of the answer.
    MidReply(usize),
    /// As before; the client sees the answer, and the connection is gone afterwards.
    AfterReply(usize),
}

struct Shared {
    target: u16,
    phase: Mutex<Option<Phase>>,
    /// Connections that are yet to break.
    left: AtomicUsize,
    broken: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
}

/// Stands before a server.
pub struct Breaking {
    pub port: u16,
    shared: Arc<Shared>,
}

impl Breaking {
    /// Passes everything on to that port.
    pub fn before(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            target,
            phase: Mutex::new(None),
            left: AtomicUsize::new(0),
            broken: AtomicUsize::new(0),
            open: Mutex::default(),
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = serving.clone();
                thread::spawn(move || pass(&shared, &client));
            }
        });
        Self { port, shared }
    }

    /// From now on connections break there, so many of them. Those that are open are gone.
    pub fn break_at(&self, phase: Phase, times: usize) {
        *self.shared.phase.lock().unwrap() = Some(phase);
        self.shared.left.store(times, Ordering::SeqCst);
        self.shared.open.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }

    /// How many connections broke.
    pub fn broken(&self) -> usize {
        self.shared.broken.load(Ordering::SeqCst)
    }
}

impl Shared {
    /// Whether this connection is to break now.
    fn breaks(&self, client: &TcpStream) -> bool {
        let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if taken {
            self.broken.fetch_add(1, Ordering::SeqCst);
            reset(client);
        }
        taken
    }
}

/// The other side gets a reset instead of an end.
fn reset(stream: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(std::time::Duration::ZERO));
    let _ = stream.shutdown(Shutdown::Both);
}

fn pass(shared: &Arc<Shared>, client: &TcpStream) {
    let phase = *shared.phase.lock().unwrap();
    if phase == Some(Phase::Connect) && shared.breaks(client) {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", shared.target)) else { return };
    for stream in [client, &server] {
        shared.open.lock().unwrap().push(stream.try_clone().unwrap());
    }
    let sent = Arc::new(AtomicUsize::new(0));
    let (forth, back) = ((client.try_clone(), server.try_clone()), sent.clone());
    let (sharing, (Ok(from), Ok(to))) = (shared.clone(), forth) else { return };
    let forth = thread::spawn(move || {
        copy(&from, &to, |bytes| {
            let all = back.fetch_add(bytes, Ordering::SeqCst) + bytes;
            match phase {
                Some(Phase::FirstBytes) => (sharing.breaks(&from), 0),
                Some(Phase::Request(most)) if all >= most => (sharing.breaks(&from), bytes),
                _ => (false, bytes),
            }
        });
    });
    copy(&server, client, |bytes| {
        let all = sent.load(Ordering::SeqCst);
        match phase {
            Some(Phase::FirstAnswer) => (shared.breaks(client), 1),
            Some(Phase::BeforeReply(least)) if all >= least => (shared.breaks(client), 0),
            Some(Phase::MidReply(least)) if all >= least => {
                // The client gets a piece first.
                (shared.left.load(Ordering::SeqCst) > 0, bytes / 2)
            }
            _ => (false, bytes),
        }
    });
    if let Some(Phase::MidReply(least) | Phase::AfterReply(least)) = phase
        && sent.load(Ordering::SeqCst) >= least
    {
        shared.breaks(client);
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
    let _ = forth.join();
}

/// `look` says whether the connection is over, and how many of the bytes still pass then.
fn copy(mut from: &TcpStream, mut to: &TcpStream, mut look: impl FnMut(usize) -> (bool, usize)) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let (is_over, passes) = look(read);
        let passing = if is_over { passes } else { read };
        if to.write_all(&buffer[..passing]).is_err() || is_over {
            return;
        }
    }
}
