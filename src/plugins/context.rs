//! What a plugin knows of the pipeline it stands in.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{DeadLetterQueue, DeadLetters, Stop};
use crate::event::{Clock, EscapeStyle};
use crate::metrics::PluginMetrics;
use crate::settings::{Ecs, RubySettings};

/// What only one running plugin can have at a time, known while a configuration is built: ports, folders of state,
/// addresses. A pipeline that claims what another run of it has cannot be registered beside that run.
#[derive(Clone, Debug, Default)]
pub struct Claims(Arc<Mutex<BTreeSet<String>>>);

impl Claims {
    /// Whether nobody has claimed the folder before.
    pub fn claim(&self, folder: &Path) -> bool {
        self.0.lock().insert(folder.display().to_string())
    }

    /// The plugin takes this when it is registered. The words are for people, such as `port 5044`.
    pub fn hold(&self, what: impl std::fmt::Display) {
        self.0.lock().insert(what.to_string());
    }

    /// Something that both have.
    pub fn clash(&self, other: &Self) -> Option<String> {
        let own = self.0.lock().clone();
        own.intersection(&other.0.lock()).next().cloned()
    }
}

/// Cancelled when the process is to end, and not only a pipeline. One for all pipelines, in [`Context::process`].
#[derive(Default)]
pub struct ProcessEnd(pub Stop);

/// What plugins of one pipeline, or of all pipelines of the process, have in common beside the events: one thing of each
/// type.
#[derive(Clone, Default)]
pub struct Commons(Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Commons {
    /// The one `T`, made when it is first asked for.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut things = self.0.lock();
        let thing = things.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        // Under the id of a type there is always one of it.
        thing.clone().downcast().unwrap_or_default()
    }
}

impl std::fmt::Debug for Commons {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Commons").field(&self.0.lock().len()).finish()
    }
}

/// What a plugin knows of the pipeline it stands in. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    /// Id of the pipeline.
    pub pipeline_id: Arc<str>,
    /// The `id` option, or one made from the plugin's place.
    pub plugin_id: Arc<str>,
    /// Field names for this pipeline.
    pub ecs: Ecs,
    /// How field names with brackets are written.
    pub escape_style: EscapeStyle,
    /// Where state lives between runs.
    pub path_data: PathBuf,
    /// Where the settings files are, if there are any.
    pub path_settings: Option<PathBuf>,
    /// Name of this machine.
    pub host: Arc<str>,
    /// Whether this is an output and the pipeline has no other one.
    pub is_only_output: bool,
    /// The time of day; another one in test cases.
    pub clock: Clock,
    /// Folders of state that plugins of this pipeline have claimed.
    pub claims: Claims,
    /// Number of worker threads.
    pub workers: usize,
    /// How Ruby code is run.
    pub ruby: RubySettings,
    /// What plugins of this pipeline have in common.
    pub commons: Commons,
    /// What plugins of all pipelines of the process have in common.
    pub process: Commons,
    /// Cancelled when the pipeline is to end; for plugins that wait.
    pub stop: Stop,
    /// Takes what this plugin can never handle.
    pub dead_letters: DeadLetters,
    /// Counters of this plugin.
    pub metrics: Arc<PluginMetrics>,
}

impl Context {
    /// Names pipeline and plugin in the log lines of what runs in it: tasks of its own, and calls that come from outside
    /// the pipeline's threads.
    pub fn log_span(&self) -> tracing::Span {
        tracing::error_span!("plugin", pipeline.id = &*self.pipeline_id, plugin.id = &*self.plugin_id)
    }

    /// Of a plugin that stands in no pipeline, as tests of single plugins need it.
    pub fn alone(plugin_id: &str) -> Self {
        let id: Arc<str> = Arc::from(plugin_id);
        Self {
            pipeline_id: Arc::from("main"),
            dead_letters: DeadLetters::new(DeadLetterQueue::default(), plugin_id, id.clone()),
            plugin_id: id,
            ecs: Ecs::V8,
            escape_style: EscapeStyle::None,
            path_data: std::env::temp_dir(),
            path_settings: None,
            host: Arc::from("test-host"),
            is_only_output: false,
            clock: Clock::default(),
            claims: Claims::default(),
            workers: 1,
            ruby: RubySettings::default(),
            commons: Commons::default(),
            process: Commons::default(),
            stop: Stop::new(),
            metrics: Arc::default(),
        }
    }
}
