"""Starts a program on chosen cores, waits until all its lines are in the files, and says what that took."""
import dataclasses
import os
import signal
import socket
import subprocess
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")
# Longest silence of a program before a run counts as stuck, in seconds.
STALL = 60


@dataclasses.dataclass
class Cost:
    """What a run took, of the whole process from its start."""
    cpu: float
    wall: float
    peak_mib: float


class Failed(Exception):
    """A run that did not write what it should."""


def run(command, *, env, cores, outputs, lines, cwd=None, stdin=None, send=None):
    """Ends when `lines` lines are in `outputs`, or the program ended. `send` is a file and a port to send it to."""
    log = open(os.path.join(os.path.dirname(outputs[0]), "log"), "w+b")
    begin = time.monotonic()
    process = subprocess.Popen(command, env=env, cwd=cwd, stdin=stdin or subprocess.DEVNULL, stdout=log, stderr=log,
                               preexec_fn=lambda: os.sched_setaffinity(0, cores))
    if send:
        threading.Thread(target=send_file, args=send, daemon=True).start()
    try:
        cost = wait_for_lines(process, outputs, lines, begin)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            process.wait()
        log.seek(0)
        said = log.read(2000).decode(errors="replace")
        log.close()
    if cost is None:
        raise Failed(f"{command[0]} did not write its {lines} lines: {said}")
    return cost


def wait_for_lines(process, outputs, lines, begin):
    files, seen, moved, peak = {}, 0, begin, 0

    def look():
        new = 0
        for output in outputs:
            if output not in files and os.path.exists(output):
                files[output] = open(output, "rb", buffering=0)
            while output in files and (chunk := files[output].read(1 << 22)):
                new += chunk.count(b"\n")
        return new

    while True:
        # Not the peak that wait4 knows: that begins with the size of this program, which it was forked from.
        peak = max(peak, status(process.pid, "VmHWM") / 1024)
        pid, ended, usage = os.wait4(process.pid, os.WNOHANG)
        new = look()
        seen += new
        wall = time.monotonic() - begin
        if pid:
            process.returncode = os.waitstatus_to_exitcode(ended)
            is_whole = seen == lines and process.returncode == 0
            return Cost(usage.ru_utime + usage.ru_stime, wall, peak) if is_whole else None
        # A program that ends by itself is measured to its end, so it gets a moment for that.
        if seen >= lines and time.monotonic() - moved > 0.5:
            return Cost(cpu_seconds(process.pid), moved - begin, peak)
        if new:
            moved = time.monotonic()
        elif time.monotonic() - moved > STALL:
            return None
        time.sleep(0.01)


def send_file(path, port):
    for _ in range(2000):
        try:
            connection = socket.create_connection(("127.0.0.1", port))
            break
        except OSError:
            time.sleep(0.005)
    else:
        return
    with connection, open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            connection.sendall(chunk)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def status(pid, name):
    with open(f"/proc/{pid}/status") as file:
        # A program that has ended has no size any more.
        return next((int(line.split()[1]) for line in file if line.startswith(name)), 0)
