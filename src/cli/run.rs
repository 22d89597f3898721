//! Run mode: settings, then checks of the machine, then the pipelines; or with `-t` a check of them all.

use super::flags::Invocation;
use super::pipelines::{self, Findings, Job};
use super::{FAILED, OK, crash, print, report, say, usage_error};
use crate::config::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::config::source::Sources;
use crate::logging::Logging;
use crate::settings::directories::DataDirectory;
use crate::settings::variables::Variables;
use crate::settings::{self, LoadError, Loaded, Settings};
use crate::version;

/// Runs, or checks; gives the exit code.
pub(super) fn run(invocation: &Invocation) -> u8 {
    let is_test = invocation.values.bool("config.test_and_exit");
    match settings::load(&invocation.values, &Variables::from_environment()) {
        Ok(loaded) if loaded.settings.config_test => check(&loaded, &invocation.warnings),
        Ok(loaded) => start(loaded, &invocation.warnings),
        Err(LoadError::Usage(message)) => usage_error(&message),
        Err(LoadError::Invalid { diagnostics, sources }) => {
            say(&report::text(&diagnostics, &sources));
            let counts = report::counts(&diagnostics);
            say(&format!("ERROR: Your settings are invalid: {counts}\n"));
            if is_test {
                print(&format!("Configuration INVALID: {counts}\n"));
            }
            FAILED
        }
    }
}

/// `-t`: every pipeline is checked, and every mistake told.
fn check(loaded: &Loaded, warnings: &[String]) -> u8 {
    warnings.iter().for_each(|warning| say(&format!("warning: {warning}\n")));
    say(&report::text(&loaded.diagnostics, &loaded.sources));
    let mut all = loaded.diagnostics.clone();
    for pipeline in &loaded.pipelines {
        // Pipelines may share a wrong value; one cause is one error.
        let told = |fault: &Diagnostic| all.0.iter().any(|d| d.span == fault.span && d.message == fault.message);
        let faults = Diagnostics(pipeline.faults.iter().filter(|fault| !told(fault)).cloned().collect());
        say(&report::text(&faults, &loaded.sources));
        let Findings { diagnostics, sources } = pipelines::check(pipeline);
        say(&report::text(&diagnostics, &sources));
        all.0.extend(faults.0.into_iter().chain(diagnostics.0));
    }
    if all.has_errors() {
        print(&format!("Configuration INVALID: {}\n", report::counts(&all)));
        return FAILED;
    }
    print("Configuration OK\n")
}

fn start(loaded: Loaded, warnings: &[String]) -> u8 {
    let Loaded { settings, pipelines, diagnostics, sources } = loaded;
    crash::write_files_to(settings.path_logs.clone());
    let logging = match Logging::start(&settings.log) {
        Ok(logging) => logging,
        Err(error) => return failed(&error.to_string()),
    };
    tracing::info!(target: "logstash.runner",
        { logstash.version = version::LOGSTASH, spillway.version = version::SPILLWAY }, "Starting Logstash");
    log_warnings(warnings, &diagnostics, &sources);
    let code = match prepare(&settings) {
        Err(message) => fatal(&message),
        Ok(data) => {
            for pipeline in &pipelines {
                log_faults(&pipeline.id, &Diagnostics(pipeline.faults.clone()), &sources);
            }
            let job = Job { settings, pipelines, data, logging: logging.clone() };
            pipelines::run(&job).unwrap_or_else(|message| fatal(&message))
        }
    };
    if code == OK {
        tracing::info!(target: "logstash.runner", "Logstash shut down.");
    }
    logging.finish();
    code
}

/// Checks of the machine that come before anything runs.
fn prepare(settings: &Settings) -> Result<DataDirectory, String> {
    check_user(settings, rustix::process::geteuid().is_root())?;
    DataDirectory::open(&settings.path_data).map_err(|error| error.to_string())
}

fn check_user(settings: &Settings, is_root: bool) -> Result<(), String> {
    match settings.allow_superuser {
        _ if !is_root => {}
        Some(false) => {
            return Err("Spillway cannot be run as superuser, because `allow_superuser` is false: \
                        run it as another user, or set `allow_superuser: true`"
                .into());
        }
        Some(true) => tracing::warn!(target: "logstash.runner",
            "NOTICE: Allowing Spillway to run as superuser is heavily discouraged as it poses a security risk."),
        None => tracing::warn!(target: "logstash.runner",
            "Spillway runs as superuser, which it does not need: run it as another user, or set `allow_superuser`"),
    }
    Ok(())
}

fn log_warnings(warnings: &[String], diagnostics: &Diagnostics, sources: &Sources) {
    for warning in warnings {
        tracing::warn!(target: "logstash.runner", "{warning}");
    }
    for diagnostic in &diagnostics.0 {
        let (line, code) = (report::line(diagnostic, sources), diagnostic.code);
        match diagnostic.level {
            Level::Error => tracing::error!(target: "logstash.settings", code, "{line}"),
            Level::Warning => tracing::warn!(target: "logstash.settings", code, "{line}"),
            Level::Note => tracing::info!(target: "logstash.settings", code, "{line}"),
        }
    }
}

/// A pipeline with faults does not start, and does not keep the others from starting.
fn log_faults(pipeline: &str, faults: &Diagnostics, sources: &Sources) {
    let _span = tracing::error_span!("pipeline", pipeline.id = pipeline).entered();
    log_warnings(&[], faults, sources);
}

/// Logging could not be started: standard error is all there is.
fn failed(message: &str) -> u8 {
    say(&format!("ERROR: {message}\n"));
    FAILED
}

fn fatal(message: &str) -> u8 {
    tracing::error!(target: "logstash.runner", fatal = true, "{message}");
    FAILED
}
