//! What goes into the pipeline of a case: events by their fields, or raw lines through a codec, with the common
//! options of an input if the case names one.

use super::case::Case;
use crate::config::Loaded;
use crate::config::diagnostic::Level;
use crate::event::{Bytes, Event, Map, Text, Timestamp, Value};
use crate::pipeline::{Compiled, InputSlot};
use crate::plugins::{Context, Decoders, Options};

/// The events of a case. `arrival` tells when each arrives, by its place.
pub(super) fn events(
    case: &Case,
    compiled: &Compiled,
    arrival: impl Fn(usize) -> Timestamp,
) -> Result<Vec<Event>, String> {
    let input = match &case.input {
        Some(id) => Some(input(id, compiled)?),
        None => None,
    };
    let mut events: Vec<Event> = if case.lines.is_empty() {
        let given = case.events.iter().enumerate();
        given.map(|(at, fields)| Event::from_map_at(fields.clone(), || arrival(at))).collect()
    } else {
        decoded(&case.lines, &decoders(case, input)?, arrival)
    };
    for event in &mut events {
        if let Some(input) = input {
            input.decoration.apply(event);
        }
        if !case.fields.is_empty() {
            put(event, &case.fields);
        }
    }
    Ok(events)
}

fn input<'c>(id: &str, compiled: &'c Compiled) -> Result<&'c InputSlot, String> {
    let found = compiled.inputs.iter().find(|slot| *slot.info.id == *id);
    found.ok_or_else(|| {
        let known: Vec<&str> = compiled.inputs.iter().map(|slot| &*slot.info.id).collect();
        format!("`input`: the configuration has no input with the id `{id}`, only {}", known.join(", "))
    })
}

fn decoders(case: &Case, input: Option<&InputSlot>) -> Result<Decoders, String> {
    match (&case.codec, input) {
        (None, Some(InputSlot { decoders: Some(decoders), .. })) => Ok(decoders.clone()),
        (Some(text), _) => codec(text),
        (None, _) => codec("line"),
    }
}

/// A codec as a configuration names it: `json_lines`, `plain { charset => "ISO-8859-1" }`.
fn codec(text: &str) -> Result<Decoders, String> {
    let Loaded { config, mut diagnostics, .. } =
        crate::config::parse(&format!("input {{ stdin {{ codec => {text} }} }}"));
    let context = Context::alone("codec");
    let block = config.inputs.first();
    let decoders = block.map(|block| Options::new(block, &context, &mut diagnostics).decoder("codec", "line", &[]));
    match diagnostics.0.iter().find(|d| d.level == Level::Error) {
        Some(error) => Err(format!("`codec`: {}", error.message)),
        None => decoders.ok_or_else(|| format!("`codec`: `{text}` is no codec")),
    }
}

/// Each line with its line feed, then what the codec still holds.
fn decoded(lines: &[String], decoders: &Decoders, arrival: impl Fn(usize) -> Timestamp) -> Vec<Event> {
    let mut decoder = decoders.create();
    let begun = Timestamp::now();
    let mut events = Vec::new();
    for line in lines {
        decoder.decode(Bytes::from(format!("{line}\n").into_bytes()), &mut events);
    }
    decoder.flush(&mut events);
    // What was read just now arrived when the case says.
    for (at, event) in events.iter_mut().enumerate() {
        if event.timestamp().is_some_and(|time| time >= begun) {
            event.set_timestamp(arrival(at));
        }
    }
    events
}

/// Puts the fields of the case on an event; maps are joined.
fn put(event: &mut Event, fields: &Map) {
    let event = event.fields_mut();
    for (name, value) in fields.iter() {
        join(event, name, value);
    }
}

fn join(map: &mut Map, name: &Text, value: &Value) {
    match (map.get_mut(name), value) {
        (Some(Value::Map(there)), Value::Map(more)) => more.iter().for_each(|(name, value)| join(there, name, value)),
        _ => {
            map.insert(name.clone(), value.clone());
        }
    }
}
