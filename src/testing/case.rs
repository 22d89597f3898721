//! One case: what is given, and what is expected of it.

use std::path::{Path, PathBuf};

use super::compare;
use super::expected::Expected;
use super::file::Entry;
use super::mocks::Mocks;
use super::values;
use crate::config::{did_you_mean, nearest};
use crate::event::{Map, Text, Timestamp, Value};
use crate::settings::kind::Raw;

/// A given/expected case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The configuration under test; `None` takes the one of the command line.
    pub config: Option<CaseConfig>,
    /// Settings of the run, over those of the settings folder.
    pub settings: Vec<(String, Raw)>,
    /// Environment variables, over those of the process.
    pub env: Vec<(String, String)>,
    /// The fields of the events that go in.
    pub events: Vec<Map>,
    /// Raw lines that go in through a codec.
    pub lines: Vec<String>,
    /// The codec of the lines, as a configuration names it; that of the input, or `line`, when there is none.
    pub codec: Option<String>,
    /// Fields that are put on every event that goes in.
    pub fields: Map,
    /// Id of the input whose codec and common options apply to what goes in.
    pub input: Option<String>,
    /// What stands in for filters.
    pub mocks: Mocks,
    /// Sizes of the batches that they go in by; one by one when empty.
    pub batches: Vec<usize>,
    /// When the events arrive; an instant holds until the next one, and none is the usual one.
    pub clock: Vec<Option<Timestamp>>,
    /// What comes out.
    pub expect: Option<Vec<Expected>>,
    /// The `@metadata` of what comes out, other names ignored.
    pub metadata: Option<Vec<Expected>>,
    /// What each output gets, by its id.
    pub outputs: Vec<(String, Vec<Expected>)>,
    /// What goes to the dead letter queue.
    pub dlq: Option<Vec<Expected>>,
    /// Texts that the refusal to start must hold, whatever the case of their letters.
    pub error: Vec<String>,
    /// Fields that do not count.
    pub ignore: Vec<compare::Path>,
    /// Whether fields that are not expected may be there.
    pub subset: bool,
    /// Whether the order of the events that come out does not count.
    pub unordered: bool,
    /// What happens one after the other, instead of events that go in once.
    pub steps: Vec<Step>,
}

/// What happens to the pipeline of a case with steps.
#[derive(Clone, Debug)]
pub enum Step {
    /// Events go in, and this is expected of them. They are dealt with unless a crash comes next.
    Feed(Box<Case>),
    /// The pipeline ends in order and starts again on the same `path.data`.
    Restart,
    /// The pipeline is gone before its last events are dealt with; it starts again on the same `path.data`.
    Crash,
}

/// Where the configuration of a case is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseConfig {
    /// In the case.
    Text(String),
    /// In a file, a directory or several (as `path.config`), next to the case file.
    Path(PathBuf),
    /// In the settings folder, under this pipeline id.
    Pipeline(String),
}

/// A case that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseError {
    /// It is written wrongly.
    Wrong(String),
    /// It needs what is not there yet.
    Unsupported(String),
}

/// Keys that a case can have.
const KEYS: &[&str] = &[
    "case",
    "why",
    "from",
    "note",
    "config",
    "file",
    "pipeline",
    "settings",
    "env",
    "events",
    "lines",
    "codec",
    "fields",
    "input",
    "mocks",
    "batches",
    "at_ms",
    "clock",
    "expect",
    "metadata",
    "outputs",
    "dlq",
    "error",
    "ignore",
    "subset",
    "unordered",
    "steps",
];

/// Keys that a step can have.
const STEP_KEYS: &[&str] =
    &["feed", "at_ms", "clock", "batches", "expect", "metadata", "outputs", "unordered", "crash", "restart"];

/// Keys of cases that later versions run.
const LATER: &[&str] = &["files", "log"];

impl Case {
    /// Reads an entry of a case file.
    pub fn read(entry: &Entry) -> Result<Self, CaseError> {
        let keys = Keys(&entry.keys);
        keys.check_names()?;
        let given: Vec<Map> = keys.maps("events")?.unwrap_or_default();
        let events = given.into_iter().map(values::typed_map).collect::<Result<Vec<_>, _>>();
        let mut case = Self {
            config: keys.config(entry)?,
            settings: keys.settings()?,
            env: keys.pairs("env")?,
            events: events.map_err(|e| wrong("events", e))?,
            lines: keys.texts("lines")?,
            codec: keys.text("codec")?,
            fields: keys.fields()?,
            input: keys.text("input")?,
            mocks: Mocks::read(entry.keys.get("mocks").unwrap_or(&Value::Null)).map_err(|e| wrong("mocks", e))?,
            batches: keys.batches()?,
            clock: keys.clock()?,
            expect: keys.expected("expect")?,
            metadata: keys.expected("metadata")?,
            outputs: keys.outputs()?,
            dlq: keys.dead_letters()?,
            error: keys.texts("error")?,
            ignore: keys
                .list("ignore")?
                .iter()
                .map(compare::path)
                .collect::<Result<_, _>>()
                .map_err(|e| wrong("ignore", e))?,
            subset: keys.truth("subset")?,
            unordered: keys.truth("unordered")?,
            steps: Vec::new(),
        };
        case.steps = keys.steps(&case)?;
        if !case.error.is_empty() && case.expects_events() {
            return Err(CaseError::Wrong("`error` expects that nothing runs, so nothing else can be expected".into()));
        }
        let stands_alone = case.events.is_empty() && case.lines.is_empty() && case.expect.is_none();
        if !case.steps.is_empty() && !stands_alone {
            return Err(CaseError::Wrong(
                "with `steps`, events and what is expected of them stand in the steps".into(),
            ));
        }
        if !case.events.is_empty() && !case.lines.is_empty() {
            return Err(CaseError::Wrong("either `events` or `lines` can be given".into()));
        }
        Ok(case)
    }

    /// Whether anything is expected.
    pub fn expects(&self) -> bool {
        self.expects_events() || !self.error.is_empty()
    }

    fn expects_events(&self) -> bool {
        self.expect.is_some()
            || self.metadata.is_some()
            || self.dlq.is_some()
            || !self.outputs.is_empty()
            || self.steps.iter().any(|step| matches!(step, Step::Feed(feed) if feed.expects_events()))
    }
}

fn wrong(key: &str, message: impl std::fmt::Display) -> CaseError {
    CaseError::Wrong(format!("`{key}`: {message}"))
}

/// The keys of an entry, read with their types.
struct Keys<'a>(&'a Map);

impl Keys<'_> {
    fn check_names(&self) -> Result<(), CaseError> {
        for key in self.0.keys() {
            let key = key.as_str();
            if LATER.contains(&key) {
                return Err(CaseError::Unsupported(format!("`{key}` is not supported yet")));
            }
            if !KEYS.contains(&key) {
                let near = nearest(key, KEYS.iter().copied());
                let hint = did_you_mean(&near).map(|question| format!("; {question}")).unwrap_or_default();
                return Err(CaseError::Wrong(format!("a case has no key `{key}`{hint}")));
            }
        }
        Ok(())
    }

    fn text(&self, key: &str) -> Result<Option<String>, CaseError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(_) | Value::Map(_)) => Err(wrong(key, "must be a text")),
            Some(scalar) => Ok(Some(values::plain_text(scalar))),
        }
    }

    /// One text or a list of them.
    fn texts(&self, key: &str) -> Result<Vec<String>, CaseError> {
        match self.0.get(key) {
            Some(Value::Array(items)) => Ok(items.iter().map(values::plain_text).collect()),
            _ => Ok(self.text(key)?.into_iter().collect()),
        }
    }

    fn truth(&self, key: &str) -> Result<bool, CaseError> {
        match self.0.get(key) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(_) => Err(wrong(key, "must be true or false")),
        }
    }

    fn list(&self, key: &str) -> Result<&[Value], CaseError> {
        match self.0.get(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(wrong(key, "must be a list")),
        }
    }

    fn maps(&self, key: &str) -> Result<Option<Vec<Map>>, CaseError> {
        if !self.0.contains_key(key) {
            return Ok(None);
        }
        let maps = self.list(key)?.iter().map(|item| item.as_map().cloned());
        let maps = maps.collect::<Option<Vec<_>>>();
        maps.map(Some).ok_or_else(|| wrong(key, "must be a list of maps, such as `[ { message: x } ]`"))
    }

    fn expected(&self, key: &str) -> Result<Option<Vec<Expected>>, CaseError> {
        let Some(maps) = self.maps(key)? else { return Ok(None) };
        let read = |map| Expected::read(&Value::Map(map)).map_err(|e| wrong(key, e));
        maps.into_iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    fn fields(&self) -> Result<Map, CaseError> {
        match self.0.get("fields") {
            None | Some(Value::Null) => Ok(Map::default()),
            Some(Value::Map(map)) => values::typed_map(map.clone()).map_err(|e| wrong("fields", e)),
            Some(_) => Err(wrong("fields", "must be a map of names and values")),
        }
    }

    fn outputs(&self) -> Result<Vec<(String, Vec<Expected>)>, CaseError> {
        let Some(value) = self.0.get("outputs") else { return Ok(Vec::new()) };
        let map = value.as_map().ok_or_else(|| wrong("outputs", "must be a map of ids and lists of events"))?;
        let read = |(id, events): (&Text, &Value)| match events {
            Value::Array(items) => {
                let events = items.iter().map(Expected::read).collect::<Result<_, _>>();
                Ok((id.to_string(), events.map_err(|e| wrong("outputs", e))?))
            }
            _ => Err(wrong("outputs", format!("`{id}` must be a list of events"))),
        };
        map.iter().map(read).collect()
    }

    /// `reason_prefix` is short for a pattern that the reason starts with.
    fn dead_letters(&self) -> Result<Option<Vec<Expected>>, CaseError> {
        let Some(entries) = self.maps("dlq")? else { return Ok(None) };
        let read = |mut entry: Map| {
            if let Some(prefix) = entry.remove("reason_prefix") {
                let pattern = format!("^{}", regex::escape(&values::plain_text(&prefix)));
                entry.insert("reason", Map::from_iter([(Text::borrowed("$re"), Value::from(pattern))]));
            }
            Expected::read(&Value::Map(entry)).map_err(|e| wrong("dlq", e))
        };
        entries.into_iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    fn config(&self, entry: &Entry) -> Result<Option<CaseConfig>, CaseError> {
        let beside = |path: String| entry.file.parent().unwrap_or(Path::new("")).join(path);
        let configs: Vec<CaseConfig> = [
            self.text("config")?.map(CaseConfig::Text),
            self.text("file")?.map(|path| CaseConfig::Path(beside(path))),
            self.text("pipeline")?.map(CaseConfig::Pipeline),
        ]
        .into_iter()
        .flatten()
        .collect();
        match configs.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            _ => Err(CaseError::Wrong("only one of `config`, `file` and `pipeline` can be given".into())),
        }
    }

    /// `case` is what holds for all steps.
    fn steps(&self, case: &Case) -> Result<Vec<Step>, CaseError> {
        let mut steps = Vec::new();
        for step in self.maps("steps")?.unwrap_or_default() {
            let keys = Keys(&step);
            if let Some(key) = step.keys().find(|key| !STEP_KEYS.contains(&key.as_str())) {
                return Err(CaseError::Unsupported(format!("the step `{key}` is not supported by `spillway test`")));
            }
            if let Some(given) = keys.maps("feed")? {
                let events = given.into_iter().map(values::typed_map).collect::<Result<_, _>>();
                steps.push(Step::Feed(Box::new(Case {
                    events: events.map_err(|e| wrong("feed", e))?,
                    batches: keys.batches()?,
                    clock: keys.clock()?,
                    expect: keys.expected("expect")?,
                    metadata: keys.expected("metadata")?,
                    outputs: keys.outputs()?,
                    unordered: case.unordered || keys.truth("unordered")?,
                    dlq: None,
                    ..case.clone()
                })));
            }
            if keys.truth("crash")? {
                steps.push(Step::Crash);
            }
            if keys.truth("restart")? {
                steps.push(Step::Restart);
            }
        }
        Ok(steps)
    }

    fn settings(&self) -> Result<Vec<(String, Raw)>, CaseError> {
        let mut settings = Vec::new();
        match self.0.get("settings") {
            None => {}
            Some(Value::Map(map)) => flatten(map, "", &mut settings),
            Some(_) => return Err(wrong("settings", "must be a map of names and values")),
        }
        Ok(settings)
    }

    fn pairs(&self, key: &str) -> Result<Vec<(String, String)>, CaseError> {
        match self.0.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Map(map)) => {
                Ok(map.iter().map(|(name, value)| (name.to_string(), values::plain_text(value))).collect())
            }
            Some(_) => Err(wrong(key, "must be a map of names and texts")),
        }
    }

    fn batches(&self) -> Result<Vec<usize>, CaseError> {
        let size = |n: &Value| n.as_integer().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        let sizes = self.list("batches")?.iter().map(size).collect::<Option<Vec<_>>>();
        sizes.ok_or_else(|| wrong("batches", "must be a list of numbers of events"))
    }

    fn clock(&self) -> Result<Vec<Option<Timestamp>>, CaseError> {
        if let Some(text) = self.text("clock")? {
            let at = values::timestamp(&text).ok_or_else(|| wrong("clock", format!("`{text}` is no ISO 8601 time")))?;
            return Ok(vec![Some(at)]);
        }
        let mut last = None;
        let mut instant = |ms: &Value| {
            if !ms.is_null() {
                last = Some(ms.as_integer().and_then(Timestamp::from_millis)?);
            }
            Some(last)
        };
        let instants = self.list("at_ms")?.iter().map(&mut instant).collect::<Option<Vec<_>>>();
        instants.ok_or_else(|| wrong("at_ms", "must be a list of milliseconds since 1970"))
    }
}

/// Settings may be nested or dotted.
fn flatten(map: &Map, prefix: &str, out: &mut Vec<(String, Raw)>) {
    for (name, value) in map.iter() {
        let name = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        let raw = match value {
            Value::Map(inner) => {
                flatten(inner, &name, out);
                continue;
            }
            Value::Array(items) => Raw::List(items.iter().map(values::plain_text).collect()),
            Value::String(text) => Raw::text(text.as_str()),
            scalar => Raw::Scalar { text: values::plain_text(scalar), plain: true },
        };
        out.push((name, raw));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::file;

    fn read(text: &str) -> Result<Case, CaseError> {
        Case::read(&file::parse(Path::new("dir/t.yml"), text).unwrap()[0])
    }

    #[test]
    fn a_case_is_read_with_all_its_keys() {
        let case = read(
            "- case: a\n  why: because\n  config: |\n    filter { }\n  settings: {pipeline: {ecs_compatibility: v1}, dead_letter_queue.enable: true}\n  \
             env: {A: x, B: 2}\n  events: [{n: 1}, {t: {$timestamp: '2024-01-01'}}]\n  batches: [1, 1]\n  at_ms: [5]\n  \
             expect: [{n: 1}]\n  metadata: [{}]\n  ignore: [[a, b], '[c]']\n  subset: true\n",
        )
        .unwrap();
        assert_eq!(case.config, Some(CaseConfig::Text("filter { }\n".into())));
        let plain = |text: &str| Raw::Scalar { text: text.into(), plain: true };
        assert_eq!(
            case.settings,
            [
                ("pipeline.ecs_compatibility".into(), Raw::text("v1")),
                ("dead_letter_queue.enable".into(), plain("true")),
            ]
        );
        assert_eq!(case.env, [("A".into(), "x".into()), ("B".into(), "2".into())]);
        assert!(matches!(case.events[1].get("t"), Some(Value::Timestamp(_))));
        assert_eq!((case.batches, case.subset, case.unordered), (vec![1, 1], true, false));
        assert_eq!(case.clock, [Timestamp::from_millis(5)]);
        assert_eq!(case.ignore.iter().map(ToString::to_string).collect::<Vec<_>>(), ["[a][b]", "[c]"]);
        assert_eq!(case.expect.map(|e| e.len()), Some(1));
    }

    #[test]
    fn files_are_found_beside_the_case_file() {
        let case = read("- {case: a, file: ../20-web.conf, expect: []}").unwrap();
        assert_eq!(case.config, Some(CaseConfig::Path("dir/../20-web.conf".into())));
        assert_eq!(read("- {case: a, pipeline: main}").unwrap().config, Some(CaseConfig::Pipeline("main".into())));
    }

    #[test]
    fn mistakes_in_a_case_are_told() {
        for (text, part) in [
            ("- {case: a, expcet: []}", "did you mean `expect`"),
            ("- {case: a, config: x, file: y}", "only one of"),
            ("- {case: a, events: {}}", "`events`: must be a list"),
            ("- {case: a, events: [1]}", "list of maps"),
            ("- {case: a, expect: [{a: {$re: '['}}]}", "`expect`: `$re`"),
            ("- {case: a, env: [x]}", "`env`"),
            ("- {case: a, settings: x}", "`settings`"),
            ("- {case: a, batches: [0]}", "`batches`"),
            ("- {case: a, at_ms: [x]}", "`at_ms`"),
            ("- {case: a, clock: noon}", "noon"),
            ("- {case: a, subset: 1}", "`subset`"),
            ("- {case: a, events: [{}], lines: [x]}", "either `events` or `lines`"),
            ("- {case: a, outputs: {es: 1}}", "`es` must be a list"),
            ("- {case: a, mocks: 1}", "`mocks`"),
            ("- {case: a, error: x, expect: []}", "`error`"),
            ("- {case: a, events: [{}], steps: [{feed: []}]}", "with `steps`"),
            ("- {case: a, events: [{a: {$bigint: x}}]}", "$bigint"),
        ] {
            match read(text) {
                Err(CaseError::Wrong(message)) => assert!(message.contains(part), "{text}: {message}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        let steps = "- {case: a, steps: [{append: x}]}";
        assert!(matches!(read(steps), Err(CaseError::Unsupported(m)) if m.contains("append")));
    }
}
