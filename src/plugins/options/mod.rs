//! How a plugin declares and reads its options.
//!
//! A plugin names each option once, in the order of its documentation: `options.string("source").doc("…").required()`.
//! The same line gives the value with Logstash's coercions, reports a wrong one at its place in the file, and
//! describes the option for `spillway plugin show`. A bad option yields a stand-in value and a diagnostic, so that
//! all mistakes of a block are found in one run; a pipeline with diagnostics of level error never starts.

mod ecs;
mod shown;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use shown::Shown;

use super::convert::{self, Invalid};
use super::{Codec, CodecPlugin, Context, Decoders, EncodeError, Encoder, Secret, SharedEncoder, common, registry};
use crate::config::ast::{Literal, LiteralKind, PluginBlock, PluginKind};
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::Span;
use crate::config::{did_you_mean, nearest};
use crate::event::{Event, FieldRef, Template, Value};
use crate::metrics::CodecInfo;

/// The type of options whose values are never shown.
const PASSWORD: &str = "password";

/// What is known of one option without reading any configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSpec {
    /// As written in a `.conf`.
    pub name: &'static str,
    /// The type in a user's words: `string`, `hash`, `list of strings`, …
    pub kind: &'static str,
    /// One line on what it does.
    pub doc: &'static str,
    /// Whether the plugin cannot do without it, and what it takes otherwise.
    pub presence: Presence,
    /// It still works, and this is what to write instead.
    pub deprecated: Option<&'static str>,
    /// The words it takes, when only these are allowed.
    pub words: &'static [&'static str],
}

/// What happens when an option is not given.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    /// The pipeline does not start.
    Required,
    /// Nothing, or what the documentation line says.
    Optional,
    /// This value is used.
    Default(String),
    /// It is refused; the text says what replaced it.
    Obsolete(&'static str),
    /// It is refused in this version; the text says why.
    Unsupported(&'static str),
}

/// The options of one plugin block, while the plugin reads them.
pub struct Options<'a> {
    block: &'a PluginBlock,
    context: &'a Context,
    diagnostics: &'a mut Diagnostics,
    specs: Vec<OptionSpec>,
    secrets: Vec<Span>,
    decoders: Option<Decoders>,
}

/// What became of a block.
pub struct Built<T> {
    /// The plugin; `None` when it broke.
    pub plugin: Option<T>,
    /// Where the values of its passwords stand, those of its codec included.
    pub secrets: Vec<Span>,
    /// The codec of an input.
    pub decoders: Option<Decoders>,
    /// The options that it declared.
    pub declared: Vec<OptionSpec>,
}

impl<'a> Options<'a> {
    /// Starts reading a block.
    pub fn new(block: &'a PluginBlock, context: &'a Context, diagnostics: &'a mut Diagnostics) -> Self {
        Self { block, context, diagnostics, specs: Vec::new(), secrets: Vec::new(), decoders: None }
    }

    /// Where the plugin lives: its pipeline, id, dead letter queue, metrics.
    pub fn context(&self) -> &'a Context {
        self.context
    }

    /// Whether the configuration gives this option.
    pub fn is_set(&self, name: &str) -> bool {
        self.block.settings.iter().any(|s| s.name == name)
    }

    /// The names of all options that the configuration gives, in order.
    pub fn given(&self) -> impl Iterator<Item = &'a str> {
        self.block.settings.iter().map(|s| s.name.as_str())
    }

    /// Text. A number keeps its text.
    pub fn string(&mut self, name: &'static str) -> Opt<'_, 'a, String> {
        self.option(name, "string", |_, v| convert::string(v))
    }

    /// Text in which `%{…}` is replaced for each event.
    pub fn template(&mut self, name: &'static str) -> Opt<'_, 'a, Template> {
        self.option(name, "template", |o, v| convert::template(v, o.context.escape_style))
    }

    /// A field reference.
    pub fn field(&mut self, name: &'static str) -> Opt<'_, 'a, FieldRef> {
        self.option(name, "field", |o, v| convert::field(v, o.context.escape_style))
    }

    /// An integer or float.
    pub fn number(&mut self, name: &'static str) -> Opt<'_, 'a, f64> {
        self.option(name, "number", |_, v| convert::number(v))
    }

    /// A whole number.
    pub fn integer(&mut self, name: &'static str) -> Opt<'_, 'a, i64> {
        self.option(name, "number", |_, v| convert::integer(v))
    }

    /// A whole number that may not be written as text.
    pub fn bare_integer(&mut self, name: &'static str) -> Opt<'_, 'a, i64> {
        self.option(name, "number", |_, v| convert::bare_integer(v))
    }

    /// A number of seconds, fractions allowed.
    pub fn seconds(&mut self, name: &'static str) -> Opt<'_, 'a, Duration> {
        self.option(name, "number of seconds", |_, v| convert::seconds(v))
    }

    /// A number of seconds, or text with a unit (`250 ms`).
    pub fn duration(&mut self, name: &'static str) -> Opt<'_, 'a, Duration> {
        self.option(name, "duration", |_, v| convert::duration(v, 1.0))
    }

    /// A number of days, or text with a unit (`36 hours`).
    pub fn days(&mut self, name: &'static str) -> Opt<'_, 'a, Duration> {
        self.option(name, "duration", |_, v| convert::duration(v, 86400.0))
    }

    /// A number of bytes, or text with a unit (`5 mb`).
    pub fn bytes(&mut self, name: &'static str) -> Opt<'_, 'a, u64> {
        self.option(name, "bytes", |_, v| convert::bytes(v))
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, name: &'static str) -> Opt<'_, 'a, bool> {
        self.option(name, "boolean", |_, v| convert::boolean(v))
    }

    /// One of a few words.
    pub fn word(&mut self, name: &'static str, words: &'static [&'static str]) -> Opt<'_, 'a, String> {
        let mut option = self.option(name, "word", |_, v| convert::string(v));
        option.spec.words = words;
        option
    }

    /// Any values; a single one is a list of one.
    pub fn list(&mut self, name: &'static str) -> Opt<'_, 'a, Vec<Value>> {
        self.list_option(name, "list", |_, v| Ok(convert::list(v).iter().map(|v| convert::value(v)).collect()))
    }

    /// Texts; a single one is a list of one.
    pub fn strings(&mut self, name: &'static str) -> Opt<'_, 'a, Vec<String>> {
        self.list_option(name, "list of strings", |_, v| convert::list(v).into_iter().map(convert::string).collect())
    }

    /// Whole numbers; a single one is a list of one.
    pub fn integers(&mut self, name: &'static str) -> Opt<'_, 'a, Vec<i64>> {
        self.list_option(name, "list of numbers", |_, v| convert::list(v).into_iter().map(convert::integer).collect())
    }

    /// Templates; a single one is a list of one.
    pub fn templates(&mut self, name: &'static str) -> Opt<'_, 'a, Vec<Template>> {
        self.list_option(name, "list of templates", |o, v| {
            convert::list(v).into_iter().map(|v| convert::template(v, o.context.escape_style)).collect()
        })
    }

    /// Field references; a single one is a list of one.
    pub fn fields(&mut self, name: &'static str) -> Opt<'_, 'a, Vec<FieldRef>> {
        self.list_option(name, "list of fields", |o, v| {
            convert::list(v).into_iter().map(|v| convert::field(v, o.context.escape_style)).collect()
        })
    }

    /// Any value.
    pub fn value(&mut self, name: &'static str) -> Opt<'_, 'a, Value> {
        self.option(name, "any value", |_, v| Ok(convert::value(v)))
    }

    /// Pairs, as `{ k => v }` or as a flat list, in the order written.
    pub fn hash(&mut self, name: &'static str) -> Opt<'_, 'a, Vec<(String, Value)>> {
        self.option(name, "hash", |_, v| Ok(convert::hash(v)?.into_iter().map(|(k, v)| (k, v.value())).collect()))
    }

    /// Pairs of field name and template value(s), both with `%{…}` replaced for each event, in the order in which
    /// Logstash walks a hash. A list of values gives the name once for each.
    pub fn template_hash(&mut self, name: &'static str) -> Opt<'_, 'a, Vec<(Template, Template)>> {
        self.option(name, "hash of templates", |o, v| convert::template_hash(v, o.context.escape_style))
    }

    /// A secret, which is text; never shown.
    pub fn password(&mut self, name: &'static str) -> Opt<'_, 'a, Secret> {
        self.option(name, PASSWORD, |_, v| convert::password(v).map(Secret::new))
    }

    /// A file or directory that must exist.
    pub fn path(&mut self, name: &'static str) -> Opt<'_, 'a, PathBuf> {
        self.option(name, "path", |_, v| convert::existing_path(v))
    }

    /// Files or directories that must exist.
    pub fn paths(&mut self, name: &'static str) -> Opt<'_, 'a, Vec<PathBuf>> {
        self.list_option(name, "list of paths", |_, v| {
            convert::list(v).into_iter().map(convert::existing_path).collect()
        })
    }

    /// The codec of an input. `exchange` names codecs that this input replaces by their line-wise sibling.
    pub fn decoder(
        &mut self,
        name: &'static str,
        default: &'static str,
        exchange: &'static [(&'static str, &'static str)],
    ) -> Decoders {
        let codec = self.codec(name, default, exchange);
        let decoders = codec.0.unwrap_or_else(|| {
            if let Some(span) = codec.2 {
                self.push(span, "invalid-value", format!("the codec `{}` cannot read events", codec.1));
            }
            Decoders::none()
        });
        self.decoders = Some(decoders.clone());
        decoders
    }

    /// The name of the codec that was given for an option.
    pub fn given_codec(&self, name: &str) -> Option<String> {
        let literal = self.literal(name)?;
        match &literal.kind {
            LiteralKind::Plugin(block) => Some(block.name.clone()),
            _ => convert::string(literal).ok(),
        }
    }

    /// The `codec` of a plugin that does nothing with it, which Logstash takes all the same. `why` is told to a user who
    /// gives one.
    pub fn idle_codec(&mut self, why: &'static str) {
        let (block, _) = self.codec_block("codec", "plain");
        self.build_codec(&block);
        if self.is_set("codec") {
            self.warn("codec", "no-effect", format!("`codec` has no effect here: {why}"));
        }
    }

    /// A codec that the value of an option names, with its default options.
    pub fn decoder_called(&mut self, option: &str, codec: &str) -> Decoders {
        let span = self.literal(option).map_or(self.block.name_span, |value| value.span);
        let Some(made) = self.build_codec(&bare_codec(codec, span)) else { return Decoders::none() };
        made.decoders.unwrap_or_else(|| {
            self.push(span, "invalid-value", format!("the codec `{codec}` cannot read events"));
            Decoders::none()
        })
    }

    /// The codec of an output.
    pub fn encoder(&mut self, name: &'static str, default: &'static str) -> SharedEncoder {
        let codec = self.codec_pair(name, default);
        codec.0.unwrap_or_else(|| {
            if let Some(span) = codec.2 {
                self.push(span, "invalid-value", format!("the codec `{}` cannot write events", codec.1));
            }
            no_encoder()
        })
    }

    fn codec(
        &mut self,
        name: &'static str,
        default: &'static str,
        exchange: &[(&str, &'static str)],
    ) -> (Option<Decoders>, String, Option<Span>) {
        let (block, span) = self.codec_block(name, default);
        let wanted = block.name.clone();
        let used = exchange.iter().find(|(from, _)| *from == wanted).map_or(wanted.as_str(), |(_, to)| *to);
        let block = if used == wanted {
            block
        } else {
            // Only the character set survives the exchange.
            let settings = block.settings.iter().filter(|s| s.name == "charset").cloned().collect();
            PluginBlock { name: used.to_owned(), settings, ..block }
        };
        match self.build_codec(&block) {
            Some(codec) => (codec.decoders, wanted, span),
            None => (Some(Decoders::none()), wanted, span),
        }
    }

    fn codec_pair(
        &mut self,
        name: &'static str,
        default: &'static str,
    ) -> (Option<SharedEncoder>, String, Option<Span>) {
        let (block, span) = self.codec_block(name, default);
        match self.build_codec(&block) {
            Some(codec) => (codec.encoder, block.name, span),
            None => (Some(no_encoder()), block.name, span),
        }
    }

    fn codec_block(&mut self, name: &'static str, default: &'static str) -> (PluginBlock, Option<Span>) {
        self.specs.push(OptionSpec {
            name,
            kind: "codec",
            doc: "How bytes become events and back.",
            presence: Presence::Default(default.to_owned()),
            deprecated: None,
            words: &[],
        });
        match self.literal(name) {
            None => (bare_codec(default, self.block.name_span), None),
            Some(literal) => match &literal.kind {
                LiteralKind::Plugin(block) => {
                    let mut block = (**block).clone();
                    block.kind = PluginKind::Codec;
                    (block, Some(literal.span))
                }
                _ => match convert::string(literal) {
                    Ok(name) => (bare_codec(&name, literal.span), Some(literal.span)),
                    Err(invalid) => {
                        self.invalid_literal(name, literal.span, invalid);
                        (bare_codec(default, literal.span), None)
                    }
                },
            },
        }
    }

    fn build_codec(&mut self, block: &PluginBlock) -> Option<Codec> {
        let Some(plugin) = registry::codec(&block.name) else {
            registry::unknown_plugin(block, self.diagnostics);
            return None;
        };
        let id = common::explicit_id(block);
        let id = id.map_or_else(|| format!("{}_{}", self.context.plugin_id, block.name), |id| id.to_string());
        self.context.metrics.add_codec(CodecInfo { id, name: block.name.clone() });
        let CodecPlugin { build, .. } = *plugin;
        let mut options = Options::new(block, self.context, self.diagnostics);
        common::codec(&mut options);
        let Built { plugin, secrets, .. } = options.finish_with(build);
        self.secrets.extend(secrets);
        plugin
    }

    /// Lets a plugin read its options with its `build`, and reports those that nobody asked for. A plugin that breaks
    /// over them is a mistake at its block, so that other blocks and pipelines go on.
    pub fn finish_with<T>(mut self, build: impl FnOnce(&mut Options<'_>) -> T) -> Built<T> {
        if let Ok(plugin) = catch_unwind(AssertUnwindSafe(|| build(&mut self))) {
            self.report_unknown();
            return self.built(Some(plugin));
        }
        let message = format!("the {} broke while reading its options", self.owner());
        let diagnostic = Diagnostic::error("plugin-broke", self.block.name_span, message);
        let help = "this is a bug in Spillway, please report it; its pipeline does not start";
        self.diagnostics.push(diagnostic.help(help));
        self.built(None)
    }

    fn built<T>(self, plugin: Option<T>) -> Built<T> {
        Built { plugin, secrets: self.secrets, decoders: self.decoders, declared: self.specs }
    }

    /// An option that is gone. `instead` says what replaced it.
    pub fn obsolete(&mut self, name: &'static str, instead: &'static str) {
        self.refused(name, Presence::Obsolete(instead), instead, "is obsolete and is no longer available");
    }

    /// An option that this version does not have yet. `why` says what to do without it.
    pub fn unsupported(&mut self, name: &'static str, why: &'static str) {
        self.refused(name, Presence::Unsupported(why), why, "is not supported yet");
    }

    fn refused(&mut self, name: &'static str, presence: Presence, help: &'static str, what: &str) {
        self.specs.push(OptionSpec { name, kind: "none", doc: help, presence, deprecated: None, words: &[] });
        if let Some(span) = self.name_span(name) {
            let message = format!("the option `{name}` of the {} {what}", self.owner());
            self.diagnostics.push(Diagnostic::error("obsolete-option", span, message).help(help));
        }
    }

    /// Keeps a text in the value of an option out of everything that is shown.
    pub fn hide(&mut self, name: &str, text: &str) {
        let place = self.literal(name).and_then(|whole| place_of(whole, text));
        self.secrets.extend(place);
    }

    /// Reports a wrong value of an option, at its place.
    pub fn invalid(&mut self, name: &str, message: impl Into<String>) {
        let span = self.literal(name).map_or(self.block.name_span, |v| v.span);
        self.push(span, "invalid-value", message.into());
    }

    /// Reports a text in the value of an option, or only `part` of it, at its place.
    pub fn wrong_text(
        &mut self,
        name: &str,
        text: &str,
        part: Option<Range<usize>>,
        code: &'static str,
        error: &dyn std::error::Error,
        help: Option<String>,
    ) {
        let whole = self.literal(name);
        let found = whole.and_then(|whole| place_of(whole, text));
        let mut span = found.or(whole.map(|whole| whole.span)).unwrap_or(self.block.name_span);
        // Between the quotes the text stands as it is, unless it has escapes or variables.
        let is_verbatim = found.is_some() && (span.end - span.start) as usize == text.len() + 2;
        if let Some(part) = part.filter(|_| is_verbatim) {
            let start = span.start + 1;
            span = Span { start: start + part.start as u32, end: start + part.end as u32, ..span };
        }
        let mut diagnostic = Diagnostic::error(code, span, error.to_string());
        diagnostic.help = help;
        self.diagnostics.push(diagnostic);
    }

    /// Warns about the value of an option, at its place.
    pub fn warn(&mut self, name: &str, code: &'static str, message: impl Into<String>) {
        let span = self.literal(name).map_or(self.block.name_span, |v| v.span);
        self.diagnostics.push(Diagnostic::warning(code, span, message));
    }

    /// What was declared so far.
    pub fn declared(&self) -> &[OptionSpec] {
        &self.specs
    }

    /// Reports options that nobody asked for.
    fn report_unknown(&mut self) {
        for setting in &self.block.settings {
            if self.specs.iter().any(|s| s.name == setting.name) {
                continue;
            }
            let message = format!("the {} has no option `{}`", self.owner(), setting.name);
            let diagnostic = Diagnostic::error("unknown-option", setting.name_span, message).label("unknown option");
            let near = nearest(&setting.name, self.specs.iter().map(|s| s.name));
            if self.specs.iter().any(|s| s.kind == PASSWORD && near.iter().any(|n| n == s.name)) {
                self.secrets.push(setting.value.span);
            }
            self.diagnostics.push(match did_you_mean(&near) {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
        }
    }

    /// `grok filter`, `elasticsearch output`: how messages call the plugin.
    pub fn owner(&self) -> String {
        format!("{} {}", self.block.name, self.block.kind)
    }

    fn literal(&self, name: &str) -> Option<&'a Literal> {
        self.block.settings.iter().find(|s| s.name == name).map(|s| &s.value)
    }

    fn name_span(&self, name: &str) -> Option<Span> {
        self.block.settings.iter().find(|s| s.name == name).map(|s| s.name_span)
    }

    fn push(&mut self, span: Span, code: &'static str, message: String) {
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    fn invalid_literal(&mut self, name: &str, span: Span, invalid: Invalid) {
        let message = format!("the option `{name}` of the {}: {}", self.owner(), invalid.message);
        let mut diagnostic = Diagnostic::error("invalid-value", invalid.span.unwrap_or(span), message);
        diagnostic.help = invalid.help;
        self.diagnostics.push(diagnostic);
    }

    fn option<T>(
        &mut self,
        name: &'static str,
        kind: &'static str,
        read: fn(&Options<'a>, &Literal) -> Result<T, Invalid>,
    ) -> Opt<'_, 'a, T> {
        let spec = OptionSpec { name, kind, doc: "", presence: Presence::Optional, deprecated: None, words: &[] };
        Opt { options: self, spec, read, is_list: false }
    }

    fn list_option<T>(
        &mut self,
        name: &'static str,
        kind: &'static str,
        read: fn(&Options<'a>, &Literal) -> Result<T, Invalid>,
    ) -> Opt<'_, 'a, T> {
        Opt { is_list: true, ..self.option(name, kind, read) }
    }
}

/// The block of a codec that is only named.
fn bare_codec(name: &str, span: Span) -> PluginBlock {
    PluginBlock { kind: PluginKind::Codec, name: name.to_owned(), name_span: span, span, settings: Vec::new() }
}

/// One option on its way from declaration to value.
#[must_use = "end with required(), optional() or default()"]
pub struct Opt<'o, 'a, T> {
    options: &'o mut Options<'a>,
    spec: OptionSpec,
    read: fn(&Options<'a>, &Literal) -> Result<T, Invalid>,
    /// An empty list is a value of its own then, and not none.
    is_list: bool,
}

impl<T> Opt<'_, '_, T> {
    fn is_missing(&self) -> bool {
        let literal = self.options.literal(self.spec.name);
        literal.is_none_or(|literal| !self.is_list && convert::is_null(literal))
    }

    /// One line of documentation.
    pub fn doc(mut self, doc: &'static str) -> Self {
        self.spec.doc = doc;
        self
    }

    /// It still works, and using it is reported with what to write instead.
    pub fn deprecated(mut self, instead: &'static str) -> Self {
        self.spec.deprecated = Some(instead);
        self
    }

    /// The value, or `None` when it is not given (or wrong, which is reported).
    pub fn optional(self) -> Option<T> {
        let is_missing = self.is_missing();
        let Self { options, spec, read, .. } = self;
        let (name, kind, words) = (spec.name, spec.kind, spec.words);
        if let (Some(instead), Some(span)) = (spec.deprecated, options.name_span(name)) {
            let message = format!("the option `{name}` of the {} is deprecated", options.owner());
            options.diagnostics.push(Diagnostic::warning("deprecated-option", span, message).help(instead));
        }
        options.specs.push(spec);
        let literal = options.literal(name).filter(|_| !is_missing)?;
        let mut read = check_word(literal, words).and_then(|()| read(options, literal));
        if kind == PASSWORD {
            options.secrets.extend(convert::list(literal).iter().map(|part| part.span));
            // What was found instead may hold the secret.
            read = read.map_err(|_| Invalid::new("Expected one text"));
        }
        read.map_err(|invalid| options.invalid_literal(name, literal.span, invalid)).ok()
    }

    /// The value; a missing one is reported.
    pub fn required(mut self) -> T
    where
        T: Default,
    {
        let name = self.spec.name;
        self.spec.presence = Presence::Required;
        if self.is_missing() {
            let message =
                format!("Missing a required setting in the configuration: the {} needs `{name}`", self.options.owner());
            let span = self.options.block.name_span;
            let help = format!("add `{name} => …` to this block of the configuration");
            self.options.diagnostics.push(Diagnostic::error("missing-option", span, message).help(help));
        }
        self.optional().unwrap_or_default()
    }

    /// The value, or `default` when it is not given.
    pub fn default(mut self, default: T) -> T
    where
        T: Shown,
    {
        self.spec.presence = Presence::Default(default.shown());
        self.optional().unwrap_or(default)
    }
}

/// The stand-in of a codec that could not be built; its pipeline never starts.
fn no_encoder() -> SharedEncoder {
    struct Nothing;
    impl Encoder for Nothing {
        fn encode(&self, _: &Event, _: &mut Vec<u8>) -> Result<(), EncodeError> {
            Ok(())
        }
    }
    Arc::new(Nothing)
}

/// Where a text stands in a value.
fn place_of(literal: &Literal, text: &str) -> Option<Span> {
    match &literal.kind {
        LiteralKind::String(found) if found == text => Some(literal.span),
        LiteralKind::Array(list) => list.iter().find_map(|element| place_of(element, text)),
        LiteralKind::Hash(pairs) => pairs.iter().find_map(|(_, value)| place_of(value, text)),
        _ => None,
    }
}

fn check_word(literal: &Literal, words: &[&str]) -> Result<(), Invalid> {
    if words.is_empty() {
        return Ok(());
    }
    let given = convert::string(literal)?;
    if words.contains(&given.as_str()) {
        return Ok(());
    }
    let mut invalid = Invalid::new(format!("expected one of {}, got `{given}`", words.join(", ")));
    invalid.help = did_you_mean(&nearest(&given, words.iter().copied()));
    Err(invalid)
}

#[cfg(test)]
mod tests;
