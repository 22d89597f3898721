//! Settings that are known and whose feature is not there yet: switching it on is refused, leaving it off is fine.
//! And those that work differently from what one may expect, which is a warning.
//!
//! When a feature is built, its lines here go away.

use super::kind::Value;
use super::reader::{self, Reader};
use super::values::{Values, default_of};
use super::{table, values::Origin};
use crate::config::diagnostic::Diagnostic;

/// Setting, and why it cannot be switched on.
const REFUSED: &[(&str, &str)] = &[
    ("ssl.reload.automatic", "certificates are not reloaded yet; send SIGHUP or restart after a change"),
    ("pipeline.separate_logs", "one log file per pipeline is not there yet; each line names its pipeline"),
    ("slowlog.threshold.warn", "the slow log is not there yet"),
    ("slowlog.threshold.info", "the slow log is not there yet"),
    ("slowlog.threshold.debug", "the slow log is not there yet"),
    ("slowlog.threshold.trace", "the slow log is not there yet"),
    ("api.ssl.enabled", "the monitoring API has no TLS yet; keep it on 127.0.0.1"),
    ("api.auth.type", "the monitoring API has no passwords yet; keep it on 127.0.0.1"),
    ("keystore.file", "keystores are not there yet; use environment variables"),
    ("otel.metrics.enabled", "metrics are not sent by OTLP yet; read them from the monitoring API"),
    ("xpack.management.enabled", "pipelines are not fetched from Kibana; use pipelines.yml"),
    ("interactive", "there is no Ruby shell here; check a configuration with -t"),
];

/// Setting, and what to know when it is set to something else than its default.
const NOTICED: &[(&str, &str)] = &[
    ("config.field_reference.escape_style", "is a technical preview in Logstash and may change"),
    ("queue.checkpoint.interval", "is deprecated and has no effect"),
    ("config.debug", "has no effect yet"),
];

/// Warns of every setting of these values that is not what it seems.
pub fn notice(values: &Values, reader: &mut Reader<'_>) {
    for (name, remark) in NOTICED {
        let (Some(set), Some(setting)) = (values.explicit(name), table::find(name)) else { continue };
        if set.value != default_of(setting) {
            let mut diagnostic = reader::warning("no-effect", format!("`{name}` {remark}"));
            diagnostic.span = set.origin.span();
            reader.diagnostics.push(diagnostic);
        }
    }
}

/// Reports every setting of these values that asks for something that is not there.
pub fn refuse(values: &Values, reader: &mut Reader<'_>) {
    for (name, reason) in REFUSED {
        let (Some(set), Some(setting)) = (values.explicit(name), table::find(name)) else { continue };
        if set.value == default_of(setting) || set.value == Value::List(Vec::new()) {
            continue;
        }
        let message = match &set.origin {
            Origin::Flag(flag) => format!("{flag} (`{name}`): {reason}"),
            Origin::Default | Origin::File { .. } => format!("`{name}` cannot be set: {reason}"),
        };
        let mut diagnostic = Diagnostic::global("unsupported-setting", message);
        diagnostic.span = set.origin.span();
        reader.diagnostics.push(diagnostic.label("not supported"));
    }
}
