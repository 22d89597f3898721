//! Names of options that the community's plugin of the same name has: its configurations go on working.

use std::path::PathBuf;
use std::time::Duration;

use crate::plugins::Options;

/// What they say.
pub(super) struct OldNames {
    /// One of them was given that says how to give up.
    pub is_used: bool,
    /// `http_hosts`.
    pub hosts: Option<Vec<String>>,
    /// `idle_flush_time`.
    pub flush_interval: Option<Duration>,
    /// `request_tolerance`.
    pub retries: Option<i64>,
    /// `backoff_time`.
    pub retry_initial_interval: Option<Duration>,
    /// `pool_max`.
    pub writers: Option<i64>,
    pub automatic_retries: u32,
    /// `save_dir`, when `save_on_failure` is on.
    pub save_dir: Option<PathBuf>,
}

impl OldNames {
    /// Declares and reads them.
    pub fn read(options: &mut Options<'_>) -> Self {
        let hosts = options.strings("http_hosts").doc("Old name of `hosts`.").deprecated("use `hosts`").optional();
        let flush_interval = options
            .seconds("idle_flush_time")
            .doc("Old name of `flush_interval`.")
            .deprecated("use `flush_interval`")
            .optional();
        let retries =
            options.integer("request_tolerance").doc("Old name of `retries`.").deprecated("use `retries`").optional();
        let retry_initial_interval = options
            .seconds("backoff_time")
            .doc("Old name of `retry_initial_interval`.")
            .deprecated("use `retry_initial_interval`")
            .optional();
        let writers = options.integer("pool_max").doc("Old name of `writers`.").deprecated("use `writers`").optional();
        let automatic_retries = options
            .integer("automatic_retries")
            .doc("How often a request whose connection broke is sent to the same node again at once.")
            .deprecated("leave it out: another node is tried at once")
            .optional();
        let save_on_failure = options
            .boolean("save_on_failure")
            .doc("Whether rows whose retries are used up are written to files in `save_dir`.")
            .deprecated("use the dead letter queue")
            .optional();
        let save_dir = options
            .string("save_dir")
            .doc("Where to; /tmp unless given.")
            .deprecated("use the dead letter queue")
            .optional();
        for (old, new) in [
            ("http_hosts", "hosts"),
            ("idle_flush_time", "flush_interval"),
            ("request_tolerance", "retries"),
            ("backoff_time", "retry_initial_interval"),
            ("pool_max", "writers"),
        ] {
            if options.is_set(old) && options.is_set(new) {
                options.invalid(old, format!("`{old}` is the old name of `{new}`: give only one of them"));
            }
        }
        if save_dir.is_some() && save_on_failure != Some(true) {
            options.warn("save_dir", "no-effect", "`save_dir` is used only with `save_on_failure => true`");
        }
        let saves = save_on_failure == Some(true);
        Self {
            is_used: retries.is_some() || automatic_retries.is_some() || save_on_failure.is_some(),
            hosts,
            flush_interval,
            retries,
            retry_initial_interval,
            writers,
            automatic_retries: automatic_retries.and_then(|n| u32::try_from(n).ok()).unwrap_or(0).min(100),
            save_dir: saves.then(|| PathBuf::from(save_dir.unwrap_or_else(|| "/tmp".to_owned()))),
        }
    }
}
