//! Mistakes in `logstash.yml` and `spillway.yml`: each is told with its place and what to do.

mod program;

use program::Place;

/// `-t` of a pipeline with this `logstash.yml`.
fn check(logstash_yml: &str) -> program::Said {
    Place::new().file("cfg/logstash.yml", logstash_yml).run("-t --path.settings cfg -f x.conf")
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let said = check("pipeline:\n  batch: { size: 0 }\n  worker: 2\nlog.level: \"loud\"\napi.http.port: 70000\n");
    said.fails_with(
        1,
        &[
            "error[invalid-value]: cfg/logstash.yml: line 2, column 18: `pipeline.batch.size` cannot be `0`",
            "  2 |   batch: { size: 0 }\n",
            "    |                  ^",
            "error[unknown-setting]: cfg/logstash.yml: line 3, column 3",
            "Setting \"pipeline.worker\" doesn't exist",
            "did you mean `pipeline.workers`?",
            "line 4, column 12: `log.level` cannot be `loud`: it must be one of fatal, error, warn, info, debug, trace",
            "line 5, column 16: `api.http.port`",
            "ERROR: Your settings are invalid: 4 errors",
        ],
    );
    assert_eq!(said.out, "Configuration INVALID: 4 errors\n");
}

#[test]
fn a_name_that_logstash_9_gave_up_leads_to_the_new_one() {
    for (old, new) in [("http.host", "api.http.host"), ("path.log", "path.logs"), ("cloud.id", "cloud_id")] {
        check(&format!("{old}: x\n")).fails_with(1, &[old, new]);
    }
}

#[test]
fn a_reload_interval_of_sixty_nanoseconds_is_refused() {
    check("config.reload.interval: 60\n").fails_with(1, &["did you mean 60s?", "must be 100ms or more"]);
    check("config.reload.interval: \"60\"\n").fails_with(1, &["the unit is missing: did you mean 60s?"]);
    check("config.reload.interval: 60s\n").err_says(&[]).never_says("reload");
}

#[test]
fn a_pipeline_configuration_as_logstash_yml_is_recognised() {
    let conf = "input {\n  stdin { codec => json }\n}\noutput { stdout {} }\n";
    check(conf).fails_with(1, &["cfg/logstash.yml: line ", "this looks like a pipeline configuration", "-f"]);
}

#[test]
fn a_pipelines_yml_as_logstash_yml_is_recognised() {
    check("- pipeline.id: main\n  path.config: x.conf\n")
        .fails_with(1, &["line 1, column 1", "must be a map", "this looks like a pipelines.yml"]);
}

#[test]
fn broken_yaml_has_its_place_and_the_usual_cause() {
    check("node.name: x\npipeline.workers:2\nlog.level: info\n").fails_with(
        1,
        &[
            "error[invalid-yaml]: cfg/logstash.yml: line ",
            "Failed to parse YAML file",
            "a blank is needed after each colon",
        ],
    );
    check("node:\n\tname: x\n").fails_with(1, &["  2 | ", "there is a tab"]);
    check("a: [1, 2\n").fails_with(1, &["error[invalid-yaml]"]);
}

#[test]
fn hostile_yaml_is_an_error_and_no_crash() {
    check(&"[".repeat(100_000)).fails_with(1, &["error[invalid-yaml]"]).never_says("bug");
    check(&format!("x: {}", "{a: ".repeat(10_000))).fails_with(1, &["error[invalid-yaml]"]).never_says("bug");
    let said = Place::new().file("cfg/logstash.yml", "").run("-t --path.settings cfg -f x.conf");
    assert_eq!(said.code, 1, "an empty file is fine, the missing x.conf is not");
    said.never_says("invalid-yaml");
}

#[test]
fn a_file_that_is_no_text_is_an_error() {
    let place = Place::new().file("cfg/logstash.yml", "");
    std::fs::write(place.join("cfg/logstash.yml"), b"node.name: \xff\xfe\n").unwrap();
    place.run("-t --path.settings cfg -f x").fails_with(1, &["cfg/logstash.yml", "no UTF-8"]);
    std::fs::remove_file(place.join("cfg/logstash.yml")).unwrap();
    std::fs::create_dir(place.join("cfg/logstash.yml")).unwrap();
    place.run("-t --path.settings cfg -f x").fails_with(1, &["cfg/logstash.yml: cannot be read"]);
}

#[test]
fn a_missing_file_is_named_with_the_reason_it_was_looked_for() {
    let place = Place::new().env("LS_SETTINGS_DIR", "elsewhere");
    place.run("-t -f x").err_says(&["there is no elsewhere/logstash.yml (folder named by LS_SETTINGS_DIR)"]);
    place.run("-t -f x --path.settings here").err_says(&["here/logstash.yml (folder named by --path.settings)"]);
    Place::new().run("-t -f x").never_says("logstash.yml");
}

#[test]
fn the_folder_config_is_used_when_it_holds_a_logstash_yml() {
    Place::new().file("config/logstash.yml", "nonsense: 1\n").run("-t -f x").fails_with(1, &["config/logstash.yml"]);
}

#[test]
fn undefined_variables_are_named_and_defaults_work() {
    let place = Place::new().file("cfg/logstash.yml", "node.name: ${NODE_X}-${NODE_Y}\nlog.level: ${LEVEL_X:info}\n");
    place
        .run("-t --path.settings cfg -f x")
        .fails_with(1, &["error[undefined-variable]: cfg/logstash.yml: line 1", "`${NODE_X}`, `${NODE_Y}`", "1 error"]);
    let place = place.env("NODE_X", "a").env("NODE_Y", "").env("LEVEL_X", "loud");
    place
        .run("-t --path.settings cfg -f x")
        .fails_with(1, &["`log.level` cannot be `loud`"])
        .never_says("error[undefined-variable]");
}

#[test]
fn a_setting_that_is_given_twice_is_told_and_the_later_one_wins() {
    check("pipeline.workers: 2\npipeline: { workers: 3 }\n").err_says(&[
        "warning[set-twice]",
        "line 2",
        "`pipeline.workers` is set twice; this one wins",
        ":1:19",
        "set before",
    ]);
}

#[test]
fn a_stock_file_of_logstash_starts() {
    let said = check(
        "node.name: test\npath.data: /var/lib/logstash\npipeline.id: main\npipeline.workers: 2\npipeline:\n  batch:\n    \
         size: 125\n    delay: 5\npipeline.unsafe_shutdown: false\npipeline.ordered: auto\nconfig.reload.automatic: \
         false\nconfig.reload.interval: 3s\napi.enabled: true\napi.http.port: 9600-9700\nqueue.type: \
         memory\nqueue.page_capacity: 64mb\ndead_letter_queue.enable: false\nlog.level: info\npath.logs: \
         /var/log/logstash\npath.plugins: []\nxpack.monitoring.enabled: false\nxpack.monitoring.elasticsearch.hosts: \
         [\"https://es1:9200\", \"https://es2:9200\"]\nxpack.management.enabled: \
         false\nxpack.geoip.downloader.enabled: true\n",
    );
    said.never_says("invalid-value").never_says("unknown-setting").never_says("unsupported-setting");
}

#[test]
fn what_is_not_there_yet_is_refused_only_when_switched_on() {
    for (on, name) in [
        ("ssl.reload.automatic: true", "ssl.reload.automatic"),
        ("otel.metrics.enabled: true", "otel.metrics.enabled"),
        ("xpack.management.enabled: true", "xpack.management.enabled"),
        ("pipeline.separate_logs: true", "pipeline.separate_logs"),
        ("slowlog.threshold.warn: 2s", "slowlog.threshold.warn"),
    ] {
        let expected = format!("`{name}` cannot be set: ");
        check(on).fails_with(1, &["error[unsupported-setting]: cfg/logstash.yml: line 1", &expected]);
    }
    check("queue.type: memory\nslowlog.threshold.warn: -1\n").never_says("unsupported");
}

#[test]
fn settings_of_spillway_have_a_file_of_their_own() {
    let place = Place::new().file("cfg/logstash.yml", "").file(
        "cfg/spillway.yml",
        "log.console: off\nlog.consle: off\npipelines:\n  main: { dead_letter_queue.loop_guard: never }\n",
    );
    place.run("-t --path.settings cfg -f x").fails_with(
        1,
        &[
            "cfg/spillway.yml: line 2",
            "did you mean `log.console`?",
            "line 4, column 41",
            "it must be one of requeue, skip",
        ],
    );
    let place = Place::new().file("cfg/logstash.yml", "dead_letter_queue.loop_guard: skip\nmain: {}\n");
    place.run("--path.settings cfg -f x.conf --api.enabled false").err_says(&[
        "cfg/logstash.yml: line 1, column 1",
        "`dead_letter_queue.loop_guard` is unknown to Logstash",
        "move it to spillway.yml",
    ]);
}

#[test]
fn passwords_are_never_shown() {
    let said = check("api.auth.basic.password: [hunter2]\n");
    said.fails_with(1, &["`api.auth.basic.password` cannot be `<password>`"]);
}
