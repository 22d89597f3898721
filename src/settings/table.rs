//! Every setting there is, once: its name, type, default, flags and scope.
//!
//! Reading files, checking values, the command line, its help and the documentation are all driven from here. A
//! setting that Spillway knows and cannot do yet is listed in [`super::unsupported`].

use std::sync::LazyLock;

use indexmap::IndexMap;

use super::kind::Kind;
use crate::config;
use Kind::{Bool, Bytes, Count, Directory, List, Number, Password, Ports, Text, Time, Words};

/// Where a setting may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One per process.
    Process,
    /// One per process, and each pipeline may have its own.
    Pipeline,
    /// One per process; in `pipelines.yml` it is ignored with a warning.
    IgnoredInPipelines,
}

/// One setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its dotted name.
    pub name: &'static str,
    /// What it accepts.
    pub kind: Kind,
    /// What it is unless set, as one would write it; empty where it is a text that is not set.
    pub default: &'static str,
    /// Its flags, the short ones first.
    pub flags: &'static [&'static str],
    /// Where it may stand.
    pub scope: Scope,
    /// Whether Logstash knows it; the others belong in `spillway.yml`.
    pub of_logstash: bool,
    /// Whether it is accepted only so that a Logstash file starts.
    pub without_meaning: bool,
    /// One line for people.
    pub note: &'static str,
}

impl Setting {
    const fn new(name: &'static str, kind: Kind, default: &'static str, note: &'static str) -> Self {
        let (flags, scope) = (&[], Scope::Process);
        Self { name, kind, default, flags, scope, of_logstash: true, without_meaning: false, note }
    }

    const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.flags = flags;
        self
    }

    const fn per_pipeline(mut self) -> Self {
        self.scope = Scope::Pipeline;
        self
    }

    const fn ignored_in_pipelines(mut self) -> Self {
        self.scope = Scope::IgnoredInPipelines;
        self
    }

    const fn only_spillway(mut self) -> Self {
        self.of_logstash = false;
        self
    }

    const fn without_meaning(mut self) -> Self {
        self.without_meaning = true;
        self
    }
}

/// The setting of a name.
pub fn find(name: &str) -> Option<&'static Setting> {
    ALL.get(name)
}

/// The setting of a flag such as `-w` or `--pipeline.workers`.
pub fn find_flag(flag: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.flags.contains(&flag))
}

/// All settings in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Setting> + Clone {
    ALL.values()
}

/// What became of a name that earlier versions of Logstash knew.
pub fn renamed(name: &str) -> Option<&'static str> {
    GONE.iter().find(|(old, _)| *old == name).map(|(_, advice)| *advice)
}

static ALL: LazyLock<IndexMap<&'static str, Setting>> = LazyLock::new(|| {
    let rows = ROWS.iter().cloned().chain(super::table_xpack::rows(Setting::new, Setting::without_meaning));
    rows.map(|setting| (setting.name, setting)).collect()
});

const GONE: &[(&str, &str)] = &[
    ("http.host", "it is `api.http.host` now"),
    ("http.port", "it is `api.http.port` now"),
    ("http.enabled", "it is `api.enabled` now"),
    ("http.environment", "it is `api.environment` now"),
    ("path.log", "it is `path.logs`"),
    ("config.field_reference.parser", "field references are always read strictly; remove it"),
    ("event_api.tags.illegal", "an illegal `tags` is always renamed; remove it"),
    ("pipeline.java_execution", "there is only one way to run a pipeline; remove it"),
    ("modules", "modules are gone; use a pipeline configuration"),
    ("cloud.id", "set `cloud_id` of the elasticsearch plugin"),
    ("cloud.auth", "set `cloud_auth` of the elasticsearch plugin"),
];

const PRESENCE: &[&str] = &["REQUIRED", "OPTIONAL"];

#[rustfmt::skip]
const ROWS: &[Setting] = &[
    Setting::new("node.name", Text, "", "name of this node (default: the host name)").flags(&["-n", "--node.name"]),
    Setting::new("node.uuid", Text, "", "the id is kept in path.data/uuid").without_meaning(),
    Setting::new("path.data", Directory, "data", "directory of queues, dead letters and positions").flags(&["--path.data"]),
    Setting::new("path.logs", Text, "logs", "directory of log files; no files are made unless it is set").flags(&["-l", "--path.logs"]),
    Setting::new("path.settings", Text, "", "directory of logstash.yml, pipelines.yml and spillway.yml").flags(&["--path.settings"]),
    Setting::new("path.plugins", List, "", "directories of Ruby plugins, which cannot be loaded").flags(&["-p", "--path.plugins"]),
    Setting::new("path.config", Text, "", "file, directory or glob of the pipeline to run").flags(&["-f", "--path.config"]).per_pipeline(),
    Setting::new("config.string", Text, "", "text of the pipeline to run").flags(&["-e", "--config.string"]).per_pipeline(),
    Setting::new("path.queue", Directory, "", "directory of persisted queues (default: path.data/queue)").per_pipeline(),
    Setting::new("path.dead_letter_queue", Directory, "", "directory of dead letters (default: path.data/dead_letter_queue)").per_pipeline(),
    Setting::new("config.test_and_exit", Bool, "false", "check all pipelines and end").flags(&["-t", "--config.test_and_exit"]),
    Setting::new("config.reload.automatic", Bool, "false", "look for changed configurations").flags(&["-r", "--config.reload.automatic"]).ignored_in_pipelines(),
    Setting::new("config.reload.interval", Time, "3s", "how often to look").flags(&["--config.reload.interval"]).ignored_in_pipelines(),
    Setting::new("ssl.reload.automatic", Bool, "false", "take replaced certificates without a restart"),
    Setting::new("config.debug", Bool, "false", "show the compiled configuration at log level debug").flags(&["--config.debug"]).per_pipeline(),
    Setting::new("config.support_escapes", Bool, "false", "read escapes such as \\n in quoted strings").per_pipeline(),
    Setting::new("config.field_reference.escape_style", Words(&["none", "percent", "ampersand"]), "none", "how brackets in field names are written").flags(&["--field-reference-escape-style"]),
    Setting::new("pipeline.id", Text, "main", "name of the pipeline").flags(&["--pipeline.id"]).per_pipeline(),
    Setting::new("pipeline.workers", Count, "", "worker threads (default: one per CPU)").flags(&["-w", "--pipeline.workers"]).per_pipeline(),
    Setting::new("pipeline.batch.size", Count, "125", "most events that a worker takes at once").flags(&["-b", "--pipeline.batch.size"]).per_pipeline(),
    Setting::new("pipeline.batch.delay", Number, "50", "wait for each further event of a batch, in ms").flags(&["-u", "--pipeline.batch.delay"]).per_pipeline(),
    Setting::new("pipeline.batch.output_chunking.growth_threshold_factor", Count, "1000", "growth from which outputs get chunks").flags(&["--pipeline.batch.output_chunking.growth_threshold_factor"]).per_pipeline(),
    Setting::new("pipeline.batch.metrics.sampling_mode", Words(&["disabled", "minimal", "full"]), "minimal", "how many batches are measured").per_pipeline(),
    Setting::new("pipeline.ordered", Words(&["auto", "true", "false"]), "auto", "keep the order of events (needs one worker)").flags(&["--pipeline.ordered"]).per_pipeline(),
    Setting::new("pipeline.partition_affinity", Bool, "false", "events of one Kafka partition go to one worker, in order").per_pipeline().only_spillway(),
    Setting::new("pipeline.ecs_compatibility", Words(&["disabled", "v1", "v8"]), "v8", "field names that plugins use by default").flags(&["--pipeline.ecs_compatibility"]).per_pipeline(),
    Setting::new("pipeline.unsafe_shutdown", Bool, "false", "end a stalled shutdown by force, losing events").flags(&["--pipeline.unsafe_shutdown"]),
    Setting::new("pipeline.reloadable", Bool, "true", "whether a reload may replace it").per_pipeline(),
    Setting::new("pipeline.recoverable", Words(&["auto", "true", "false"]), "false", "restart it after a crash").per_pipeline(),
    Setting::new("pipeline.reload.fallback", Bool, "true", "go on with the last configuration when a new one does not start").per_pipeline().only_spillway(),
    Setting::new("pipeline.stall_warn", Time, "60s", "a worker that is in one call of a plugin for so long is told of; -1 is never").per_pipeline().only_spillway(),
    Setting::new("pipeline.separate_logs", Bool, "false", "one log file per pipeline"),
    Setting::new("pipeline.system", Bool, "false", "an internal pipeline").per_pipeline().without_meaning(),
    Setting::new("pipeline.plugin_classloaders", Bool, "false", "for Java plugins").flags(&["--plugin-classloaders"]).per_pipeline().without_meaning(),
    Setting::new("pipeline.buffer.type", Words(&["direct", "heap"]), "heap", "memory of the Java machine").without_meaning(),
    Setting::new("pipeline.fail_fast", Bool, "false", "one pipeline that fails to start ends the process").only_spillway(),
    Setting::new("pipeline.poison_batch_limit", Number, "3", "tries of a batch that crashed a worker, 0 is none").per_pipeline().only_spillway(),
    Setting::new("spillway.ruby.command", Text, "ruby", "the Ruby interpreter that runs scripts, at least 2.7").per_pipeline().only_spillway(),
    Setting::new("spillway.ruby.isolation", Words(&["auto", "worker", "pipeline"]), "auto", "one interpreter per worker, or one for all; auto: one for all if a script remembers something").per_pipeline().only_spillway(),
    Setting::new("spillway.ruby.timeout", Time, "60s", "how long a script may take for one event").per_pipeline().only_spillway(),
    Setting::new("spillway.ruby.memory", Bytes, "1gb", "most address space of an interpreter, 0 is unlimited").per_pipeline().only_spillway(),
    Setting::new("queue.type", Words(&["memory", "persisted"]), "memory", "where events wait").per_pipeline(),
    Setting::new("queue.drain", Bool, "false", "empty a persisted queue before stopping").per_pipeline(),
    Setting::new("queue.page_capacity", Bytes, "64mb", "size of a page of a persisted queue").per_pipeline(),
    Setting::new("queue.max_bytes", Bytes, "1024mb", "largest persisted queue, 0 is unlimited").per_pipeline(),
    Setting::new("queue.max_events", Number, "0", "most unread events in it, 0 is unlimited").per_pipeline(),
    Setting::new("queue.checkpoint.acks", Number, "1024", "acknowledged events between checkpoints").per_pipeline(),
    Setting::new("queue.checkpoint.writes", Number, "1024", "written events between checkpoints").per_pipeline(),
    Setting::new("queue.checkpoint.interval", Number, "1000", "has no effect").per_pipeline(),
    Setting::new("queue.checkpoint.retry", Bool, "true", "retry a failed checkpoint").per_pipeline(),
    Setting::new("queue.durability", Words(&["kernel", "disk"]), "kernel", "when a source hears that its events are safe").per_pipeline().only_spillway(),
    Setting::new("queue.compression", Words(&["none", "speed", "balanced", "size", "disabled"]), "none", "compression of new entries").per_pipeline(),
    Setting::new("dead_letter_queue.enable", Bool, "false", "keep rejected events").per_pipeline(),
    Setting::new("dead_letter_queue.max_bytes", Bytes, "1024mb", "size at which the policy applies").per_pipeline(),
    Setting::new("dead_letter_queue.flush_interval", Number, "5000", "age at which a segment is sealed, in ms, at least 1000").per_pipeline(),
    Setting::new("dead_letter_queue.flush_check_interval", Number, "1000", "how often that is looked at, in ms, at least 1000").per_pipeline(),
    Setting::new("dead_letter_queue.storage_policy", Words(&["drop_newer", "drop_older"]), "drop_newer", "which entries go when it is full").per_pipeline(),
    Setting::new("dead_letter_queue.retain.age", Text, "", "age at which entries go, such as 5d").per_pipeline(),
    Setting::new("dead_letter_queue.loop_guard", Words(&["requeue", "skip"]), "requeue", "what happens to a replayed event that fails again").per_pipeline().only_spillway(),
    Setting::new("metric.collect", Bool, "true", "collect plugin metrics").per_pipeline(),
    Setting::new("log.level", Words(&["fatal", "error", "warn", "info", "debug", "trace"]), "info", "how much is logged").flags(&["--log.level"]),
    Setting::new("log.format", Words(&["plain", "json"]), "plain", "shape of log lines").flags(&["--log.format"]),
    Setting::new("log.format.json.fix_duplicate_message_fields", Bool, "true", "a second `message` is always renamed").flags(&["--log.format.json.fix_duplicate_message_fields"]),
    Setting::new("log.console", Words(&["stderr", "stdout", "off"]), "stderr", "stream that log lines go to").only_spillway(),
    Setting::new("log.rate_limit", Time, "10s", "equal lines of a plugin are held back so long; -1 is off").only_spillway(),
    Setting::new("log.event_max_chars", Number, "200", "events in log lines are cut to this, 0 leaves them out").only_spillway(),
    Setting::new("slowlog.threshold.warn", Time, "-1", "slower filters are logged as warnings"),
    Setting::new("slowlog.threshold.info", Time, "-1", "slower filters are logged at info"),
    Setting::new("slowlog.threshold.debug", Time, "-1", "slower filters are logged at debug"),
    Setting::new("slowlog.threshold.trace", Time, "-1", "slower filters are logged at trace"),
    Setting::new("api.enabled", Bool, "true", "serve the monitoring API").flags(&["--api.enabled"]),
    Setting::new("api.http.host", Text, "127.0.0.1", "address it binds to").flags(&["--api.http.host"]),
    Setting::new("api.http.port", Ports, "9600-9700", "port, or range of which the first free one is taken").flags(&["--api.http.port"]),
    Setting::new("api.environment", Text, "production", "a free word"),
    Setting::new("api.auth.type", Words(&["none", "basic"]), "none", "whether clients need a password"),
    Setting::new("api.auth.basic.username", Text, "", "user name for basic"),
    Setting::new("api.auth.basic.password", Password, "", "password for basic"),
    Setting::new("api.auth.basic.password_policy.mode", Words(&["WARN", "ERROR"]), "WARN", "what a weak password does"),
    Setting::new("api.auth.basic.password_policy.length.minimum", Number, "8", "shortest good password"),
    Setting::new("api.auth.basic.password_policy.include.upper", Words(PRESENCE), "REQUIRED", "capital letters in it"),
    Setting::new("api.auth.basic.password_policy.include.lower", Words(PRESENCE), "REQUIRED", "small letters in it"),
    Setting::new("api.auth.basic.password_policy.include.digit", Words(PRESENCE), "REQUIRED", "digits in it"),
    Setting::new("api.auth.basic.password_policy.include.symbol", Words(PRESENCE), "OPTIONAL", "other characters in it"),
    Setting::new("api.ssl.enabled", Bool, "false", "serve it over TLS"),
    Setting::new("api.ssl.keystore.path", Text, "", "certificate and key"),
    Setting::new("api.ssl.keystore.password", Password, "", "password of that file"),
    Setting::new("api.ssl.supported_protocols", List, "", "TLS versions"),
    Setting::new("keystore.file", Text, "", "file of secrets (default: path.settings/logstash.keystore)"),
    Setting::new("keystore.classname", Text, "org.logstash.secret.store.backend.JavaKeyStore", "a Java class").without_meaning(),
    Setting::new("allow_superuser", Bool, "false", "may root run it"),
    Setting::new("interactive", Text, "", "a Ruby shell, which does not exist here").flags(&["-i", "--interactive"]),
    Setting::new("enable-local-plugin-development", Bool, "false", "for Ruby plugins").flags(&["--enable-local-plugin-development"]).without_meaning(),
    Setting::new("monitoring.cluster_uuid", Text, "", "cluster that monitoring shows this node under"),
    Setting::new("otel.metrics.enabled", Bool, "false", "send metrics by OTLP"),
    Setting::new("otel.exporter.otlp.endpoint", Text, "http://localhost:4317", "where to"),
    Setting::new("otel.exporter.otlp.protocol", Words(&["grpc", "http"]), "grpc", "how"),
    Setting::new("otel.exporter.otlp.headers", Password, "", "with which headers"),
    Setting::new("otel.exporter.otlp.certificate", Text, "", "trusted certificate"),
    Setting::new("otel.exporter.otlp.client.key", Text, "", "client key"),
    Setting::new("otel.exporter.otlp.client.certificate", Text, "", "client certificate"),
    Setting::new("otel.metric.export.interval", Time, "10s", "how often"),
    Setting::new("otel.service.name", Text, "", "name of this service"),
    Setting::new("otel.resource.attributes", Text, "", "further attributes"),
];

/// The names that a mistyped one was likely meant to be: at most three that are near, or, where there is none, those
/// that end like it (`pipeline.workers` for `workers`).
pub fn nearest(name: &str) -> Vec<String> {
    let known = || all().map(|setting| setting.name);
    let near = config::nearest(name, known());
    if !near.is_empty() {
        return near;
    }
    let tail = format!(".{}", name.to_lowercase());
    let tails: Vec<String> = known().filter(|name| name.ends_with(&tail)).map(str::to_owned).collect();
    if tails.len() > 3 { Vec::new() } else { tails }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::kind::Raw;

    #[test]
    fn every_default_has_the_type_of_its_setting() {
        for setting in all().filter(|s| !s.default.is_empty()) {
            let read = setting.kind.read(&Raw::Scalar { text: setting.default.into(), plain: true });
            assert!(read.is_ok(), "{}: {read:?}", setting.name);
        }
    }

    #[test]
    fn settings_are_found_by_a_near_name_or_its_end() {
        assert_eq!(nearest("pipeline.worker"), ["pipeline.workers"]);
        assert_eq!(nearest("workers"), ["pipeline.workers"]);
        assert!(nearest("something.else").is_empty());
    }

    #[test]
    fn no_flag_is_used_twice() {
        let mut flags: Vec<_> = all().flat_map(|s| s.flags).collect();
        let count = flags.len();
        flags.sort();
        flags.dedup();
        assert_eq!(flags.len(), count);
    }

    #[test]
    fn names_of_x_pack_are_known() {
        for name in [
            "xpack.monitoring.enabled",
            "monitoring.enabled",
            "xpack.monitoring.elasticsearch.ssl.verification_mode",
            "xpack.management.logstash.poll_interval",
            "xpack.management.elasticsearch.hosts",
            "xpack.geoip.downloader.enabled",
        ] {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
