# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the server: checks in TAP, profiles, and a running server."""
import atexit
import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import urllib.error
import urllib.request

QUERIER = "/querier.v1.QuerierService/"
PAGE = "/cameo.v1.PageService/"
BASE_S = 1795200000
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
RANGE = {"start": (BASE_S - 15) * 1000, "end": (BASE_S + 30) * 1000}

number = 0
failures = 0
reporting = threading.Lock()  # checks may run in several threads


def check(name, ok, why=""):
    global number, failures
    with reporting:
        number += 1
        failures += not ok
        print("%sok %d - %s" % ("" if ok else "not ", number, name))
        if not ok and why:
            print("# " + str(why)[:1500].replace("\n", "\n# "))


def skip(name, why):
    global number
    with reporting:
        number += 1
        print("ok %d - %s # SKIP %s" % (number, name, why))


def leave_out(name, why):
    """Reports a recorded example that does not apply."""
    print("# not applicable: %s: %s" % (name, why))


# A pprof, written by hand: fields are (number, value), value an int, bytes or a list of ints.

def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def message(*fields):
    out = b""
    for key, v in fields:
        if isinstance(v, int):
            out += varint(key << 3) + varint(v)
            continue
        if isinstance(v, list):
            v = b"".join(varint(x) for x in v)
        if isinstance(v, str):
            v = v.encode()
        out += varint(key << 3 | 2) + varint(len(v)) + v
    return out


def pprof(folded, time_s):
    strings = ["", "samples", "count", "cpu", "nanoseconds"]
    body = message((1, message((1, 1), (2, 2))), (1, message((1, 3), (2, 4))))
    ids = {}
    for line in folded:
        stack, n = line.rsplit(" ", 1)
        for f in stack.split(";"):
            if f not in ids:
                ids[f] = len(ids) + 1
                strings.append(f)
                body += message((4, message((1, ids[f]), (4, message((1, ids[f]))))),
                                (5, message((1, ids[f]), (2, len(strings) - 1))))
        locations = [ids[f] for f in reversed(stack.split(";"))]
        body += message((2, message((1, locations), (2, [int(n), int(n) * 10000000]))))
    for s in strings:
        body += message((6, s))
    return body + message((9, time_s * 10**9), (10, 15 * 10**9), (11, message((1, 3), (2, 4))),
                          (12, 10000000))


DATA = [
    ({"service_name": "shop", "instance": "a", "region": "eu"}, BASE_S,
     ["main;serve 2", "main;serve;parse 3", "main;serve;query;lock 5", "main;gc 1"]),
    ({"service_name": "shop", "instance": "b", "region": "us"}, BASE_S + 15,
     ["main;serve;parse 4", "main;serve;query 6"]),
    ({"service_name": "mail", "instance": "c", "region": "eu"}, BASE_S + 15,
     ["main;send;smtp 7", "main;gc 2"]),
]


class Server:
    COMMAND = ["server"]

    def __init__(self, cameo, directory, *options, stderr=None, before=(), **how):
        """BEFORE is a command that runs the server, HOW goes to subprocess.Popen."""
        # clickhouse.py sets another kind of store, where a directory becomes a database
        url = os.environ.get("CAMEO_TEST_STORE")
        name = re.sub("[^a-z0-9]", "_", os.path.basename(directory).lower())
        self.store = ["--store", url + "/d" + name] if url else self.data(directory)
        self.process = subprocess.Popen(
            [*before, cameo, *self.COMMAND, "--listen", "127.0.0.1:0", *self.store, "--keep-days", "0", *options],
            stdout=subprocess.PIPE, stderr=stderr, text=True, **how)
        atexit.register(self.process.kill)
        self.url = (self.process.stdout.readline().split() or [""])[-1]

    @staticmethod
    def data(directory):
        return ["--data", directory]

    def pid(self):
        """The process that serves."""
        return self.process.pid

    def ask(self, path, body=None, headers=None, method=None):
        """Status, content type and body."""
        rq = urllib.request.Request(self.url + path, data=body, headers=headers or {},
                                    method=method or ("GET" if body is None else "POST"))
        try:
            with urllib.request.urlopen(rq, timeout=30) as rs:
                return rs.status, rs.headers.get("Content-Type"), rs.read()
        except urllib.error.HTTPError as e:
            return e.code, e.headers.get("Content-Type"), e.read()

    def rpc(self, path, body):
        status, _, answer = self.ask(path, json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
        return status, json.loads(answer or b"null")

    def query(self, method, **body):
        return self.rpc(QUERIER + method, {**RANGE, **body})

    def total(self, selector, **body):
        _, answer = self.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector=selector,
                               **body)
        return int(answer.get("flamegraph", {}).get("total", 0)) // 10000000

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(30)


class Replica(Server):
    """A server that only reads a copy of a store."""

    @staticmethod
    def data(directory):
        return ["--read-only", directory]


class Up(Server):
    """The server of `cameo up`, while its agent profiles this machine."""
    COMMAND = ["up", "--metrics", "no", "--window", "1s"]

    def pid(self):
        """The child with the same command line; the agent's other children have names of their own."""
        def command_line(pid):
            with contextlib.suppress(OSError), open("/proc/%s/cmdline" % pid, "rb") as f:
                return f.read()
            return None

        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid), encoding="ascii") as f:
            return next(int(p) for p in f.read().split() if command_line(p) == command_line(self.process.pid))


def peak_mib(server):
    with open("/proc/%d/status" % server.pid(), encoding="ascii") as f:
        return next(int(x.split()[1]) for x in f if x.startswith("VmHWM:")) >> 10


def push(server, labels, time_s, folded, ident):
    labels = [{"name": k, "value": v} for k, v in {"__name__": "process_cpu", **labels}.items()]
    raw = base64.b64encode(pprof(folded, time_s)).decode()
    return server.rpc("/push.v1.PusherService/Push", {
        "series": [{"labels": labels, "samples": [{"rawProfile": raw, "ID": ident}]}]})


def finish():
    """Prints the plan and returns the exit status."""
    print("1..%d" % number)
    return failures > 0
