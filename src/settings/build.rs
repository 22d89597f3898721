//! From checked values to the typed structs that the program works with; limits that need several settings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kind::Value;
use super::pipeline::{
    ConfigSource, Ecs, Ordered, PipelineSettings, QueueType, Recoverable, RubyIsolation, RubySettings,
};
use super::process::{
    ApiSettings, LogConsole, LogFormat, LogLevel, LogSettings, ReloadSettings, Settings, SlowlogSettings,
};
use super::reader::{self, Reader};
use super::secret::Secret;
use super::values::Values;
use crate::config::diagnostic::Diagnostic;
use crate::dead_letter::{self, LoopGuard, StoragePolicy, parse_retain_age};
use crate::event::EscapeStyle;
use crate::queue::persisted::{self, Compression, Durability};

/// The settings of the process.
pub fn process(values: &Values, directory: Option<PathBuf>, reader: &mut Reader<'_>) -> Settings {
    let path_logs = values.path("path.logs").unwrap_or_default();
    Settings {
        node_name: values.text("node.name").unwrap_or_else(host_name),
        path_data: values.path("path.data").unwrap_or_default(),
        log: log(values, &path_logs),
        path_logs,
        path_settings: directory,
        api: api(values, reader),
        config_test: values.bool("config.test_and_exit"),
        config_debug: values.bool("config.debug"),
        reload: reload(values, reader),
        slowlog: SlowlogSettings {
            warn: values.time("slowlog.threshold.warn"),
            info: values.time("slowlog.threshold.info"),
            debug: values.time("slowlog.threshold.debug"),
            trace: values.time("slowlog.threshold.trace"),
        },
        allow_superuser: values.explicit("allow_superuser").map(|set| set.value == Value::Bool(true)),
        unsafe_shutdown: values.bool("pipeline.unsafe_shutdown"),
        fail_fast: values.bool("pipeline.fail_fast"),
        pipeline_workers: workers(values),
        pipeline_batch_size: size(values, "pipeline.batch.size"),
        pipeline_batch_delay: values.milliseconds("pipeline.batch.delay"),
        monitoring_cluster_uuid: values.text("monitoring.cluster_uuid"),
    }
}

/// The name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn workers(values: &Values) -> usize {
    match values.integer("pipeline.workers") {
        Some(workers) => usize::try_from(workers).unwrap_or(usize::MAX),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

fn size(values: &Values, name: &str) -> usize {
    values.integer(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX)
}

fn log(values: &Values, path_logs: &std::path::Path) -> LogSettings {
    LogSettings {
        level: LogLevel::parse(values.word("log.level")).unwrap_or_default(),
        format: if values.word("log.format") == "json" { LogFormat::Json } else { LogFormat::Plain },
        console: match values.word("log.console") {
            "stdout" => LogConsole::Stdout,
            "off" => LogConsole::Off,
            _ => LogConsole::Stderr,
        },
        directory: values.explicit("path.logs").map(|_| path_logs.to_owned()),
        rate_limit: values.time("log.rate_limit").unwrap_or(Duration::ZERO),
        event_max_chars: size(values, "log.event_max_chars"),
    }
}

fn api(values: &Values, reader: &mut Reader<'_>) -> ApiSettings {
    let ports = match values.get("api.http.port") {
        Value::Ports(first, last) => (first, last),
        _ => (9600, 9700),
    };
    let basic = values.word("api.auth.type") == "basic";
    let mut credentials = [None, None];
    for (name, slot) in ["api.auth.basic.username", "api.auth.basic.password"].into_iter().zip(&mut credentials) {
        match (basic, values.text(name)) {
            (true, None) => {
                let message = format!("`{name}` must be set, because `api.auth.type` is basic");
                reader.diagnostics.push(Diagnostic::global("missing-setting", message));
            }
            (false, Some(_)) => {
                let message = format!("`{name}` has no effect, because `api.auth.type` is none");
                reader.diagnostics.push(reader::warning("ignored-setting", message));
            }
            (_, value) => *slot = value,
        }
    }
    if !(8..=1024).contains(&size(values, "api.auth.basic.password_policy.length.minimum")) {
        let name = "api.auth.basic.password_policy.length.minimum";
        limit(name, "must be from 8 to 1024", values, reader);
    }
    let [username, password] = credentials;
    ApiSettings {
        enabled: values.bool("api.enabled"),
        host: values.text("api.http.host").unwrap_or_default(),
        ports,
        environment: values.text("api.environment").unwrap_or_default(),
        basic_auth: username.zip(password.map(Secret::new)),
    }
}

fn reload(values: &Values, reader: &mut Reader<'_>) -> ReloadSettings {
    let interval = values.time("config.reload.interval").unwrap_or(Duration::MAX);
    if interval < Duration::from_millis(100) {
        let wrong = "must be 100ms or more; a number without a unit counts nanoseconds, write 3s for seconds";
        limit("config.reload.interval", wrong, values, reader);
    }
    ReloadSettings { automatic: values.bool("config.reload.automatic"), interval }
}

/// A setting of the process that is outside its limits.
fn limit(name: &str, wrong: &str, values: &Values, reader: &mut Reader<'_>) {
    let origin = values.origin(name);
    let mut diagnostic = Diagnostic::global("invalid-value", format!("`{name}` {wrong}"));
    diagnostic.span = origin.span();
    reader.diagnostics.push(diagnostic);
}

/// The settings of one pipeline, from all its layers.
pub fn pipeline(id: String, values: &Values, reader: &mut Reader<'_>) -> PipelineSettings {
    let data = values.path("path.data").unwrap_or_default();
    let mut faults = Vec::new();
    let (config, set) = match (values.explicit("config.string"), values.explicit("path.config")) {
        (Some(set), _) => (ConfigSource::Text(values.text("config.string").unwrap_or_default()), Some(set)),
        (None, set) => (ConfigSource::Path(values.text("path.config").unwrap_or_default()), set),
    };
    let config_set_at = set.map(|set| set.origin.to_string()).unwrap_or_default();
    let workers = workers(values);
    let workers_explicit = values.explicit("pipeline.workers").is_some();
    let ordered = ordered(values, workers, workers_explicit, &mut faults);
    check_queue(values, &mut faults);
    let dead_letters = values.path("path.dead_letter_queue").unwrap_or_else(|| data.join("dead_letter_queue"));
    PipelineSettings {
        config,
        config_set_at,
        workers,
        workers_explicit,
        batch_size: size(values, "pipeline.batch.size"),
        batch_delay: values.milliseconds("pipeline.batch.delay"),
        output_chunking_growth_factor: size(values, "pipeline.batch.output_chunking.growth_threshold_factor"),
        ordered,
        partition_affinity: values.bool("pipeline.partition_affinity"),
        ecs_compatibility: match values.word("pipeline.ecs_compatibility") {
            "disabled" => Ecs::Disabled,
            "v1" => Ecs::V1,
            _ => Ecs::V8,
        },
        support_escapes: values.bool("config.support_escapes"),
        escape_style: match values.word("config.field_reference.escape_style") {
            "percent" => EscapeStyle::Percent,
            "ampersand" => EscapeStyle::Ampersand,
            _ => EscapeStyle::None,
        },
        queue_type: if values.word("queue.type") == "persisted" { QueueType::Persisted } else { QueueType::Memory },
        queue: queue(&id, &data, values),
        dead_letter_queue_enable: values.bool("dead_letter_queue.enable"),
        dead_letter_queue: dead_letter_queue(dead_letters.join(&id), values, reader, &mut faults),
        reloadable: values.bool("pipeline.reloadable"),
        recoverable: match values.word("pipeline.recoverable") {
            "auto" => Recoverable::Auto,
            "true" => Recoverable::True,
            _ => Recoverable::False,
        },
        reload_fallback: values.bool("pipeline.reload.fallback"),
        stall_warn: values.time("pipeline.stall_warn").filter(|time| !time.is_zero()),
        metric_collect: values.bool("metric.collect"),
        poison_batch_limit: values.integer("pipeline.poison_batch_limit").unwrap_or_default(),
        ruby: ruby(values),
        faults,
        id,
    }
}

fn ruby(values: &Values) -> RubySettings {
    let usual = RubySettings::default();
    RubySettings {
        command: values.text("spillway.ruby.command").unwrap_or(usual.command),
        isolation: match values.word("spillway.ruby.isolation") {
            "worker" => RubyIsolation::Worker,
            "pipeline" => RubyIsolation::Pipeline,
            _ => RubyIsolation::Auto,
        },
        timeout: values.time("spillway.ruby.timeout").unwrap_or(usual.timeout),
        memory: values.integer("spillway.ruby.memory").unwrap_or(usual.memory),
    }
}

fn ordered(values: &Values, workers: usize, explicit: bool, faults: &mut Vec<Diagnostic>) -> Ordered {
    match values.word("pipeline.ordered") {
        "true" => {
            if workers > 1 {
                let (count, from) = (workers, if explicit { "" } else { " (one per CPU)" });
                let message = format!(
                    "enabling the `pipeline.ordered` setting requires the use of a single pipeline worker, and there are {count}{from}"
                );
                faults.push(fault("pipeline.ordered", message, values).help("set `pipeline.workers: 1`"));
            }
            Ordered::True
        }
        "false" => Ordered::False,
        _ => Ordered::Auto,
    }
}

fn queue(id: &str, data: &Path, values: &Values) -> persisted::Settings {
    let number = |name| values.integer(name).unwrap_or_default();
    persisted::Settings {
        directory: values.path("path.queue").unwrap_or_else(|| data.join("queue")).join(id),
        page_capacity: number("queue.page_capacity"),
        max_bytes: number("queue.max_bytes"),
        max_events: number("queue.max_events"),
        checkpoint_acks: number("queue.checkpoint.acks"),
        checkpoint_writes: number("queue.checkpoint.writes"),
        checkpoint_retry: values.bool("queue.checkpoint.retry"),
        compression: Compression::parse(values.word("queue.compression")),
        durability: if values.word("queue.durability") == "disk" { Durability::Disk } else { Durability::Kernel },
        drain: values.bool("queue.drain"),
    }
}

fn check_queue(values: &Values, faults: &mut Vec<Diagnostic>) {
    let page = values.integer("queue.page_capacity").unwrap_or_default();
    let most = values.integer("queue.max_bytes").unwrap_or_default();
    if most != 0 && page > most {
        let message =
            format!("`queue.page_capacity` ({page} bytes) must not be larger than `queue.max_bytes` ({most} bytes)");
        faults.push(fault("queue.page_capacity", message, values));
    }
    if !(18..=i32::MAX as u64).contains(&page) {
        let message = format!("`queue.page_capacity` must be from 18 bytes to 2147483647 bytes, not {page}");
        faults.push(fault("queue.page_capacity", message, values));
    }
    if values.word("queue.type") == "persisted" && values.bool("pipeline.partition_affinity") {
        let message = "`pipeline.partition_affinity` needs a queue for each worker, which a persisted queue is not";
        let fault = fault("pipeline.partition_affinity", message.to_owned(), values);
        faults.push(fault.help("set `queue.type: memory`, or `pipeline.workers: 1`"));
    }
}

/// What keeps one pipeline from starting.
fn fault(name: &str, message: String, values: &Values) -> Diagnostic {
    let mut diagnostic = Diagnostic::global("invalid-value", message);
    diagnostic.span = values.origin(name).span();
    diagnostic
}

fn dead_letter_queue(
    directory: PathBuf,
    values: &Values,
    reader: &mut Reader<'_>,
    faults: &mut Vec<Diagnostic>,
) -> dead_letter::Settings {
    let retain_age = values.text("dead_letter_queue.retain.age");
    if let Some(text) = retain_age.as_deref().filter(|text| parse_retain_age(text).is_err()) {
        let message = format!(
            "`dead_letter_queue.retain.age` cannot be `{text}`: it must be a number and one of d, h, m, s, such as 5d"
        );
        faults.push(fault("dead_letter_queue.retain.age", message, values));
    }
    let mut settings = dead_letter::Settings {
        max_bytes: values.integer("dead_letter_queue.max_bytes").unwrap_or_default(),
        flush_interval: values.milliseconds("dead_letter_queue.flush_interval"),
        flush_check_interval: values.milliseconds("dead_letter_queue.flush_check_interval"),
        storage_policy: StoragePolicy::parse(values.word("dead_letter_queue.storage_policy")).unwrap_or_default(),
        retain_age: retain_age.as_deref().and_then(|text| parse_retain_age(text).ok()),
        loop_guard: LoopGuard::parse(values.word("dead_letter_queue.loop_guard")).unwrap_or_default(),
        ..dead_letter::Settings::new(directory)
    };
    for changed in settings.keep_to_limits() {
        let mut diagnostic = reader::warning("invalid-value", changed.to_string());
        diagnostic.span = values.origin(changed.name).span();
        // Pipelines may share the value.
        if !reader.diagnostics.0.iter().any(|d| d.span == diagnostic.span && d.message == diagnostic.message) {
            reader.diagnostics.push(diagnostic);
        }
    }
    settings
}
