//! Scripts that end, block or exhaust the interpreter: the event at fault is found, the others go through, nothing is lost.

#[path = "support/process.rs"]
mod process;
mod program;

use program::{Place, Said};

/// A script that does what the message asks for.
const SCRIPT: &str = r#"
    case event.get("message")
    when "loop" then loop { }
    when "exit!" then exit!(3)
    when "exit" then exit
    when "memory" then event.set("big", "x" * (1 << 30))
    when "kill" then Process.kill(:KILL, Process.pid)
    when "once"
      marker = ENV["MARKER"]
      unless File.exist?(marker)
        File.write(marker, "")
        Process.kill(:KILL, Process.pid)
      end
    when "print"
      puts "printed by a script"
      STDOUT.write("written by a script\n")
      system("echo said by a program")
      event.set("read", STDIN.read)
    when "deep"
      def dig(n) dig(n + 1) end
      dig(0)
    end
    event.set("done", true)
"#;

fn run(messages: &[&str], settings: &str) -> (Place, Said) {
    let config = format!(
        "input {{ stdin {{ codec => line }} }} filter {{ ruby {{ code => '{SCRIPT}' add_tag => [\"ok\"] }} }} \
         output {{ stdout {{ codec => line {{ format => \"%{{message}} %{{done}} %{{tags}}\" }} }} }}"
    );
    let place = Place::new()
        .file("pipe.conf", &config)
        .file("cfg/logstash.yml", &format!("path.data: data\npipeline.workers: 1\n{settings}"))
        .file("cfg/spillway.yml", "spillway.ruby.timeout: 5s\nlog.rate_limit: 0s\n");
    let marker = place.join("marker").to_string_lossy().into_owned();
    let place = place.env("MARKER", &marker);
    let said = place.run_with_input("-f pipe.conf --path.settings cfg", &(messages.join("\n") + "\n"));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    (place, said)
}

#[track_caller]
fn assert_lines(said: &Said, expected: &[&str]) {
    assert_eq!(said.out.lines().collect::<Vec<_>>(), expected, "{}", said.err);
}

#[test]
fn an_event_that_ends_or_blocks_the_interpreter_is_tagged_and_the_others_go_through() {
    let (_place, said) = run(&["a", "loop", "b", "exit!", "c", "kill", "d"], "");
    assert_lines(
        &said,
        &[
            "a true ok",
            "loop %{done} _rubyexception",
            "b true ok",
            "exit! %{done} _rubyexception",
            "c true ok",
            "kill %{done} _rubyexception",
            "d true ok",
        ],
    );
    said.err_says(&["the script did not end within 5 seconds", "exit status: 3", "signal: 9"]);
}

#[test]
fn what_ruby_can_catch_is_an_exception_like_any_other() {
    let (_place, said) = run(&["a", "exit", "memory", "deep", "b"], "");
    assert_lines(
        &said,
        &[
            "a true ok",
            "exit %{done} _rubyexception",
            "memory %{done} _rubyexception",
            "deep %{done} _rubyexception",
            "b true ok",
        ],
    );
    said.err_says(&["SystemExit", "NoMemoryError", "SystemStackError"]);
    said.never_says("A new one takes its place");
}

#[test]
fn an_interpreter_that_is_killed_in_the_middle_of_a_batch_costs_no_event() {
    let (_place, said) = run(&["a", "b", "once", "c"], "");
    assert_lines(&said, &["a true ok", "b true ok", "once true ok", "c true ok"]);
    said.err_says(&["signal: 9", "A new one takes its place"]);
}

#[test]
fn what_a_script_prints_goes_to_the_log() {
    let (_place, said) = run(&["print", "a"], "");
    assert_lines(&said, &["print true ok", "a true ok"]);
    said.err_says(&["printed by a script", "written by a script", "said by a program"]);
}

#[test]
fn with_a_dead_letter_queue_the_event_at_fault_goes_there_with_the_reason() {
    let (place, said) = run(&["a", "exit!", "b"], "dead_letter_queue.enable: true\n");
    assert_lines(&said, &["a true ok", "b true ok"]);
    let dead = process::dead_letters(&place.join("data/dead_letter_queue/main"));
    assert_eq!(dead.len(), 1, "{}", said.err);
    assert_eq!(dead[0].event.fields().get("message").and_then(|v| v.as_str()), Some("exit!"));
    assert!(dead[0].reason.contains("the Ruby interpreter ended (exit status: 3)"), "{}", dead[0].reason);
}

#[test]
fn what_a_script_has_open_is_written_when_the_pipeline_ends() {
    let place = Place::new().file(
        "pipe.conf",
        "input { stdin { codec => line } } filter { ruby { init => '@file = File.open(\"copy\", \"w\")' \
         code => '@file.write(event.get(\"message\"))' } } output { null { } }",
    );
    let said = place.run_with_input("-f pipe.conf -w 1", "abc\ndef\n");
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(std::fs::read_to_string(place.join("copy")).unwrap(), "abcdef");
}

#[test]
fn without_ruby_the_configuration_says_what_to_install() {
    let place = Place::new()
        .file("pipe.conf", "input { stdin { } } filter { ruby { code => \"\" } }")
        .file("cfg/spillway.yml", "spillway.ruby.command: no-such-ruby\n");
    let said = place.run("-f pipe.conf --path.settings cfg -t");
    said.fails_with(1, &["pipe.conf: line 1", "no-such-ruby", "apt-get install ruby", "spillway.ruby.command"]);
}
