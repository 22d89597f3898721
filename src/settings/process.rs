//! What the whole process runs with, typed.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::secret::Secret;

/// Where log lines for people go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogConsole {
    /// Standard error: results on standard output stay clean.
    #[default]
    Stderr,
    /// Standard output, as Logstash does.
    Stdout,
    /// Nowhere.
    Off,
}

/// The shape of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// `[time][LEVEL][logger][pipeline][plugin] message {details}`.
    #[default]
    Plain,
    /// One JSON object a line.
    Json,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing at all; only loggers can be set to this, not `log.level`.
    Off,
    /// Only what ends the process.
    Fatal,
    /// And what failed.
    Error,
    /// And what is likely wrong.
    Warn,
    /// And what was done.
    #[default]
    Info,
    /// And how.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The level of a word, in small letters.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "off" => LogLevel::Off,
            "fatal" => LogLevel::Fatal,
            "error" => LogLevel::Error,
            "warn" => LogLevel::Warn,
            "info" => LogLevel::Info,
            "debug" => LogLevel::Debug,
            "trace" => LogLevel::Trace,
            _ => return None,
        })
    }

    /// As loggers and the API spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Off => "OFF",
            LogLevel::Fatal => "FATAL",
            LogLevel::Error => "ERROR",
            LogLevel::Warn => "WARN",
            LogLevel::Info => "INFO",
            LogLevel::Debug => "DEBUG",
            LogLevel::Trace => "TRACE",
        }
    }
}

/// The `log.*` settings.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// How much.
    pub level: LogLevel,
    /// In which shape.
    pub format: LogFormat,
    /// To which stream.
    pub console: LogConsole,
    /// Directory of the log files; `None` makes none. Only set when `path.logs` was given by the user.
    pub directory: Option<PathBuf>,
    /// Equal lines of one plugin are held back for this long; zero holds nothing back.
    pub rate_limit: Duration,
    /// Event texts in log lines are cut to so many characters; zero leaves them out.
    pub event_max_chars: usize,
}

/// The `api.*` settings.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// Whether the monitoring API is served.
    pub enabled: bool,
    /// Host name or address to bind to.
    pub host: String,
    /// First and last port to try, ascending.
    pub ports: (u16, u16),
    /// A free word, reported nowhere.
    pub environment: String,
    /// User name and password, when basic authentication is on.
    pub basic_auth: Option<(String, Secret)>,
}

impl ApiSettings {
    /// Whether only programs on this machine can connect.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// The `config.reload.*` settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReloadSettings {
    /// Whether changes are looked for.
    pub automatic: bool,
    /// How often.
    pub interval: Duration,
}

/// The `slowlog.threshold.*` settings; `None` is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowlogSettings {
    /// Slower is a warning.
    pub warn: Option<Duration>,
    /// Slower is logged at info.
    pub info: Option<Duration>,
    /// Slower is logged at debug.
    pub debug: Option<Duration>,
    /// Slower is logged at trace.
    pub trace: Option<Duration>,
}

/// Everything that is one per process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of this node; the host name unless set.
    pub node_name: String,
    /// Directory of everything that is kept: queues, dead letters, positions of inputs.
    pub path_data: PathBuf,
    /// Directory of logs and crash files.
    pub path_logs: PathBuf,
    /// Directory of the settings files, if there is one.
    pub path_settings: Option<PathBuf>,
    /// Logging.
    pub log: LogSettings,
    /// The monitoring API.
    pub api: ApiSettings,
    /// Check everything, run nothing.
    pub config_test: bool,
    /// Print the compiled configuration at log level debug.
    pub config_debug: bool,
    /// Reloading.
    pub reload: ReloadSettings,
    /// Slow filters.
    pub slowlog: SlowlogSettings,
    /// Whether root may run it; `None` when nobody said so.
    pub allow_superuser: Option<bool>,
    /// Whether a stalled shutdown is ended by force.
    pub unsafe_shutdown: bool,
    /// One pipeline that fails to start ends the process.
    pub fail_fast: bool,
    /// Worker threads of a pipeline that does not set its own (reported by the API).
    pub pipeline_workers: usize,
    /// Batch size of a pipeline that does not set its own (reported by the API).
    pub pipeline_batch_size: usize,
    /// Batch delay of a pipeline that does not set its own (reported by the API).
    pub pipeline_batch_delay: Duration,
    /// Name of the cluster that monitoring shows this node under.
    pub monitoring_cluster_uuid: Option<String>,
}
