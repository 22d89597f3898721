//! What leads from one pipeline of a process to another: addresses, dead letter queues, files.
//!
//! `p2p-no-listener`, `p2p-cycle`, `replay-loop`, `dlq-unread`, `dlq-unused`: mistakes that no pipeline shows alone.

use std::path::{Path, PathBuf};

use super::flow::{each_text, plugins, text_of};
use crate::config::ast::{Config, LiteralKind, Node, PluginBlock};
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::Span;

/// The ends of one pipeline.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Addresses that its outputs send to.
    sends: Vec<(String, Span)>,
    /// Addresses that its inputs listen on.
    listens: Vec<String>,
    /// Dead letter queues that it reads.
    queues: Vec<(PathBuf, Span)>,
    /// Files that it reads and writes.
    reads: Vec<(String, Span)>,
    writes: Vec<(String, Span)>,
    /// Whether an event can become a dead letter in it.
    can_fail: bool,
}

/// Outputs that never refuse an event for good.
const HARMLESS: &[&str] = &["null", "stdout", "pipeline", "sink"];

impl Links {
    /// The ends of a configuration.
    pub fn of(config: &Config) -> Self {
        let mut links = Self::default();
        config.inputs.iter().for_each(|input| links.input(input));
        plugins(&config.outputs, &mut |output| links.output(output));
        plugins(&config.filters, &mut |filter| links.can_fail |= filter.name == "dlq" || filter.name == "validate");
        links.can_fail |= orders(&config.filters) || orders(&config.outputs);
        links
    }

    /// Addresses that its inputs listen on.
    pub fn listens(&self) -> &[String] {
        &self.listens
    }

    fn input(&mut self, input: &PluginBlock) {
        let value = |name: &str| input.settings.iter().find(|s| s.name == name).map(|s| &s.value);
        match input.name.as_str() {
            "pipeline" => self.listens.extend(value("address").map(text_of)),
            "dead_letter_queue" => {
                let path = value("path").map(text_of).unwrap_or_default();
                let id = value("pipeline_id").map_or_else(|| "main".to_owned(), text_of);
                self.queues.push((Path::new(&path).join(id), input.name_span));
            }
            "file" => {
                if let Some(path) = value("path") {
                    each_text(path, &mut |text, span| self.reads.push((text.to_owned(), span)));
                }
            }
            _ => {}
        }
    }

    fn output(&mut self, output: &PluginBlock) {
        self.can_fail |= !HARMLESS.contains(&output.name.as_str());
        for setting in &output.settings {
            match (output.name.as_str(), setting.name.as_str(), &setting.value.kind) {
                ("pipeline", "send_to", _) => {
                    each_text(&setting.value, &mut |text, span| self.sends.push((text.to_owned(), span)));
                }
                ("file", "path", LiteralKind::String(text)) => self.writes.push((text.to_string(), setting.value.span)),
                _ => {}
            }
        }
    }
}

/// Whether a condition of these steps may have no answer.
fn orders(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Plugin(_) => false,
        Node::Branch(branch) => {
            branch.arms.iter().any(|arm| !arm.condition.unguarded().is_empty() || orders(&arm.body))
                || orders(&branch.otherwise)
        }
    })
}

/// One pipeline, as it stands beside the others.
#[derive(Clone, Debug)]
pub struct End<'p> {
    /// `pipeline.id`
    pub id: &'p str,
    /// What it is tied to.
    pub links: &'p Links,
    /// Its own dead letter queue, if it is on.
    pub queue: Option<PathBuf>,
    /// Whether its old entries go by themselves: by age, or because newer ones push them out.
    pub queue_is_bounded: bool,
}

/// What is wrong with each of the pipelines, in their order.
pub fn check(pipelines: &[End<'_>]) -> Vec<Diagnostics> {
    pipelines.iter().map(|pipeline| Diagnostics(of_one(pipeline, pipelines))).collect()
}

fn of_one(pipeline: &End<'_>, all: &[End<'_>]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (address, span) in &pipeline.links.sends {
        let listeners: Vec<&End<'_>> = all.iter().filter(|other| other.links.listens.contains(address)).collect();
        if listeners.is_empty() && !address.contains("%{") {
            let message = format!("no pipeline listens on the address `{address}`");
            let known: Vec<&str> =
                all.iter().flat_map(|other| other.links.listens.iter().map(String::as_str)).collect();
            let near = crate::config::nearest(address, known);
            let help =
                near.first().map_or("events wait until one does".to_owned(), |near| format!("did you mean `{near}`?"));
            found.push(Diagnostic::warning("p2p-no-listener", *span, message).label("nobody listens").help(help));
        }
        if listeners.iter().any(|other| reaches(other, pipeline, all, &mut Vec::new())) {
            let message = format!("events sent to `{address}` come back to the pipeline `{}`", pipeline.id);
            let help = "break the circle, or an event that is not dropped on the way runs in it for ever";
            found.push(Diagnostic::warning("p2p-cycle", *span, message).label("a circle").help(help));
        }
    }
    for (path, span) in &pipeline.links.queues {
        if pipeline.queue.as_ref().is_some_and(|own| same(own, path)) {
            let message = format!("the pipeline `{}` reads the dead letter queue that it writes", pipeline.id);
            let help = "replay in a pipeline of its own whose dead letter queue is off";
            found.push(Diagnostic::warning("replay-loop", *span, message).label("its own queue").help(help));
        }
    }
    for (path, span) in &pipeline.links.reads {
        if pipeline.links.writes.iter().any(|(written, _)| written == path) {
            let message = format!("the pipeline `{}` reads the file `{path}` that it writes", pipeline.id);
            found.push(
                Diagnostic::warning("replay-loop", *span, message).label("its own output").help("write elsewhere"),
            );
        }
    }
    if let Some(queue) = &pipeline.queue {
        found.extend(of_queue(pipeline, queue, all));
    }
    found
}

fn of_queue(pipeline: &End<'_>, queue: &Path, all: &[End<'_>]) -> Option<Diagnostic> {
    if !pipeline.links.can_fail {
        let message = format!("the dead letter queue of `{}` is on, but nothing in it can write to it", pipeline.id);
        return Some(Diagnostic::global_warning("dlq-unused", message).help("switch it off where it is not needed"));
    }
    let is_read = all.iter().any(|other| other.links.queues.iter().any(|(path, _)| same(path, queue)));
    if is_read || pipeline.queue_is_bounded {
        return None;
    }
    let message = format!("nothing reads the dead letter queue of `{}`: it will fill up, and then drop", pipeline.id);
    let help = "read it with a `dead_letter_queue` input, set `dead_letter_queue.retain.age`, or let old entries go with \
                `dead_letter_queue.storage_policy: drop_older`";
    Some(Diagnostic::global_warning("dlq-unread", message).help(help))
}

fn reaches(from: &End<'_>, to: &End<'_>, all: &[End<'_>], seen: &mut Vec<String>) -> bool {
    if from.id == to.id {
        return true;
    }
    if seen.iter().any(|id| id == from.id) {
        return false;
    }
    seen.push(from.id.to_owned());
    let next =
        all.iter().filter(|other| from.links.sends.iter().any(|(address, _)| other.links.listens.contains(address)));
    next.into_iter().any(|next| reaches(next, to, all, seen))
}

fn same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole(a) == whole(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    /// The codes that each pipeline gets; `!` before an id switches its queue on.
    fn codes(pipelines: &[(&str, &str)]) -> Vec<Vec<&'static str>> {
        let links: Vec<Links> = pipelines.iter().map(|(_, config)| Links::of(&parse(config).config)).collect();
        let ends = pipelines.iter().zip(&links).map(|((id, _), links)| {
            let on = id.strip_prefix('!');
            let id = on.unwrap_or(id);
            End { id, links, queue: on.map(|id| Path::new("/dlq").join(id)), queue_is_bounded: id == "bounded" }
        });
        let found = check(&ends.collect::<Vec<_>>());
        found.iter().map(|found| found.0.iter().map(|d| d.code).collect()).collect()
    }

    const SEND_A: &str = "output { pipeline { send_to => ['a1'] } }";

    #[test]
    fn addresses_need_a_listener_and_no_circle() {
        assert_eq!(codes(&[("x", SEND_A), ("y", "input { pipeline { address => 'a1' } }")]), [[""; 0], [""; 0]]);
        assert_eq!(codes(&[("x", SEND_A)]), [["p2p-no-listener"]]);
        let there = format!("input {{ pipeline {{ address => 'b1' }} }} {SEND_A}");
        let back = "input { pipeline { address => 'a1' } } output { pipeline { send_to => 'b1' } }";
        assert_eq!(codes(&[("x", &there), ("y", back)]), [["p2p-cycle"], ["p2p-cycle"]]);
    }

    #[test]
    fn a_queue_is_written_and_read() {
        let es = "output { elasticsearch { } }";
        let reader = "input { dead_letter_queue { path => '/dlq' pipeline_id => 'x' } }";
        assert_eq!(codes(&[("!x", es), ("y", reader)]), [[""; 0], [""; 0]]);
        assert_eq!(codes(&[("!x", es)]), [["dlq-unread"]]);
        assert_eq!(codes(&[("!bounded", es)]), [Vec::<&str>::new()]);
        assert_eq!(codes(&[("!x", "output { stdout { } }")]), [["dlq-unused"]]);
        assert_eq!(codes(&[("!x", &format!("{reader} {es}"))]), [["replay-loop"]]);
        let files = "input { file { path => '/a' } } output { file { path => '/a' } }";
        assert_eq!(codes(&[("x", files)]), [["replay-loop"]]);
    }
}
