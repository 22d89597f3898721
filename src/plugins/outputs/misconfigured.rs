//! The stand-in of an output with wrong options; its pipeline never starts.

use async_trait::async_trait;

use crate::plugins::{Deliveries, GivenBack, Output, OutputBatch, Stop};

pub(super) struct Misconfigured;

#[async_trait]
impl Output for Misconfigured {
    async fn write(&self, _: &OutputBatch<'_>, _: &Stop) -> Result<Deliveries, GivenBack> {
        Err(GivenBack)
    }
}
