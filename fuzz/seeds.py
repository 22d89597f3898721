#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets from the fixtures and cases of the tests: fuzz/seeds/TARGET/…"""

import hashlib
import json
import pathlib
import re
import shutil

FUZZ = pathlib.Path(__file__).parent
ROOT = FUZZ.parent
LARGEST = 65536


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


def main():
    shutil.rmtree(FUZZ / "seeds", ignore_errors=True)
    for target in ("config", "records", "cbor", "json", "codecs"):
        (FUZZ / "seeds" / target).mkdir(parents=True)
    for text in configs():
        put("config", text.encode())
    for segment in segments():
        # The largest fixtures are cut: a torn end is as good a seed as any.
        put("records", segment[:LARGEST])
        for cbor in events(segment):
            put("cbor", cbor)
    lines = list(documents())
    for line in lines:
        put("json", line.encode())
    for codec in range(4):
        for piece in (1, 7, 255):
            put("codecs", bytes([codec, piece]) + "\n".join(lines[:20]).encode()[:4096])
            put("codecs", bytes([codec, piece]) + b"one line\r\nab\xc3\xa9 two\n\nab\xffthree")


main()
