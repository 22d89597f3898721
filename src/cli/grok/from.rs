//! The patterns of a `grok` block that stands in a configuration.

use crate::config::ast::PluginBlock;
use crate::config::diagnostic::Diagnostics;
use crate::config::lint;
use crate::config::render::Renderer;
use crate::config::source::Sources;
use crate::config::{self, Language, Origin, Variables};
use crate::plugins::filters::grok::build::tried;
use crate::plugins::filters::grok::library::Library;
use crate::plugins::{Context, Ecs, Options, common};

/// Patterns and library of the block with this id; without an id, of the only one.
pub(super) fn patterns(path: &str, id: Option<&str>, ecs: Ecs) -> Result<(Vec<String>, Library), String> {
    let loaded = config::load(&Origin::Path(path.to_owned()), &Language::default(), &Variables::from_environment());
    refuse_mistakes(&loaded.diagnostics, &loaded.sources)?;
    let mut blocks = Vec::new();
    lint::plugins(&loaded.config.filters, &mut |block| {
        if block.name == "grok" {
            blocks.push(block);
        }
    });
    let block = choose(&blocks, path, id, &loaded.sources)?;
    let context = Context { ecs, ..Context::alone("grok") };
    let mut diagnostics = Diagnostics::default();
    let found = tried(&mut Options::new(block, &context, &mut diagnostics));
    refuse_mistakes(&diagnostics, &loaded.sources)?;
    if found.0.is_empty() { Err(format!("the grok filter of {path} has no pattern")) } else { Ok(found) }
}

fn choose<'b>(
    blocks: &[&'b PluginBlock],
    path: &str,
    id: Option<&str>,
    sources: &Sources,
) -> Result<&'b PluginBlock, String> {
    let names = || {
        let name = |block: &&PluginBlock| match common::explicit_id(block) {
            Some(id) => format!("`{id}`"),
            None => format!("one without id at {}", sources.place(block.name_span)),
        };
        blocks.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    match (id, blocks) {
        (_, []) => Err(format!("{path} has no grok filter")),
        (None, [only]) => Ok(only),
        (None, _) => Err(format!("{path} has several grok filters, choose one with --id: {}", names())),
        (Some(id), _) => {
            let found = blocks.iter().find(|block| common::explicit_id(block).as_deref() == Some(id));
            found.copied().ok_or_else(|| format!("{path} has no grok filter with the id `{id}`, but {}", names()))
        }
    }
}

fn refuse_mistakes(diagnostics: &Diagnostics, sources: &Sources) -> Result<(), String> {
    if !diagnostics.has_errors() {
        return Ok(());
    }
    Err(Renderer::new(sources, false).render_all(diagnostics).trim_end().to_owned())
}
