//! How the pipelines of the process are tied to each other, while they come, change and go.

use std::collections::BTreeMap;
use std::path::PathBuf;

use parking_lot::Mutex;

use super::prepare::Prepared;
use crate::config::diagnostic::Diagnostics;
use crate::config::lint::links::{self, End, Links};
use crate::dead_letter::StoragePolicy;

/// All pipelines that are known, by id.
#[derive(Default)]
pub(super) struct Neighbours(Mutex<BTreeMap<String, Ties>>);

struct Ties {
    links: Links,
    queue: Option<PathBuf>,
    queue_is_bounded: bool,
}

impl Ties {
    fn of(prepared: &Prepared) -> Self {
        let settings = &prepared.settings;
        let queue = &settings.dead_letter_queue;
        Self {
            links: prepared.links.clone(),
            queue: settings.dead_letter_queue_enable.then(|| queue.directory.clone()),
            queue_is_bounded: queue.retain_age.is_some() || queue.storage_policy == StoragePolicy::DropOlder,
        }
    }

    fn end<'t>(&'t self, id: &'t str) -> End<'t> {
        End { id, links: &self.links, queue: self.queue.clone(), queue_is_bounded: self.queue_is_bounded }
    }
}

impl Neighbours {
    /// From now on a pipeline is tied like this.
    pub fn know(&self, prepared: &Prepared) {
        self.0.lock().insert(prepared.settings.id.clone(), Ties::of(prepared));
    }

    /// A pipeline is no longer there.
    pub fn forget(&self, id: &str) {
        self.0.lock().remove(id);
    }

    /// What is wrong with the way in which a pipeline that is known is tied to the others.
    pub fn look(&self, id: &str) -> Diagnostics {
        let known = self.0.lock();
        let ends: Vec<End<'_>> = known.iter().map(|(id, ties)| ties.end(id)).collect();
        let found = ends.iter().zip(links::check(&ends)).find(|(end, _)| end.id == id);
        found.map(|(_, found)| found).unwrap_or_default()
    }
}

/// Adds to each pipeline what is wrong with the way in which it is tied to the others.
pub fn look_between(pipelines: &mut [Prepared]) {
    let neighbours = Neighbours::default();
    pipelines.iter().for_each(|pipeline| neighbours.know(pipeline));
    for pipeline in pipelines {
        let found = neighbours.look(&pipeline.settings.id);
        pipeline.diagnostics.0.extend(found.0);
    }
}
