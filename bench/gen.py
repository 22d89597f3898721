#!/usr/bin/env python3
"""Benchmark input generator: deterministic, invented content, documentation address ranges only.

usage: gen.py {w1,w2,w3,w4,w5,w6,w7} OUTFILE [LINES]

The same arguments always give the same bytes.
"""
import random
import sys

DEFAULT = {"w1": 2_000_000, "w2": 1_000_000, "w3": 1_000_000, "w4": 500_000,
           "w5": 500_000, "w6": 1_000_000, "w7": 300_000}
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
T0 = 1767225600  # 2026-01-01T00:00:00Z; no leap day is crossed by any default run

WORDS = ("cache pool worker shard queue lease token batch replica session tenant invoice parcel "
         "ledger beacon harbor copper meadow lantern quartz signal bridge anchor orchard").split()
AGENTS = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    "curl/8.9.1", "probe/1.4 (+https://status.example.org/probe)", "Go-http-client/2.0", "-",
]
REFS = ["-", "-", "-", "https://www.example.com/", "https://shop.example.net/cart?step=2",
        "https://search.example.org/?q=blue+lantern&lang=en"]
USERS = ["-", "-", "-", "-", "mira", "tomas", "svc_report", "ines.k"]
APPS = ["gatekeeper", "ingestd", "billing-api", "sshd", "cron", "mailer", "haproxy", "kubeletd"]


def civil(day):
    """Day number since 1970-01-01 to (year, month, day)."""
    day += 719468
    era = day // 146097
    doe = day - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) // 5 + 1


def clock(t):
    y, mo, d = civil(t // 86400)
    s = t % 86400
    return y, mo, d, s // 3600, s // 60 % 60, s % 60


def ipv4(r):
    return r.choice(("192.0.2.", "198.51.100.", "203.0.113.")) + str(r.randrange(1, 255))


def phrase(r, n):
    return " ".join(r.choice(WORDS) for _ in range(n))


def w1(r, n):
    pool = [f"{r.choice(('INFO', 'INFO', 'WARN', 'ERROR', 'DEBUG'))} [{r.choice(APPS)}-{r.randrange(64)}] "
            f"{phrase(r, r.randrange(6, 16))} took={r.randrange(1, 9000)}us id={r.getrandbits(48):012x}"
            for _ in range(20000)]
    for i in range(n):
        y, mo, d, h, mi, s = clock(T0 + i // 200)
        yield f"{y}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}.{i % 1000:03}Z {i} {pool[i * 7919 % 20000]}\n"


def w2(r, n):
    head, tail = [], []
    for _ in range(20000):
        ip = ipv4(r) if r.random() < .95 else f"2001:db8::{r.randrange(1, 65535):x}"
        head.append(f"{ip} - {r.choice(USERS)}")
        path = "/" + "/".join(r.choice(WORDS) for _ in range(r.randrange(1, 5)))
        if r.random() < .4:
            path += f"?{r.choice(WORDS)}={r.randrange(10**6)}&page={r.randrange(40)}"
        if r.random() < .03:
            path += "/%C3%A9t%C3%A9"
        status = r.choice((200, 200, 200, 200, 200, 206, 301, 304, 404, 500, 503))
        size = "-" if status == 304 else r.randrange(120, 90000)
        tail.append(f'"{r.choice(("GET", "GET", "GET", "POST", "PUT", "HEAD"))} {path} HTTP/1.{r.choice("0111")}" '
                    f'{status} {size} "{r.choice(REFS)}" "{r.choice(AGENTS)}"')
    for i in range(n):
        y, mo, d, h, mi, s = clock(T0 + i // 150)
        yield (f"{head[i * 7919 % 20000]} [{d:02}/{MONTHS[mo - 1]}/{y}:{h:02}:{mi:02}:{s:02} +0200] "
               f"{tail[i * 104729 % 20000]}\n")


def nested(r, n):
    pool = []
    for _ in range(10000):
        items = ",".join(f'{{"sku":"LX-{r.randrange(9999):04}","qty":{r.randrange(1, 9)},"price":{r.randrange(100, 99999) / 100}}}'
                         for _ in range(r.randrange(1, 4)))
        status = r.choice((200, 200, 200, 200, 201, 204, 302, 400, 404, 500, 502))
        level = "ERROR" if status >= 500 else r.choice(("INFO", "INFO", "DEBUG", "WARN"))
        msg = r.choice((phrase(r, 8), f'said \\"{phrase(r, 3)}\\" twice', f"caf\u00e9 \u65e5\u672c {phrase(r, 4)}",
                        f"path C:\\\\srv\\\\{r.choice(WORDS)}\\tok"))
        pool.append((
            f'"level":"{level}","message":"{msg}","service":{{"name":"{r.choice(APPS)}","version":"{r.randrange(9)}.{r.randrange(20)}.{r.randrange(50)}",'
            f'"node":{{"id":"n-{r.randrange(400):03}","zone":"zone-{r.choice("abc")}"}}}},'
            f'"http":{{"method":"{r.choice(("GET", "POST", "PUT"))}","path":"/{r.choice(WORDS)}/{r.choice(WORDS)}","status":"{status}",'
            f'"duration_ms":"{r.randrange(100, 900000) / 1000}","client":"{ipv4(r)}"}},'
            f'"user":{{"id":{r.randrange(10**6)},"name":"{r.choice(USERS[4:])}","roles":["{r.choice(WORDS)}","{r.choice(WORDS)}"],"beta":{r.choice(("true", "false"))},"ref":null}},'
            f'"items":[{items}],"debug":{{"trace":"{r.getrandbits(128):032x}","span":"{r.getrandbits(64):016x}","sampled":true}}}}\n'))
    for i in range(n):
        y, mo, d, h, mi, s = clock(T0 + i // 250)
        yield f'{{"ts":"{y}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}.{i % 1000:03}Z","seq":{i},{pool[i * 7919 % 10000]}'


def w4(r, n):
    pool = [f"{r.choice(APPS)}[{r.randrange(100, 65000)}]: {phrase(r, r.randrange(5, 14))} from {ipv4(r)} port {r.randrange(1024, 65535)}"
            for _ in range(20000)]
    for i in range(n):
        _, mo, d, h, mi, s = clock(T0 + i // 100)
        yield f"<{i * 31 % 184}>{MONTHS[mo - 1]} {d:2} {h:02}:{mi:02}:{s:02} host{i % 40:02} {pool[i * 7919 % 20000]} #{i}\n"


def w6(r, n):
    pool = []
    for _ in range(20000):
        proto = r.choice(("tcp", "tcp", "tcp", "udp", "icmp"))
        pool.append(f'action={r.choice(("allow", "allow", "deny", "reset"))} proto={proto} src={ipv4(r)} sport={r.randrange(1024, 65535)} '
                    f'dst={ipv4(r)} dport={r.choice((22, 53, 80, 443, 8443, 5432))} in=eth{r.randrange(4)} out=eth{r.randrange(4)} '
                    f'len={r.randrange(40, 1500)} ttl={r.randrange(20, 128)} rule="{r.choice(WORDS)}-{r.randrange(300)}" '
                    f'user={r.choice(USERS[4:])} sent={r.randrange(10**7)} rcvd={r.randrange(10**7)}')
    for i in range(n):
        y, mo, d, h, mi, s = clock(T0 + i // 300)
        yield (f"{y}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}Z fw{i % 12:02} filter[{2000 + i % 7}]: "
               f"id={i} {pool[i * 7919 % 20000]}\n")


GEN = {"w1": w1, "w2": w2, "w3": nested, "w4": w4, "w5": nested, "w6": w6, "w7": nested}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in GEN:
        sys.exit(__doc__)
    name = sys.argv[1]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else DEFAULT[name]
    with open(sys.argv[2], "w", encoding="utf-8", newline="\n", buffering=1 << 20) as f:
        f.writelines(GEN[name](random.Random(2026), n))


if __name__ == "__main__":
    main()
