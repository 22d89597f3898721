//! All plugins by name; the only list of them.

use super::{CodecPlugin, FilterPlugin, InputPlugin, OutputPlugin, codecs, filters, inputs, outputs};
use crate::config::ast::{PluginBlock, PluginKind};
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::{did_you_mean, nearest};

/// Every input, sorted by name.
pub const INPUTS: &[InputPlugin] = &[
    inputs::beats::PLUGIN,
    inputs::dead_letter_queue::PLUGIN,
    inputs::beats::ELASTIC_AGENT,
    inputs::file::PLUGIN,
    inputs::generator::PLUGIN,
    inputs::elasticsearch::PLUGIN,
    inputs::heartbeat::PLUGIN,
    inputs::http::PLUGIN,
    #[cfg(feature = "kafka")]
    inputs::kafka::PLUGIN,
    inputs::pipeline::PLUGIN,
    inputs::stdin::PLUGIN,
    inputs::syslog::PLUGIN,
    inputs::tcp::PLUGIN,
    inputs::udp::PLUGIN,
    inputs::unix::PLUGIN,
];

/// Every filter, sorted by name.
pub const FILTERS: &[FilterPlugin] = &[
    filters::age::PLUGIN,
    filters::aggregate::PLUGIN,
    filters::alter::PLUGIN,
    filters::anonymize::PLUGIN,
    filters::bytes::PLUGIN,
    filters::cidr::PLUGIN,
    filters::clone::PLUGIN,
    filters::csv::PLUGIN,
    filters::date::PLUGIN,
    filters::de_dot::PLUGIN,
    filters::dedupe::PLUGIN,
    filters::dissect::PLUGIN,
    filters::elasticsearch::PLUGIN,
    filters::dlq::PLUGIN,
    filters::drop::PLUGIN,
    filters::envelope::PLUGIN,
    filters::extractnumbers::PLUGIN,
    filters::fingerprint::PLUGIN,
    filters::geoip::PLUGIN,
    filters::grok::PLUGIN,
    filters::i18n::PLUGIN,
    filters::json::PLUGIN,
    filters::json_encode::PLUGIN,
    filters::kv::PLUGIN,
    filters::mutate::PLUGIN,
    filters::prune::PLUGIN,
    filters::range::PLUGIN,
    filters::replay::PLUGIN,
    filters::ruby::PLUGIN,
    filters::sleep::PLUGIN,
    filters::split::PLUGIN,
    filters::syslog_pri::PLUGIN,
    filters::throttle::PLUGIN,
    filters::tld::PLUGIN,
    filters::translate::PLUGIN,
    filters::truncate::PLUGIN,
    filters::urldecode::PLUGIN,
    filters::useragent::PLUGIN,
    filters::uuid::PLUGIN,
    filters::validate::PLUGIN,
];

/// Every output, sorted by name.
pub const OUTPUTS: &[OutputPlugin] = &[
    outputs::clickhouse::PLUGIN,
    outputs::csv::PLUGIN,
    outputs::elasticsearch::PLUGIN,
    outputs::file::PLUGIN,
    outputs::http::PLUGIN,
    #[cfg(feature = "kafka")]
    outputs::kafka::PLUGIN,
    outputs::null::PLUGIN,
    outputs::pipeline::PLUGIN,
    outputs::elasticsearch::OPENSEARCH,
    outputs::stdout::PLUGIN,
    outputs::tcp::PLUGIN,
    outputs::udp::PLUGIN,
];

/// Every codec, sorted by name.
pub const CODECS: &[CodecPlugin] = &[
    codecs::cef::PLUGIN,
    codecs::csv::PLUGIN,
    codecs::dots::PLUGIN,
    codecs::json::PLUGIN,
    codecs::json_lines::PLUGIN,
    codecs::line::PLUGIN,
    codecs::multiline::PLUGIN,
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
        did_you_mean(&nearest(&block.name, names(block.kind)))
    } else {
        Some(format!("`{}` is an {}", block.name, elsewhere.join(" and an ")))
    };
    diagnostics.push(match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    });
}
