//! A server that keeps documents by id and fails in every way that a busy server does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value as Json;

use super::bulk;
use super::server::{Reply, Request};

/// What was accepted: how often each id.
pub type Accepted = Arc<Mutex<HashMap<String, usize>>>;

/// Accepts all actions with an id.
pub fn accept(accepted: &Accepted, ids: &[Json]) {
    let mut accepted = accepted.lock().unwrap();
    for id in ids {
        *accepted.entry(id.as_str().unwrap().to_owned()).or_default() += 1;
    }
}

/// Numbers that look random and are the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Answers one bulk request: some items accepted, the others refused with one of these statuses.
pub fn partly(request: &Request, dice: &mut Dice, refusals: &[i64], accepted: &Accepted) -> Reply {
    let ids = bulk::ids(request);
    let statuses: Vec<i64> = ids
        .iter()
        .map(|id| match dice.roll(3) {
            0 => refusals[dice.roll(refusals.len() as u64) as usize],
            _ => {
                accept(accepted, std::slice::from_ref(id));
                201
            }
        })
        .collect();
    bulk::statuses(request, &statuses)
}
