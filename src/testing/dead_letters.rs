//! Holds the dead letter queue of a case against what is expected to be in it.

use super::compare::Leniency;
use super::expected::Expected;
use super::run::Finding;
use crate::pipeline::Opened;

/// Seals the queue and compares its entries, in order.
pub(super) fn judge(_expected: &[Expected], _pipeline: &Opened, _leniency: &Leniency) -> Vec<Finding> {
    vec![Finding::Unusable("the dead letter queue cannot be looked at yet".into())]
}
