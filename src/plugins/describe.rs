//! What is known of a plugin without any configuration: its name, its purpose and its options.
//!
//! Options are declared by reading them, so a plugin is built once on an empty block. The plugin knows nothing of it:
//! what it misses is reported to nobody, and what was built is thrown away.

use super::options::OptionSpec;
use super::{Context, Options, common, registry};
use crate::config::ast::{PluginBlock, PluginKind};
use crate::config::diagnostic::Diagnostics;
use crate::config::source::{SourceId, Span};

/// A plugin in words.
#[derive(Clone, Debug)]
pub struct Description {
    /// What it does.
    pub kind: PluginKind,
    /// As in a `.conf`.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Its own options, in the order in which it declares them.
    pub options: Vec<OptionSpec>,
    /// The options that every plugin of its kind has.
    pub common: Vec<OptionSpec>,
}

/// All kinds, in the order in which they are listed.
pub const KINDS: [PluginKind; 4] = [PluginKind::Input, PluginKind::Filter, PluginKind::Output, PluginKind::Codec];

/// Every plugin, by kind and name.
pub fn all() -> Vec<Description> {
    let mut all = Vec::new();
    all.extend(registry::INPUTS.iter().map(|plugin| {
        let read_common = |options: &mut Options<'_>| drop(common::Decoration::read(options));
        describe(PluginKind::Input, plugin.name, plugin.summary, read_common, plugin.build)
    }));
    all.extend(registry::FILTERS.iter().map(|plugin| {
        let read_common = |options: &mut Options<'_>| drop(common::OnMatch::read(options));
        describe(PluginKind::Filter, plugin.name, plugin.summary, read_common, plugin.build)
    }));
    all.extend(
        registry::OUTPUTS
            .iter()
            .map(|plugin| describe(PluginKind::Output, plugin.name, plugin.summary, common::output, plugin.build)),
    );
    all.extend(
        registry::CODECS
            .iter()
            .map(|plugin| describe(PluginKind::Codec, plugin.name, plugin.summary, common::codec, plugin.build)),
    );
    all
}

fn describe<T>(
    kind: PluginKind,
    name: &'static str,
    summary: &'static str,
    read_common: impl FnOnce(&mut Options<'_>),
    build: fn(&mut Options<'_>) -> T,
) -> Description {
    let span = Span { source: SourceId(0), start: 0, end: 0 };
    let block = PluginBlock { kind, name: name.to_owned(), name_span: span, span, settings: Vec::new() };
    let (context, mut diagnostics) = (Context::alone(name), Diagnostics::default());
    let mut options = Options::new(&block, &context, &mut diagnostics);
    read_common(&mut options);
    let shared = options.declared().len();
    let mut common = options.finish_with(build).declared;
    let options = common.split_off(shared.min(common.len()));
    Description { kind, name, summary, options, common }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plugin_and_option_has_its_line() {
        for plugin in all() {
            assert!(!plugin.summary.is_empty(), "{}", plugin.name);
            let options = plugin.options.iter().chain(&plugin.common);
            let mute: Vec<_> = options.filter(|o| o.doc.is_empty()).map(|o| o.name).collect();
            assert!(mute.is_empty(), "{} {}: no line on {mute:?}", plugin.kind, plugin.name);
        }
    }

    #[test]
    fn own_options_are_told_from_those_of_the_kind() {
        let all = all();
        let truncate = all.iter().find(|p| p.name == "truncate").unwrap();
        assert_eq!(truncate.options.iter().map(|o| o.name).collect::<Vec<_>>(), ["length_bytes", "fields"]);
        assert!(truncate.common.iter().any(|o| o.name == "add_field"));
    }
}
