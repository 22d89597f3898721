//! Takes the calls of `tracing`'s macros and makes log lines of them.

use std::sync::Arc;

use tracing::span::{Attributes, Id};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context as LayerContext;
use tracing_subscriber::registry::LookupSpan;

use super::levels::{Levels, level_of, logger_name};
use super::limit::{Key, Limiter};
use super::record::{Context, Fields, Record, cut_event};
use super::{Output, record};
use crate::settings::LogLevel;

/// Makes log lines of `tracing` events.
#[derive(Debug)]
pub(super) struct LogLayer {
    pub levels: Arc<Levels>,
    pub output: Arc<Output>,
    pub limiter: Arc<Limiter>,
    /// Texts of events are cut to this; 0 leaves them out.
    pub event_max_chars: usize,
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for LogLayer {
    /// Answers once per call in the program, so that a call that may not speak costs one load.
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        self.levels.know(metadata);
        if self.wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: LayerContext<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: LayerContext<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields.context);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: LayerContext<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = if fields.fatal { LogLevel::Fatal } else { level_of(event.metadata().level()) };
        let logger = logger_name(event.metadata().target());
        if level > self.levels.level(&logger) {
            return;
        }
        let mut place = Context::default();
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(of_span) = span.extensions().get::<Context>() {
                place.refine(of_span);
            }
        }
        place.refine(&fields.context);
        let record = Record {
            time: jiff::ZonedDateTime::now(),
            level,
            logger,
            thread: std::thread::current().name().unwrap_or("-").to_owned(),
            context: place,
            message: fields.message,
            details: self.details(fields.details),
        };
        if fields.fatal || fields.always || self.limiter.admit(Key::of(event, &record), &record) {
            self.output.write(&record);
        }
    }
}

impl LogLayer {
    /// Spans only matter when they say where lines come from.
    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.is_span() {
            return ["pipeline.id", "plugin.id", "place"].iter().any(|name| metadata.fields().field(name).is_some());
        }
        self.levels.allow(metadata)
    }

    fn details(&self, details: Vec<(String, record::Detail)>) -> Vec<(String, record::Detail)> {
        let cut = |(name, detail): (String, record::Detail)| match name.as_str() {
            "event" if self.event_max_chars == 0 => None,
            "event" => Some((name, cut_event(detail, self.event_max_chars))),
            _ => Some((name, detail)),
        };
        details.into_iter().filter_map(cut).collect()
    }
}
