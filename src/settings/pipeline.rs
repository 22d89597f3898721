//! What one pipeline runs with: its configuration and every setting that may differ between pipelines, typed.

use std::time::Duration;

use crate::config::Language;
use crate::config::diagnostic::Diagnostic;
use crate::dead_letter;
use crate::event::EscapeStyle;
use crate::queue::persisted;

/// Where the text of a pipeline comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// The text itself (`-e`, `config.string`).
    Text(String),
    /// A file, a directory or a glob, as the user wrote it (`-f`, `path.config`); relative to the working directory.
    Path(String),
}

/// Whether events keep their order between input and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ordered {
    /// Only when exactly one worker was asked for, see [`PipelineSettings::workers_explicit`].
    #[default]
    Auto,
    /// Always; the pipeline does not start with more than one worker.
    True,
    /// Never.
    False,
}

/// Which field names plugins choose by default (the Elastic Common Schema).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecs {
    /// The names of before there was a schema.
    Disabled,
    /// Version 1 of the schema.
    V1,
    /// Version 8 of the schema.
    #[default]
    V8,
}

impl Ecs {
    /// Whether the old flat names are used.
    pub fn is_disabled(self) -> bool {
        self == Self::Disabled
    }
}

/// Where events wait between inputs and workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueType {
    /// In memory, bounded by workers × batch size.
    #[default]
    Memory,
    /// On disk.
    Persisted,
}

/// How many Ruby processes a pipeline has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RubyIsolation {
    /// One for each worker, unless a script remembers something from event to event.
    #[default]
    Auto,
    /// One for each worker.
    Worker,
    /// One, which the workers use in turn.
    Pipeline,
}

/// How Ruby code is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubySettings {
    /// The interpreter: a path, or a name on `PATH`.
    pub command: String,
    /// How many processes there are.
    pub isolation: RubyIsolation,
    /// How long a script may take for one event before its process is ended.
    pub timeout: Duration,
    /// Most address space of a process in bytes; 0 is no limit.
    pub memory: u64,
}

impl Default for RubySettings {
    fn default() -> Self {
        let timeout = Duration::from_secs(60);
        Self { command: "ruby".to_owned(), isolation: RubyIsolation::Auto, timeout, memory: 1 << 30 }
    }
}

/// Everything that one pipeline is run with.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineSettings {
    /// `pipeline.id`: a name without `/` and NUL that is neither `.` nor `..`, fit to be a directory name.
    pub id: String,
    /// The configuration.
    pub config: ConfigSource,
    /// Where the configuration was set, for messages: `command line (-f)`, `pipelines.yml:4`, `logstash.yml:2`.
    pub config_set_at: String,
    /// Number of worker threads, at least 1.
    pub workers: usize,
    /// Whether `pipeline.workers` was set by the user; decides [`Ordered::Auto`], and whether a filter that is not
    /// thread-safe may lower it.
    pub workers_explicit: bool,
    /// Most events that a worker takes at once, at least 1.
    pub batch_size: usize,
    /// How long a worker waits for each further event of a batch.
    pub batch_delay: Duration,
    /// A batch that grew beyond `batch_size` times this goes to the outputs in chunks of `batch_size`.
    pub output_chunking_growth_factor: usize,
    /// Whether order is kept.
    pub ordered: Ordered,
    /// Whether each worker has a queue of its own, and events of one partition always go to the same.
    pub partition_affinity: bool,
    /// Default field names of plugins.
    pub ecs_compatibility: Ecs,
    /// Whether `\n`, `\t`, … in quoted strings of the configuration are escapes.
    pub support_escapes: bool,
    /// How names with brackets are written in field references.
    pub escape_style: EscapeStyle,
    /// Kind of queue.
    pub queue_type: QueueType,
    /// Where and how, when it is on disk.
    pub queue: persisted::Settings,
    /// Whether rejected events are kept.
    pub dead_letter_queue_enable: bool,
    /// Where and how.
    pub dead_letter_queue: dead_letter::Settings,
    /// Whether a changed configuration may replace this pipeline while running.
    pub reloadable: bool,
    /// Whether plugin metrics are collected.
    pub metric_collect: bool,
    /// Whether it is started again after a crash.
    pub recoverable: Recoverable,
    /// Whether its last configuration goes on when a new one does not start.
    pub reload_fallback: bool,
    /// A worker that is in one call of a plugin for so long is told of; `None` is never.
    pub stall_warn: Option<Duration>,
    /// How often a batch that crashed a worker is tried before its events are run one by one; 0 is never.
    pub poison_batch_limit: u64,
    /// How Ruby code is run.
    pub ruby: RubySettings,
    /// What keeps this pipeline, and only this one, from starting.
    pub faults: Vec<Diagnostic>,
}

/// Whether a pipeline that crashed is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recoverable {
    /// Only when nothing is lost by it: with a persisted queue.
    Auto,
    /// Always.
    True,
    /// Never.
    #[default]
    False,
}

impl PipelineSettings {
    /// Whether they mean the same, wherever they were set.
    pub fn is_like(&self, other: &Self) -> bool {
        let bare = |settings: &Self| Self { config_set_at: String::new(), faults: Vec::new(), ..settings.clone() };
        let said = |settings: &Self| settings.faults.iter().map(|fault| fault.message.clone()).collect::<Vec<_>>();
        bare(self) == bare(other) && said(self) == said(other)
    }

    /// Whether it is started again after a crash, after `auto` was resolved.
    pub fn is_recoverable(&self) -> bool {
        match self.recoverable {
            Recoverable::Auto => self.queue_type == QueueType::Persisted,
            Recoverable::True => true,
            Recoverable::False => false,
        }
    }

    /// How messages name the configuration when it is a text: `config string` for `-e`, else the place that holds it.
    pub fn config_name(&self) -> String {
        match &self.config {
            ConfigSource::Path(path) => path.clone(),
            ConfigSource::Text(_) if self.config_set_at.starts_with("command line") => "config string".into(),
            ConfigSource::Text(_) => format!("{} (config.string)", self.config_set_at),
        }
    }

    /// How its configuration is written.
    pub fn language(&self) -> Language {
        Language { support_escapes: self.support_escapes, escape_style: self.escape_style }
    }

    /// Whether events keep their order, after `auto` was resolved.
    pub fn is_ordered(&self) -> bool {
        match self.ordered {
            Ordered::Auto => self.workers_explicit && self.workers == 1,
            Ordered::True => true,
            Ordered::False => false,
        }
    }
}
