//! Filters built from options, and events that pass them.

use spillway::config::ast::{Literal, LiteralKind, Node};
use spillway::event::{Event, Map, Text};
use spillway::metrics::PipelineMetrics;
use spillway::pipeline::{Environment, Filtering, Plan, compile};
use spillway::plugins::{DeadLetterQueue, Promises};

/// The filter of a configuration, with some of its text options replaced. `None` when it is refused.
pub fn filter(config: &str, replaced: &[(&str, &str)]) -> Option<Plan> {
    let mut loaded = spillway::config::parse(config);
    assert!(!loaded.diagnostics.has_errors(), "{config}");
    let Some(Node::Plugin(block)) = loaded.config.filters.first_mut() else { panic!("one filter: {config}") };
    for setting in &mut block.settings {
        replace(&mut setting.value, replaced);
    }
    let environment = Environment::alone();
    let compiled = compile(&loaded.config, &loaded.sources, &environment, &mut loaded.diagnostics);
    (!loaded.diagnostics.has_errors()).then_some(compiled.plan)
}

fn replace(literal: &mut Literal, replaced: &[(&str, &str)]) {
    match &mut literal.kind {
        LiteralKind::String(text) => {
            if let Some((_, new)) = replaced.iter().find(|(old, _)| old == text) {
                *text = Text::from(*new);
            }
        }
        LiteralKind::Hash(pairs) => pairs.iter_mut().for_each(|(_, value)| replace(value, replaced)),
        LiteralKind::Array(list) => list.iter_mut().for_each(|value| replace(value, replaced)),
        _ => {}
    }
}

/// What the filter makes of an event with this text in `m`; it must never break.
pub fn run(plan: &Plan, text: &str) -> Vec<Event> {
    let fields = Map::from_unique(vec![("m".into(), Text::from(text).into())]);
    let (metrics, dead_letters) = (PipelineMetrics::default(), DeadLetterQueue::default());
    let promises = Promises::new();
    let filtering =
        Filtering { plan, dead_letters: &dead_letters, metrics: &metrics, decisions: None, promises: &promises };
    let events = filtering.run(vec![Event::from_map(fields)], None, false);
    for event in &events {
        let _ = event.to_json();
    }
    events
}

/// The first line, and the rest.
#[allow(dead_code, reason = "each target uses its part")]
pub fn halves(input: &str) -> Option<(&str, &str)> {
    input.split_once('\n')
}
