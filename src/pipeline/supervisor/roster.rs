//! Which pipelines there are and how they stand: wishes go from here to their keepers, and reports come back.

use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::RunEnd;
use super::keeper::{First, Keeper, Office, Report, Standing, Wish};
use super::version::Version;
use crate::settings::Listed;

/// The pipelines of the process, in the order in which they were first listed.
pub(super) struct Roster {
    office: Arc<Office>,
    pipelines: IndexMap<Arc<str>, Entry>,
    /// The tasks that keep them.
    pub keepers: JoinSet<()>,
    begun: Instant,
    /// How many were to start at first, until that was told.
    at_first: Option<usize>,
    /// Whether a pipeline has started, gone or failed since that was told.
    has_news: bool,
    has_ever_run: bool,
    has_failed: bool,
    /// What was told last.
    told: String,
}

struct Entry {
    wishes: watch::Sender<Wish>,
    standing: Standing,
    /// What was told of files that could not be read.
    told: String,
}

impl Roster {
    /// Checks all pipelines and opens their queues before the first of them runs, so that a reader of a queue sees that
    /// it has a writer; then starts each.
    pub fn first(listed: Listed, office: Arc<Office>) -> Self {
        let Listed { pipelines, sources, .. } = listed;
        let mut roster = Self {
            office: office.clone(),
            at_first: Some(pipelines.len()),
            pipelines: IndexMap::new(),
            keepers: JoinSet::new(),
            begun: Instant::now(),
            has_news: true,
            has_ever_run: false,
            has_failed: false,
            told: String::new(),
        };
        let versions: Vec<Arc<Version>> =
            pipelines.into_iter().map(|settings| Arc::new(Version::now(settings, sources.clone()))).collect();
        let assembled: Vec<_> = versions.iter().map(|version| office.assemble(version)).collect();
        assembled.iter().for_each(|(prepared, _)| office.neighbours.know(prepared));
        let opened: Vec<First> = versions
            .iter()
            .zip(assembled)
            .map(|(version, (prepared, loaded))| {
                match office.judge(version, prepared, true).and_then(|p| office.open(p)) {
                    Ok(opened) => First::Opened(Box::new((opened, loaded))),
                    Err(failure) => First::Refused(failure),
                }
            })
            .collect();
        for (version, first) in versions.into_iter().zip(opened) {
            roster.add(version, first);
        }
        roster
    }

    fn add(&mut self, version: Arc<Version>, first: First) {
        let id: Arc<str> = Arc::from(version.settings.id.as_str());
        let (wishes, wished) = watch::channel(Wish { target: Some(version), is_urged: false });
        let keeper = Keeper::new(id.clone(), self.office.clone(), wished);
        self.keepers.spawn(keeper.keep(first));
        self.pipelines.insert(id, Entry { wishes, standing: Standing::Busy, told: String::new() });
    }

    /// From now on these are to run.
    pub fn wish(&mut self, versions: Vec<Arc<Version>>, is_urged: bool) {
        // A pattern that no file fits any more is no pipeline.
        let listed: Vec<Arc<Version>> = versions.into_iter().filter(|version| !version.has_no_file()).collect();
        for (id, entry) in &self.pipelines {
            if entry.is_kept() && listed.iter().all(|version| version.settings.id != **id) {
                entry.send(None, is_urged);
            }
        }
        for version in listed {
            match self.pipelines.get_mut(version.settings.id.as_str()) {
                Some(entry) => entry.update(version, is_urged),
                None => self.add(version, First::Later),
            }
        }
    }

    /// A keeper says how its pipeline stands.
    pub fn note(&mut self, report: Report) {
        let Report { id, standing } = report;
        self.has_ever_run |= standing == Standing::Running;
        self.has_news |= matches!(standing, Standing::Running | Standing::Failed | Standing::Gone);
        if standing == Standing::Gone {
            self.pipelines.shift_remove(&id);
        } else if let Some(entry) = self.pipelines.get_mut(&id) {
            entry.standing = standing;
        }
    }

    /// Whether no pipeline is about to start or to end.
    pub fn has_settled(&self) -> bool {
        self.pipelines.values().all(|entry| entry.standing != Standing::Busy)
    }

    /// Whether nothing runs, or is about to.
    pub fn is_over(&self) -> bool {
        self.pipelines.values().all(|entry| !matches!(entry.standing, Standing::Busy | Standing::Running))
    }

    /// Whether no keeper is left.
    pub fn is_empty(&self) -> bool {
        self.keepers.is_empty()
    }

    /// Whether a pipeline could not start.
    pub fn has_failed(&self) -> bool {
        self.pipelines.values().any(|entry| entry.standing == Standing::Failed)
    }

    /// Whether a pipeline has run.
    pub fn has_ever_run(&self) -> bool {
        self.has_ever_run
    }

    /// The run counts as failed, however it ends.
    pub fn fail(&mut self) {
        self.has_failed = true;
    }

    /// How the run ends, now that nothing runs any more.
    pub fn end(&self) -> RunEnd {
        let has_crashed = self.pipelines.values().any(|entry| entry.standing == Standing::Crashed);
        if self.has_failed || has_crashed { RunEnd::Failed } else { RunEnd::Orderly }
    }

    /// Tells which pipelines run, when that has changed. Whether it told of the first start.
    pub fn tell(&mut self) -> bool {
        if !std::mem::take(&mut self.has_news) {
            return false;
        }
        let of = |wanted: &dyn Fn(Standing) -> bool| -> Vec<&str> {
            self.pipelines.iter().filter(|(_, entry)| wanted(entry.standing)).map(|(id, _)| &**id).collect()
        };
        // One that is over by now did start.
        let running = of(&|standing| match self.at_first {
            Some(_) => standing != Standing::Failed,
            None => standing == Standing::Running,
        });
        let others = of(&|standing| match self.at_first {
            Some(_) => standing == Standing::Failed,
            None => standing != Standing::Running,
        });
        let list = |ids: &[&str]| ids.iter().map(|id| format!(":{id}")).collect::<Vec<_>>().join(", ");
        let told = format!("running_pipelines: [{}], non_running_pipelines: [{}]", list(&running), list(&others));
        if self.told != told {
            tracing::info!(target: "logstash.agent", "Pipelines running {{count: {}, {told}}}", running.len());
        }
        let Some(total) = self.at_first else {
            self.told = told;
            return false;
        };
        let mut line =
            format!("started {} of {total} pipelines in {} ms", running.len(), self.begun.elapsed().as_millis());
        if !running.is_empty() {
            line.push_str(&format!(": {}", running.join(", ")));
        }
        if !others.is_empty() {
            line.push_str(&format!("; failed: {} (see the errors above)", others.join(", ")));
        }
        tracing::info!(target: "spillway.runner", "{line}");
        self.at_first = None;
        self.told = told;
        true
    }
}

impl Entry {
    /// Whether it is to run as far as its keeper knows.
    fn is_kept(&self) -> bool {
        self.wishes.borrow().target.is_some()
    }

    fn send(&self, target: Option<Arc<Version>>, is_urged: bool) {
        // A keeper that has ended has no wishes left.
        let _ = self.wishes.send(Wish { target, is_urged });
    }

    /// It is to be like this; what cannot be read now stays as it is.
    fn update(&mut self, version: Arc<Version>, is_urged: bool) {
        match version.unreadable() {
            None => {
                self.told.clear();
                self.send(Some(version), is_urged);
            }
            Some(problem) if self.told != problem => {
                tracing::warn!(target: "logstash.agent", { pipeline.id = %version.settings.id },
                    "the pipeline stays as it is, because its configuration cannot be read: {problem}");
                self.told = problem.to_owned();
            }
            Some(_) => {}
        }
    }
}
