//! `spillway check --events FILE`: what sample events say about a configuration.

use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::lint;
use crate::event::{EscapeStyle, Event, FieldRef};
use crate::metrics::PipelineMetrics;
use crate::pipeline::{self, Decisions, Filtering, Flush, Prepared, Shared};
use crate::plugins::Promises;
use crate::testing::coverage::Coverage;
use crate::testing::reaching_out;

/// Runs the events through a pipeline that has no errors. Gives the branches that they took, and adds to its
/// diagnostics the fields that conditions ask for and no event has.
pub(super) fn look(events: &[Event], prepared: &mut Prepared, shared: &Shared) -> Result<Coverage, String> {
    let loaded = pipeline::read(&prepared.settings, shared);
    if let Some((filter, _)) = reaching_out(&loaded.config.filters, &loaded.sources).first() {
        return Err(format!("the filter {filter} asks a server, so the events were not run through it"));
    }
    prepared.diagnostics.0.extend(missing(events, lint::fields_of_conditions(&loaded.config)).0);
    let plan = &prepared.compiled.plan;
    for slot in &plan.filters {
        slot.filter.register().map_err(|e| format!("the filter {} could not start: {e}", slot.info.label()))?;
    }
    let (metrics, decisions) = (PipelineMetrics::default(), Decisions::default());
    let dead_letters = &prepared.dead_letters;
    // Nothing is remembered of events that are only looked at.
    let promises = Promises::new();
    let filtering =
        Filtering { plan, dead_letters, metrics: &metrics, decisions: Some(&decisions), promises: &promises };
    let mut out = filtering.run(events.to_vec(), Some(Flush::Last), prepared.settings.is_ordered());
    filtering.targets(&mut out);
    let mut coverage = Coverage::default();
    coverage.add(plan, &decisions, |_, slot| slot.info.metrics.events_in.get());
    Ok(coverage)
}

/// Fields that no event has and nothing sets.
fn missing(events: &[Event], read: Vec<(String, crate::config::source::Span)>) -> Diagnostics {
    let has = |field: &str| {
        let field = FieldRef::parse(field, EscapeStyle::None);
        field.is_ok_and(|field| events.iter().any(|event| event.includes(&field)))
    };
    let unknown = read.into_iter().filter(|(field, _)| !field.starts_with("[@metadata]") && !has(field));
    let warnings = unknown.map(|(field, span)| {
        let message = format!("`{field}` is in none of the sample events, and nothing sets it");
        Diagnostic::warning("field-not-in-sample", span, message).label("not in the sample")
    });
    Diagnostics(warnings.collect())
}
