//! From the parser's pairs to the syntax tree: literals typed, repeated settings merged, variables replaced,
//! conditions compiled. Mistakes go to the scope's diagnostics and leave a hole in the tree.

mod values;

use std::collections::HashMap;

use pest::iterators::Pair;

use super::ast::{Arm, Branch, Config, Literal, LiteralKind, Node, PluginBlock, PluginKind, Setting};
use super::condition::{self, Condition};
use super::diagnostic::Diagnostic;
use super::grammar::Rule;
use super::merge;
use super::scope::Scope;

/// Appends the sections of one file to `config`.
pub(super) fn build(root: Pair<'_, Rule>, config: &mut Config, scope: &mut Scope<'_>) {
    for section in root.into_inner().filter(|pair| pair.as_rule() == Rule::section) {
        let mut inner = section.into_inner();
        let (Some(kind), Some(body)) = (inner.next(), inner.next()) else { continue };
        match kind.as_str() {
            "input" => {
                let nodes = nodes(body, PluginKind::Input, scope);
                flatten_inputs(nodes, &mut config.inputs, scope);
            }
            "filter" => config.filters.extend(nodes(body, PluginKind::Filter, scope)),
            _ => config.outputs.extend(nodes(body, PluginKind::Output, scope)),
        }
    }
}

/// All inputs run, whatever condition stands before them.
fn flatten_inputs(nodes: Vec<Node>, inputs: &mut Vec<PluginBlock>, scope: &mut Scope<'_>) {
    for node in nodes {
        match node {
            Node::Plugin(plugin) => inputs.push(plugin),
            Node::Branch(branch) => {
                if let Some(arm) = branch.arms.first() {
                    let message = "conditions in an `input` section are ignored: the inputs of all branches run";
                    let warning = Diagnostic::warning("input-condition", arm.condition.span(), message)
                        .label("has no effect")
                        .help("tag the events of each input and ask for the tag in the filter section");
                    scope.diagnostics.push(warning);
                }
                let bodies = branch.arms.into_iter().map(|arm| arm.body).chain([branch.otherwise]);
                bodies.for_each(|body| flatten_inputs(body, inputs, scope));
            }
        }
    }
}

fn nodes(body: Pair<'_, Rule>, kind: PluginKind, scope: &mut Scope<'_>) -> Vec<Node> {
    let mut out = Vec::new();
    for pair in body.into_inner() {
        match pair.as_rule() {
            Rule::plugin => {
                if let Some(plugin) = step_plugin(pair, kind, scope) {
                    out.push(Node::Plugin(plugin));
                }
            }
            Rule::branch => out.push(Node::Branch(branch(pair, kind, scope))),
            _ => {}
        }
    }
    out
}

/// A plugin in a section. Words that someone took for keywords read as plugins of that name.
fn step_plugin(pair: Pair<'_, Rule>, kind: PluginKind, scope: &mut Scope<'_>) -> Option<PluginBlock> {
    let name = pair.clone().into_inner().next()?;
    let (message, help) = match name.as_str() {
        "else" => (
            "`else` does not follow an `if`",
            "an `else` belongs right behind the `}` of its `if`, and there is only one",
        ),
        "if" => ("`if` has no condition", "write a condition, as in `if [field] == \"value\" {`"),
        "elsif" | "elseif" => {
            ("`else if` does not follow an `if`", "write `else if` with its condition behind the `}` of an `if`")
        }
        _ => return Some(plugin(pair, kind, scope)),
    };
    scope
        .diagnostics
        .push(Diagnostic::error("syntax", scope.span(&name), message).label("expected a plugin").help(help));
    None
}

fn branch(pair: Pair<'_, Rule>, kind: PluginKind, scope: &mut Scope<'_>) -> Branch {
    let mut branch = Branch { arms: Vec::new(), otherwise: Vec::new(), span: scope.span(&pair) };
    for arm in pair.into_inner() {
        let rule = arm.as_rule();
        let mut condition = None;
        let mut steps = Vec::new();
        for part in arm.into_inner() {
            match part.as_rule() {
                Rule::condition => {
                    let stand_in = Condition::constant(false, scope.span(&part));
                    condition = Some(condition::compile(&part, scope).unwrap_or(stand_in));
                }
                Rule::body => steps = nodes(part, kind, scope),
                _ => {}
            }
        }
        match condition {
            Some(condition) => branch.arms.push(Arm { condition, body: steps }),
            None if rule == Rule::else_arm => branch.otherwise = steps,
            None => {}
        }
    }
    branch
}

fn plugin(pair: Pair<'_, Rule>, kind: PluginKind, scope: &mut Scope<'_>) -> PluginBlock {
    let span = scope.span(&pair);
    let mut block = PluginBlock { kind, name: String::new(), name_span: span, span, settings: Vec::new() };
    let mut settings = Settings::default();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::plugin_name => {
                // Quotes stay part of the name, so that no such plugin is found.
                block.name = part.as_str().to_owned();
                block.name_span = scope.span(&part);
            }
            Rule::attribute => {
                let Some(setting) = attribute(part, scope) else { continue };
                if let Err(error) = settings.add(setting, &block) {
                    scope.diagnostics.push(*error);
                }
            }
            _ => {}
        }
    }
    block.settings = settings.list;
    // Merging compares what was written, so variables come last.
    let (all, open) = (scope.variables, scope.open_variables);
    for setting in &mut block.settings {
        // An id is shown everywhere and must not hold a secret.
        let variables = if setting.name == "id" { open } else { all };
        values::resolve_variables(&mut setting.value, variables, scope);
    }
    block
}

fn attribute(pair: Pair<'_, Rule>, scope: &mut Scope<'_>) -> Option<Setting> {
    let mut parts = pair.into_inner().filter(|part| part.as_rule() != Rule::arrow);
    let (name, value) = (parts.next()?, parts.next()?);
    let name_span = scope.span(&name);
    let value = match value.as_rule() {
        Rule::plugin => {
            let span = scope.span(&value);
            Literal { span, kind: LiteralKind::Plugin(Box::new(plugin(value, PluginKind::Codec, scope))) }
        }
        _ => values::literal(value, scope)?,
    };
    Some(Setting { name: values::setting_name(name.as_str()).to_owned(), name_span, value })
}

/// Settings in the order of their first mention.
#[derive(Default)]
struct Settings {
    list: Vec<Setting>,
    mentions: HashMap<String, Mentions>,
}

/// Where a setting is in the list, and how often it was given.
struct Mentions {
    place: usize,
    count: usize,
}

/// Merging costs what was merged before, so that it needs an end.
const MOST_MENTIONS: usize = 1000;

impl Settings {
    fn add(&mut self, setting: Setting, block: &PluginBlock) -> Result<(), Box<Diagnostic>> {
        let place = self.list.len();
        let mentions = self.mentions.entry(setting.name.clone()).or_insert(Mentions { place, count: 0 });
        mentions.count += 1;
        let Some(first) = self.list.get_mut(mentions.place) else {
            self.list.push(setting);
            return Ok(());
        };
        let conflict = |help: &str| {
            let message = format!("the {} {} has the setting `{}` twice", block.name, block.kind, setting.name);
            let error = Diagnostic::error("invalid-value", setting.name_span, message).label("given again");
            Box::new(error.related(first.name_span, "first defined here").help(help))
        };
        if setting.name == "codec" && matches!(block.kind, PluginKind::Input | PluginKind::Output) {
            return Err(conflict("an input or output has one codec: remove one of the two"));
        }
        if mentions.count > MOST_MENTIONS {
            return Err(conflict("it is given more than 1000 times: write one list or hash"));
        }
        let nothing = Literal { span: first.value.span, kind: LiteralKind::Array(Vec::new()) };
        let unfit = conflict("the two values do not go together: keep one");
        let so_far = std::mem::replace(&mut first.value, nothing);
        first.value = merge::repeated(so_far, setting.value).ok_or(unfit)?;
        Ok(())
    }
}
