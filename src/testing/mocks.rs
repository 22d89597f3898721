//! What stands in for filters that a test must not run, such as one that asks a server.
//!
//! A mock names its filter by id, or by file and line, and is a piece of a filter section; an empty one takes the
//! filter out. Files of mocks are those of logstash-filter-verifier (`- id: …`, `mock: …`), or a map of names.

use std::path::Path;

use crate::config::ast::{Literal, LiteralKind, Node, PluginBlock, PluginKind, Setting};
use crate::config::source::Sources;
use crate::config::{self, Language, Loaded, Variables};
use crate::event::Value;
use crate::plugins::common::explicit_id;
use crate::settings::yaml;

use super::values;

/// Filters that ask something outside of the process.
const OUTSIDE: &[&str] = &["dns", "elasticsearch", "exec", "http", "jdbc_static", "jdbc_streaming", "memcached"];

/// A list of mocks: the name of each filter, and the text that stands in for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mocks(Vec<(String, String)>);

impl Mocks {
    /// Reads what a case or a file gives.
    pub fn read(value: &Value) -> Result<Self, String> {
        let pairs = match value {
            Value::Map(map) => map.iter().map(|(name, text)| Ok((name.to_string(), snippet(Some(text))?))).collect(),
            Value::Array(items) => items.iter().map(element).collect(),
            Value::Null => Ok(Vec::new()),
            _ => Err(WRONG.to_owned()),
        };
        pairs.map(Self)
    }

    /// Reads a file of mocks.
    pub fn read_file(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: cannot be read: {e}", path.display()))?;
        let told = |message: String| format!("{}: {message}", path.display());
        match yaml::parse(&text).map_err(|e| told(format!("is no YAML: {}", e.message)))? {
            None => Ok(Self::default()),
            Some(root) => values::value(&root).map_err(|e| e.message).and_then(|v| Self::read(&v)).map_err(told),
        }
    }

    /// Those that have another name than all of `others`.
    pub(super) fn without(&self, others: &Self) -> Self {
        let is_free = |name: &str| !others.0.iter().any(|(other, _)| other == name);
        Self(self.0.iter().filter(|(name, _)| is_free(name)).cloned().collect())
    }

    /// Puts the mocks in the place of their filters. Gives the names that no filter has.
    pub(super) fn apply(&self, loaded: &mut Loaded, language: Language, variables: &Variables) -> Vec<String> {
        let mut unused = Vec::new();
        for (name, text) in &self.0 {
            let piece = config::read_piece(
                loaded,
                &format!("mock of {name}"),
                &format!("filter {{\n{text}\n}}"),
                language,
                variables,
            );
            let mut nodes = std::mem::take(&mut loaded.config.filters);
            if !replace(&mut nodes, name, &piece.filters, &loaded.sources) {
                unused.push(name.clone());
            }
            loaded.config.filters = nodes;
        }
        unused
    }
}

const WRONG: &str = "mocks must be a map `ID: FILTERS` or a list of `{id: ID, mock: FILTERS}`";

fn element(item: &Value) -> Result<(String, String), String> {
    let map = item.as_map().ok_or(WRONG)?;
    let id = map.get("id").map(values::plain_text).ok_or(WRONG)?;
    Ok((id, snippet(map.get("mock"))?))
}

fn snippet(value: Option<&Value>) -> Result<String, String> {
    match value {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(_) => Err(WRONG.to_owned()),
    }
}

/// Whether a filter of that name was there.
fn replace(nodes: &mut Vec<Node>, name: &str, with: &[Node], sources: &Sources) -> bool {
    let mut found = false;
    for node in std::mem::take(nodes) {
        match node {
            Node::Plugin(block) if is_called(&block, name, sources) => {
                found = true;
                nodes.extend(with.iter().cloned().map(|node| with_id(node, &block)));
            }
            Node::Branch(mut branch) => {
                for arm in &mut branch.arms {
                    found |= replace(&mut arm.body, name, with, sources);
                }
                found |= replace(&mut branch.otherwise, name, with, sources);
                nodes.push(Node::Branch(branch));
            }
            other => nodes.push(other),
        }
    }
    found
}

fn is_called(block: &PluginBlock, name: &str, sources: &Sources) -> bool {
    let place = sources.place(block.name_span);
    let at = format!("{}:{}", place.file, place.line);
    explicit_id(block).is_some_and(|id| *id == *name) || at == name || at.ends_with(&format!("/{name}"))
}

/// A filter that stands in for one with an id is known by that id.
fn with_id(node: Node, original: &PluginBlock) -> Node {
    let (Node::Plugin(mut block), Some(id)) = (node.clone(), explicit_id(original)) else { return node };
    if explicit_id(&block).is_none() {
        let span = block.name_span;
        let value = Literal { span, kind: LiteralKind::String((*id).into()) };
        block.settings.push(Setting { name: "id".into(), name_span: span, value });
    }
    Node::Plugin(block)
}

/// The filters that would ask something outside, as messages name them and as a mock would.
pub fn reaching_out(nodes: &[Node], sources: &Sources) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for node in nodes {
        match node {
            Node::Plugin(block) if block.kind == PluginKind::Filter && OUTSIDE.contains(&block.name.as_str()) => {
                let place = sources.place(block.name_span);
                let at = format!("{}:{}", place.file, place.line);
                let mock = explicit_id(block).map_or_else(|| at.clone(), |id| id.to_string());
                found.push((format!("{} at {at}", block.name), mock));
            }
            Node::Plugin(_) => {}
            Node::Branch(branch) => {
                branch.arms.iter().for_each(|arm| found.extend(reaching_out(&arm.body, sources)));
                found.extend(reaching_out(&branch.otherwise, sources));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mocked(config: &str, mocks: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let mut loaded = config::parse(config);
        let mocks = Mocks(mocks.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect());
        let unused = mocks.apply(&mut loaded, Language::default(), &Variables::default());
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        (names(&loaded.config.filters), unused)
    }

    fn names(nodes: &[Node]) -> Vec<String> {
        let name = |node: &Node| match node {
            Node::Plugin(block) => {
                vec![explicit_id(block).map_or(block.name.clone(), |id| format!("{}:{id}", block.name))]
            }
            Node::Branch(branch) => branch.arms.iter().flat_map(|arm| names(&arm.body)).collect(),
        };
        nodes.iter().flat_map(name).collect()
    }

    #[test]
    fn filters_are_replaced_by_id_or_by_place() {
        let config = "filter {\n if [x] { http { id => 'ask' } }\n dns { }\n drop { }\n}";
        let mocks = [("ask", "mutate { } mutate { id => 'own' }"), ("config string:3", ""), ("nobody", "drop { }")];
        let (names, unused) = mocked(config, &mocks);
        assert_eq!(names, ["mutate:ask", "mutate:own", "drop"]);
        assert_eq!(unused, ["nobody"]);
    }

    #[test]
    fn filters_that_ask_a_server_are_found() {
        let loaded = config::parse("filter {\n if [x] { http { id => 'ask' } } else { dns { } }\n drop { }\n}");
        let found = reaching_out(&loaded.config.filters, &loaded.sources);
        let expected = [("http at config string:2", "ask"), ("dns at config string:2", "config string:2")];
        assert_eq!(found, expected.map(|(filter, mock)| (filter.to_owned(), mock.to_owned())));
    }

    #[test]
    fn both_layouts_are_read() {
        let read = |text: &str| {
            let root = yaml::parse(text).unwrap().unwrap();
            Mocks::read(&values::value(&root).unwrap())
        };
        let expected = Mocks(vec![("a".into(), String::new()), ("b".into(), "drop {}".into())]);
        assert_eq!(read("- id: a\n- {id: b, mock: 'drop {}'}\n").unwrap(), expected);
        assert_eq!(read("{a: , b: 'drop {}'}").unwrap(), expected);
        assert!(read("- a\n").is_err() && read("a: [1]\n").is_err());
    }

    #[test]
    fn what_a_case_says_goes_before_the_file() {
        let mocks = |pairs: &[(&str, &str)]| Mocks(pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect());
        assert_eq!(mocks(&[("a", "2"), ("b", "3")]).without(&mocks(&[("a", "1")])), mocks(&[("b", "3")]));
    }
}
