//! All plugins by name; the only list of them.

use super::{CodecPlugin, FilterPlugin, InputPlugin, OutputPlugin, codecs, filters, inputs, outputs};
use crate::config::ast::{PluginBlock, PluginKind};
use crate::config::diagnostic::{Diagnostic, Diagnostics, nearest};

/// Every input, sorted by name.
pub const INPUTS: &[InputPlugin] =
    &[inputs::dead_letter_queue::PLUGIN, inputs::generator::PLUGIN, inputs::heartbeat::PLUGIN, inputs::stdin::PLUGIN];

/// Every filter, sorted by name.
pub const FILTERS: &[FilterPlugin] = &[
    filters::clone::PLUGIN,
    filters::dlq::PLUGIN,
    filters::drop::PLUGIN,
    filters::json::PLUGIN,
    filters::mutate::PLUGIN,
    filters::sleep::PLUGIN,
    filters::truncate::PLUGIN,
];

/// Every output, sorted by name.
pub const OUTPUTS: &[OutputPlugin] =
    &[outputs::elasticsearch::PLUGIN, outputs::file::PLUGIN, outputs::null::PLUGIN, outputs::stdout::PLUGIN];

/// Every codec, sorted by name.
pub const CODECS: &[CodecPlugin] = &[
    codecs::dots::PLUGIN,
    codecs::json::PLUGIN,
    codecs::json_lines::PLUGIN,
    codecs::line::PLUGIN,
    codecs::plain::PLUGIN,
    codecs::rubydebug::PLUGIN,
];

/// The input of that name.
pub fn input(name: &str) -> Option<&'static InputPlugin> {
    INPUTS.iter().find(|p| p.name == name)
}

/// The filter of that name.
pub fn filter(name: &str) -> Option<&'static FilterPlugin> {
    FILTERS.iter().find(|p| p.name == name)
}

/// The output of that name.
pub fn output(name: &str) -> Option<&'static OutputPlugin> {
    OUTPUTS.iter().find(|p| p.name == name)
}

/// The codec of that name.
pub fn codec(name: &str) -> Option<&'static CodecPlugin> {
    CODECS.iter().find(|p| p.name == name)
}

fn names(kind: PluginKind) -> Vec<&'static str> {
    match kind {
        PluginKind::Input => INPUTS.iter().map(|p| p.name).collect(),
        PluginKind::Filter => FILTERS.iter().map(|p| p.name).collect(),
        PluginKind::Output => OUTPUTS.iter().map(|p| p.name).collect(),
        PluginKind::Codec => CODECS.iter().map(|p| p.name).collect(),
    }
}

/// Reports a plugin that does not exist, with the nearest name, or with the kinds it does exist as.
pub fn unknown_plugin(block: &PluginBlock, diagnostics: &mut Diagnostics) {
    let message = format!("there is no {} named `{}`", block.kind, block.name);
    let diagnostic = Diagnostic::error("unknown-plugin", block.name_span, message).label("unknown plugin");
    let elsewhere: Vec<&str> = [PluginKind::Input, PluginKind::Filter, PluginKind::Output, PluginKind::Codec]
        .into_iter()
        .filter(|kind| names(*kind).contains(&block.name.as_str()))
        .map(PluginKind::as_str)
        .collect();
    let help = if elsewhere.is_empty() {
        did_you_mean(&block.name, names(block.kind))
    } else {
        Some(format!("`{}` is an {}", block.name, elsewhere.join(" and an ")))
    };
    diagnostics.push(match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    });
}

/// `did you mean …?` when a known name is near enough.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = nearest(name, known);
    let quoted: Vec<String> = near.iter().map(|n| format!("`{n}`")).collect();
    (!quoted.is_empty()).then(|| format!("did you mean {}?", quoted.join(" or ")))
}
