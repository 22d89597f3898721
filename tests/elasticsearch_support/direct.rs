//! The output by itself, called as a worker of a pipeline calls it.

use serde_json::Value as Json;
use spillway::config::diagnostic::{Diagnostics, Level};
use spillway::config::{self, Language, Origin, Variables};
use spillway::event::{EscapeStyle, Event, Text, Value, json};
use spillway::pipeline::{Environment, OutputSlot, compile};
use spillway::plugins::{DeadLetterQueue, Deliveries, Delivery, GivenBack, Lease, OutputBatch, PluginError, Stop};
use tokio::runtime::Runtime;

/// An output that has been built, with a runtime to run it.
pub struct Direct {
    pub slot: OutputSlot,
    pub stop: Stop,
    runtime: Runtime,
}

impl Direct {
    /// Builds it from the inside of an `elasticsearch` block, and starts it.
    pub fn start(options: &str, dead_letters: bool) -> Self {
        Self::start_as("elasticsearch", options, dead_letters)
    }

    /// As [`Direct::start`], from an `opensearch` block.
    pub fn start_opensearch(options: &str, dead_letters: bool) -> Self {
        Self::start_as("opensearch", options, dead_letters)
    }

    fn start_as(plugin: &str, options: &str, dead_letters: bool) -> Self {
        let direct = Self::build_as(plugin, options, dead_letters).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        direct.register().unwrap();
        direct
    }

    /// Builds it; the error holds all mistakes.
    pub fn build(options: &str, dead_letters: bool) -> Result<Self, String> {
        Self::build_as("elasticsearch", options, dead_letters)
    }

    /// What is wrong with a configuration of any plugins; nothing comes of it otherwise.
    pub fn build_other(config: &str) -> Result<(), String> {
        Self::built(config, false).map(|_| ())
    }

    /// As [`Direct::build`], for the plugin of this name.
    pub fn build_as(plugin: &str, options: &str, dead_letters: bool) -> Result<Self, String> {
        let slot = Self::built(&format!("output {{ {plugin} {{ {options} }} }}"), dead_letters)?;
        let (slot, stop) = (slot.0.unwrap(), slot.1);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Ok(Self { slot, stop, runtime })
    }

    /// The first output of a configuration, if it has one.
    fn built(text: &str, dead_letters: bool) -> Result<(Option<OutputSlot>, Stop), String> {
        let text = text.to_owned();
        let origin = Origin::String { name: "config string".to_owned(), text };
        let language = Language { support_escapes: false, escape_style: EscapeStyle::None };
        let loaded = config::load(&origin, &language, &Variables::from_environment());
        let mut diagnostics = loaded.diagnostics;
        let stop = Stop::new();
        let environment = Environment {
            dead_letters: DeadLetterQueue::new(dead_letters, stop.clone()),
            stop: stop.clone(),
            ..Environment::alone()
        };
        let compiled = compile(&loaded.config, &loaded.sources, &environment, &mut diagnostics);
        let mistakes = mistakes(&diagnostics);
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok((compiled.plan.outputs.into_iter().next(), stop))
    }

    /// What happens before the first event.
    pub fn register(&self) -> Result<(), PluginError> {
        self.runtime.block_on(self.slot.output.register(&self.stop))
    }

    /// Delivers a batch; what is not simply delivered comes back with its place.
    pub fn write(&self, events: &[Json]) -> Result<Vec<(usize, Delivery)>, GivenBack> {
        let events: Vec<Event> = events.iter().map(event).collect();
        let events: Vec<&Event> = events.iter().collect();
        let lease = Lease::unclaimed();
        let batch = OutputBatch { events: &events, lease: &lease };
        let deliveries = self.runtime.block_on(self.slot.output.write(&batch, &self.stop))?;
        let Deliveries::Each(each) = deliveries else { return Ok(Vec::new()) };
        Ok(each.into_iter().enumerate().filter(|(_, delivery)| *delivery != Delivery::Delivered).collect())
    }

    /// Delivers a batch and gives the dead ones: place and reason.
    pub fn dead(&self, events: &[Json]) -> Vec<(usize, String)> {
        let exceptions = self.write(events).expect("not given back").into_iter();
        let dead = exceptions.map(|(at, delivery)| match delivery {
            Delivery::Dead(reason) => (at, reason),
            other => panic!("{at}: {other:?}"),
        });
        dead.collect()
    }

    /// A counter of the plugin; 0 when it does not show.
    pub fn count(&self, path: &str) -> u64 {
        let counters = self.slot.info.metrics.named();
        counters.into_iter().find(|(name, _)| name.join(".") == path).map_or(0, |(_, count)| count)
    }

    /// All counters of the plugin as `path=value`, in order.
    pub fn counters(&self) -> Vec<String> {
        let counters = self.slot.info.metrics.named().into_iter();
        counters.map(|(path, count)| format!("{}={count}", path.join("."))).collect()
    }
}

fn mistakes(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics.0.iter().filter(|d| d.level == Level::Error);
    errors.map(|d| format!("{} {}", d.message, d.help.as_deref().unwrap_or_default())).collect::<Vec<_>>().join("\n")
}

fn event(from: &Json) -> Event {
    let text = Text::from(from.to_string());
    match json::Reader::new(&text, json::Numbers::Double).next_value() {
        Ok(Some(Value::Map(map))) => Event::from_map(map),
        other => panic!("no event: {other:?}"),
    }
}
