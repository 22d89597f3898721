#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets from the fixtures and cases of the tests: fuzz/seeds/TARGET/…"""

import hashlib
import json
import pathlib
import re
import shutil
import struct
import zlib

FUZZ = pathlib.Path(__file__).parent
ROOT = FUZZ.parent
LARGEST = 65536
CEF = (
    b"<134>Jan 1 00:00:00 fw CEF:0|A\\|c|P|1|2|n|3|src=192.0.2.1 rt=1577934245123 start=Jan 02 2020 03:04:05.250 EST "
    b"msg=a \\= b \\\\ c\\nd cs1Label=l cs1=x list[0]=y a.b=z dtz=+02:00ab\"CEF:0|||||||\"\nCEF:0|A|P|1|2|n|3|stray a=1"
)


def put(target, data):
    if data and len(data) <= LARGEST:
        name = hashlib.sha256(data).hexdigest()[:16]
        (FUZZ / "seeds" / target / name).write_bytes(data)


def configs():
    for path in [*ROOT.glob("pipelines/**/*.conf"), *ROOT.glob("bench/*.conf")]:
        yield path.read_text()
    # `config: …` of the case files, in a block or on one line. Seeds need not be exact, so no YAML reader is needed.
    for path in ROOT.glob("tests/cases/*.yml"):
        lines = path.read_text().splitlines()
        for at, line in enumerate(lines):
            found = re.match(r"^(\s*)(?:- )?config:\s*(.*)$", line)
            if not found:
                continue
            indent, value = len(found[1]), found[2]
            if value[:1] not in ("|", ">"):
                yield value.strip("'\"")
                continue
            block = []
            for inner in lines[at + 1 :]:
                if inner.strip() and len(inner) - len(inner.lstrip()) <= indent:
                    break
                block.append(inner)
            yield "\n".join(block)


def segments():
    for path in ROOT.glob("tests/fixtures/dlq/*/*.log*"):
        yield path.read_bytes()


def events(segment):
    """The CBOR of the entries that lie in one record."""
    at = 1
    while len(segment) - at >= 13:
        size = int.from_bytes(segment[at + 1 : at + 5], "big")
        entry = segment[at + 13 : at + 13 + size]
        if segment[at : at + 1] == b"c":
            time = 4 + int.from_bytes(entry[:4], "big")
            cbor = int.from_bytes(entry[time : time + 4], "big")
            yield entry[time + 4 : time + 4 + cbor]
        at += 13 + size


def documents():
    for path in [*ROOT.glob("tests/fixtures/**/*.json*"), *ROOT.glob("data/*.jsonl")]:
        for line in path.read_text().splitlines():
            try:
                json.loads(line)
            except ValueError:
                continue
            yield line


FORMATS = [
    "yyyy-MM-dd'T'HH:mm:ss.SSSZ",
    "dd/MMM/yyyy:HH:mm:ss Z",
    "EEE, d MMM yy hh:mm:ss a ZZZ",
    "xxxx-'W'ww-e kk",
    "G YYYY CC DDD",
    "MMM  d HH:mm:ss z",
]


def case_texts(name):
    """Quoted texts in the events of a case file; seeds need not be exact."""
    for line in (ROOT / "tests" / "cases" / f"{name}.yml").read_text().splitlines():
        if line.startswith("    - {"):
            yield from re.findall(r'"((?:[^"\\\\]|\\\\.)*)"', line)


def mappings():
    for text in (ROOT / "tests" / "cases" / "dissect.yml").read_text().splitlines():
        yield from re.findall(r'=> "([^"]*%\{[^"]*)"', text)


def main():
    shutil.rmtree(FUZZ / "seeds", ignore_errors=True)
    for target in (file.stem for file in (FUZZ / "fuzz_targets").glob("*.rs")):
        (FUZZ / "seeds" / target).mkdir(parents=True)
    for text in configs():
        put("config", text.encode())
    for segment in segments():
        # The largest fixtures are cut: a torn end is as good a seed as any.
        put("records", segment[:LARGEST])
        for cbor in events(segment):
            put("cbor", cbor)
    head = b"SPWYKEYS" + struct.pack("<II", 1, 0) + bytes(range(16))
    records = struct.pack("<I", 2) + bytes(range(48))
    frame = records[:4] + struct.pack("<I", zlib.crc32(records)) + records[4:]
    put("dedupe", head + struct.pack("<I", zlib.crc32(head)) + frame + frame)
    put("dedupe", b'{"spillway_dedupe":1,"seed":"000102030405060708090a0b0c0d0e0f"}\n' + b"0" * 32 + b" 1700000000000\n")
    for text in re.findall(r"message: '([^']*)'", (ROOT / "tests" / "cases" / "data-quality.yml").read_text()):
        put("validate", text.encode())
    put("validate", b'{"b":"12","d":"1.005","f":1e3,"t":"2026-07-22 13:00:00.5","z":"2026-07-22T13:00:00+02:00","l":"y","i":[{"q":1},{}],"s":"ab","e":1}')
    for text in case_texts("date"):
        for format in FORMATS:
            put("date", f"{format}\n{text}".encode())
    for text in case_texts("dissect"):
        for mapping in mappings():
            put("dissect", f"{mapping}\n{text}".encode())
    for name, count in (("kv", 6), ("csv", 5)):
        for text in case_texts(name):
            for options in range(count):
                put(name, bytes([options]) + text.encode())
    lines = list(documents())
    for line in lines:
        put("json", line.encode())
    for codec in range(10):
        for piece in (1, 7, 255):
            put("codecs", bytes([codec, piece]) + "\n".join(lines[:20]).encode()[:4096])
            put("codecs", bytes([codec, piece]) + b"one line\r\nab\xc3\xa9 two\n\nab\xffthree")
            put("codecs", bytes([codec, piece]) + b"trace\n at a\n at b\\\nnext\n\n c")
            put("codecs", bytes([codec, piece]) + CEF)
            put("codecs", bytes([codec, piece]) + b'x,y\n"a ""b""",,0x1f\n"open\n1ab2024-02-03ab')
    syslog = [
        b"<134>Oct 11 22:14:15 web1 sshd[42]: text\n<13>2020-01-02T03:04:05Z h a: t\n",
        b"<165>1 2003-10-11T22:14:15.003Z web1 app 42 ID47 [a b=\"c\"] text\n",
        b"7 <1>a\nbc5 <2>xy<3>line\n12 <13>Oct",
        b"{\"message\":\"<13>Oct  1 2:14:05 fe80::1 app: x\"}\n",
    ]
    for options in range(4):
        for lines in syslog:
            put("syslog", bytes([options, 7]) + lines)
    inputs = (ROOT / "tests/cases/inputs.yml").read_text()
    for frames in re.findall(r'tcp_hex: "((?:[0-9a-f]{2})+)"', inputs):
        put("beats", b"\x07" + bytes.fromhex(frames))
    for path in ROOT.glob("src/plugins/filters/grok/patterns/*"):
        for line in path.read_text().splitlines():
            name, _, pattern = line.partition(" ")
            if pattern and not name.startswith("#"):
                put("grok", f"{pattern}\n192.0.2.1 - GET /a?b=1 [14/Jan/2026:03:22:41] 12.5".encode())


main()
