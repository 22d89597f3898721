//! The plan as a graph. Filters stand one behind the other; outputs stand side by side.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::plan::{Compiled, Plan, Step, StepBranch, hex};
use crate::config::source::Place;
use crate::metrics::{ConditionVertex, Edge, Graph, QUEUE};
use crate::settings::ConfigSource;

/// A vertex that the next one hangs on, and the answer that leads there from a condition.
type End = (Arc<str>, Option<bool>);

/// The graph of a compiled pipeline.
pub(super) fn graph(compiled: &Compiled, config: &ConfigSource) -> Graph {
    let in_files = matches!(config, ConfigSource::Path(_));
    let mut builder = Builder { plan: &compiled.plan, graph: Graph { in_files, ..Graph::default() } };
    let queue: Arc<str> = Arc::from(QUEUE);
    for slot in &compiled.inputs {
        builder.connect(&[(slot.info.id.clone(), None)], &queue);
    }
    let ends = builder.filters(&compiled.plan.filter_steps, vec![(queue, None)]);
    builder.outputs(&compiled.plan.output_steps, &ends);
    builder.graph
}

struct Builder<'p> {
    plan: &'p Plan,
    graph: Graph,
}

impl Builder<'_> {
    fn connect(&mut self, ends: &[End], to: &Arc<str>) {
        let edges = ends.iter().map(|(from, when)| Edge { from: from.clone(), to: to.clone(), when: *when });
        self.graph.edges.extend(edges);
    }

    /// Each step takes what the one before it let go; gives what the last one does.
    fn filters(&mut self, steps: &[Step], mut ends: Vec<End>) -> Vec<End> {
        for step in steps {
            ends = match step {
                Step::Plugin(at) => {
                    let Some(slot) = self.plan.filters.get(*at) else { continue };
                    self.connect(&ends, &slot.info.id);
                    vec![(slot.info.id.clone(), None)]
                }
                Step::Branch(branch) => self.filter_branch(branch, ends),
                Step::Switch(switch) => {
                    switch.branches.iter().fold(ends, |ends, branch| self.filter_branch(branch, ends))
                }
            };
        }
        ends
    }

    fn filter_branch(&mut self, branch: &StepBranch, mut ends: Vec<End>) -> Vec<End> {
        let mut joined = Vec::new();
        for arm in &branch.arms {
            let condition = self.condition(arm.condition.source(), &arm.place, &ends);
            joined.extend(self.filters(&arm.body, vec![(condition.clone(), Some(true))]));
            ends = vec![(condition, Some(false))];
        }
        joined.extend(self.filters(&branch.otherwise, ends));
        joined
    }

    /// Every step takes the same.
    fn outputs(&mut self, steps: &[Step], ends: &[End]) {
        for step in steps {
            match step {
                Step::Plugin(at) => {
                    if let Some(slot) = self.plan.outputs.get(*at) {
                        self.connect(ends, &slot.info.id);
                    }
                }
                Step::Branch(branch) => self.output_branch(branch, ends),
                Step::Switch(switch) => {
                    switch.branches.iter().for_each(|branch| self.output_branch(branch, ends));
                }
            }
        }
    }

    fn output_branch(&mut self, branch: &StepBranch, ends: &[End]) {
        let mut rest = ends.to_vec();
        for arm in &branch.arms {
            let condition = self.condition(arm.condition.source(), &arm.place, &rest);
            self.outputs(&arm.body, &[(condition.clone(), Some(true))]);
            rest = vec![(condition, Some(false))];
        }
        self.outputs(&branch.otherwise, &rest);
    }

    fn condition(&mut self, text: &str, place: &Place, ends: &[End]) -> Arc<str> {
        let mut hasher = Sha256::new();
        hasher.update(self.plan.hash.as_bytes());
        hasher.update(self.graph.conditions.len().to_be_bytes());
        hasher.update(text.as_bytes());
        let id: Arc<str> = hex(&hasher.finalize()).into();
        self.connect(ends, &id);
        let vertex = ConditionVertex { id: id.clone(), condition: text.to_owned(), place: place.clone() };
        self.graph.conditions.push(vertex);
        id
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::config::{self, Language, Origin, Variables};
    use crate::event::EscapeStyle;
    use crate::pipeline::{Environment, compile};

    /// The edges as `from>to`, `from+to` when true, `from-to` when false; conditions by their text.
    fn edges(text: &str) -> Vec<String> {
        let origin = Origin::String { name: "config string".into(), text: text.into() };
        let language = Language { support_escapes: false, escape_style: EscapeStyle::None };
        let mut loaded = config::load(&origin, &language, &Variables::default());
        let environment = Environment::alone();
        let compiled = compile(&loaded.config, &loaded.sources, &environment, &mut loaded.diagnostics);
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        let graph = graph(&compiled, &ConfigSource::Text(text.into()));
        let name = |id: &Arc<str>| {
            let condition = graph.conditions.iter().find(|vertex| vertex.id == *id);
            condition.map_or(id.to_string(), |vertex| vertex.condition.clone())
        };
        let sign = |when| match when {
            None => '>',
            Some(true) => '+',
            Some(false) => '-',
        };
        graph.edges.iter().map(|edge| format!("{}{}{}", name(&edge.from), sign(edge.when), name(&edge.to))).collect()
    }

    #[test]
    fn filters_follow_each_other_and_branches_join() {
        let found = edges(
            r#"input { stdin { id => "in" } }
               filter {
                 if [a] == 1 { drop { id => "f1" } } else if [b] == 2 { } else { drop { id => "f2" } }
                 drop { id => "f3" }
               }
               output { null { id => "out" } }"#,
        );
        let expected = [
            "in>__QUEUE__",
            "__QUEUE__>[a] == 1",
            "[a] == 1+f1",
            "[a] == 1-[b] == 2",
            "[b] == 2-f2",
            "f1>f3",
            "[b] == 2+f3",
            "f2>f3",
            "f3>out",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn outputs_stand_side_by_side() {
        let found = edges(
            r#"input { stdin { id => "in" } }
               output { null { id => "a" } if [x] { null { id => "b" } null { id => "c" } } else { null { id => "d" } } null { id => "e" } }"#,
        );
        let expected = ["in>__QUEUE__", "__QUEUE__>a", "__QUEUE__>[x]", "[x]+b", "[x]+c", "[x]-d", "__QUEUE__>e"];
        assert_eq!(found, expected);
    }
}
