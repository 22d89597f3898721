//! `file`: appends events to files whose names may depend on the event.
//!
//! All events of a batch that go to one file are written with one system call. A disk that is full or away makes the worker wait; an event whose own path can never be written goes to the
//! dead letter queue.

mod appender;
mod journal;
mod member;
mod open_files;
mod permissions;
mod target;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;
use tracing::Instrument;

use self::appender::{Appender, Manner};
use self::journal::Journal;
use self::open_files::{OpenFiles, SharedAppender};
use self::target::Target;
use crate::event::Event;
use crate::plugins::{
    Context, Deliveries, GivenBack, Lease, Options, Output, OutputBatch, OutputPlugin, PluginError, SharedEncoder, Stop,
};

/// The plugin.
pub const PLUGIN: OutputPlugin = OutputPlugin { name: "file", summary: "Appends events to files.", build };

/// First and longest wait before a write is tried again.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How often a path is tried whose rights forbid to write it.
const TRIES_WITHOUT_RIGHTS: u32 = 3;
/// How often a lasting problem is logged.
const LOG_EVERY: Duration = Duration::from_secs(60);
/// Buffers that grew beyond this are not kept.
const LARGEST_KEPT_BUFFER: usize = 1 << 20;

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    let encoder = options.encoder("codec", "json_lines");
    build_with(options, encoder)
}

/// Builds an output that is this one but for how events become bytes.
pub(super) fn build_with(options: &mut Options<'_>, encoder: SharedEncoder) -> Box<dyn Output> {
    let target = Target::read(options);
    let flush_interval = options
        .seconds("flush_interval")
        .doc("How often what was gathered for a file is written, in seconds; 0 after each batch.")
        .default(Duration::from_secs(2));
    let gzip = options.boolean("gzip").doc("Whether to compress.").default(false);
    let create_if_deleted = options
        .boolean("create_if_deleted")
        .doc("Whether to make files that do not exist; else their events go to the failure file.")
        .default(true);
    let dir_mode = permissions::read(options, "dir_mode");
    let file_mode = permissions::read(options, "file_mode");
    let behavior = options
        .word("write_behavior", &["append", "overwrite"])
        .doc("Whether a batch follows the content, or its last event replaces it.")
        .default("append".to_owned());
    let overwrite = behavior == "overwrite";
    if gzip && overwrite {
        options.invalid("write_behavior", "a gzip file cannot be overwritten: use `append`, or leave `gzip` out");
    }
    let stale_cleanup_interval = options
        .seconds("stale_cleanup_interval")
        .doc("How often files that were not used since the last time are closed, in seconds.")
        .default(Duration::from_secs(10));
    let delimiter = encoder.delimiter().filter(|_| !gzip && !overwrite);
    let journal = delimiter.map(|delimiter| {
        let path = journal_path(options.context());
        options.context().claims.hold(format_args!("journal {}", path.display()));
        Arc::new(Journal::new(path, delimiter))
    });
    let manner = Manner { gzip, overwrite, file_mode, dir_mode, journal: journal.clone() };
    let span = options.context().log_span();
    Box::new(FileOutput {
        shared: Arc::new(Shared { files: OpenFiles::new(manner), logged: Mutex::new(None) }),
        target,
        encoder,
        journal,
        gzip,
        overwrite,
        create_if_deleted,
        flush_interval,
        stale_cleanup_interval,
        buffers: Mutex::default(),
        closed: Stop::new(),
        span,
    })
}

/// One for each output: its id stays the same across restarts.
fn journal_path(context: &Context) -> PathBuf {
    let id = Sha256::digest(format!("{}\0{}", context.pipeline_id, context.plugin_id));
    let name: String = id.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    context.path_data.join("plugins/outputs/file").join(name)
}

struct FileOutput {
    shared: Arc<Shared>,
    target: Target,
    encoder: SharedEncoder,
    /// Where files of whole lines are noted while they are open.
    journal: Option<Arc<Journal>>,
    gzip: bool,
    overwrite: bool,
    create_if_deleted: bool,
    flush_interval: Duration,
    stale_cleanup_interval: Duration,
    /// Emptied buffers of earlier batches.
    buffers: Mutex<Vec<Vec<u8>>>,
    closed: Stop,
    /// Names pipeline and plugin in every line of the log.
    span: tracing::Span,
}

/// What the workers share with the task that flushes and closes files.
struct Shared {
    files: OpenFiles,
    /// When a problem was last logged.
    logged: Mutex<Option<Instant>>,
}

/// The events of a batch that go to one file.
struct Group {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Their places in the batch; not kept for a fixed path.
    events: Vec<usize>,
}

#[async_trait]
impl Output for FileOutput {
    async fn register(&self, _: &Stop) -> Result<(), PluginError> {
        if let Some(journal) = &self.journal {
            self.span.in_scope(|| journal.recover());
        }
        let shared = Arc::downgrade(&self.shared);
        let flush = (self.gzip || self.gathers()).then(|| self.flush_interval.max(Duration::from_secs(1)));
        let stale = self.stale_cleanup_interval.max(Duration::from_secs(1));
        tokio::spawn(keep_house(shared, flush, stale, self.closed.clone()).instrument(self.span.clone()));
        Ok(())
    }

    async fn write(&self, batch: &OutputBatch<'_>, stop: &Stop) -> Result<Deliveries, GivenBack> {
        let mut dead = Vec::new();
        for mut group in self.groups(batch.events, &mut dead) {
            let appended = self.append(&group, batch.lease, stop).instrument(self.span.clone());
            if let Err(reason) = appended.await? {
                dead.extend(group.events.iter().map(|&at| (at, reason.clone())));
            }
            group.bytes.clear();
            if group.bytes.capacity() <= LARGEST_KEPT_BUFFER {
                self.buffers.lock().push(group.bytes);
            }
        }
        Ok(Deliveries::all_but_dead(batch.events.len(), dead))
    }

    async fn close(&self) {
        self.closed.cancel();
        for appender in self.shared.files.all() {
            self.shared.close(&mut *appender.lock().await).instrument(self.span.clone()).await;
        }
        if let Some(journal) = &self.journal {
            journal.clear();
        }
    }
}

impl FileOutput {
    /// Encodes a batch, sorted by file, each in the order of the batch. What has no form in the codec is `dead`.
    fn groups(&self, events: &[&Event], dead: &mut Vec<(usize, String)>) -> Vec<Group> {
        if let Some(path) = self.target.fixed() {
            let path = if self.is_writable(path) { path } else { self.target.failure() };
            let mut group = self.group(path.clone());
            let first = if self.overwrite { events.len() - 1 } else { 0 };
            for (at, event) in events.iter().enumerate().skip(first) {
                if let Err(error) = self.encoder.encode(event, &mut group.bytes) {
                    dead.push((at, error.to_string()));
                }
            }
            return vec![group];
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut by_path: HashMap<PathBuf, usize> = HashMap::new();
        let mut by_rendered: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut rendered = Vec::new();
        for (at, event) in events.iter().enumerate() {
            rendered.clear();
            self.target.render(event, &mut rendered);
            let place = by_rendered.get(&rendered).copied().unwrap_or_else(|| {
                let path = self.resolve(&rendered);
                let place = *by_path.entry(path).or_insert_with_key(|path| {
                    groups.push(self.group(path.clone()));
                    groups.len() - 1
                });
                by_rendered.insert(rendered.clone(), place);
                place
            });
            let Some(group) = groups.get_mut(place) else { continue };
            if self.overwrite {
                group.bytes.clear();
            }
            match self.encoder.encode(event, &mut group.bytes) {
                Ok(()) => group.events.push(at),
                Err(error) => dead.push((at, error.to_string())),
            }
        }
        groups
    }

    fn group(&self, path: PathBuf) -> Group {
        Group { path, bytes: self.buffers.lock().pop().unwrap_or_default(), events: Vec::new() }
    }

    fn resolve(&self, rendered: &[u8]) -> PathBuf {
        let rendered = String::from_utf8_lossy(rendered);
        match self.target.resolve(&rendered) {
            Some(path) if self.is_writable(&path) => path,
            Some(_) => self.target.failure().clone(),
            None => {
                tracing::warn!(target: "logstash.outputs.file", path = %rendered,
                    "The event tried to write outside the files root, writing the event to the failure file");
                self.target.failure().clone()
            }
        }
    }

    /// Whether batches are gathered before they are written. Not where an event's own path may turn out to be
    /// hopeless: its batch must still be there then, to tell which event that was.
    fn gathers(&self) -> bool {
        !self.gzip && !self.overwrite && !self.flush_interval.is_zero() && self.target.fixed().is_some()
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.create_if_deleted || path.exists()
    }

    /// Writes the events of a group, as long as it takes. The inner error is why their path can never be written.
    async fn append(&self, group: &Group, lease: &Lease, stop: &Stop) -> Result<Result<(), String>, GivenBack> {
        let mut appender = self.lock(&group.path, stop).await?;
        if self.gathers() {
            appender.gather(&group.bytes, lease.clone());
            if !appender.is_full() {
                return Ok(Ok(()));
            }
        }
        let mut written = 0;
        let mut tries = 0;
        let mut wait = RETRY_AFTER.0;
        loop {
            let done = match (self.gzip, self.gathers()) {
                (true, _) => appender.prepare(),
                (false, true) => appender.flush(false),
                (false, false) => appender.append(&group.bytes, &mut written),
            };
            let Err(error) = done else { break };
            tries += 1;
            if self.target.fixed().is_none() && is_hopeless(&error, tries) {
                self.shared.files.retire(&mut appender);
                return Ok(Err(format!("file: cannot write {}: {error}", group.path.display())));
            }
            self.shared.complain(&group.path, &error);
            pause(&mut wait, stop).await?;
        }
        if self.gzip
            && let Err(error) = self.compress(&mut appender, &group.bytes, lease)
        {
            // The member stays and is tried again before the next batch.
            self.shared.complain(&group.path, &error);
        }
        Ok(Ok(()))
    }

    fn compress(&self, appender: &mut Appender, bytes: &[u8], lease: &Lease) -> Result<(), Error> {
        appender.compress(bytes, lease.clone())?;
        if self.flush_interval.is_zero() || appender.is_full() { appender.flush(false) } else { Ok(()) }
    }

    /// The file of that path, for one batch. Closes another one when there are too many.
    async fn lock(&self, path: &Path, stop: &Stop) -> Result<OwnedMutexGuard<Appender>, GivenBack> {
        loop {
            let (appender, oldest) = self.shared.files.get(path);
            if let Some(oldest) = oldest {
                self.shared.make_room(oldest, stop).await?;
            }
            // Whoever holds it lets go when the pipeline stops; a batch that can be written then still is.
            let appender = appender.lock_owned().await;
            if !appender.is_retired {
                return Ok(appender);
            }
        }
    }
}

impl Shared {
    /// Closes a file, as long as it takes.
    async fn make_room(&self, oldest: SharedAppender, stop: &Stop) -> Result<(), GivenBack> {
        let mut oldest = oldest.lock().await;
        let mut wait = RETRY_AFTER.0;
        while let Err(error) = oldest.flush(true) {
            self.complain(oldest.path(), &error);
            pause(&mut wait, stop).await?;
        }
        self.files.retire(&mut oldest);
        Ok(())
    }

    /// Closes a file at the end of the pipeline, which does not wait for a full disk for ever.
    async fn close(&self, appender: &mut Appender) {
        let mut tries = 0;
        while let Err(error) = appender.flush(true) {
            tries += 1;
            if tries == TRIES_WITHOUT_RIGHTS {
                let bytes = appender.abandon();
                tracing::error!(target: "logstash.outputs.file",
                    "{bytes} bytes were not written to {}, their batches are not acknowledged: {error}",
                    appender.path().display());
                break;
            }
            tokio::time::sleep(RETRY_AFTER.0).await;
        }
        self.files.retire(appender);
    }

    async fn flush(&self) {
        for appender in self.files.all() {
            let mut appender = appender.lock().await;
            if let Err(error) = appender.flush(false) {
                self.complain(appender.path(), &error);
            }
        }
    }

    async fn close_idle(&self) {
        for appender in self.files.all() {
            // A locked one is in use.
            let Ok(mut appender) = appender.try_lock() else { continue };
            if !std::mem::take(&mut appender.is_used) {
                match appender.flush(true) {
                    Ok(()) => self.files.retire(&mut appender),
                    Err(error) => self.complain(appender.path(), &error),
                }
            }
        }
    }

    fn complain(&self, path: &Path, error: &Error) {
        let mut logged = self.logged.lock();
        if logged.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
            *logged = Some(Instant::now());
            tracing::warn!(target: "logstash.outputs.file",
                "cannot write {}, trying again until it works: {error}", path.display());
        }
    }
}

/// Writes what was gathered and closes idle files, until the output is closed or gone.
async fn keep_house(shared: Weak<Shared>, flush: Option<Duration>, stale: Duration, closed: Stop) {
    let mut flushes = tokio::time::interval(flush.unwrap_or(stale));
    let mut cleanups = tokio::time::interval(stale);
    loop {
        let is_flush = tokio::select! {
            () = closed.cancelled() => return,
            _ = flushes.tick(), if flush.is_some() => true,
            _ = cleanups.tick() => false,
        };
        let Some(shared) = shared.upgrade() else { return };
        if is_flush {
            shared.flush().await;
        } else {
            shared.close_idle().await;
        }
    }
}

/// Waits, longer each time.
async fn pause(wait: &mut Duration, stop: &Stop) -> Result<(), GivenBack> {
    tokio::select! {
        () = tokio::time::sleep(*wait) => {}
        () = stop.cancelled() => return Err(GivenBack),
    }
    *wait = (*wait * 2).min(RETRY_AFTER.1);
    Ok(())
}

/// Whether a path made from an event will not become writable by waiting.
fn is_hopeless(error: &Error, tries: u32) -> bool {
    match error.kind() {
        ErrorKind::PermissionDenied => tries >= TRIES_WITHOUT_RIGHTS,
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
            true
        }
        _ => false,
    }
}
