//! The parser generated from `grammar/pipeline.pest`.
//!
//! It says yes or no. What a "no" means for the person who wrote the text is worked out in [`super::syntax`].

use std::collections::BTreeSet;

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

#[allow(missing_docs, reason = "one variant per rule of the grammar, documented there")]
mod generated {
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/pipeline.pest"]
    pub(super) struct PipelineParser;
}

pub(super) use generated::Rule;

/// Where a parse got stuck.
#[derive(Clone, Debug)]
pub(super) struct Stuck {
    /// Byte offset of the furthest place that was reached.
    pub at: usize,
    /// What could have stood there.
    pub expected: BTreeSet<Rule>,
    /// Whether the nesting limit was the reason.
    pub too_deep: bool,
}

/// The tree of a whole text.
pub(super) fn parse(text: &str) -> Result<Pair<'_, Rule>, Stuck> {
    let nowhere = Stuck { at: 0, expected: BTreeSet::new(), too_deep: false };
    match generated::PipelineParser::parse(Rule::config, text) {
        Ok(mut pairs) => pairs.next().ok_or(nowhere),
        Err(error) => {
            let at = match error.location {
                InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
            };
            let (expected, too_deep) = match error.variant {
                ErrorVariant::ParsingError { positives, negatives } => {
                    (positives.into_iter().collect(), negatives.contains(&Rule::too_deep))
                }
                ErrorVariant::CustomError { .. } => (BTreeSet::new(), true),
            };
            Err(Stuck { at, expected, too_deep })
        }
    }
}
