//! `dead_letter_queue`: reads what a pipeline could not handle, so that another one can repair it.
//!
//! The position moves only past events that were dealt with downstream, so a replay that is killed repeats events
//! and never skips one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::acknowledgement::Progress;
use crate::dead_letter::{CommitOptions, Committer, Position, Reader, Start, default_sincedb, has_writer};
use crate::event::{Event, Timestamp};
use crate::metrics::Counter;
use crate::plugins::{Input, InputPlugin, InputSink, Options, PluginError, Stop, lasting_ids};

/// The plugin.
pub const PLUGIN: InputPlugin =
    InputPlugin { name: "dead_letter_queue", summary: "Reads the dead letter queue of a pipeline.", build };

/// Events pushed together.
const CHUNK: usize = 128;
/// How long a quiet queue is waited for before positions are looked after.
const PAUSE: Duration = Duration::from_millis(100);

struct DeadLetterQueue {
    directory: PathBuf,
    commit: CommitOptions,
    start: Option<Timestamp>,
    exit_after_read: bool,
    /// Deleted segments and the entries in them, for a reader that deletes.
    cleaned: Option<[Arc<Counter>; 2]>,
    committer: Option<Committer>,
    progress: Progress<Position>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let path: PathBuf =
        options.path("path").doc("`path.dead_letter_queue` of the process that writes the queue.").required();
    let pipeline_id = options.string("pipeline_id").doc("The pipeline whose queue to read.").default("main".to_owned());
    let commit_offsets =
        options.boolean("commit_offsets").doc("Whether reading goes on here after a restart.").default(true);
    let clean_consumed =
        options.boolean("clean_consumed").doc("Whether segments are deleted once they are read.").default(false);
    let sincedb = options.string("sincedb_path").doc("File that keeps the position.").optional().map(PathBuf::from);
    let since = options.string("start_timestamp").doc("Start at the first entry that is not older.").optional();
    let exit_after_read = options
        .boolean("exit_after_read")
        .doc("Ends once everything is read and no pipeline writes to the queue any more (Spillway).")
        .default(false);
    options.idle_codec("what is in the queue are events already");
    if clean_consumed && !commit_offsets {
        options.invalid(
            "commit_offsets",
            "clean_consumed => true needs commit_offsets => true: what is not remembered as read must not be deleted",
        );
    }
    if sincedb.as_ref().is_some_and(|path| path.is_dir()) {
        options.invalid("sincedb_path", "sincedb_path must point to a file, this is a directory");
    }
    let start = since.and_then(|text| {
        let at = Timestamp::parse(&text);
        if at.is_none() {
            options
                .invalid("start_timestamp", format!("`{text}` is not in ISO 8601 form such as 2026-03-01T12:00:00Z"));
        }
        at
    });
    let context = options.context();
    let directory = path.join(&pipeline_id);
    let sincedb = sincedb.unwrap_or_else(|| default_sincedb(&context.path_data, &pipeline_id, &path.to_string_lossy()));
    context.claims.hold(format_args!("position file {}", sincedb.display()));
    Box::new(DeadLetterQueue {
        commit: CommitOptions { directory: directory.clone(), sincedb, commit_offsets, clean_consumed },
        directory,
        start,
        exit_after_read,
        cleaned: clean_consumed.then(|| {
            ["cleaned_segments", "cleaned_events"].map(|name| context.metrics.counter_at([pipeline_id.as_str(), name]))
        }),
        committer: None,
        progress: Progress::new(),
    })
}

#[async_trait]
impl Input for DeadLetterQueue {
    async fn register(&mut self) -> Result<(), PluginError> {
        let mut committer = Committer::open(self.commit.clone()).map_err(PluginError::new)?;
        if self.start.is_none() {
            committer.clean_before_start().map_err(PluginError::new)?;
        }
        self.committer = Some(committer);
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        tokio::task::block_in_place(|| self.read(sink, stop))
    }

    async fn close(&mut self) {
        self.look_after_position();
        if let Some(Err(error)) = self.committer.take().map(Committer::close) {
            tracing::error!(target: "logstash.inputs.deadletterqueue", "the position could not be saved: {error}");
        }
    }
}

impl DeadLetterQueue {
    fn read(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let mut reader = Reader::new(&self.directory, self.start());
        let names = sink.gives_ids().then(|| self.names());
        let mut quiet = false;
        let mut looked_after = Instant::now();
        while !stop.is_cancelled() {
            let (events, position) = next_chunk(&mut reader, names.as_ref());
            if let Some(committer) = &mut self.committer {
                committer.keep(reader.take_passed_over());
            }
            if looked_after.elapsed() >= PAUSE {
                self.look_after_position();
                looked_after = Instant::now();
            }
            if let Some(position) = position {
                quiet = false;
                if sink.push_blocking(events, Some(self.progress.lend(position))).is_err() {
                    break;
                }
            } else if self.exit_after_read && !has_writer(&self.directory) {
                // The writer seals its last segment before it gives the queue up: one more look finds it.
                if std::mem::replace(&mut quiet, true) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Names entries by where they stand. An event that has its name from the pipeline where it failed keeps it.
    fn names(&self) -> lasting_ids::Source {
        let directory = std::path::absolute(&self.directory).unwrap_or_else(|_| self.directory.clone());
        lasting_ids::Source::new("dead_letter_queue", &[directory.as_os_str().as_encoded_bytes()])
    }

    fn start(&self) -> Start {
        match (self.start, self.committer.as_ref().and_then(Committer::position)) {
            (Some(since), _) => Start::Timestamp(since),
            (None, Some(position)) => Start::Position(position),
            (None, None) => Start::Beginning,
        }
    }

    /// Saves how far everything is dealt with, and deletes what was read. A disk that does not take it is tried
    /// again with the next look.
    fn look_after_position(&mut self) {
        let Some(committer) = &mut self.committer else { return };
        let before = committer.cleaned();
        let moved = self.progress.take_reached().map_or(Ok(()), |position| committer.advance(position));
        if let Err(error) = moved.and_then(|()| committer.tick()) {
            tracing::warn!(target: "logstash.inputs.deadletterqueue", "the position could not be saved: {error}");
        }
        if let Some([segments, events]) = &self.cleaned {
            let now = committer.cleaned();
            segments.add(now.segments - before.segments);
            events.add(now.events - before.events);
        }
    }
}

/// What can be read without waiting, up to a chunk, and the position behind it.
fn next_chunk(reader: &mut Reader, names: Option<&lasting_ids::Source>) -> (Vec<Event>, Option<Position>) {
    let mut events = Vec::new();
    let mut position = None;
    let mut patience = PAUSE;
    while events.len() < CHUNK {
        let Some(letter) = reader.next(patience) else { break };
        patience = Duration::ZERO;
        position = Some(letter.position);
        let Position { segment, offset } = letter.position;
        let mut event = letter.into_event();
        if let Some(names) = names.filter(|_| lasting_ids::of(&event).is_none()) {
            // A segment is far smaller than this.
            names.name(u64::from(segment) << 40 | offset, std::slice::from_mut(&mut event));
        }
        events.push(event);
    }
    (events, position)
}
