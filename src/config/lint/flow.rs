//! Which fields and tags a configuration sets and reads, as far as it says so itself.

use std::collections::BTreeSet;

use crate::config::ast::{Config, Literal, LiteralKind, Node, PluginBlock, PluginKind};
use crate::config::condition::Condition;
use crate::config::source::Span;
use crate::event::{EscapeStyle, FieldRef, METADATA, Root, Template};

/// What a field is known to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Float,
    Boolean,
    /// It may be anything.
    Unknown,
}

/// A place that sets a field.
#[derive(Clone, Debug)]
pub(super) struct Set {
    /// `[a][b]`
    pub field: String,
    pub span: Span,
    pub kind: Kind,
    /// What is written there.
    pub how: String,
}

/// A place that reads a field.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub field: String,
    pub span: Span,
}

/// Everything that is set and read.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub sets: Vec<Set>,
    pub reads: Vec<Read>,
    /// Conditions, with the fields that are certainly there because of the ones around.
    pub conditions: Vec<(Condition, Vec<String>)>,
    pub tags: BTreeSet<String>,
    /// Whether some plugin may set fields that nobody can know.
    pub sets_anything: bool,
    /// The same for tags.
    pub tags_anything: bool,
    guards: Vec<String>,
}

/// Filters that set only what their options say, or something whose names stand in their documentation.
const PLAIN: &[&str] = &[
    "cidr",
    "clone",
    "csv",
    "date",
    "de_dot",
    "dissect",
    "dlq",
    "drop",
    "fingerprint",
    "geoip",
    "grok",
    "json",
    "kv",
    "mutate",
    "prune",
    "sleep",
    "split",
    "syslog_pri",
    "throttle",
    "translate",
    "truncate",
    "urldecode",
    "useragent",
    "uuid",
];

/// Tags that plugins put on events by themselves.
const FAILURE_TAGS: &[(&str, &[&str])] = &[
    ("grok", &["_grokparsefailure", "_groktimeout"]),
    ("date", &["_dateparsefailure"]),
    ("json", &["_jsonparsefailure"]),
    ("json_lines", &["_jsonparsefailure", "_jsonparsetoobigfailure"]),
    ("cef", &["_cefparsefailure"]),
    ("msgpack", &["_msgpackparsefailure"]),
    ("avro", &["_avroparsefailure"]),
    (
        "dissect",
        &["_dissectfailure", "_dataconversionnullvalue", "_dataconversionuncoercible", "_dataconversionmissing"],
    ),
    ("csv", &["_csvparsefailure", "_csvskippedemptyfield", "_csvskippedheader"]),
    ("kv", &["_kv_filter_error", "_kv_filter_timeout"]),
    ("mutate", &["_mutate_error"]),
    ("geoip", &["_geoip_lookup_failure", "_geoip_expired_database"]),
    ("split", &["_splitparsefailure"]),
    ("ruby", &["_rubyexception"]),
    ("xml", &["_xmlparsefailure"]),
    ("aggregate", &["_aggregateexception", "_aggregatetimeout", "_aggregatefinalflush"]),
    ("dns", &["_dnstimeout"]),
    ("http", &["_httprequestfailure", "_jsonparsefailure"]),
    ("elasticsearch", &["_elasticsearch_lookup_failure"]),
    ("urldecode", &["_urldecodefailure"]),
    ("useragent", &["_useragentparsefailure"]),
    ("truncate", &["_truncated"]),
    ("bytes", &["_bytesparsefailure"]),
    ("fingerprint", &["_fingerprintfailure"]),
];

impl Flow {
    pub fn of(config: &Config) -> Self {
        let mut flow = Self::default();
        // What any event may get when it is made.
        let of_events = ["_timestampparsefailure", "_tagsparsefailure", "_metadataparsefailure"];
        flow.tags.extend(of_events.map(str::to_owned));
        config.inputs.iter().for_each(|plugin| flow.plugin(plugin));
        flow.nodes(&config.filters);
        flow.nodes(&config.outputs);
        flow
    }

    /// The places that set a field or something inside or around it.
    pub fn setters<'f>(&'f self, field: &'f str) -> impl Iterator<Item = &'f Set> {
        self.sets.iter().filter(move |set| touches(&set.field, field))
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Plugin(plugin) => self.plugin(plugin),
                Node::Branch(branch) => {
                    for arm in &branch.arms {
                        self.condition(&arm.condition);
                        let before = self.guards.len();
                        self.guards.extend(arm.condition.present_when_true().into_iter().map(written));
                        self.nodes(&arm.body);
                        self.guards.truncate(before);
                    }
                    self.nodes(&branch.otherwise);
                }
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        let span = condition.span();
        self.reads.extend(condition.fields().map(|field| Read { field: written(field), span }));
        self.conditions.push((condition.clone(), self.guards.clone()));
    }

    fn plugin(&mut self, plugin: &PluginBlock) {
        let name = plugin.name.as_str();
        if plugin.kind == PluginKind::Filter {
            let names_all =
                !matches!(name, "json" | "kv" | "csv") || plugin.settings.iter().any(|s| s.name == "target");
            self.sets_anything |= !PLAIN.contains(&name) || !names_all;
            self.tags_anything |= name == "ruby" || name == "aggregate" || name == "validate";
        }
        // Events of another pipeline bring its tags along.
        self.tags_anything |= plugin.kind == PluginKind::Input && name == "pipeline";
        self.own_tags(name);
        for setting in &plugin.settings {
            self.setting(plugin, &setting.name, &setting.value);
        }
    }

    fn own_tags(&mut self, plugin: &str) {
        let own = FAILURE_TAGS.iter().filter(|(name, _)| *name == plugin).flat_map(|(_, tags)| *tags);
        self.tags.extend(own.map(|tag| (*tag).to_owned()));
    }

    fn setting(&mut self, plugin: &PluginBlock, name: &str, value: &Literal) {
        match (plugin.name.as_str(), name, &value.kind) {
            (_, "add_field", LiteralKind::Hash(entries))
            | ("mutate", "replace" | "update" | "coerce", LiteralKind::Hash(entries)) => {
                for (field, text) in entries {
                    self.set(field, Kind::Text, &text_of(field));
                    self.template(text);
                }
            }
            ("mutate", "rename" | "copy", LiteralKind::Hash(entries)) => {
                for (from, to) in entries {
                    self.read(from);
                    self.set(to, Kind::Unknown, &text_of(to));
                }
            }
            ("mutate" | "csv", "convert", LiteralKind::Hash(entries)) => {
                for (field, kind) in entries {
                    let word = text_of(kind);
                    self.set(field, kind_named(&word), &format!("convert to {word}"));
                }
            }
            ("mutate", "merge", LiteralKind::Hash(entries)) => {
                for (to, from) in entries {
                    self.set(to, Kind::Unknown, "merge");
                    self.read(from);
                }
            }
            ("grok", "match" | "pattern_definitions", _) => each_text(value, &mut |text, span| self.grok(text, span)),
            ("dissect", "mapping", _) => each_text(value, &mut |text, span| self.dissect(text, span)),
            ("csv", "columns", _) => each_text(value, &mut |text, span| self.push(text, span, Kind::Unknown, "column")),
            (
                _,
                "add_tag" | "tags" | "tag_on_failure" | "tag_on_timeout" | "tag_on_exception" | "timeout_tag"
                | "clones",
                _,
            ) => {
                each_text(value, &mut |text, _| {
                    self.tags_anything |= text.contains("%{");
                    self.tags.insert(text.to_owned());
                });
            }
            (_, "target" | "target_field" | "destination" | "field" | "source_field", LiteralKind::String(_)) => {
                self.set(value, Kind::Unknown, name);
                self.template(value);
            }
            (_, "codec", LiteralKind::String(codec)) => self.own_tags(codec),
            (_, "source" | "remove_field", _) => self.read(value),
            (_, _, LiteralKind::Plugin(nested)) => self.plugin(nested),
            _ => self.template(value),
        }
    }

    fn set(&mut self, field: &Literal, kind: Kind, how: &str) {
        each_text(field, &mut |text, span| self.push(text, span, kind, how));
    }

    fn push(&mut self, text: &str, span: Span, kind: Kind, how: &str) {
        if text.contains("%{") {
            self.sets_anything = true;
        } else if let Ok(field) = FieldRef::parse(text, EscapeStyle::None) {
            self.sets.push(Set { field: written(&field), span, kind, how: how.to_owned() });
        }
    }

    /// A literal that names fields.
    fn read(&mut self, literal: &Literal) {
        each_text(literal, &mut |text, span| {
            if let Ok(field) = FieldRef::parse(text, EscapeStyle::None) {
                self.reads.push(Read { field: written(&field), span });
            }
        });
    }

    /// A literal in which `%{field}` may stand.
    fn template(&mut self, literal: &Literal) {
        each_text(literal, &mut |text, span| {
            let Ok(template) = Template::compile(text, EscapeStyle::None) else { return };
            self.reads.extend(template.references().map(|field| Read { field: written(field), span }));
        });
    }

    /// `%{NAME:field:type}` and `(?<field>…)`.
    fn grok(&mut self, pattern: &str, span: Span) {
        for piece in pattern.split("%{").skip(1).filter_map(|rest| rest.split('}').next()) {
            let mut parts = piece.splitn(3, ':');
            let (_, Some(field)) = (parts.next(), parts.next()) else { continue };
            let kind = parts.next().map_or(Kind::Text, kind_named);
            self.push(field, span, kind, &format!("%{{{piece}}}"));
        }
        for rest in pattern.split("(?<").skip(1).filter(|rest| !rest.starts_with(['=', '!'])) {
            if let Some((field, _)) = rest.split_once('>') {
                let (field, kind) =
                    field.split_once(':').map_or((field, Kind::Text), |(field, kind)| (field, kind_named(kind)));
                self.push(field, span, kind, &format!("(?<{field}>"));
            }
        }
    }

    fn dissect(&mut self, mapping: &str, span: Span) {
        for piece in mapping.split("%{").skip(1).filter_map(|rest| rest.split('}').next()) {
            let name = piece.trim_start_matches(['+', '?', '*', '&']).trim_end_matches("->");
            let name = name.split_once('/').map_or(name, |(name, _)| name);
            if piece.starts_with(['*', '&']) {
                self.sets_anything = true;
            } else if !name.is_empty() && !piece.starts_with('?') {
                self.push(name, span, Kind::Text, &format!("%{{{piece}}}"));
            }
        }
    }
}

/// `[a][b]`, `[@metadata][a]`.
pub(super) fn written(field: &FieldRef) -> String {
    let metadata = (field.root() == Root::Metadata).then_some(METADATA);
    let names = metadata.into_iter().chain(field.path().iter().map(|segment| segment.name.as_str()));
    names.map(|name| format!("[{name}]")).collect()
}

/// Whether one of two fields is the other, or stands inside it.
pub(super) fn touches(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn kind_named(word: &str) -> Kind {
    match word {
        "int" | "integer" | "integer_eu" => Kind::Integer,
        "float" | "float_eu" => Kind::Float,
        "string" => Kind::Text,
        "boolean" => Kind::Boolean,
        _ => Kind::Unknown,
    }
}

pub(super) fn text_of(literal: &Literal) -> String {
    let mut out = String::new();
    each_text(literal, &mut |text, _| out.push_str(text));
    out
}

/// Every text inside a literal.
pub(super) fn each_text(literal: &Literal, visit: &mut impl FnMut(&str, Span)) {
    match &literal.kind {
        LiteralKind::String(text) => visit(text, literal.span),
        LiteralKind::Array(list) => list.iter().for_each(|element| each_text(element, visit)),
        LiteralKind::Hash(entries) => entries.iter().for_each(|(key, value)| {
            each_text(key, visit);
            each_text(value, visit);
        }),
        LiteralKind::Plugin(_) | LiteralKind::Integer(_) | LiteralKind::Float(_) => {}
    }
}

/// Every plugin of a list of steps, at every depth.
pub(crate) fn plugins<'n>(nodes: &'n [Node], visit: &mut impl FnMut(&'n PluginBlock)) {
    for node in nodes {
        match node {
            Node::Plugin(plugin) => visit(plugin),
            Node::Branch(branch) => {
                branch.arms.iter().for_each(|arm| plugins(&arm.body, visit));
                plugins(&branch.otherwise, visit);
            }
        }
    }
}
