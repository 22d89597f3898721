//! From a case to a pipeline that its events can be put through.
//!
//! A configuration is read and compiled once for all cases that have the same text, settings and environment, unless
//! one of its filters remembers events: such a plan would carry them from one case into the next.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::case::{Case, CaseConfig};
use super::mocks::{self, Mocks};
use crate::config::diagnostic::{Diagnostics, Level};
use crate::config::render::Renderer;
use crate::config::source::Sources;
use crate::config::{Loaded, Variables, did_you_mean};
use crate::event::Clock;
use crate::pipeline::{Opened, Prepared, Shared, assemble, read};
use crate::plugins::Commons;
use crate::settings::kind::Raw;
use crate::settings::values::{Origin, Values};

use crate::settings::{self, LoadError, PipelineSettings, table};

/// What holds for all cases of a run.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// `-f`: the configuration of cases that name none.
    pub config: Option<String>,
    /// `--path.settings`
    pub settings_directory: Option<PathBuf>,
    /// `--mocks`
    pub mocks: Mocks,
    /// Whether filters may ask something outside of the process.
    pub may_reach_out: bool,
}

/// What a case is run on.
#[derive(Clone)]
pub(super) enum Built {
    /// May start. With an open dead letter queue when the case looks into it.
    Ready(Rc<Opened>),
    /// Does not start.
    Refused(Rc<Refusal>),
}

/// Why a pipeline does not start.
pub(super) struct Refusal {
    /// All errors as they are printed, the lines of the configuration among them.
    pub printed: String,
    /// What they say, without those lines: a word must not count as said because the user wrote it.
    pub said: String,
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self { said: message.clone(), printed: message }
    }
}

/// Builds pipelines and keeps those that can be used again.
pub(super) struct Builder {
    defaults: Defaults,
    clock: Clock,
    scratch: tempfile::TempDir,
    built: HashMap<String, Built>,
    count: usize,
}

impl Builder {
    /// `clock` is what the pipelines go by.
    pub fn new(defaults: Defaults, clock: Clock) -> std::io::Result<Self> {
        Ok(Self { defaults, clock, scratch: tempfile::tempdir()?, built: HashMap::new(), count: 0 })
    }

    /// The pipeline of a case.
    pub fn build(&mut self, case: &Case) -> Built {
        let key = format!("{:?} {:?} {:?} {:?}", case.config, case.settings, case.env, case.mocks);
        if let Some(built) = self.built.get(&key).filter(|_| case.dlq.is_none()) {
            return built.clone();
        }
        let folder = self.new_folder();
        let built = match self.build_in(case, &folder) {
            Ok(pipeline) => Built::Ready(Rc::new(pipeline)),
            Err(refusal) => Built::Refused(Rc::new(refusal)),
        };
        let reusable = case.dlq.is_none() && !matches!(&built, Built::Ready(pipeline) if remembers(pipeline));
        if reusable {
            self.built.insert(key, built.clone());
        }
        built
    }

    /// A `path.data` that no other case has.
    pub fn new_folder(&mut self) -> PathBuf {
        self.count += 1;
        self.scratch.path().join(self.count.to_string())
    }

    /// The pipeline of a case with its state in this folder.
    pub fn build_in(&self, case: &Case, path_data: &Path) -> Result<Opened, Refusal> {
        let path_data = path_data.to_owned();
        let environment = environment(case);
        let mut settings = self.settings(case, &environment)?;
        settings.dead_letter_queue.directory = path_data.join("dead_letter_queue").join(&settings.id);
        settings.dead_letter_queue_enable |= case.dlq.is_some();
        let shared = Shared {
            path_data,
            path_settings: Some(self.settings_directory().to_owned()),
            host: Arc::from("localhost"),
            variables: Variables::from_pairs(environment),
            clock: self.clock.clone(),
            commons: Commons::default(),
        };
        let mut loaded = read(&settings, &shared);
        self.stand_ins(case, &settings, &shared, &mut loaded)?;
        let prepared = assemble(settings, &shared, loaded);
        if prepared.diagnostics.has_errors() {
            return Err(refusal(&prepared.diagnostics, &prepared.sources));
        }
        for slot in &prepared.compiled.plan.filters {
            let refused = |e| format!("the filter {} could not start: {e}", slot.info.label());
            slot.filter.register().map_err(refused)?;
        }
        Ok(opened(case, prepared)?)
    }

    /// Without a settings folder of its own a run must not find the one of the machine.
    fn settings_directory(&self) -> &Path {
        self.defaults.settings_directory.as_deref().unwrap_or(self.scratch.path())
    }

    /// Puts mocks in, and refuses what would still ask something outside.
    fn stand_ins(
        &self,
        case: &Case,
        settings: &PipelineSettings,
        shared: &Shared,
        loaded: &mut Loaded,
    ) -> Result<(), Refusal> {
        let (language, variables) = (settings.language(), &shared.variables);
        // A file of mocks is for many configurations, and not each has all of the filters.
        self.defaults.mocks.without(&case.mocks).apply(loaded, language, variables);
        if let Some(unused) = case.mocks.apply(loaded, language, variables).first() {
            return Err(format!("`mocks`: no filter has the id or place `{unused}`").into());
        }
        if self.defaults.may_reach_out {
            return Ok(());
        }
        match mocks::reaching_out(&loaded.config.filters, &loaded.sources).as_slice() {
            [] => Ok(()),
            outside => {
                let each = outside.iter().map(|(filter, mock)| {
                    format!("the filter {filter} asks a server, which a test must not: give it a mock, `mocks: {{ \"{mock}\": \"…\" }}`")
                });
                Err(each.collect::<Vec<_>>().join("\n").into())
            }
        }
    }

    /// The settings that the case's pipeline runs with.
    fn settings(&self, case: &Case, environment: &[(String, String)]) -> Result<PipelineSettings, Refusal> {
        let mut flags = Values::default();
        let directory = self.settings_directory();
        set(&mut flags, "path.settings", &Raw::text(directory.display().to_string()))?;
        let mut wanted = None;
        match (&case.config, &self.defaults.config) {
            (Some(CaseConfig::Text(text)), _) => set(&mut flags, "config.string", &Raw::text(text.as_str()))?,
            (Some(CaseConfig::Path(path)), _) => {
                set(&mut flags, "path.config", &Raw::text(path.display().to_string()))?
            }
            (Some(CaseConfig::Pipeline(id)), _) => wanted = Some(id.as_str()),
            (None, Some(path)) => set(&mut flags, "path.config", &Raw::text(path.as_str()))?,
            (None, None) if self.defaults.settings_directory.is_some() => {}
            (None, None) => {
                let message =
                    "the case names no configuration: give it `config`, `file` or `pipeline`, or run it with -f";
                return Err(message.to_owned().into());
            }
        }
        for (name, value) in &case.settings {
            set(&mut flags, name, value)?;
        }
        let variables = Variables::from_pairs(environment.iter().cloned());
        let loaded = settings::load(&flags, &variables).map_err(|error| match error {
            LoadError::Usage(message) => message.into(),
            LoadError::Invalid { diagnostics, sources } => refusal(&diagnostics, &sources),
        })?;
        Ok(choose(loaded.pipelines, wanted)?)
    }
}

fn opened(case: &Case, mut prepared: Prepared) -> Result<Opened, String> {
    // Nobody would read the queue; events that would go there just leave the pipeline.
    prepared.settings.dead_letter_queue_enable = case.dlq.is_some();
    Opened::open(prepared).map_err(|e| e.to_string())
}

/// The environment of the process, with the variables of the case on top.
fn environment(case: &Case) -> Vec<(String, String)> {
    let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
    let process = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
    process.chain(case.env.iter().cloned()).collect()
}

fn set(flags: &mut Values, name: &str, value: &Raw) -> Result<(), String> {
    let Some(setting) = table::find(name) else {
        let hint = did_you_mean(&table::nearest(name)).map(|question| format!("; {question}")).unwrap_or_default();
        return Err(format!("there is no setting `{name}`{hint}"));
    };
    let read = setting.kind.read(value);
    let read = read.map_err(|allowed| format!("`{name}` cannot be `{}`: it must be {allowed}", value.shown()))?;
    flags.set(setting, read, Origin::Flag(format!("--{name}")));
    Ok(())
}

fn choose(mut pipelines: Vec<PipelineSettings>, wanted: Option<&str>) -> Result<PipelineSettings, String> {
    let ids: Vec<String> = pipelines.iter().map(|p| p.id.clone()).collect();
    let at = match wanted {
        Some(id) => ids.iter().position(|other| other == id),
        None => (ids.len() == 1).then_some(0),
    };
    match (at, wanted) {
        (Some(at), _) => Ok(pipelines.swap_remove(at)),
        (None, Some(id)) => Err(format!("there is no pipeline `{id}`, only {}", ids.join(", "))),
        (None, None) => Err(format!("there are several pipelines, say which with `pipeline`: {}", ids.join(", "))),
    }
}

fn refusal(diagnostics: &Diagnostics, sources: &Sources) -> Refusal {
    let errors: Vec<_> = diagnostics.0.iter().filter(|d| d.level == Level::Error).cloned().collect();
    let renderer = Renderer::new(sources, false);
    let said: Vec<_> = errors.iter().map(|error| renderer.one_line(error)).collect();
    Refusal { said: said.join("\n"), printed: renderer.render_all(&Diagnostics(errors)) }
}

/// Whether what the filters do to one event can hang on earlier ones.
fn remembers(pipeline: &Opened) -> bool {
    pipeline.prepared().compiled.plan.filters.iter().any(|slot| slot.filter.remembers())
}
