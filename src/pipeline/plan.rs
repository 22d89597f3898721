//! From the syntax tree to plugins that are ready to run.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::dispatch::{Dispatch, Failed, Places};
use crate::config;
use crate::config::ast::{Config, Node, PluginBlock, PluginKind};
use crate::config::condition::Condition;
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::{Place, Sources, Span};
use crate::event::{Clock, EscapeStyle, Event};
use crate::metrics::{PluginInfo, PluginMetrics};
use crate::plugins::common::{self, Decoration, OnMatch};
use crate::plugins::lasting_ids::LastingIds;
use crate::plugins::options::Built;
use crate::plugins::{
    Claims, Commons, Context, DeadLetterQueue, DeadLetters, Decoders, Ecs, Filter, Input, Options, Output, Stop,
    registry,
};
use crate::settings::RubySettings;

/// What a pipeline gives to all of its plugins.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Id of the pipeline.
    pub pipeline_id: Arc<str>,
    /// `pipeline.ecs_compatibility`.
    pub ecs: Ecs,
    /// `config.field_reference.escape_style`.
    pub escape_style: EscapeStyle,
    /// `path.data`.
    pub path_data: std::path::PathBuf,
    /// Where the settings files are, if there are any.
    pub path_settings: Option<std::path::PathBuf>,
    /// Name of this machine.
    pub host: Arc<str>,
    /// The pipeline's dead letter queue.
    pub dead_letters: DeadLetterQueue,
    /// The time of day.
    pub clock: Clock,
    /// Number of worker threads.
    pub workers: usize,
    /// How Ruby code is run.
    pub ruby: RubySettings,
    /// What plugins of all pipelines of the process have in common.
    pub process: Commons,
    /// Cancelled when the pipeline is to end.
    pub stop: Stop,
}

impl Environment {
    /// Of a pipeline that stands alone, as tests and benchmarks need it.
    pub fn alone() -> Self {
        Self {
            pipeline_id: Arc::from("main"),
            ecs: Ecs::V8,
            escape_style: EscapeStyle::None,
            path_data: std::env::temp_dir(),
            path_settings: None,
            host: Arc::from("test-host"),
            dead_letters: DeadLetterQueue::default(),
            clock: Clock::default(),
            workers: 1,
            ruby: RubySettings::default(),
            process: Commons::default(),
            stop: Stop::new(),
        }
    }
}

/// A compiled pipeline.
pub struct Compiled {
    /// Inputs in config order. Each belongs to one task.
    pub inputs: Vec<InputSlot>,
    /// What all workers share.
    pub plan: Plan,
    /// Where the values of passwords stand.
    pub secrets: Vec<Span>,
    /// What only one running plugin can have.
    pub claims: Claims,
    /// Whether inputs give events ids that last, because an output stores by them.
    pub gives_ids: bool,
}

/// Filters and outputs of a pipeline, and how events get from one to the next.
pub struct Plan {
    /// Filters in config order; the steps say how events get there.
    pub filters: Vec<FilterSlot>,
    /// The filter section.
    pub filter_steps: Vec<Step>,
    /// Outputs in config order; the steps say how events get there.
    pub outputs: Vec<OutputSlot>,
    /// The output section.
    pub output_steps: Vec<Step>,
    /// Changes when the meaning of the configuration does: 64 hex digits.
    pub hash: String,
}

/// An input that is ready to run.
pub struct InputSlot {
    /// Who it is.
    pub info: PluginInfo,
    /// The plugin.
    pub input: Box<dyn Input>,
    /// Its common options.
    pub decoration: Decoration,
    /// The codec it decodes with, if it has one.
    pub decoders: Option<Decoders>,
}

/// A filter that is ready to run.
pub struct FilterSlot {
    /// Who it is.
    pub info: PluginInfo,
    /// The plugin.
    pub filter: Box<dyn Filter>,
    /// Its common options.
    pub on_match: OnMatch,
}

/// An output that is ready to run.
pub struct OutputSlot {
    /// Who it is.
    pub info: PluginInfo,
    /// The plugin.
    pub output: Box<dyn Output>,
    /// Takes what it can never deliver.
    pub dead_letters: DeadLetters,
}

/// One step of a section.
pub enum Step {
    /// The plugin at this place of the plan's list.
    Plugin(usize),
    /// An `if`.
    Branch(StepBranch),
    /// Several `if` in a row, each with one condition and no `else`.
    Switch(Switch),
}

/// Several `if` in a row that are decided together.
pub struct Switch {
    /// In the order written; the events pass all of them.
    pub branches: Vec<StepBranch>,
    pub(super) dispatch: Dispatch,
}

/// An `if` with its alternatives.
pub struct StepBranch {
    /// `if` and every `else if`, in order.
    pub arms: Vec<StepArm>,
    /// `else`.
    pub otherwise: Vec<Step>,
    /// Decides all arms at once, where they are many.
    pub(super) dispatch: Option<Dispatch>,
}

/// One condition and what it leads to.
pub struct StepArm {
    /// When this arm is taken.
    pub condition: Condition,
    /// Where the condition stands, for messages.
    pub place: Place,
    /// The steps inside the braces.
    pub body: Vec<Step>,
}

impl StepBranch {
    /// What each arm leads to, and at last `else`.
    pub(super) fn bodies(&self) -> impl Iterator<Item = &[Step]> {
        self.arms.iter().map(|arm| arm.body.as_slice()).chain([self.otherwise.as_slice()])
    }

    /// The first arm that is true for this event; one behind the last when none is. `candidates` as
    /// [`Dispatch::next`] takes it.
    pub(super) fn choose(&self, event: &Event, candidates: Option<&mut Places>) -> Result<usize, Failed> {
        if let (Some(dispatch), Some(candidates)) = (&self.dispatch, candidates) {
            return Ok(dispatch.next(event, 0, candidates)?.unwrap_or(self.arms.len()));
        }
        for (at, arm) in self.arms.iter().enumerate() {
            if arm.condition.evaluate(event).map_err(|error| (at, error))? {
                return Ok(at);
            }
        }
        Ok(self.arms.len())
    }
}

impl Compiled {
    /// All plugins: inputs, filters, outputs, each in config order.
    pub fn plugins(&self) -> impl Iterator<Item = &PluginInfo> {
        let inputs = self.inputs.iter().map(|slot| &slot.info);
        let filters = self.plan.filters.iter().map(|slot| &slot.info);
        inputs.chain(filters).chain(self.plan.outputs.iter().map(|slot| &slot.info))
    }
}

/// Builds every plugin of a configuration. The result may only run when `diagnostics` has no errors.
pub fn compile(
    config: &Config,
    sources: &Sources,
    environment: &Environment,
    diagnostics: &mut Diagnostics,
) -> Compiled {
    let hash = config::digest(config, sources);
    let mut compiler = Compiler {
        sources,
        environment,
        diagnostics,
        hash: &hash,
        ids: HashMap::new(),
        claims: Claims::default(),
        commons: Commons::default(),
        introduced: 0,
        filters: Vec::new(),
        outputs: Vec::new(),
        outputs_given: count_plugins(&config.outputs),
        secrets: Vec::new(),
    };
    let inputs = config.inputs.iter().filter_map(|block| compiler.input(block)).collect();
    let filter_steps = compiler.steps(&config.filters);
    let output_steps = compiler.steps(&config.outputs);
    let Compiler { filters, outputs, secrets, claims, commons, .. } = compiler;
    let gives_ids = commons.get::<LastingIds>().are_wanted();
    Compiled { inputs, plan: Plan { filters, filter_steps, outputs, output_steps, hash }, secrets, claims, gives_ids }
}

fn count_plugins(nodes: &[Node]) -> usize {
    let inside = |node: &Node| match node {
        Node::Plugin(_) => 1,
        Node::Branch(branch) => {
            branch.arms.iter().map(|arm| count_plugins(&arm.body)).sum::<usize>() + count_plugins(&branch.otherwise)
        }
    };
    nodes.iter().map(inside).sum()
}

/// Puts every run of `if` that has neither `else if` nor `else` into a switch, where it is long.
fn join_switches(steps: Vec<Step>) -> Vec<Step> {
    let mut joined = Vec::with_capacity(steps.len());
    let mut run: Vec<StepBranch> = Vec::new();
    for step in steps {
        match step {
            Step::Branch(branch) if only_condition(&branch).is_some() => run.push(branch),
            step => {
                end_run(&mut run, &mut joined);
                joined.push(step);
            }
        }
    }
    end_run(&mut run, &mut joined);
    joined
}

fn end_run(run: &mut Vec<StepBranch>, joined: &mut Vec<Step>) {
    let branches = std::mem::take(run);
    match Dispatch::of(branches.iter().filter_map(only_condition)) {
        Some(dispatch) => joined.push(Step::Switch(Switch { branches, dispatch })),
        None => joined.extend(branches.into_iter().map(Step::Branch)),
    }
}

/// The condition of an `if` that has just one and no `else`.
fn only_condition(branch: &StepBranch) -> Option<&Condition> {
    match branch.arms.as_slice() {
        [only] if branch.otherwise.is_empty() => Some(&only.condition),
        _ => None,
    }
}

/// Lower case.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

struct Compiler<'a> {
    sources: &'a Sources,
    environment: &'a Environment,
    diagnostics: &'a mut Diagnostics,
    hash: &'a str,
    ids: HashMap<Arc<str>, Span>,
    claims: Claims,
    commons: Commons,
    /// Plugins introduced so far.
    introduced: u64,
    filters: Vec<FilterSlot>,
    outputs: Vec<OutputSlot>,
    /// How many outputs the configuration has.
    outputs_given: usize,
    secrets: Vec<Span>,
}

impl Compiler<'_> {
    fn steps(&mut self, nodes: &[Node]) -> Vec<Step> {
        join_switches(nodes.iter().filter_map(|node| self.step(node)).collect())
    }

    fn step(&mut self, node: &Node) -> Option<Step> {
        let branch = match node {
            Node::Branch(branch) => branch,
            Node::Plugin(block) if block.kind == PluginKind::Filter => return self.filter(block).map(Step::Plugin),
            Node::Plugin(block) => return self.output(block).map(Step::Plugin),
        };
        let arm = |compiler: &mut Self, arm: &crate::config::ast::Arm| StepArm {
            place: compiler.sources.place(arm.condition.span()),
            condition: arm.condition.clone(),
            body: compiler.steps(&arm.body),
        };
        let arms: Vec<StepArm> = branch.arms.iter().map(|a| arm(self, a)).collect();
        let dispatch = Dispatch::of(arms.iter().map(|arm| &arm.condition));
        Some(Step::Branch(StepBranch { arms, otherwise: self.steps(&branch.otherwise), dispatch }))
    }

    fn input(&mut self, block: &PluginBlock) -> Option<InputSlot> {
        let Some(plugin) = registry::input(&block.name) else {
            registry::unknown_plugin(block, self.diagnostics);
            return None;
        };
        let (info, context) = self.introduce(block);
        let mut options = Options::new(block, &context, self.diagnostics);
        let decoration = Decoration::read(&mut options);
        let mut built = options.finish_with(plugin.build);
        let decoders = built.decoders.take();
        let input = self.plugin_of(built)?;
        Some(InputSlot { info, input, decoration, decoders })
    }

    fn filter(&mut self, block: &PluginBlock) -> Option<usize> {
        let Some(plugin) = registry::filter(&block.name) else {
            registry::unknown_plugin(block, self.diagnostics);
            return None;
        };
        let (info, context) = self.introduce(block);
        let mut options = Options::new(block, &context, self.diagnostics);
        let on_match = OnMatch::read(&mut options);
        let built = options.finish_with(plugin.build);
        let filter = self.plugin_of(built)?;
        self.filters.push(FilterSlot { info, filter, on_match });
        Some(self.filters.len() - 1)
    }

    fn output(&mut self, block: &PluginBlock) -> Option<usize> {
        let Some(plugin) = registry::output(&block.name) else {
            registry::unknown_plugin(block, self.diagnostics);
            return None;
        };
        let (info, context) = self.introduce(block);
        let mut options = Options::new(block, &context, self.diagnostics);
        common::output(&mut options);
        let built = options.finish_with(plugin.build);
        let output = self.plugin_of(built)?;
        self.outputs.push(OutputSlot { info, output, dead_letters: context.dead_letters });
        Some(self.outputs.len() - 1)
    }

    fn plugin_of<T>(&mut self, built: Built<T>) -> Option<T> {
        self.secrets.extend(built.secrets);
        built.plugin
    }

    fn introduce(&mut self, block: &PluginBlock) -> (PluginInfo, Context) {
        self.introduced += 1;
        let explicit = common::explicit_id(block);
        let place = self.sources.place(block.name_span);
        let id = explicit.clone().unwrap_or_else(|| self.made_id());
        if let Some(first) = self.ids.insert(id.clone(), block.name_span)
            && explicit.is_some()
        {
            let message = format!("Two plugins have the id `{id}`");
            let diagnostic = Diagnostic::error("duplicate-id", block.name_span, message);
            self.diagnostics.push(diagnostic.related(first, "first defined here").help("give each plugin its own id"));
        }
        let metrics = Arc::new(PluginMetrics::default());
        let info = PluginInfo {
            kind: block.kind,
            name: block.name.clone(),
            id: id.clone(),
            explicit_id: explicit.is_some(),
            place,
            measured: common::is_measured(block),
            metrics: metrics.clone(),
        };
        let environment = self.environment;
        let context = Context {
            pipeline_id: environment.pipeline_id.clone(),
            plugin_id: id.clone(),
            ecs: environment.ecs,
            escape_style: environment.escape_style,
            path_data: environment.path_data.clone(),
            path_settings: environment.path_settings.clone(),
            host: environment.host.clone(),
            clock: environment.clock.clone(),
            workers: environment.workers,
            ruby: environment.ruby.clone(),
            process: environment.process.clone(),
            claims: self.claims.clone(),
            commons: self.commons.clone(),
            stop: environment.stop.clone(),
            is_only_output: block.kind == PluginKind::Output && self.outputs_given == 1,
            dead_letters: DeadLetters::new(environment.dead_letters.clone(), &block.name, id),
            metrics,
        };
        (info, context)
    }

    /// The same across restarts as long as the configuration means the same.
    fn made_id(&self) -> Arc<str> {
        let mut hasher = Sha256::new();
        hasher.update(self.hash.as_bytes());
        hasher.update(self.introduced.to_be_bytes());
        hex(&hasher.finalize()).into()
    }
}
