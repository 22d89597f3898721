//! `mixed-transaction`: what would not be part of the transaction of a pipeline.
//!
//! A `kafka` input with `commit => "transaction"` commits its offsets with the records of the `kafka` outputs that have
//! a `transactional_id`. Events that leave by another way are there although their transaction was aborted, and come
//! again; events that come by another way have no offsets to commit.

use super::flow::plugins;
use crate::config::ast::{Config, LiteralKind, PluginBlock};
use crate::config::diagnostic::{Diagnostic, Diagnostics};

const CODE: &str = "mixed-transaction";

pub(super) fn check(config: &Config, diagnostics: &mut Diagnostics) {
    let mut outputs = Vec::new();
    plugins(&config.outputs, &mut |output| outputs.push(output));
    let readers: Vec<_> = config.inputs.iter().filter(|input| commits(input)).collect();
    let writer = outputs.iter().find(|output| writes(output));
    let mut report = |plugin: &PluginBlock, message: String, help: &str| {
        diagnostics.push(Diagnostic::error(CODE, plugin.name_span, message).help(help));
    };
    if let Some(reader) = readers.first() {
        for other in outputs.iter().filter(|output| !writes(output)) {
            let message =
                format!("the {} output is not part of the transaction that the kafka input commits", other.name);
            report(
                other,
                message,
                "give it the `transactional_id` of the others if it is kafka, or take it to another pipeline",
            );
        }
        if outputs.is_empty() {
            let message = "the kafka input commits transactions, and there is no output to write in them".to_owned();
            report(reader, message, "leave `commit` out, or add a kafka output with a `transactional_id`");
        }
        for second in readers.iter().skip(1) {
            let message = "a transaction has one kafka input, and this is the second one".to_owned();
            report(second, message, "give all topics to one input");
        }
    }
    if writer.is_some() {
        for other in config.inputs.iter().filter(|input| !commits(input)) {
            let message =
                format!("the {} input does not commit the transaction that the kafka output writes", other.name);
            report(
                other,
                message,
                "write `commit => \"transaction\"` if it is kafka, or leave `transactional_id` out of the outputs",
            );
        }
    }
}

fn commits(input: &PluginBlock) -> bool {
    input.name == "kafka" && text(input, "commit") == Some("transaction")
}

fn writes(output: &PluginBlock) -> bool {
    output.name == "kafka" && output.settings.iter().any(|setting| setting.name == "transactional_id")
}

fn text<'p>(plugin: &'p PluginBlock, name: &str) -> Option<&'p str> {
    let setting = plugin.settings.iter().find(|setting| setting.name == name)?;
    match &setting.value.kind {
        LiteralKind::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::places;

    const READER: &str = "kafka { commit => transaction }";
    const WRITER: &str = "kafka { topic_id => tt transactional_id => xx }";

    #[test]
    fn every_way_in_and_out_is_part_of_the_transaction() {
        let found = |input: &str, output: &str| {
            places("mixed-transaction", &format!("input {{ {input} }} output {{ {output} }}"))
        };
        assert!(found(READER, WRITER).is_empty());
        assert!(found("kafka { }", "kafka { topic_id => tt } file { path => \"/x\" }").is_empty());
        let branch = format!("if [a] {{ {WRITER} }} else {{ file {{ path => \"/x\" }} kafka {{ topic_id => tt }} }}");
        assert_eq!(found(READER, &branch), ["file", "kafka"]);
        assert_eq!(found(&format!("{READER} generator {{ }} {READER}"), WRITER), ["kafka", "generator"]);
        assert_eq!(found("kafka { }", WRITER), ["kafka"]);
        assert_eq!(found(READER, ""), ["kafka"]);
    }
}
