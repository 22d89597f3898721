//! Plugins that a case needs and this program does not have yet: such a case is skipped, and says so.

use spillway::config::ast::Node;
use spillway::config::{self, Language, Origin, Variables};
use spillway::event::Value;
use spillway::plugins::registry;
use spillway::testing::Entry;

/// `needs the kafka input`, when the configuration of the case has a plugin that is not there.
pub fn of(entry: &Entry) -> Option<String> {
    let text = |key: &str| entry.keys.get(key).and_then(Value::as_str);
    let config = match (text("config"), text("codec")) {
        (Some(config), _) => config.replace("${PORT}", "1"),
        (None, Some(codec)) => {
            let name = codec.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
            return registry::codec(name).is_none().then(|| format!("needs the {name} codec"));
        }
        (None, None) => return None,
    };
    let origin = Origin::String { name: "case".into(), text: config };
    let loaded = config::load(&origin, &Language::default(), &Variables::default());
    let config = &loaded.config;
    let input = config.inputs.iter().find(|input| registry::input(&input.name).is_none());
    let output = config.outputs.iter().find_map(|node| match node {
        Node::Plugin(output) if registry::output(&output.name).is_none() => Some(output),
        _ => None,
    });
    let missing = input.map(|input| (input, "input")).or(output.map(|output| (output, "output")));
    missing.map(|(block, kind)| format!("needs the {} {kind}", block.name))
}
