//! One hash of `rules` as a rule.

use std::cmp::Ordering;

use super::super::cast::{self, Cast, Type};
use super::super::check::{Check, Comparison, Test, Verdict};
use super::super::code;
use super::super::message::Message;
use super::super::path::Path;
use super::super::rule::{OnTypeError, Rule};
use super::super::text_of;
use crate::config::ast::Node;
use crate::config::condition::Condition;
use crate::config::diagnostic::Level;
use crate::config::{did_you_mean, nearest};
use crate::event::{FieldRef, Map, Text, Value};
use crate::plugins::Context;
use crate::plugins::filters::fingerprint::hash::{Algorithm, Hash};
use crate::regexp::RubyRegex;

/// Keys of a rule.
const KEYS: &[&str] = &[
    "field",
    "required",
    "type",
    "format",
    "min_length",
    "max_length",
    "min",
    "max",
    "exclusive_min",
    "exclusive_max",
    "enum",
    "ignore_case",
    "pattern",
    "compare",
    "hmac",
    "when",
    "from",
    "default",
    "on_type_error",
    "clamp_min",
    "clamp_max",
    "trim",
    "to",
    "keep_raw",
    "codes",
    "messages",
];

/// Checks with the suffix of their code and their message.
const CHECKS: &[(&str, &str, &str)] = &[
    ("missing", "_MISSING", "{field} field is missing"),
    ("type", "_INVALID", "{field} is not a valid {type}: {value}"),
    ("min_length", "_TOO_SHORT", "{field} must have a length of at least {limit}: {cast}"),
    ("max_length", "_TOO_LONG", "{field} must have a length of at most {limit}: {cast}"),
    ("min", "_TOO_SMALL", "{field} must be at least {limit}: {cast}"),
    ("max", "_TOO_LARGE", "{field} must be at most {limit}: {cast}"),
    ("exclusive_min", "_TOO_SMALL", "{field} must be more than {limit}: {cast}"),
    ("exclusive_max", "_TOO_LARGE", "{field} must be less than {limit}: {cast}"),
    ("enum", "_NOT_ALLOWED", "{field} must be one of {limit}: {cast}"),
    ("pattern", "_BAD_FORMAT", "{field} has not the right form: {cast}"),
    ("compare", "_INCONSISTENT", "{field} must be {limit}: {cast}"),
    ("hmac", "_BAD_SIGNATURE", "{field} is not the right signature: {cast}"),
];

/// Reads rules and collects what is wrong with them.
pub(super) struct RuleReader<'c> {
    context: &'c Context,
    cast: Cast,
    target: Option<FieldRef>,
    pub faults: Vec<String>,
    /// Texts that must not be shown.
    pub secrets: Vec<String>,
}

/// The hash of one rule.
struct Given<'g> {
    map: &'g Map,
    /// How messages call it.
    name: String,
    stem: String,
}

impl<'c> RuleReader<'c> {
    pub fn new(context: &'c Context, cast: Cast, target: Option<FieldRef>) -> Self {
        Self { context, cast, target, faults: Vec::new(), secrets: Vec::new() }
    }

    /// The rule at this place, if it is right.
    pub fn read(&mut self, at: usize, given: &Value) -> Option<Rule> {
        let Value::Map(map) = given else {
            self.faults.push(format!("rule {}: a rule is a hash such as {{ \"field\" => \"user_id\" }}", at + 1));
            return None;
        };
        let field = map.get("field").map(text_of).unwrap_or_default();
        let mut given = Given { map, name: format!("rule {} (`{field}`)", at + 1), stem: String::new() };
        let before = self.faults.len();
        self.check_keys(&given);
        if field.is_empty() {
            self.fault(&given, "field", "is missing");
            return None;
        }
        let path = self.path(&given, "field", &field)?;
        given.stem = code::stem(path.plain_names());
        let rule = self.rule(&given, path);
        (self.faults.len() == before).then_some(rule)?
    }

    fn rule(&mut self, given: &Given<'_>, path: Path) -> Option<Rule> {
        let kind = self.kind(given);
        let is_required = self.flag(given, "required");
        let required = if is_required { self.verdict(given, "missing", "") } else { None };
        let wrong_type = if kind.is_some() { self.verdict(given, "type", "") } else { None };
        let default = self.default(given, kind);
        let from = self.sources(given);
        Some(Rule {
            from,
            when: self.when(given),
            required,
            trim: self.flag(given, "trim"),
            kind,
            cast: self.cast,
            wrong_type,
            on_type_error: self.on_type_error(given, default.is_some()),
            default,
            clamp_min: self.clamp(given, "clamp_min", kind),
            clamp_max: self.clamp(given, "clamp_max", kind),
            to: self.field(given, "to"),
            keep_raw: self.field(given, "keep_raw"),
            checks: self.checks(given, kind),
            path,
        })
    }

    fn fault(&mut self, given: &Given<'_>, key: &str, what: impl std::fmt::Display) {
        self.faults.push(format!("{}: `{key}` {what}", given.name));
    }

    fn check_keys(&mut self, given: &Given<'_>) {
        for key in given.map.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let hint = did_you_mean(&nearest(key, KEYS.iter().copied())).map(|question| format!("; {question}"));
            self.fault(given, key, format!("is no key of a rule{}", hint.unwrap_or_default()));
        }
        for hash in ["codes", "messages"] {
            let Some(value) = given.map.get(hash) else { continue };
            let Some(map) = value.as_map() else {
                self.fault(given, hash, "must be a hash of checks, such as { \"missing\" => \"…\" }");
                continue;
            };
            for check in map.keys().filter(|check| CHECKS.iter().all(|(name, ..)| *name != check.as_str())) {
                let hint = did_you_mean(&nearest(check, CHECKS.iter().map(|(name, ..)| *name)));
                let hint = hint.map(|question| format!("; {question}")).unwrap_or_default();
                self.fault(given, hash, format!("has `{check}`, which is no check{hint}"));
            }
        }
    }

    fn path(&mut self, given: &Given<'_>, key: &str, text: &str) -> Option<Path> {
        let path = Path::parse(text, self.context.escape_style, self.target.as_ref());
        path.map_err(|error| self.fault(given, key, error)).ok()
    }

    fn field(&mut self, given: &Given<'_>, key: &str) -> Option<FieldRef> {
        let text = text_of(given.map.get(key)?);
        let field = FieldRef::parse(&text, self.context.escape_style);
        field.map_err(|error| self.fault(given, key, error)).ok()
    }

    fn sources(&mut self, given: &Given<'_>) -> Vec<Path> {
        let names: Vec<Text> = match given.map.get("from") {
            None => return Vec::new(),
            Some(Value::Array(names)) => names.iter().map(text_of).collect(),
            Some(name) => vec![text_of(name)],
        };
        let paths: Vec<Path> = names.iter().filter_map(|name| self.path(given, "from", name)).collect();
        if paths.is_empty() || paths.iter().any(|path| path.only().is_none()) {
            self.fault(given, "from", "must name members, and cannot have `[*]`");
        }
        paths
    }

    fn flag(&mut self, given: &Given<'_>, key: &str) -> bool {
        match given.map.get(key).map(text_of).as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                let what = format!("must be true or false, and is `{other}`");
                self.fault(given, key, what);
                false
            }
        }
    }

    fn kind(&mut self, given: &Given<'_>) -> Option<Type> {
        let text = text_of(given.map.get("type")?);
        let format = given.map.get("format").map(text_of);
        match (Type::parse(&text), format.as_deref()) {
            (None, _) => {
                let known = "bigint, int, decimal(p,s), double, boolean, timestamp(n), timestamp_ltz(n), date, string, \
                             uuid, ip, object, array";
                self.fault(given, "type", format!("cannot be `{text}`: it must be one of {known}"));
                None
            }
            (kind, None) => kind,
            (Some(Type::TimestampLtz(_)), Some("epoch_ms")) => Some(Type::EpochMillis),
            (kind, Some(_)) => {
                self.fault(given, "format", "can only be `epoch_ms`, with the type timestamp_ltz");
                kind
            }
        }
    }

    fn when(&mut self, given: &Given<'_>) -> Option<Condition> {
        let text = text_of(given.map.get("when")?);
        let loaded = crate::config::parse(&format!("filter {{ if {text} {{ drop {{ }} }} }}"));
        if let Some(error) = loaded.diagnostics.0.iter().find(|diagnostic| diagnostic.level == Level::Error) {
            self.fault(given, "when", format!("is no condition: {}", error.message));
            return None;
        }
        match loaded.config.filters.as_slice() {
            [Node::Branch(branch)] if branch.arms.len() == 1 && branch.otherwise.is_empty() => {
                branch.arms.first().map(|arm| arm.condition.clone())
            }
            _ => {
                self.fault(given, "when", "must be one condition, as behind an `if`");
                None
            }
        }
    }

    /// A value of the configuration as the rule's type.
    fn typed(&mut self, given: &Given<'_>, key: &str, kind: Option<Type>, value: &Value) -> Option<Value> {
        let Some(kind) = kind else { return Some(value.clone()) };
        let cast = kind.cast(value, Cast::Sql);
        if cast.is_none() {
            self.fault(given, key, format!("has `{}`, which is no {}", text_of(value), kind.name()));
        }
        cast
    }

    fn default(&mut self, given: &Given<'_>, kind: Option<Type>) -> Option<Value> {
        let value = given.map.get("default")?;
        self.typed(given, "default", kind, value)
    }

    fn on_type_error(&mut self, given: &Given<'_>, has_default: bool) -> OnTypeError {
        match given.map.get("on_type_error").map(text_of).as_deref() {
            None | Some("error") => OnTypeError::Error,
            Some("null") => OnTypeError::Null,
            Some("default") if has_default || given.map.contains_key("default") => OnTypeError::Default,
            Some("default") => {
                self.fault(given, "on_type_error", "is `default`, and the rule has no `default`");
                OnTypeError::Error
            }
            Some(other) => {
                let what = format!("must be error, default or null, and is `{other}`");
                self.fault(given, "on_type_error", what);
                OnTypeError::Error
            }
        }
    }

    fn clamp(&mut self, given: &Given<'_>, key: &str, kind: Option<Type>) -> Option<Value> {
        let value = given.map.get(key)?;
        if !kind.is_some_and(Type::is_number) {
            self.fault(given, key, "needs a `type` that is a number");
            return None;
        }
        self.typed(given, key, kind, value)
    }

    /// What is told when a check fails.
    fn verdict(&mut self, given: &Given<'_>, check: &str, limit: &str) -> Option<Verdict> {
        let (name, suffix, usual) = CHECKS.iter().find(|(name, ..)| *name == check)?;
        let own = |hash: &str| given.map.get(hash).and_then(Value::as_map).and_then(|map| map.get(check)).map(text_of);
        let code = own("codes");
        if let Some(code) = code.as_ref().filter(|code| !code::is_code(code)) {
            let what = format!("has `{code}`, which is no code: write capitals, digits and `_`, at most 64");
            self.fault(given, "codes", what);
            return None;
        }
        let code = code.unwrap_or_else(|| Text::from(format!("{}{suffix}", given.stem)));
        if !code::is_code(&code) {
            self.fault(given, "codes", format!("needs a code for `{check}`: `{code}`, made of the field, is none"));
            return None;
        }
        let message = own("messages").unwrap_or_else(|| Text::borrowed(usual));
        let message = Message::compile(&message, self.context.escape_style);
        let message = message.map_err(|error| self.fault(given, "messages", error.message)).ok()?;
        let counter = self.context.metrics.counter_at(["codes", code.as_str()]);
        Some(Verdict { check: name, code, message, limit: Text::from(limit), counter })
    }

    /// In the order in which they are asked.
    fn checks(&mut self, given: &Given<'_>, kind: Option<Type>) -> Vec<Check> {
        let mut checks = Vec::new();
        let orders: [(&str, &'static [Ordering]); 4] = [
            ("min", &[Ordering::Greater, Ordering::Equal]),
            ("max", &[Ordering::Less, Ordering::Equal]),
            ("exclusive_min", &[Ordering::Greater]),
            ("exclusive_max", &[Ordering::Less]),
        ];
        let mut tests = vec![
            ("min_length", self.length(given, "min_length").map(Test::MinLength)),
            ("max_length", self.length(given, "max_length").map(Test::MaxLength)),
        ];
        for (key, order) in orders {
            tests.push((key, self.limit(given, key, kind).map(|limit| Test::Bound(order, limit))));
        }
        tests.push(("enum", self.one_of(given, kind)));
        tests.push(("pattern", self.pattern(given)));
        tests.push(("compare", self.comparison(given)));
        tests.push(("hmac", self.signature(given)));
        for (key, test) in tests {
            let Some(test) = test else { continue };
            let limit = self.shown_limit(given, key);
            if let Some(verdict) = self.verdict(given, key, &limit) {
                checks.push(Check { test, verdict });
            }
        }
        checks
    }

    fn shown_limit(&self, given: &Given<'_>, key: &str) -> String {
        match given.map.get(key) {
            Some(Value::Array(values)) => values.iter().map(text_of).collect::<Vec<_>>().join(", "),
            Some(Value::Map(_)) | None => String::new(),
            Some(value) => text_of(value).to_string(),
        }
    }

    fn length(&mut self, given: &Given<'_>, key: &str) -> Option<usize> {
        let value = given.map.get(key)?;
        let length = text_of(value).parse().ok();
        if length.is_none() {
            self.fault(given, key, format!("must be a number of characters, and is `{}`", text_of(value)));
        }
        length
    }

    fn limit(&mut self, given: &Given<'_>, key: &str, kind: Option<Type>) -> Option<Value> {
        let text = text_of(given.map.get(key)?);
        let limit = cast::as_limit(kind, &text);
        if limit.is_none() {
            self.fault(given, key, format!("must be a number, or a time as the type has it, and is `{text}`"));
        }
        limit
    }

    fn one_of(&mut self, given: &Given<'_>, kind: Option<Type>) -> Option<Test> {
        let ignore_case = self.flag(given, "ignore_case");
        let values = match given.map.get("enum")? {
            Value::Array(values) => values.clone(),
            one => vec![one.clone()],
        };
        let values = values.iter().filter_map(|value| self.typed(given, "enum", kind, value)).collect();
        Some(Test::OneOf { values, ignore_case })
    }

    fn pattern(&mut self, given: &Given<'_>) -> Option<Test> {
        let text = text_of(given.map.get("pattern")?);
        match RubyRegex::new(&text) {
            Ok(pattern) if pattern.is_linear() => Some(Test::Pattern(pattern)),
            Ok(_) => {
                let what = "needs backtracking, which a text from outside could make endless: write it without \
                            look-around, back references and atomic groups";
                self.fault(given, "pattern", what);
                None
            }
            Err(error) => {
                self.fault(given, "pattern", format!("is no regular expression: {error}"));
                None
            }
        }
    }

    fn comparison(&mut self, given: &Given<'_>) -> Option<Test> {
        let text = text_of(given.map.get("compare")?);
        let parsed = Comparison::parse(&text).filter(|(_, field)| !field.is_empty());
        let Some((comparison, field)) = parsed else {
            self.fault(given, "compare", format!("must be such as `>= [start]`, and is `{text}`"));
            return None;
        };
        let path = self.path(given, "compare", field)?;
        if path.only().is_none() {
            self.fault(given, "compare", "cannot have `[*]`");
        }
        Some(Test::Compare(comparison, path))
    }

    fn signature(&mut self, given: &Given<'_>) -> Option<Test> {
        let Some(map) = given.map.get("hmac")?.as_map() else {
            self.fault(given, "hmac", "must be a hash with `algorithm`, `secret`, `over` and `encoding`");
            return None;
        };
        let text = |key: &str| map.get(key).map(text_of);
        if let Some(key) = map.keys().find(|key| !["algorithm", "secret", "over", "encoding"].contains(&key.as_str())) {
            self.fault(given, "hmac", format!("has no key `{key}`"));
        }
        let algorithm = match text("algorithm").as_deref() {
            None | Some("sha256") => Algorithm::Sha256,
            Some("sha1") => Algorithm::Sha1,
            Some("sha384") => Algorithm::Sha384,
            Some("sha512") => Algorithm::Sha512,
            Some(other) => {
                self.fault(given, "hmac", format!("has the algorithm `{other}`: sha1, sha256, sha384 or sha512"));
                return None;
            }
        };
        let is_hex = match text("encoding").as_deref() {
            None | Some("hex") => true,
            Some("base64") => false,
            Some(other) => {
                self.fault(given, "hmac", format!("has the encoding `{other}`: hex or base64"));
                return None;
            }
        };
        let (Some(secret), Some(over)) = (text("secret").filter(|secret| !secret.is_empty()), text("over")) else {
            self.fault(given, "hmac", "needs a `secret`, and `over`, the field that was signed");
            return None;
        };
        self.secrets.push(secret.to_string());
        let over = FieldRef::parse(&over, self.context.escape_style);
        let over = over.map_err(|error| self.fault(given, "hmac", error)).ok()?;
        Some(Test::Signature { hash: Hash::new(algorithm, Some(secret.as_bytes()), !is_hex), is_hex, over })
    }
}
