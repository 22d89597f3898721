//! `file`: reads files, and goes on with them as they grow.
//!
//! Positions are kept in Logstash's own file and move only past events that were dealt with downstream: a process that
//! is killed repeats lines and never skips one.

mod archive;
mod completed;
mod fields;
mod glob;
mod heads;
mod identity;
mod look;
mod positions;
mod reader;
mod reading;
mod settings;
mod sincedb;
mod watch;
mod watched;

use std::sync::Arc;

use async_trait::async_trait;

use self::settings::Settings;
use self::watch::{PipelineGone, Watch};
use crate::plugins::{Decoders, Ecs, Input, InputPlugin, InputSink, Options, PluginError, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin = InputPlugin { name: "file", summary: "Reads files as they grow.", build };

struct FileInput {
    /// Until it is registered.
    opening: Option<Opening>,
    watch: Option<Watch>,
}

struct Opening {
    settings: Settings,
    decoders: Decoders,
    host: Arc<str>,
    ecs: Ecs,
    /// How messages call this input.
    owner: String,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let settings = Settings::read(options);
    let decoders = options.decoder("codec", "plain", &[]);
    let ecs = Ecs::read(options);
    let context = options.context();
    let owner = format!("`{}` of pipeline `{}`", context.plugin_id, context.pipeline_id);
    let opening = Opening { settings, decoders, host: context.host.clone(), ecs, owner };
    Box::new(FileInput { opening: Some(opening), watch: None })
}

#[async_trait]
impl Input for FileInput {
    async fn register(&mut self) -> Result<(), PluginError> {
        if let Some(Opening { settings, decoders, host, ecs, owner }) = self.opening.take() {
            self.watch = Some(Watch::open(settings, decoders, host, ecs, &owner)?);
        }
        Ok(())
    }

    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        match tokio::task::block_in_place(|| watch.run(sink, stop)) {
            // The pipeline has said so itself.
            Ok(()) | Err(PipelineGone) => Ok(()),
        }
    }

    async fn close(&mut self) {
        if let Some(mut watch) = self.watch.take() {
            watch.close();
        }
    }
}
