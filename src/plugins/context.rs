//! What a plugin knows of the pipeline it stands in.

use std::path::PathBuf;
use std::sync::Arc;

use super::{DeadLetterQueue, DeadLetters, Options};
use crate::event::EscapeStyle;
use crate::metrics::PluginMetrics;
use crate::settings::Ecs;

impl Ecs {
    /// Declares and reads `ecs_compatibility`, whose default is the pipeline's.
    pub fn read(options: &mut Options<'_>) -> Self {
        let word = options
            .word("ecs_compatibility", &["disabled", "v1", "v8"])
            .doc("Which field names to use: the old flat ones or those of the Elastic Common Schema.")
            .optional();
        match word.as_deref() {
            Some("disabled") => Self::Disabled,
            Some("v1") => Self::V1,
            Some(_) => Self::V8,
            None => options.context().ecs,
        }
    }

    /// Whether the old flat names are used.
    pub fn is_disabled(self) -> bool {
        self == Self::Disabled
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
    /// Name of this machine.
    pub host: Arc<str>,
    /// Whether this is an output and the pipeline has no other one.
    pub is_only_output: bool,
    /// Takes what this plugin can never handle.
    pub dead_letters: DeadLetters,
    /// Counters of this plugin.
    pub metrics: Arc<PluginMetrics>,
}

impl Context {
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
            host: Arc::from("test-host"),
            is_only_output: false,
            metrics: Arc::default(),
        }
    }
}
