//! Opening and closing the plugins of a pipeline.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use super::plan::{FilterSlot, InputSlot, OutputSlot, Plan};
use super::run::StartError;
use crate::metrics::PluginInfo;
use crate::plugins::Stop;

/// How many of each list were registered.
#[derive(Default)]
struct Registered {
    outputs: usize,
    filters: usize,
    inputs: usize,
}

/// Registers outputs, filters and inputs. When one refuses or breaks, those before it are closed again.
pub(super) async fn register(plan: &Plan, inputs: &mut [InputSlot], stop: &Stop) -> Result<(), StartError> {
    let mut done = Registered::default();
    let outcome = AssertUnwindSafe(register_each(plan, inputs, stop, &mut done)).catch_unwind().await;
    let outcome = outcome.unwrap_or(Err(StartError::Broke));
    if outcome.is_err() {
        let (filters, outputs) = (plan.filters.iter().take(done.filters), plan.outputs.iter().take(done.outputs));
        close(filters, outputs, inputs.iter_mut().take(done.inputs)).await;
    }
    outcome
}

async fn register_each(
    plan: &Plan,
    inputs: &mut [InputSlot],
    stop: &Stop,
    done: &mut Registered,
) -> Result<(), StartError> {
    let refused = |kind, info: &PluginInfo| {
        let plugin = info.label();
        move |error| StartError::Plugin { kind, plugin, error }
    };
    for slot in &plan.outputs {
        slot.output.register(stop).await.map_err(refused("output", &slot.info))?;
        done.outputs += 1;
    }
    for slot in &plan.filters {
        slot.filter.register().map_err(refused("filter", &slot.info))?;
        done.filters += 1;
    }
    for slot in inputs {
        slot.input.register().await.map_err(refused("input", &slot.info))?;
        done.inputs += 1;
    }
    Ok(())
}

/// Closes filters, then outputs, then inputs. An output may hold leases until then, and an input saves its position once
/// they are back.
pub(super) async fn close(
    filters: impl Iterator<Item = &FilterSlot>,
    outputs: impl Iterator<Item = &OutputSlot>,
    inputs: impl Iterator<Item = &mut InputSlot>,
) {
    for slot in filters {
        slot.filter.close();
    }
    for slot in outputs {
        slot.output.close().await;
    }
    for slot in inputs {
        slot.input.close().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use parking_lot::Mutex;

    use super::*;
    use crate::plugins::testing::compiled;
    use crate::plugins::{
        Deliveries, Filter, FilterBatch, GivenBack, Input, InputSink, Output, OutputBatch, PluginError,
    };

    /// A plugin that notes what is done with it, and may refuse or break.
    #[derive(Clone)]
    struct Noting {
        name: &'static str,
        notes: Arc<Mutex<Vec<String>>>,
        on_register: fn() -> Result<(), PluginError>,
    }

    impl Noting {
        fn note(&self, what: &str) {
            self.notes.lock().push(format!("{what} {}", self.name));
        }

        fn registered(&self) -> Result<(), PluginError> {
            (self.on_register)().inspect(|()| self.note("open"))
        }
    }

    #[async_trait]
    impl Input for Noting {
        async fn register(&mut self) -> Result<(), PluginError> {
            self.registered()
        }
        async fn run(&mut self, _: &InputSink, _: &Stop) -> Result<(), PluginError> {
            Ok(())
        }
        async fn close(&mut self) {
            self.note("close");
        }
    }

    impl Filter for Noting {
        fn register(&self) -> Result<(), PluginError> {
            self.registered()
        }
        fn filter(&self, _: &mut FilterBatch<'_>) {}
        fn close(&self) {
            self.note("close");
        }
    }

    #[async_trait]
    impl Output for Noting {
        async fn register(&self, _: &Stop) -> Result<(), PluginError> {
            self.registered()
        }
        async fn write(&self, _: &OutputBatch<'_>, _: &Stop) -> Result<Deliveries, GivenBack> {
            Ok(Deliveries::All)
        }
        async fn close(&self) {
            self.note("close");
        }
    }

    /// What is done with two inputs, two filters and two outputs, the second input of which does this.
    async fn start(second_input: fn() -> Result<(), PluginError>) -> (Result<(), String>, Vec<String>) {
        let config = "input { generator { } stdin { } } filter { drop { } mutate { } } output { null { } stdout { } }";
        let mut compiled = compiled(config).unwrap();
        let notes = Arc::default();
        let noting = |name| Noting { name, notes: Arc::clone(&notes), on_register: || Ok(()) };
        let names = ["in 1", "in 2", "filter 1", "filter 2", "out 1", "out 2"];
        let [in_1, in_2, filter_1, filter_2, out_1, out_2] = names.map(noting);
        compiled.inputs[0].input = Box::new(in_1);
        compiled.inputs[1].input = Box::new(Noting { on_register: second_input, ..in_2 });
        compiled.plan.filters[0].filter = Box::new(filter_1);
        compiled.plan.filters[1].filter = Box::new(filter_2);
        compiled.plan.outputs[0].output = Box::new(out_1);
        compiled.plan.outputs[1].output = Box::new(out_2);
        let outcome = register(&compiled.plan, &mut compiled.inputs, &Stop::new()).await;
        let notes = notes.lock().clone();
        (outcome.map_err(|error| error.to_string()), notes)
    }

    const OPENED: [&str; 5] = ["open out 1", "open out 2", "open filter 1", "open filter 2", "open in 1"];
    const CLOSED: [&str; 5] = ["close filter 1", "close filter 2", "close out 1", "close out 2", "close in 1"];

    #[tokio::test]
    async fn after_a_refused_start_everything_that_was_registered_is_closed() {
        let (outcome, notes) = start(|| Err(PluginError::new("no"))).await;
        assert!(outcome.unwrap_err().ends_with("could not start: no"));
        assert_eq!(notes, [OPENED, CLOSED].concat());
    }

    #[tokio::test]
    async fn after_a_plugin_broke_everything_that_was_registered_is_closed() {
        let (outcome, notes) = start(|| panic!("broken")).await;
        assert_eq!(outcome.unwrap_err(), "one of its plugins broke");
        assert_eq!(notes, [OPENED, CLOSED].concat());
    }

    #[tokio::test]
    async fn what_starts_stays_open() {
        assert_eq!(
            start(|| Ok(())).await,
            (Ok(()), [&OPENED[..], &["open in 2"]].concat().iter().map(|s| (*s).to_owned()).collect())
        );
    }
}
