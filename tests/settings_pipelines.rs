//! Which pipelines run, and mistakes in `pipelines.yml`.

mod program;

use program::Place;

fn place(pipelines_yml: &str) -> Place {
    Place::new().file("cfg/logstash.yml", "").file("cfg/pipelines.yml", pipelines_yml)
}

fn check(pipelines_yml: &str) -> program::Said {
    place(pipelines_yml).run("-t --path.settings cfg")
}

#[test]
fn an_ignored_pipelines_yml_is_told_with_the_setting_that_won() {
    let entries = "- { pipeline.id: a, path.config: a.conf }\n";
    let by_flag = place(entries).run("-t --path.settings cfg -f x.conf");
    by_flag.err_says(&["Ignoring cfg/pipelines.yml, because path.config is set: command line (-f)"]);
    let in_file = place(entries).file("cfg/logstash.yml", "# who did this?\npath.config: x.conf\n");
    in_file.run("-t --path.settings cfg").err_says(&["because path.config is set: cfg/logstash.yml:2"]);
    let no_list = Place::new().file("cfg/logstash.yml", "");
    no_list.run("-t --path.settings cfg -f x.conf").never_says("Ignoring");
}

#[test]
fn a_text_and_a_file_are_too_much() {
    let place = Place::new();
    let both = place.run("-e x -f y");
    both.fails_with(1, &["ERROR: config.string (command line (-e)) and path.config", "can't be used simultaneously"]);
    both.err_says(&["usage: spillway"]);
    place.run("-e x -r").fails_with(1, &["can't be used with 'config.string'"]);
    let entry = check("- pipeline.id: a\n  config.string: x\n  path.config: y\n");
    entry.fails_with(1, &["line 2", "pipeline `a` has both config.string and path.config"]);
}

#[test]
fn nothing_to_run_lists_the_ways_to_give_it() {
    Place::new().run("").fails_with(1, &["ERROR: no pipeline to run", "-f FILE", "-e 'CONFIG'", "pipelines.yml"]);
    Place::new()
        .file("cfg/logstash.yml", "")
        .run("--path.settings cfg")
        .fails_with(1, &["cfg/pipelines.yml does not exist", "-f FILE"]);
    check("# nothing\n").fails_with(1, &["cfg/pipelines.yml is empty"]);
    check("[]\n").fails_with(1, &["cfg/pipelines.yml lists none"]);
}

#[test]
fn ids_that_are_used_twice_are_shown_with_both_places() {
    check("- { pipeline.id: a, path.config: x }\n- { pipeline.id: a, path.config: y }\n").fails_with(
        1,
        &[
            "error[duplicate-id]: cfg/pipelines.yml: line 2",
            "Pipelines with duplicate ids: `a`",
            "cfg/pipelines.yml:1:18",
            "first defined here",
        ],
    );
    check("- path.config: x\n- path.config: y\n")
        .fails_with(1, &["duplicate ids: `main`", "an entry without `pipeline.id` is called main"]);
}

#[test]
fn ids_must_be_fit_for_directories() {
    for id in ["a/b", "..", ".", "\"\"", "\"a\\0b\""] {
        check(&format!("- {{ pipeline.id: {id}, path.config: x }}\n")).fails_with(1, &["the pipeline id", "directory"]);
    }
    Place::new().run("-t -e x --pipeline.id a/b").fails_with(1, &["command line (--pipeline.id)", "\"a/b\""]);
}

#[test]
fn keys_may_be_nested() {
    let said = check("- pipeline: { id: a, workers: 0 }\n  path: { config: x }\n");
    said.fails_with(1, &["line 1, column 31: `pipeline.workers` cannot be `0`"]).never_says("unknown-setting");
}

#[test]
fn settings_of_the_process_do_not_belong_into_an_entry() {
    check("- pipeline.id: a\n  path.config: x\n  log.level: debug\n").fails_with(
        1,
        &[
            "line 3, column 3: Only pipeline related settings are expected. Received `log.level`",
            "allowed here: path.config, config.string",
        ],
    );
    check("- { pipeline.id: a, path.config: x, config.reload.automatic: true }\n")
        .err_says(&["warning[ignored-setting]", "`config.reload.automatic` is ignored here"]);
}

#[test]
fn a_missing_blank_is_recognised() {
    check("- pipeline.id:a\n  path.config: x\n").fails_with(1, &["cfg/pipelines.yml", "a blank is needed"]);
    check("-pipeline.id: a\n").fails_with(1, &["not a list of pipelines", "a blank after the `-`"]);
    check("- pipeline.id:a\n").fails_with(1, &["line 1", "an entry must be a map", "a blank after each colon"]);
}

#[test]
fn other_files_as_pipelines_yml_are_recognised() {
    check("input { stdin {} }\n").fails_with(1, &["pipelines.yml", "looks like a pipeline configuration"]);
    check("node.name: x\npath.data: y\n").fails_with(1, &["it looks like a logstash.yml"]);
}

#[test]
fn an_entry_without_a_configuration_is_left_out() {
    check("- pipeline.id: a\n").fails_with(1, &["no pipeline to run"]);
    let said = check("- pipeline.id: a\n- { pipeline.id: b, config.string: 'input { stdin {} }' }\n");
    said.err_says(&["warning", "pipeline `a` has neither config.string nor path.config"]);
}

#[test]
fn what_is_wrong_with_one_pipeline_is_told_once() {
    let place = place("- { pipeline.id: a, path.config: x }\n- { pipeline.id: b, path.config: y }\n")
        .file("cfg/logstash.yml", "dead_letter_queue.retain.age: 1w\ndead_letter_queue.flush_interval: 5\n");
    let said = place.run("-t --path.settings cfg");
    said.fails_with(
        1,
        &["flush_interval` is below 1000, 1000 ms are used", "`dead_letter_queue.retain.age` cannot be `1w`"],
    );
    assert_eq!(said.err.matches("flush_interval` is below").count(), 1, "{}", said.err);
    assert_eq!(said.err.matches("cannot be `1w`").count(), 1, "{}", said.err);
}

#[test]
fn order_needs_one_worker() {
    check("- { pipeline.id: a, path.config: x, pipeline.workers: 2, pipeline.ordered: true }\n")
        .fails_with(1, &["pipeline.ordered", "a single pipeline worker", "pipeline.workers: 1"]);
}

#[test]
fn variables_in_a_text_are_replaced_but_not_in_its_comments() {
    let place = place("- config.string: |\n    input { ${INPUT_X:stdn} {} }\n    # ${NOT_SET}\n");
    let said = place.run("-t --path.settings cfg");
    said.fails_with(1, &["stdn"]).never_says("NOT_SET");
    let place = place.file("cfg/pipelines.yml", "- config.string: 'input { ${NOT_SET} {} }'\n");
    place.run("-t --path.settings cfg").fails_with(1, &["cfg/pipelines.yml: line 1", "`${NOT_SET}`"]);
}

#[test]
fn settings_for_a_pipeline_that_does_not_exist_are_told() {
    let place = place("- { pipeline.id: a, path.config: x }\n").file("cfg/spillway.yml", "pipelines: { b: {} }\n");
    place.run("-t --path.settings cfg").err_says(&["cfg/spillway.yml: line 1", "there is no pipeline `b`"]);
}
