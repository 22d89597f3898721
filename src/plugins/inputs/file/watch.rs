//! All files of one input, and the rounds in which they are looked after.
//!
//! A file is known by its identity, not by its name. So a chain of renames moves every state with its file, and a file
//! that is renamed away is still read to its end. A round: look at all paths, open what waits, read what grew, close
//! what is quiet.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use super::completed::Completion;
use super::fields::Origin;
use super::identity::Identity;
use super::positions::Positions;
use super::reader::Batch;
use super::settings::{Mode, Settings};
use super::watched::{State, Watched};
use crate::plugins::{Decoders, Ecs, InputSink, PluginError, Stop, lasting_ids};

/// How often a decoder that gives out its last event after a while is asked for it.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

/// Shortest time between two looks at the files while the pipeline is full.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(50);

/// The pipeline takes nothing more.
pub(super) struct PipelineGone;

/// The files of one input.
pub(super) struct Watch {
    pub(super) settings: Settings,
    pub(super) decoders: Decoders,
    host: Arc<str>,
    ecs: Ecs,
    pub(super) positions: Positions,
    pub(super) completion: Option<Completion>,
    pub(super) files: IndexMap<Identity, Watched>,
    /// What the last look for files found.
    pub(super) paths: Vec<PathBuf>,
    /// Rounds until the next look for files; `None` before the first.
    pub(super) until_discovery: Option<u64>,
    /// When it was last told that files wait for others to be closed.
    pub(super) told_of_waiting: Option<Instant>,
    /// Whether events get lasting ids.
    gives_ids: bool,
}

impl Watch {
    /// Opens what has to be there before the first file: positions, and the list of files that are done.
    pub fn open(
        settings: Settings,
        decoders: Decoders,
        host: Arc<str>,
        ecs: Ecs,
        owner: &str,
    ) -> Result<Self, PluginError> {
        let positions = Positions::open(
            settings.sincedb.clone(),
            owner,
            settings.sincedb_write_interval,
            settings.sincedb_clean_after,
        )?;
        let completion = match &settings.mode {
            Mode::Tail { .. } => None,
            Mode::Read { completed, .. } => Some(Completion::open(completed.clone())?),
        };
        Ok(Self {
            settings,
            decoders,
            host,
            ecs,
            positions,
            completion,
            files: IndexMap::new(),
            paths: Vec::new(),
            until_discovery: None,
            told_of_waiting: None,
            gives_ids: false,
        })
    }

    /// Rounds until `stop`, or until everything is read if that is wanted. What decoders hold is given out at the end.
    pub fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PipelineGone> {
        self.gives_ids = sink.gives_ids();
        while !stop.is_cancelled() {
            let has_more = self.round(sink, stop)?;
            if self.is_finished() {
                return Ok(());
            }
            if !has_more {
                self.rest(sink, stop)?;
            }
        }
        self.flush_all(sink)
    }

    /// Whether there is more to read at once.
    fn round(&mut self, sink: &InputSink, stop: &Stop) -> Result<bool, PipelineGone> {
        self.look();
        self.open_waiting();
        let has_more = self.read_all(sink, stop)?;
        self.flush_due(sink)?;
        self.close_quiet(sink)?;
        self.complete();
        self.positions.tick();
        if !has_more {
            self.count_round();
        }
        Ok(has_more)
    }

    /// The pause between two rounds. Decoders whose time has come are flushed meanwhile.
    fn rest(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PipelineGone> {
        let end = Instant::now() + self.settings.stat_interval;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let waits =
                self.files.values_mut().any(|file| file.reader().is_some_and(|reader| reader.flush_due().is_some()));
            let pause = if waits { left.min(FLUSH_EVERY) } else { left };
            // The time is up, or the stop has come: that is asked below.
            let _ = tokio::runtime::Handle::current()
                .block_on(async { tokio::time::timeout(pause, stop.cancelled()).await });
            self.flush_due(sink)?;
            if stop.is_cancelled() || Instant::now() >= end {
                return Ok(());
            }
        }
    }

    /// Saves positions and completes files after the last event was dealt with.
    pub fn close(&mut self) {
        self.complete();
        self.positions.write();
    }

    /// Whether the input ends because all files are read.
    fn is_finished(&self) -> bool {
        let exits = matches!(self.settings.mode, Mode::Read { exit: true, .. });
        exits && !self.files.values().any(|file| file.is_open() || (file.is_waiting() && file.gone.is_none()))
    }

    /// Names the events of a file, if they are to have lasting ids. A file that is renamed keeps its names.
    pub(super) fn names(&self, identity: Identity) -> Option<lasting_ids::Source> {
        let Identity { inode, major, minor } = identity;
        let [inode, major, minor] = [inode, major, minor].map(u64::to_le_bytes);
        self.gives_ids.then(|| lasting_ids::Source::new("file", &[&inode, &major, &minor]))
    }

    pub(super) fn origin(&self, path: &std::path::Path) -> Arc<Origin> {
        Arc::new(Origin::new(&self.host, self.ecs, path))
    }

    /// Pushes events of a file. While the pipeline takes nothing, files are looked for and opened all the same, so that
    /// one that is renamed or deleted meanwhile can be read later.
    pub(super) fn push(&mut self, identity: Identity, batch: Batch, sink: &InputSink) -> Result<(), PipelineGone> {
        let lease = self.positions.lend(identity, batch.position);
        let runtime = tokio::runtime::Handle::current();
        let patience = self.settings.stat_interval.max(SHORTEST_PATIENCE);
        let mut pushing = std::pin::pin!(sink.push(batch.events, Some(lease)));
        let pushed = loop {
            // The clock belongs to the runtime.
            let waited = runtime.block_on(async { tokio::time::timeout(patience, pushing.as_mut()).await });
            if let Ok(pushed) = waited {
                break pushed;
            }
            self.count_round();
            self.look();
            self.open_waiting();
            self.positions.tick();
        };
        self.positions.tick();
        pushed.map_err(|_| PipelineGone)
    }

    fn count_round(&mut self) {
        self.until_discovery = self.until_discovery.map(|rounds| rounds.saturating_sub(1));
    }

    /// Flushes decoders that got nothing for as long as their codec allows.
    fn flush_due(&mut self, sink: &InputSink) -> Result<(), PipelineGone> {
        let is_due = |file: &mut Watched| {
            file.reader().filter(|reader| reader.flush_due() == Some(Duration::ZERO)).map(super::reader::Reader::flush)
        };
        let due: Vec<_> =
            self.files.iter_mut().filter_map(|(identity, file)| Some((*identity, is_due(file)?))).collect();
        due.into_iter().try_for_each(|(identity, batch)| self.push(identity, batch, sink))
    }

    /// Gives out what decoders hold, at the end.
    fn flush_all(&mut self, sink: &InputSink) -> Result<(), PipelineGone> {
        let held = |file: &mut Watched| file.reader().map(super::reader::Reader::flush);
        let held: Vec<_> =
            self.files.iter_mut().filter_map(|(identity, file)| Some((*identity, held(file)?))).collect();
        held.into_iter().try_for_each(|(identity, batch)| self.push(identity, batch, sink))
    }

    /// Deals with files that were read and whose events are dealt with.
    fn complete(&mut self) {
        let Self { completion: Some(completion), positions, files, .. } = self else { return };
        files.retain(|identity, file| {
            let State::Finishing { end } = file.state else { return true };
            if positions.position(*identity).is_none_or(|position| position < end) {
                return true;
            }
            if !completion.complete(*identity, file, end) {
                file.resume = end;
                file.state = State::Waiting;
                return true;
            }
            file.state = State::Done { size: file.size, modified: None };
            if completion.deletes() {
                positions.forget(*identity);
            }
            !completion.deletes()
        });
    }
}
