//! A hash of what a configuration means: the same whatever its layout, comments, quotes and division into files.
//!
//! Values count as they are written, variables unreplaced: nobody can guess at a secret by its hash, and a password
//! that changes in the environment does not change the ids that plugins are given.

use sha2::{Digest, Sha256};

use super::ast::{Config, Literal, LiteralKind, Node, PluginBlock};
use super::source::Sources;

/// 64 hex digits.
pub fn digest(config: &Config, sources: &Sources) -> String {
    let mut hash = Hash { hasher: Sha256::new(), sources };
    hash.list(&config.inputs, Hash::plugin);
    hash.list(&config.filters, Hash::node);
    hash.list(&config.outputs, Hash::node);
    hash.hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Hash<'a> {
    hasher: Sha256,
    sources: &'a Sources,
}

impl Hash<'_> {
    /// The number goes first, so that no two trees give the same bytes.
    fn list<T>(&mut self, items: &[T], each: fn(&mut Self, &T)) {
        self.hasher.update((items.len() as u64).to_be_bytes());
        items.iter().for_each(|item| each(self, item));
    }

    fn text(&mut self, text: &str) {
        self.hasher.update((text.len() as u64).to_be_bytes());
        self.hasher.update(text);
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Plugin(block) => {
                self.text("plugin");
                self.plugin(block);
            }
            Node::Branch(branch) => {
                self.text("if");
                self.list(&branch.arms, |hash, arm| {
                    hash.text(arm.condition.source());
                    hash.list(&arm.body, Hash::node);
                });
                self.list(&branch.otherwise, Hash::node);
            }
        }
    }

    fn plugin(&mut self, block: &PluginBlock) {
        self.text(block.kind.as_str());
        self.text(&block.name);
        self.list(&block.settings, |hash, setting| {
            hash.text(&setting.name);
            hash.literal(&setting.value);
        });
    }

    fn literal(&mut self, literal: &Literal) {
        match &literal.kind {
            LiteralKind::Array(list) => {
                self.text("list");
                self.list(list, Hash::literal);
            }
            LiteralKind::Hash(pairs) => {
                self.text("hash");
                self.list(pairs, |hash, (key, value)| {
                    hash.literal(key);
                    hash.literal(value);
                });
            }
            LiteralKind::Plugin(block) => self.plugin(block),
            LiteralKind::String(_) => {
                let written = self.sources.text(literal.span);
                let quoted = |quote| written.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
                self.text("text");
                self.text(quoted('"').or_else(|| quoted('\'')).unwrap_or(written));
            }
            LiteralKind::Integer(_) | LiteralKind::Float(_) => {
                self.text("number");
                self.text(self.sources.text(literal.span));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn of(text: &str) -> String {
        let loaded = parse(text);
        assert!(!loaded.diagnostics.has_errors(), "{text}: {:?}", loaded.diagnostics);
        digest(&loaded.config, &loaded.sources)
    }

    const CONFIG: &str = r#"filter { if [a] == "x" { mutate { add_tag => ["a"] } } else { drop { } } } output { stdout { codec => json { } } }"#;

    #[test]
    fn comments_and_layout_do_not_change_the_hash() {
        let same = "# head\nfilter {\n\tif   [a]==\"x\" # why\n{ mutate { add_tag=>['a'] } }\nelse { drop {} }\n}\n\n\
                    output { stdout { codec => json {} } } # end";
        assert_eq!(of(CONFIG), of(same));
        assert_eq!(of(CONFIG).len(), 64);
        assert_eq!(of("filter { drop { } } filter { drop { } }"), of("filter { drop { } drop { } }"));
    }

    #[test]
    fn every_change_of_meaning_changes_the_hash() {
        let mut all: Vec<String> = [
            CONFIG.to_owned(),
            CONFIG.replace("\"x\"", "\"y\""),
            CONFIG.replace("[a]", "[b]"),
            CONFIG.replace("[\"a\"]", "[\"a\", \"b\"]"),
            CONFIG.replace("[\"a\"]", "\"a\""),
            CONFIG.replace("add_tag", "remove_tag"),
            CONFIG.replace("} else { drop { } }", "} drop { }"),
            CONFIG.replace("} else { drop { } }", "}"),
            CONFIG.replace("json", "line"),
            CONFIG.replace("json { }", "json { ecs_compatibility => 1 }"),
            CONFIG.replace("json { }", "json { ecs_compatibility => \"1\" }"),
            CONFIG.replace("stdout", "null"),
        ]
        .iter()
        .map(|text| of(text))
        .collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
