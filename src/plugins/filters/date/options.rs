//! From the options of a `date` block to the filter.

use super::Date;
use super::format::Format;
use super::zone::{Zone, ZoneChoice};
use crate::event::FieldRef;
use crate::event::time_format::Locale;
use crate::plugins::{Filter, Options};

pub(super) fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let locale = locale(options);
    let (source, formats) = read_match(options, locale);
    let target =
        options.field("target").doc("Field that takes the instant.").default(FieldRef::top(crate::event::TIMESTAMP));
    let zone = zone(options);
    let metrics = &options.context().metrics;
    let (matches, failures) = (metrics.counter("matches"), metrics.counter("failures"));
    let tag_on_failure = options
        .strings("tag_on_failure")
        .doc("Tags of an event whose date cannot be read.")
        .default(vec!["_dateparsefailure".to_owned()]);
    Box::new(Date { source, target, formats, zone, tag_on_failure, matches, failures })
}

/// The field to read and the formats to try.
fn read_match(options: &mut Options<'_>, locale: Locale) -> (FieldRef, Vec<Format>) {
    let list = options.strings("match").doc("The field to read, then the formats to try, in order.").optional();
    let given = options.is_set("match") && list.is_none();
    let list = list.unwrap_or_default();
    let [name, formats @ ..] = list.as_slice() else {
        if !given {
            options.invalid("match", "`match` takes a field and at least one format, as in [\"field\", \"ISO8601\"]");
        }
        return (FieldRef::default(), Vec::new());
    };
    if formats.is_empty() {
        options.invalid("match", format!("`match` has the field `{name}` and no format; add one such as \"ISO8601\""));
    }
    let source = FieldRef::parse(name, options.context().escape_style).unwrap_or_else(|error| {
        options.invalid("match", error.to_string());
        FieldRef::default()
    });
    let mut compiled = Vec::with_capacity(formats.len());
    for format in formats {
        match Format::compile(format, locale) {
            Ok(format) => compiled.push(format),
            Err(message) => options.invalid("match", message),
        }
    }
    (source, compiled)
}

/// Declares and reads `locale`.
pub(super) fn locale(options: &mut Options<'_>) -> Locale {
    let locale = options.string("locale").doc("Language of the names of months and days, such as `de-DE`.").optional();
    locale.map_or_else(Locale::english, |tag| Locale::of_tag(&tag))
}

/// Declares and reads `timezone`.
pub(super) fn zone(options: &mut Options<'_>) -> ZoneChoice {
    let timezone =
        options.template("timezone").doc("Zone of texts that name none; by default that of the machine.").optional();
    let Some(template) = timezone else { return ZoneChoice::fixed(Zone::system()) };
    let Some(name) = template.as_constant() else { return ZoneChoice::PerEvent(template) };
    let zone = Zone::named(name).unwrap_or_else(|| {
        let message =
            format!("The datetime zone id '{name}' is not recognised; take one such as Europe/Paris, UTC or +02:00");
        options.invalid("timezone", message);
        Zone::system()
    });
    ZoneChoice::fixed(zone)
}
