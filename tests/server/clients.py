#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clients.py CAMEO: exporters of other projects against a server that fails in each way lose nothing.

The programs in clients/ use OpenTelemetry's exporters of the collector (OTLP over HTTP and gRPC), and
the senders of its exporters for Java, which repeat what fails, and pyroscope-go's, which does not:
what that one reports as delivered must be stored, and nothing twice. The cases mostly wait before they
repeat something, so several run at once, each with a server of its own.
"""
import base64
import concurrent.futures
import http.server
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from serving import Server, check, finish, message, skip, varint

N = 30
GO_KINDS = ("otlp-http", "otlp-grpc")
JAVA_KINDS = ("java-http", "java-grpc")
AT_ONCE = 8
# Short programs that mostly wait: optimizing them would take most of their CPU time.
JVM_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# The servers are started again on their ports, so these are not ports that the kernel gives to connections.
PORTS = iter(random.sample(range(15000, 30000), 1000))


def build(tmp):
    """The program, or why it cannot be built."""
    if "CAMEO_TEST_CLIENTS" in os.environ:
        return os.environ["CAMEO_TEST_CLIENTS"], None
    if not shutil.which("go"):
        return None, "there is no go"
    # a copy, because the checksums of modules are written next to the source
    source, program = os.path.join(tmp, "source"), os.path.join(tmp, "clients")
    shutil.copytree(os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients"), source)
    made = subprocess.run(["go", "build", "-mod=mod", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o", program, "."], capture_output=True, text=True,
                          check=False, cwd=source)
    if made.returncode == 0:
        return program, None
    # only an unreachable registry or an old toolchain excuses it
    for reason in ("dial tcp", "no such host", "i/o timeout", "connection refused", "requires go >=", "invalid go version",
                   "toolchain not available", "module lookup disabled"):
        if reason in made.stderr:
            return None, made.stderr.strip().split("\n")[-1]
    return None, "error: " + made.stderr


def build_java(tmp):
    """The command without its arguments, or why there is none."""
    for tool in ("java", "javac", "mvn"):
        if not shutil.which(tool):
            return None, "there is no " + tool
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients")
    library, classes = os.path.join(tmp, "java-library"), os.path.join(tmp, "java")
    got = subprocess.run(["mvn", "-q", "-B", "-Dmaven.repo.local=" + os.path.join(tmp, "repository"), "-f",
                          os.path.join(source, "pom.xml"), "dependency:copy-dependencies", "-DoutputDirectory=" + library],
                         capture_output=True, text=True, check=False, env={**os.environ, "MAVEN_OPTS": " ".join(JVM_FLAGS)})
    if got.returncode:
        return None, "Maven cannot fetch the exporters: " + (got.stdout + got.stderr)[:200]
    path = library + "/*:" + classes
    made = subprocess.run(["javac", "-cp", path, "-d", classes, os.path.join(source, "Exporter.java")], capture_output=True,
                          text=True, check=False)
    return (["java", "-Xmx256m", *JVM_FLAGS, "-cp", path, "Exporter"], None) if made.returncode == 0 else (None, "error: " + made.stderr)


def otlp(n):
    """Profile number N: one sample of "main" with the value 1."""
    def fixed64(key, value):
        return varint(key << 3 | 1) + struct.pack("<Q", value)

    dictionary = message((1, b""), (2, b""), (2, message((3, message((1, 1))))), (3, b""), (3, message((1, 3))), (4, b""),
                         *[(5, s) for s in ("", "samples", "count", "main")], (6, b""), (7, b""), (7, message((1, [1]))))
    profile = message((1, message((1, 1), (2, 2))), (2, message((1, 1), (4, [1])))) + fixed64(3, time.time_ns()) + \
        message((7, struct.pack(">QQ", 0, n + 1)))
    resource = message((1, message((1, "service.name"), (2, message((1, "client"))))))
    return message((1, message((1, resource), (2, message((2, profile))))), (2, dictionary))


def free_port():
    for port in PORTS:
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            pass
    raise OSError("no port is free")


class Failing:
    """A server on a fixed port, which may be restarted."""

    def __init__(self, cameo, directory, *options):
        self.port = free_port()
        self.address = "127.0.0.1:%d" % self.port
        self.args = (cameo, directory, "--otlp-listen", self.address, *options)
        self.server = Server(*self.args)

    def restart(self):
        self.server.stop(signal.SIGKILL)
        self.server = Server(*self.args)

    def stored(self):
        now = int(time.time() * 1000)
        total = 0
        _, types = self.server.rpc("/querier.v1.QuerierService/ProfileTypes", {"start": now - 3600000, "end": now + 600000})
        for kind in types.get("profileTypes", []):
            got = self.server.rpc("/querier.v1.QuerierService/SelectMergeStacktraces", {
                "profileTypeID": kind["ID"], "labelSelector": "{}", "start": now - 3600000, "end": now + 600000})[1]
            value = int(got.get("flamegraph", {}).get("total", 0))
            total += value // 10000000 if "nanoseconds" in kind["ID"].split(":")[2] else value
        return total


class Statuses:
    """Forwards HTTP requests; the first ones of each turn are answered with the statuses."""

    def __init__(self, to, statuses, headers):
        self.count = self.refused = 0
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])) if "Content-Length" in self.headers else self.chunks()
                front.count += 1
                if front.count % 3:
                    front.refused += 1
                    return self.answer(statuses[front.count % len(statuses)], b"", headers)
                rq = urllib.request.Request("http://" + to + self.path, data=body, method="POST", headers={
                    k: v for k, v in self.headers.items() if k.lower() in ("content-type", "content-encoding")})
                try:
                    with urllib.request.urlopen(rq, timeout=60) as rs:
                        return self.answer(rs.status, rs.read(), {"Content-Type": rs.headers.get("Content-Type") or "text/plain"})
                except urllib.error.HTTPError as e:
                    return self.answer(e.code, e.read(), {})

            def chunks(self):
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def answer(self, status, body, more):
                self.send_response(status)
                for k, v in {**more, "Content-Length": str(len(body))}.items():
                    self.send_header(k, v)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


class Resets:
    """Forwards connections and resets them after a while, at any byte of a request or response."""

    def __init__(self, to):
        self.to, self.n = to, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                a, _ = self.listener.accept()
            except OSError:
                return
            self.n += 1
            host, port = self.to.split(":")
            b = socket.create_connection((host, int(port)))
            limit = 1 << 30 if self.n > 12 else 100 * self.n
            for x, y in ((a, b), (b, a)):
                threading.Thread(target=self.copy, args=(x, y, limit), daemon=True).start()

    @staticmethod
    def copy(x, y, limit):
        try:
            while limit > 0:
                part = x.recv(min(limit, 4096))
                if not part:
                    break
                y.sendall(part)
                limit -= len(part)
        except OSError:
            pass
        for s in (x, y):
            # a linger of 0 s turns close() into a reset
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def send(program, kind, address, n=N):
    if isinstance(program, list):
        with tempfile.TemporaryFile() as requests:
            requests.write(b"".join(base64.b64encode(otlp(i)) + b"\n" for i in range(n)))
            requests.seek(0)
            return subprocess.Popen([*program, kind, address], stdin=requests, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True)
    return subprocess.Popen([program, kind, address, str(n)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process):
    out, err = process.communicate(timeout=280)
    return int(out or -1), err


def expect_all(what, kind, failing, process):
    delivered, err = result(process)
    stored = failing.stored()
    check("%s, %s: all %d profiles are stored once" % (kind, what, N), delivered == stored == N, (delivered, stored, err[-600:]))


def statuses(program, kind, cameo, tmp, status, headers):
    failing = Failing(cameo, os.path.join(tmp, "s%d%d%s" % (status, len(headers), kind)))
    front = Statuses(failing.address, [status], headers)
    process = send(program, kind, front.address, N // 5)
    delivered, err = result(process)
    check("%s, status %d%s: nothing is lost" % (kind, status, " with Retry-After" if headers else ""),
          delivered == failing.stored() == N // 5 and front.refused > 0, (delivered, failing.stored(), err[-600:]))
    failing.server.stop()


def restarts(program, kind, cameo, tmp):
    failing = Failing(cameo, os.path.join(tmp, "restart-" + kind))
    process = send(program, kind, failing.address)
    for i in range(3):
        while process.poll() is None and failing.stored() < (i + 1) * N // 5:
            time.sleep(0.01)
        failing.restart()
    expect_all("the server is killed and started again", kind, failing, process)
    failing.server.stop()


def resets(program, kind, cameo, tmp):
    failing = Failing(cameo, os.path.join(tmp, "resets-" + kind))
    front = Resets(failing.address)
    expect_all("connections are reset", kind, failing, send(program, kind, front.address))
    check("%s: connections were reset" % kind, front.n > 3, front.n)
    failing.server.stop()


def limited(program, kind, cameo, tmp):
    """The limits of a tenant: first 429 by the handler, then by the headers."""
    failing = Failing(cameo, os.path.join(tmp, "limited-" + kind), "--profile-rate", "1", "--shared-profile-rate", "0")
    expect_all("the tenant's rate is exceeded", kind, failing, send(program, kind, failing.address))
    metrics = failing.server.ask("/metrics")[2].decode()
    check("%s: pushes were refused meanwhile" % kind, 'cameo_limited_requests_total{limit="rate"} 0\n' not in metrics)
    failing.server.stop()


def away(program, kind, cameo, tmp):
    """A store that fails with every push, and later does not."""
    failing = Failing(cameo, os.path.join(tmp, "away-" + kind))
    directory = os.path.join(tmp, "away-" + kind)
    moved = directory + ".moved"
    process = send(program, kind, failing.address)
    while process.poll() is None and failing.stored() < 3:
        time.sleep(0.01)
    os.rename(directory, moved)
    refused = 0
    while process.poll() is None and not refused:
        text = failing.server.ask("/metrics")[2].decode()
        refused = int(next(x for x in text.split("\n") if x.startswith("cameo_refused_requests_total ")).split()[1])
        time.sleep(0.01)
    os.rename(moved, directory)
    check("%s: pushes fail while the directory is away" % kind, refused > 0)
    expect_all("the store's directory is away for a while", kind, failing, process)
    failing.server.stop()


def pyroscope(program, cameo, tmp):
    """It repeats nothing, so what it reports as delivered is compared."""
    failing = Failing(cameo, os.path.join(tmp, "pyroscope"))
    delivered, err = result(send(program, "pyroscope-go", failing.address))
    check("pyroscope-go: all is stored", delivered == failing.stored() == N, (delivered, failing.stored(), err[-600:]))
    failing.server.stop()
    failing = Failing(cameo, os.path.join(tmp, "pyroscope-f"))
    front = Statuses(failing.address, [503, 429, 507], {"Retry-After": "1"})
    delivered, err = result(send(program, "pyroscope-go", front.address))
    check("pyroscope-go, failing server: what it reports as delivered is stored once",
          delivered == failing.stored() == N - front.refused, (delivered, failing.stored(), front.refused, err[-600:]))
    failing.server.stop()


def cases(program, kinds):
    """Yields each case, the longest first: its function and the arguments before and after the common ones."""
    for part in (limited, restarts, resets, away):
        for kind in kinds:
            yield part, (program, kind), ()
    for status, headers in ((503, {"Retry-After": "1"}), (429, {"Retry-After": "1"}), (503, {}), (504, {})):
        yield statuses, (program, kinds[0]), (status, headers)
    if kinds is GO_KINDS:
        yield pyroscope, (program,), ()


def run(what, builder, kinds, cameo, tmp, pool):
    """Builds the program of one language, and returns the cases that then run in the pool."""
    program, why = builder(tmp)
    if not program and not why.startswith("error"):
        skip(what, why)
        return []
    check("%s: they are built" % what, program, why)
    return [pool.submit(case, *before, cameo, tmp, *after) for case, before, after in cases(program, kinds)] if program else []


def main():
    cameo = os.path.realpath(sys.argv[1])
    languages = (("exporters of other projects", build, GO_KINDS),
                 ("OpenTelemetry's exporters for Java", build_java, JAVA_KINDS))
    with tempfile.TemporaryDirectory() as tmp, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool, \
            concurrent.futures.ThreadPoolExecutor() as builders:
        for started in [builders.submit(run, *language, cameo, tmp, pool) for language in languages]:
            for case in started.result():
                case.result()
    return finish()


sys.exit(main())
