//! Run mode: settings, then checks of the machine, then the pipelines; or with `-t` a check of them all.

use super::flags::Invocation;
use super::pipelines::{self, Job};
use super::{FAILED, OK, crash, print, report, say, usage_error};
use crate::config::Variables;
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::logging::Logging;
use crate::pipeline::{self, Prepared};
use crate::settings::directories::DataDirectory;
use crate::settings::{self, Listed, LoadError, Loaded, Settings};
use crate::version;

/// Runs, or checks; gives the exit code.
pub(super) fn run(invocation: &Invocation) -> u8 {
    let variables = Variables::from_environment();
    let color = invocation.color.unwrap_or_else(report::color_wanted);
    match settings::load(&invocation.values, &variables) {
        Ok(loaded) if loaded.settings.config_test => check(&loaded, &invocation.warnings, &variables, color),
        Ok(loaded) => start(loaded, &invocation.warnings, &variables),
        Err(LoadError::Usage(message)) => usage_error(&message),
        Err(LoadError::Invalid { diagnostics, sources }) => {
            say(&report::text(&diagnostics, &sources, color));
            let counts = report::counts(&diagnostics);
            say(&format!("ERROR: Your settings are invalid: {counts}\n"));
            if invocation.values.bool("config.test_and_exit") {
                print(&format!("Configuration INVALID: {counts}\n"));
            }
            FAILED
        }
    }
}

/// `-t`: every pipeline is checked, and every mistake told.
fn check(loaded: &Loaded, warnings: &[String], variables: &Variables, color: bool) -> u8 {
    warnings.iter().for_each(|warning| say(&format!("warning: {warning}\n")));
    say(&report::text(&loaded.diagnostics, &loaded.sources, color));
    let shared = pipelines::shared(&loaded.settings, variables);
    let mut all = loaded.diagnostics.clone();
    let mut prepared: Vec<Prepared> =
        loaded.pipelines.iter().map(|pipeline| pipelines::check(pipeline, &shared)).collect();
    pipeline::look_between(&mut prepared);
    for (pipeline, prepared) in loaded.pipelines.iter().zip(prepared) {
        // Pipelines may share a wrong value; one cause is one error.
        let told = |fault: &Diagnostic| all.0.iter().any(|d| d.span == fault.span && d.message == fault.message);
        let faults = Diagnostics(pipeline.faults.iter().filter(|fault| !told(fault)).cloned().collect());
        say(&report::text(&faults, &loaded.sources, color));
        let Prepared { diagnostics, sources, .. } = prepared;
        say(&report::text(&diagnostics, &sources, color));
        all.0.extend(faults.0.into_iter().chain(diagnostics.0));
    }
    if all.has_errors() {
        print(&format!("Configuration INVALID: {}\n", report::counts(&all)));
        return FAILED;
    }
    print("Configuration OK\n")
}

fn start(loaded: Loaded, warnings: &[String], variables: &Variables) -> u8 {
    let Loaded { settings, pipelines, diagnostics, sources, lister } = loaded;
    if let Some(origin) = lister.fixed_text().filter(|_| settings.reload.automatic) {
        return usage_error(&format!(
            "config.reload.automatic cannot be used with config.string ({origin}), which cannot change: put it into a file"
        ));
    }
    crash::write_files_to(settings.path_logs.clone());
    let logging = match Logging::start(&settings.log) {
        Ok(logging) => logging,
        Err(error) => return failed(&error.to_string()),
    };
    tracing::info!(target: "logstash.runner",
        { logstash.version = version::LOGSTASH, spillway.version = version::SPILLWAY }, "Starting Logstash");
    for warning in warnings {
        tracing::warn!(target: "logstash.runner", "{warning}");
    }
    pipeline::log(&diagnostics, &sources);
    let ran = open_data(&settings).and_then(|data| {
        let shared = pipelines::shared(&settings, variables);
        let listed = Listed { pipelines, diagnostics, sources };
        pipelines::run(Job { settings, listed, lister, shared, data, logging: logging.clone() })
    });
    let code = ran.unwrap_or_else(|message| {
        tracing::error!(target: "logstash.runner", fatal = true, "{message}");
        FAILED
    });
    if code == OK {
        tracing::info!(target: "logstash.runner", "Logstash shut down.");
    }
    logging.finish();
    code
}

/// Checks of the machine that come before anything runs.
fn open_data(settings: &Settings) -> Result<DataDirectory, String> {
    check_user(settings.allow_superuser, rustix::process::geteuid().is_root())?;
    DataDirectory::open(&settings.path_data).map_err(|error| error.to_string())
}

fn check_user(allowed: Option<bool>, is_root: bool) -> Result<(), String> {
    match allowed {
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

/// Logging could not be started: standard error is all there is.
fn failed(message: &str) -> u8 {
    say(&format!("ERROR: {message}\n"));
    FAILED
}

#[cfg(test)]
mod tests {
    use super::check_user;

    #[test]
    fn root_is_refused_only_when_somebody_said_so() {
        assert!(check_user(Some(false), true).is_err());
        for (allowed, is_root) in [(Some(false), false), (Some(true), true), (None, true), (None, false)] {
            assert!(check_user(allowed, is_root).is_ok(), "{allowed:?} {is_root}");
        }
    }
}
