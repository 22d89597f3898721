//! `pipeline`: events that other pipelines of the process send to an address.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::plugins::addresses::{Addresses, Binding};
use crate::plugins::{Input, InputPlugin, InputSink, Options, PluginError, ProcessEnd, Stop};

/// The plugin.
pub const PLUGIN: InputPlugin =
    InputPlugin { name: "pipeline", summary: "Takes events from other pipelines of this process.", build };

/// How often it is looked whether the pipeline can still take events.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the pipelines of a circle go on once all of them are to stop, for what is on its way between them.
const LAST_ROUND: Duration = Duration::from_secs(1);

struct PipelineInput {
    address: String,
    pipeline: Arc<str>,
    addresses: Arc<Addresses>,
    process_end: Arc<ProcessEnd>,
    binding: Option<Binding>,
}

fn build(options: &mut Options<'_>) -> Box<dyn Input> {
    let address = options.string("address").doc("Where outputs of other pipelines send to.").required();
    options.idle_codec("events come whole from other pipelines");
    let context = options.context();
    context.claims.hold(format_args!("address {address}"));
    let (pipeline, addresses) = (context.pipeline_id.clone(), context.process.get::<Addresses>());
    Box::new(PipelineInput { address, pipeline, addresses, process_end: context.process.get(), binding: None })
}

#[async_trait]
impl Input for PipelineInput {
    async fn register(&mut self) -> Result<(), PluginError> {
        self.binding = Some(self.addresses.bind(&self.address, &self.pipeline).map_err(PluginError::new)?);
        Ok(())
    }

    /// At the end of the process it goes on until all who send here have ended, so that nothing is lost on the way. When
    /// only this pipeline is to end, it leaves at once, and those who send here wait for whoever listens next.
    async fn run(&mut self, sink: &InputSink, stop: &Stop) -> Result<(), PluginError> {
        let Some(binding) = &self.binding else { return Ok(()) };
        binding.listen(sink.clone());
        while !stop.is_cancelled() && !sink.is_closed() {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
        if !self.process_end.0.is_cancelled() {
            binding.unlisten();
            return Ok(());
        }
        if !binding.is_awaited() {
            binding.change(LAST_ROUND).await;
        }
        while binding.is_awaited() && !sink.is_closed() {
            binding.change(LOOK_EVERY).await;
        }
        binding.unlisten();
        Ok(())
    }

    async fn close(&mut self) {
        self.binding = None;
    }
}
