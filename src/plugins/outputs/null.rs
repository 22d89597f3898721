//! `null`: throws events away, for measuring what comes before it.

use async_trait::async_trait;

use crate::plugins::{Deliveries, GivenBack, Options, Output, OutputBatch, OutputPlugin, Stop};

/// The plugin.
pub const PLUGIN: OutputPlugin = OutputPlugin { name: "null", summary: "Throws events away.", build };

struct Null;

fn build(options: &mut Options<'_>) -> Box<dyn Output> {
    options.idle_codec("nothing is written");
    Box::new(Null)
}

#[async_trait]
impl Output for Null {
    async fn write(&self, _: &OutputBatch<'_>, _: &Stop) -> Result<Deliveries, GivenBack> {
        Ok(Deliveries::All)
    }
}
