"""Small figures of the program alone: start-up, idle memory, and what many conditions cost."""
import json
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

import gen
import programs

# `N` is the number of the block; only 150 fits the events.
CONDITIONS = {
    "text": '[kind] == "kN"',
    "number": "[n] == N",
    "range": "[n] >= N and [n] <= N",
    "list": '[kind] in ["kN", "xN"]',
    "regexp": "[kind] =~ /^kN$/",
    "presence": "[kind] and [n] == N or [absentN]",
    "nested": '([service][name] == "app-N" or [kind] == "kN") and ![missing]',
}


def startup(bench):
    """From starting the process to its first line on standard output, with two pipelines."""
    settings = two_pipelines(bench.directory)
    times = []
    for _ in range(max(10, bench.options.runs)):
        with IdleProgram(bench.options.spillway, settings) as program:
            times.append(program.first_line_after)
    print(f"\nStart-up to the first event, two pipelines, {len(times)} starts: median "
          f"{statistics.median(times) * 1000:.1f} ms, slowest {max(times) * 1000:.1f} ms   (bar: 50 ms)")


def memory(bench):
    """Resident memory with two pipelines that have nothing to do."""
    with IdleProgram(bench.options.spillway, two_pipelines(bench.directory)) as program:
        time.sleep(8)
        resident = programs.status(program.process.pid, "VmRSS")
        before = programs.cpu_seconds(program.process.pid)
        time.sleep(10)
        busy = (programs.cpu_seconds(program.process.pid) - before) / 10
    print(f"\nIdle, two pipelines: {resident / 1024:.1f} MiB resident, {busy * 100:.2f} % of a core   (bar: 15 MiB, 0.1 %)")


def conditions(bench):
    """300 blocks of which one matches, against that one alone."""
    source = bench.directory / "conditions.in"
    lines = bench.options.lines or 200_000
    with open(source, "w", encoding="utf-8") as file:
        for line in gen.GEN["w3"](gen.random.Random(2026), lines):
            file.write('{"kind":"k150","n":150,' + line[1:])
    print(f"\n300 `if` blocks, one of which matches, against one block: {lines} events, events per CPU second")
    for name, condition in CONDITIONS.items():
        rates = []
        for numbers in ([150], range(300)):
            conf = bench.directory / "conditions.conf"
            conf.write_text(conditions_conf(condition, numbers))
            seconds = []
            for _ in range(bench.options.runs):
                outputs = bench.outputs()
                with open(source, "rb") as stdin:
                    seconds.append(bench.spillway(conf, outputs, lines, stdin=stdin).cpu)
            with open(outputs[0], "rb") as file:
                matched = sum(b'"matched":"150"' in line for line in file)
            if matched != lines:
                raise programs.Failed(f"conditions, {name}: {matched} of {lines} events matched")
            rates.append(lines / min(seconds))
        single, many = rates
        print(f"  {name:<12} {single:10,.0f} {many:10,.0f}   {many / single * 100:4.0f} %   (bar: 50 %)", flush=True)


def conditions_conf(condition, numbers):
    blocks = [f'  if {condition.replace("N", str(n))} {{ mutate {{ add_field => {{ "matched" => "{n}" }} }} }}'
              for n in numbers]
    return "\n".join(["input { stdin { codec => json_lines } }", "filter {", *blocks, "}",
                      'output { file { path => "${BENCH_OUT}" codec => json_lines } }', ""])


def two_pipelines(directory):
    """`main` and the replay of its dead letter queue, as in the quickstart."""
    settings = pathlib.Path(tempfile.mkdtemp(prefix="pipelines", dir=directory))
    data = settings / "data"
    (settings / "logstash.yml").write_text(f"path.data: {data}\ndead_letter_queue.enable: true\n")
    main = 'input { stdin { codec => json } } filter { mutate { add_field => { "seen" => "yes" } } } ' \
           'output { stdout { codec => json_lines } }'
    replay = f'input {{ dead_letter_queue {{ path => "{data}/dead_letter_queue" pipeline_id => "main" }} }} ' \
             'output { stdout { codec => json_lines } }'
    (data / "dead_letter_queue").mkdir(parents=True)
    (settings / "pipelines.yml").write_text(json.dumps([
        {"pipeline.id": "main", "config.string": main},
        {"pipeline.id": "replay", "config.string": replay},
    ]))
    return settings


class IdleProgram:
    """The program with its standard input held open, after its first event came out."""

    def __init__(self, program, settings):
        self.command = [program, "--path.settings", str(settings), "--log.level", "error"]

    def __enter__(self):
        begin = time.monotonic()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(b'{"message":"first"}\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        self.first_line_after = time.monotonic() - begin
        if b'"seen":"yes"' not in line:
            raise programs.Failed(f"not the first event: {line}")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
