"""The workloads: what goes in, which configuration does it, and what must come out.

What Spillway writes is compared with values that are worked out here from the input, for a sample of lines; W1 byte
for byte. Peers are held to the number of lines, and to the content in W1 and W3.
"""
import dataclasses
import datetime
import hashlib
import json
import re

SAMPLE = 20_000


@dataclasses.dataclass
class Workload:
    name: str
    what: str
    # Which generator of gen.py makes the input.
    input: str
    lines: int
    conf: str
    # The peer to beat, and how many times its rate Spillway must reach.
    peers: dict
    # Given the outputs, the input and the product; raises AssertionError.
    check: object
    is_sent: bool = False
    reads_stdin: bool = False


def check_w1(outputs, source, _):
    assert digest(outputs[0]) == digest(source), "the output differs from the input"


def check_w2(outputs, source, product):
    if product != "spillway":
        return
    line = re.compile(r'(\S+) - (\S+) \[(.*?)\] "(\S+) (\S+) HTTP/(\S+)" (\d+) (\S+) "(.*?)" "(.*?)"\n')
    for given, got in pairs(outputs[0], source):
        ip, user, when, method, path, version, status, size, referrer, agent = line.fullmatch(given).groups()
        want = {"source.address": ip, "user.name": dash(user), "http.request.method": method, "url.original": path,
                "http.version": version, "http.response.status_code": int(status),
                "http.response.body.bytes": None if size == "-" else int(size),
                "http.request.referrer": dash(referrer), "user_agent.original": dash(agent),
                "@timestamp": utc(datetime.datetime.strptime(when, "%d/%b/%Y:%H:%M:%S %z")), "message": None}
        compare(got, want)


def check_w3(outputs, source, product, is_dated=True):
    with open(source, encoding="utf-8") as file:
        given = file.readlines()
    for output, is_first in zip(outputs, (True, False)):
        with open(output, encoding="utf-8") as file:
            for _, line in zip(range(SAMPLE), file):
                got = json.loads(line)
                document = got["doc"] if product == "spillway" else got
                if product == "rsyslog":
                    # It adds the file's name, has no floats, and reads no dates.
                    document.pop("metadata", None)
                    document["http"]["duration_ms"] = float(document["http"]["duration_ms"])
                want = w3_document(json.loads(given[document["seq"]]))
                if product == "spillway" and is_dated:
                    when = datetime.datetime.strptime(want.pop("ts"), "%Y-%m-%dT%H:%M:%S.%f%z")
                    assert got["@timestamp"] == utc(when), got
                assert document == want, f"{document} is not {want}"
                assert (document["level"] == "ERROR" or document["http"]["status"] == 404) == is_first, document


def check_w3_undated(outputs, source, product):
    check_w3(outputs, source, product, is_dated=False)


def w3_document(document):
    document["service_name"] = document["service"].pop("name")
    document["client"] = document["http"].pop("client")
    document["http"]["status"] = int(document["http"]["status"])
    document["http"]["duration_ms"] = float(document["http"]["duration_ms"])
    document["env"] = "bench"
    del document["debug"]
    return document


def check_w4(outputs, source, product):
    if product != "spillway":
        return
    line = re.compile(r"<(\d+)>(\w+ +\d+ [\d:]+) (\S+) (\S+)\[(\d+)\]: (.*)\n")
    for given, got in pairs(outputs[0], source):
        priority, when, host, program, pid, message = line.fullmatch(given).groups()
        if priority == "0":
            # Logstash's pattern takes no priority of 0: such a line stays whole, as a notice.
            compare(got, {"message": given, "tags": ["_grokparsefailure_sysloginput"], "log.syslog.priority": 13})
            continue
        want = {"log.syslog.priority": int(priority), "host.hostname": host, "process.name": program,
                "process.pid": int(pid), "message": message}
        compare(got, want)
        assert got["@timestamp"][5:19].replace("T", " ") == month_day(when), got


def check_w6(outputs, source, product):
    if product != "spillway":
        return
    for given, got in pairs(outputs[0], source):
        when, device, program, pairs_text = given.rstrip("\n").split(" ", 3)
        want = {"device": device, "program": program, "message": None, "kv": None, "ts": None,
                "@timestamp": when.replace("Z", ".000Z")}
        for pair in pairs_text.split(" "):
            key, value = pair.split("=", 1)
            is_number = key in ("id", "sport", "dport", "len", "ttl", "sent", "rcvd")
            want[key] = int(value) if is_number else value.strip('"')
        compare(got, want)


def pairs(output, source):
    """Lines of the input, and what became of them."""
    with open(source, encoding="utf-8") as given, open(output, encoding="utf-8") as got:
        for _, one, other in zip(range(SAMPLE), given, got):
            yield one, json.loads(other)


def compare(got, want):
    for path, value in want.items():
        found = got
        for name in [path] if path.startswith("@") else path.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        assert found == value, f"{path}: {found!r} is not {value!r} in {got}"


def dash(text):
    return None if text == "-" else text


def utc(time):
    return time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def month_day(text):
    return datetime.datetime.strptime("2026 " + text, "%Y %b %d %H:%M:%S").strftime("%m-%d %H:%M:%S")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


WORKLOADS = [
    Workload("w1", "lines through", "w1", 2_000_000, "w1-passthrough.conf", {"rsyslog": 9.0}, check_w1),
    Workload("w2", "Apache lines: grok, date", "w2", 500_000, "w2-apache.conf", {"rsyslog": 5.0}, check_w2),
    Workload("w3", "nested JSON", "w3", 250_000, "w3-json.conf", {"rsyslog": 3.1}, check_w3),
    Workload("w4", "syslog over TCP", "w4", 500_000, "w4-syslog.conf", {"rsyslog": 2.3}, check_w4, is_sent=True),
    Workload("w6", "firewall lines: dissect, kv, date", "w6", 250_000, "w6-firewall.conf", {"syslog-ng": 5.0}, check_w6),
    Workload("w1-stdin", "lines through", "w1", 2_000_000, "w1-stdin.conf", {"rsyslog": 9.0}, check_w1,
             reads_stdin=True),
    Workload("w3-stdin", "nested JSON", "w3", 250_000, "w3-stdin.conf", {"rsyslog": 3.1}, check_w3_undated,
             reads_stdin=True),
]
