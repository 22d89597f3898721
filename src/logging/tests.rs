use std::fs;
use std::time::Duration;

use tracing_subscriber::layer::SubscriberExt;

use super::Logging;
use crate::settings::{LogConsole, LogFormat, LogLevel, LogSettings};

/// What the log file holds after `calls`, without times.
fn lines(change: impl FnOnce(&mut LogSettings), calls: impl FnOnce(&Logging)) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = LogSettings {
        level: LogLevel::Info,
        format: LogFormat::Plain,
        console: LogConsole::Off,
        directory: Some(dir.path().to_owned()),
        rate_limit: Duration::from_secs(3600),
        event_max_chars: 10,
    };
    change(&mut settings);
    let (logging, layer) = Logging::build(&settings).unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || calls(&logging));
    logging.finish();
    let name = if settings.format == LogFormat::Json { "logstash-json.log" } else { "logstash-plain.log" };
    let text = fs::read_to_string(dir.path().join(name)).unwrap();
    text.lines().map(|line| line.get(25..).unwrap_or_default().to_owned()).collect()
}

#[test]
fn spans_say_where_a_line_comes_from() {
    let lines = lines(
        |_| {},
        |_| {
            let pipeline = tracing::error_span!("pipeline", pipeline.id = "main").entered();
            tracing::info!(target: "logstash.agent", count = 1, "one");
            let plugin = tracing::error_span!("plugin", plugin.id = %"grok-web", place = "a.conf:3").entered();
            tracing::warn!(target: "spillway.grok", "two");
            drop(plugin);
            tracing::warn!(target: "spillway.grok", { plugin.id = "other" }, "three");
            drop(pipeline);
            tracing::info!(target: "logstash.agent", { pipeline.id = "main", plugin.id = "x" }, "four");
        },
    );
    assert_eq!(
        lines,
        [
            "[INFO ][logstash.agent           ][main] one {count: 1}",
            "[WARN ][spillway.grok            ][main][grok-web] two at a.conf:3",
            "[WARN ][spillway.grok            ][main][other] three",
            "[INFO ][logstash.agent           ][main][x] four {\"pipeline.id\" => \"main\"}",
        ]
    );
}

#[test]
fn levels_change_while_running() {
    let speak = || {
        tracing::debug!(target: "logstash.a", "debug a");
        tracing::debug!(target: "logstash.b", "debug b");
        tracing::error!(target: "logstash.b", "error b");
        tracing::error!(target: "logstash.b", fatal = true, "fatal b");
        tracing::info!(target: "hyper::proto", "a library");
    };
    let lines = lines(
        |_| {},
        |logging| {
            speak();
            logging.levels().set("logstash.a", LogLevel::Debug);
            logging.levels().set("logstash.b", LogLevel::Fatal);
            speak();
            logging.levels().reset();
            speak();
        },
    );
    let words: Vec<_> = lines.iter().map(|line| line.rsplit(']').next().unwrap_or_default().trim()).collect();
    assert_eq!(words, ["error b", "fatal b", "debug a", "fatal b", "error b", "fatal b"]);
}

#[test]
fn lines_that_a_plugin_repeats_are_held_back_and_counted() {
    let lines = lines(
        |_| {},
        |_| {
            for n in 0..1500 {
                let status = if n % 3 == 0 { 503 } else { 429 };
                tracing::warn!(target: "spillway.es", { plugin.id = "es", status }, "retrying");
                tracing::warn!(target: "spillway.es", "no plugin, no limit");
            }
            tracing::warn!(target: "spillway.es", { plugin.id = "other", status = 429 }, "retrying");
        },
    );
    let of_plugin: Vec<_> = lines.iter().filter(|line| line.contains("retrying")).collect();
    assert_eq!(lines.len(), 1500 + 3);
    assert_eq!(of_plugin[0], "[WARN ][spillway.es              ][es] retrying {status: 503}");
    assert_eq!(of_plugin[1], "[WARN ][spillway.es              ][other] retrying {status: 429}");
    let summary = "[es] retrying … 1,499 more of these log lines in 1 s (events are not limited) {429: 1000, 503: 499}";
    assert!(of_plugin[2].ends_with(summary), "{}", of_plugin[2]);
}

#[test]
fn what_stops_something_is_never_held_back() {
    let lines = lines(
        |_| {},
        |_| {
            for _ in 0..3 {
                tracing::error!(target: "logstash.javapipeline", { plugin.id = "f", always = true }, "stopped");
                tracing::error!(target: "logstash.runner", { plugin.id = "f", fatal = true }, "ended");
            }
        },
    );
    assert_eq!(lines.len(), 6);
    assert!(lines.iter().all(|line| line.ends_with("stopped") || line.ends_with("ended")), "{lines:?}");
}

#[test]
fn a_limit_of_zero_is_off() {
    let repeat = |_: &Logging| (0..5).for_each(|_| tracing::warn!(target: "spillway.es", { plugin.id = "es" }, "x"));
    assert_eq!(lines(|settings| settings.rate_limit = Duration::ZERO, repeat).len(), 5);
}

#[test]
fn events_are_cut() {
    let speak = |_: &Logging| {
        tracing::warn!(target: "spillway.grok", event = "0123456789", "short");
        tracing::warn!(target: "spillway.grok", event = "x".repeat(4198), "long");
    };
    assert_eq!(
        lines(|_| {}, speak),
        [
            "[WARN ][spillway.grok            ] short {event: \"0123456789\"}",
            "[WARN ][spillway.grok            ] long {event: \"xxxxxxxxxx…\" (4.1 KiB)}",
        ]
    );
    let without = lines(|settings| settings.event_max_chars = 0, speak);
    assert!(without.iter().all(|line| line.ends_with("short") || line.ends_with("long")), "{without:?}");
}

#[test]
fn a_text_from_outside_cannot_forge_lines_or_steer_a_terminal() {
    let forged = "x\n[2026-01-01T00:00:00,000][ERROR] forged\u{1b}[31m";
    let said = lines(
        |_| {},
        |_| {
            tracing::warn!(target: "spillway.grok", event = forged, "a");
            tracing::warn!(target: "spillway.grok", reason = %forged, "b");
        },
    );
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().all(|line| !line.contains('\u{1b}')));
}
