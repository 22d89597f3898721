//! From settings to a pipeline that could start: its configuration read, checked and built, nothing opened yet.

use std::path::PathBuf;
use std::sync::Arc;

use super::plan::{Compiled, Environment, compile};
use crate::config::diagnostic::Diagnostics;
use crate::config::source::Sources;
use crate::config::{self, Language, Origin, Variables};
use crate::plugins::{DeadLetterQueue, Stop};
use crate::settings::{ConfigSource, PipelineSettings};

/// What all pipelines of a process share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Where state lives between runs.
    pub path_data: PathBuf,
    /// Name of this machine.
    pub host: Arc<str>,
    /// Values of `${NAME}`.
    pub variables: Variables,
}

/// A pipeline that was checked. It may start when its diagnostics hold no error.
pub struct Prepared {
    /// What it runs with.
    pub settings: PipelineSettings,
    /// Its plugins.
    pub compiled: Compiled,
    /// Asks everything in it to stop.
    pub stop: Stop,
    /// Its dead letter queue, not open yet.
    pub dead_letters: DeadLetterQueue,
    /// Everything that is wrong or odd about it.
    pub diagnostics: Diagnostics,
    /// The texts that the diagnostics point into.
    pub sources: Sources,
    /// The files it was read from, in order.
    pub files: Vec<PathBuf>,
}

/// Reads and checks the configuration of a pipeline and builds its plugins. Touches nothing but the files it reads.
pub fn prepare(settings: PipelineSettings, shared: &Shared) -> Prepared {
    let origin = match &settings.config {
        ConfigSource::Text(text) => Origin::String { name: settings.config_name(), text: text.clone() },
        ConfigSource::Path(path) => Origin::Path(path.clone()),
    };
    let language = Language { support_escapes: settings.support_escapes, escape_style: settings.escape_style };
    let mut loaded = config::load(&origin, &language, &shared.variables);
    let stop = Stop::new();
    let dead_letters = DeadLetterQueue::new(settings.dead_letter_queue.enable, stop.clone());
    let environment = Environment {
        pipeline_id: Arc::from(settings.id.as_str()),
        ecs: settings.ecs_compatibility,
        escape_style: settings.escape_style,
        path_data: shared.path_data.clone(),
        host: shared.host.clone(),
        dead_letters: dead_letters.clone(),
    };
    let compiled = compile(&loaded.config, &loaded.sources, &environment, &mut loaded.diagnostics);
    loaded.diagnostics.0.extend(settings.faults.iter().cloned());
    Prepared {
        settings,
        compiled,
        stop,
        dead_letters,
        diagnostics: loaded.diagnostics,
        sources: loaded.sources,
        files: loaded.files,
    }
}
