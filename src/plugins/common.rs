//! The options that every plugin of a kind has, handled once outside the plugins.

use std::sync::Arc;

use super::Options;
use crate::event::{Event, FieldName, Template, Text, Value};

/// Common options of an input: what is put on each event that it decodes.
#[derive(Clone, Debug, Default)]
pub struct Decoration {
    kind: Option<Text>,
    add_field: Vec<(FieldName, Template)>,
    tags: Vec<Text>,
}

impl Decoration {
    /// Declares and reads them.
    pub fn read(options: &mut Options<'_>) -> Self {
        plugin(options);
        for gone in ["debug", "format", "charset", "message_format"] {
            options.obsolete(gone, "set the charset or format on the codec");
        }
        let kind = options.string("type").doc("Sets `type` on events that have none.").optional();
        let tags = options.strings("tags").doc("Tags to add to each event.").optional();
        Self {
            kind: kind.map(Text::from),
            add_field: added_fields(options, "Fields to add to each event."),
            tags: tags.unwrap_or_default().into_iter().map(Text::from).collect(),
        }
    }

    /// Whether there is nothing to put.
    pub fn is_empty(&self) -> bool {
        self.kind.is_none() && self.add_field.is_empty() && self.tags.is_empty()
    }

    /// Puts type, fields and tags on an event, in this order.
    pub fn apply(&self, event: &mut Event) {
        if let Some(kind) = &self.kind
            && !event.fields().contains_key("type")
        {
            event.fields_mut().insert(Text::borrowed("type"), kind.clone());
        }
        add_fields(&self.add_field, event);
        for tag in &self.tags {
            event.append_tag(tag.clone());
        }
    }
}

/// Common options of a filter: what happens to an event that the filter matched.
#[derive(Clone, Debug, Default)]
pub struct OnMatch {
    add_field: Vec<(FieldName, Template)>,
    remove_field: Vec<FieldName>,
    add_tag: Vec<Template>,
    remove_tag: Vec<Template>,
    /// Whether the filter is flushed every five seconds.
    pub periodic_flush: bool,
}

impl OnMatch {
    /// Declares and reads them.
    pub fn read(options: &mut Options<'_>) -> Self {
        plugin(options);
        for gone in ["type", "tags", "exclude_tags"] {
            options.obsolete(gone, "use a condition around the filter");
        }
        let removals = options.templates("remove_field").doc("Fields to remove from a matched event.").optional();
        let names = removals.unwrap_or_default().into_iter();
        let remove_field = names.filter_map(|name| field_name(options, "remove_field", name)).collect();
        Self {
            add_field: added_fields(options, "Fields to add to a matched event."),
            remove_field,
            add_tag: options.templates("add_tag").doc("Tags to add to a matched event.").optional().unwrap_or_default(),
            remove_tag: options
                .templates("remove_tag")
                .doc("Tags to remove from a matched event.")
                .optional()
                .unwrap_or_default(),
            periodic_flush: options
                .boolean("periodic_flush")
                .doc("Lets the filter give out held events every five seconds.")
                .default(false),
        }
    }

    /// Whether nothing happens to a matched event.
    pub fn is_empty(&self) -> bool {
        self.add_field.is_empty()
            && self.remove_field.is_empty()
            && self.add_tag.is_empty()
            && self.remove_tag.is_empty()
    }

    /// Adds fields, removes fields, adds tags, removes tags, in this order.
    pub fn apply(&self, event: &mut Event) {
        add_fields(&self.add_field, event);
        for name in &self.remove_field {
            // What is no field reference is no field: there is nothing to remove.
            if let Ok(field) = name.of(event) {
                event.remove(&field);
            }
        }
        for tag in &self.add_tag {
            let tag = tag.render(event);
            event.append_tag(tag);
        }
        for tag in &self.remove_tag {
            let tag = tag.render(event);
            event.remove_tag(&tag);
        }
    }
}

/// Common options of an output.
pub fn output(options: &mut Options<'_>) {
    plugin(options);
    for gone in ["type", "tags", "exclude_tags"] {
        options.obsolete(gone, "use a condition around the output");
    }
    let _ = options
        .integer("workers")
        .doc("Ignored; an output is shared by all workers of the pipeline.")
        .deprecated("remove it: an output is shared by all workers of the pipeline")
        .optional();
}

/// Common options of a codec.
pub fn codec(options: &mut Options<'_>) {
    plugin(options);
}

fn plugin(options: &mut Options<'_>) {
    let _ = options.string("id").doc("Names the plugin in logs, metrics and the dead letter queue.").optional();
    let _ = options.boolean("enable_metric").doc("Whether the plugin's counters are shown.").default(true);
}

/// The `id` option, if it is there. Read before everything else, since the plugin's context holds it.
pub fn explicit_id(block: &crate::config::ast::PluginBlock) -> Option<Arc<str>> {
    let setting = block.settings.iter().find(|s| s.name == "id")?;
    super::convert::string(&setting.value).ok().map(Arc::from)
}

/// The `enable_metric` option; a wrong value is reported with the others.
pub fn is_measured(block: &crate::config::ast::PluginBlock) -> bool {
    let setting = block.settings.iter().find(|s| s.name == "enable_metric");
    setting.and_then(|s| super::convert::boolean(&s.value).ok()).unwrap_or(true)
}

fn added_fields(options: &mut Options<'_>, doc: &'static str) -> Vec<(FieldName, Template)> {
    let pairs = options.template_hash("add_field").doc(doc).default(Vec::new()).into_iter();
    pairs.filter_map(|(name, value)| Some((field_name(options, "add_field", name)?, value))).collect()
}

fn field_name(options: &mut Options<'_>, option: &'static str, name: Template) -> Option<FieldName> {
    let name = FieldName::compile(name, options.context().escape_style);
    name.map_err(|error| options.invalid(option, error.to_string())).ok()
}

fn add_fields(fields: &[(FieldName, Template)], event: &mut Event) {
    for (name, value) in fields {
        let value = Value::String(value.render(event));
        let added = name
            .of(event)
            .map_err(|error| error.to_string())
            .and_then(|field| event.append(&field, value).map_err(|error| error.to_string()));
        if let Err(error) = added {
            tracing::warn!(target: "spillway.add_field", "field not added: {error}");
        }
    }
}
