//! Cases about what starts and what is refused.

use spillway::testing::{Entry, Finding};

pub fn settings(_: &Entry) -> Vec<Finding> {
    vec![Finding::Unusable("not there yet".into())]
}

pub fn config(_: &Entry) -> Vec<Finding> {
    vec![Finding::Unusable("not there yet".into())]
}
