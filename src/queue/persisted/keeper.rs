//! The thread that writes checkpoints and deletes pages, so that neither inputs nor workers wait for it.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::Inner;

/// How long a head that is fully acknowledged waits for its checkpoint: under load it is so after each batch.
const AT_REST: Duration = Duration::from_millis(50);
/// Pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// The end of the thread that others hold.
#[derive(Default)]
pub struct Keeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Default)]
struct Wanted {
    /// When to look at the files.
    due: Option<Instant>,
    stop: bool,
}

impl Keeper {
    /// Starts the thread.
    pub fn start(inner: &Arc<Inner>) -> std::io::Result<()> {
        let (queue, shared) = (Arc::downgrade(inner), inner.keeper.shared.clone());
        let name = inner.settings.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let span = tracing::Span::current();
        let thread = std::thread::Builder::new().name(format!("[{name}]|queue")).spawn(move || {
            let _in_log = span.entered();
            run(&queue, &shared);
        })?;
        *inner.keeper.thread.lock() = Some(thread);
        Ok(())
    }

    /// Asks for a checkpoint as soon as possible.
    pub fn ask(&self) {
        self.ask_at(Instant::now());
    }

    /// Asks for a checkpoint in a moment.
    pub fn ask_at_rest(&self) {
        self.ask_at(Instant::now() + AT_REST);
    }

    fn ask_at(&self, at: Instant) {
        let mut wanted = self.shared.wanted.lock();
        if wanted.due.is_none_or(|due| at < due) {
            wanted.due = Some(at);
            drop(wanted);
            self.shared.changed.notify_one();
        }
    }

    /// Ends the thread and waits for its end.
    pub fn stop(&self) {
        self.abandon();
        let thread = self.thread.lock().take();
        // The last one to let go of a queue may be this thread itself.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // It has told what it broke on.
            let _ = thread.join();
        }
    }

    /// Ends the thread some time.
    pub fn abandon(&self) {
        self.shared.wanted.lock().stop = true;
        self.shared.changed.notify_all();
    }
}

fn run(queue: &Weak<Inner>, shared: &Shared) {
    loop {
        {
            let mut wanted = shared.wanted.lock();
            loop {
                match wanted.due {
                    _ if wanted.stop => return,
                    Some(due) if due <= Instant::now() => break,
                    Some(due) => drop(shared.changed.wait_until(&mut wanted, due)),
                    None => shared.changed.wait(&mut wanted),
                }
            }
            wanted.due = None;
        }
        let Some(inner) = queue.upgrade() else { return };
        let done = inner.free_acked().and_then(|()| inner.checkpoint_head());
        if let Err(error) = done {
            inner.tell_failure("write a checkpoint of", &error);
            inner.keeper.ask_at(Instant::now() + RETRY);
        } else {
            inner.tell_success();
        }
    }
}
