#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attacks.py CAMEO [up]: requests made to break the server. After each one, others must be served as before.

With "up" the server is that of `cameo up`, whose agent must not lose profiles meanwhile.

Each attempt has the statuses that it may get, or None where a client sees no status. After each, the process
lives within its memory, /ready answers in time, and another client's push is stored and counted once.
"""
import contextlib
import gzip
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error

from frames import H2, h2_fields, h2_frame, h2_text, h2_window
from serving import BASE_S, CPU, PAGE, QUERIER, RANGE, Server, Up, check, finish, message, pprof, push, skip

MEMORY = 256 << 20
UP_MEMORY = 512 << 20  # the default of `cameo server`
ANSWER_S = 10  # milliseconds on a free machine
PUSH = "/push.v1.PusherService/Push"
EXPORT = b"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
REFUSED = (0, 400, 413)  # 0: the connection is closed
STORED_OR_REFUSED = (200, 400, 413, 422, 429)
HOST = b"Host: 127.0.0.1\r\n"
INGEST = b"/ingest?name=attack.cpu&from=%d" % BASE_S
PROTO = {"Content-Type": "application/proto"}
JSON = {"Content-Type": "application/json"}


class Victim:
    def __init__(self, server, memory):
        self.server, self.memory, self.pushed = server, memory, 0
        host, port = server.url.split("/")[2].split(":")
        self.address = host, int(port)

    def resident(self):
        with open("/proc/%d/status" % self.server.pid(), encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1]) << 10

    def harm(self):
        """Returns a description of the harm, or an empty string."""
        if self.server.process.poll() is not None:
            return "the server ended with %d" % self.server.process.returncode
        begun = time.monotonic()
        ready = self.server.ask("/ready")[0]
        took = time.monotonic() - begun
        self.pushed += 1
        stored = push(self.server, {"service_name": "other"}, BASE_S, ["main;work 1"], "o%d" % self.pushed)[0]
        total = self.server.total('{service_name="other"}')
        if (ready, stored, total) != (200, 200, self.pushed) or took > ANSWER_S or self.resident() > self.memory:
            return "/ready %s after %.1f s, push %s, %s of %d profiles, %d bytes" % (
                ready, took, stored, total, self.pushed, self.resident())
        return ""

    def send(self, data, wait_s=1):
        """The status of the answer to bytes, or 0."""
        got = b""
        with socket.create_connection(self.address, timeout=wait_s) as s:
            try:
                s.sendall(data)
                while len(got) < 1 << 20 and (part := s.recv(65536)):
                    got += part
            except OSError:
                pass
        status = re.match(rb"HTTP/1\.[01] (\d+)", got)
        return int(status[1]) if status else 0

    def ask(self, path, body, headers):
        try:
            return self.server.ask(path, body, headers)[0]
        except (urllib.error.URLError, OSError):
            return 0

    def attempt(self, name, allowed, status):
        harm = self.harm()
        check("%s: %s" % (name, "nobody else is harmed" if allowed is None else "status %d" % status),
              not harm and (allowed is None or status in allowed), harm or status)


def request(method, path, headers=b"", body=b""):
    return method + b" " + path + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n" + headers + b"\r\n" + body


def chunked(body):
    return request(b"POST", INGEST, b"Transfer-Encoding: chunked\r\n", body)


def sized(length):
    return request(b"POST", INGEST, b"Content-Length: %s\r\n" % length, b"a;b 1")


HTTP1 = [
    *[("the method %s" % m.decode(), (400, 403, 404, 405, 501), request(m, b"/ready"))
      for m in (b"TRACE", b"CONNECT", b"PUT", b"DELETE", b"PROPFIND", b"get")],
    ("a websocket", (200,), request(b"GET", b"/ready", b"Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n")),
    ("an upgrade to HTTP/2", (200,), request(b"GET", b"/ready", b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n")),
    ("another expectation", (200, 400, 417), request(b"POST", INGEST, b"Expect: nothing\r\nContent-Length: 5\r\n", b"a;b 1")),
    ("ranges", (200, 206), request(b"GET", b"/ready", b"Range: bytes=0-1,3-3,1-100000\r\n")),
    ("an extension of a chunk", (200, 400), chunked(b"5;a=b;c=\"d\"\r\na;b 1\r\n0\r\n\r\n")),
    ("a long extension of a chunk", None, chunked(b"5;" + b"a" * 200000 + b"\r\na;b 1\r\n0\r\n\r\n")),
    ("trailers with a length", (200, 400), chunked(b"5\r\na;b 1\r\n0\r\nX: y\r\nContent-Length: 3\r\n\r\n")),
    ("50,000 trailers", None, chunked(b"5\r\na;b 1\r\n0\r\n" + b"X: y\r\n" * 50000 + b"\r\n")),
    *[("a chunk of %s bytes" % n.decode(), REFUSED, chunked(n + b"\r\na;b 1\r\n0\r\n\r\n"))
      for n in (b"F" * 16, b"1000000000000000A", b"-5", b"0x5", b"5 5")],
    ("bytes after a chunk", REFUSED, chunked(b"5\r\na;b 1XX\r\n0\r\n\r\n")),
    *[("a length of %s" % n.decode(), REFUSED, sized(n))
      for n in (b"0x5", b"5 5", b"18446744073709551616", b"18446744073709551615", b"9223372036854775808")],
    *[("Transfer-Encoding: %s" % e.decode(), (400,), request(b"POST", INGEST, b"Transfer-Encoding: " + e + b"\r\n", b"0\r\n\r\n"))
      for e in (b"chunked, identity", b"xchunked", b'"chunked"')],
    ("100,000 headers", None, request(b"GET", b"/ready", b"".join(b"X%d: y\r\n" % i for i in range(100000)))),
    ("a header of 1 MiB", None, request(b"GET", b"/ready", b"X: " + b"y" * (1 << 20) + b"\r\n")),
    ("a path of 1 MiB", None, request(b"GET", b"/" + b"a" * (1 << 20))),
    *[("the version %s" % v.decode(), (0, 400, 505), b"GET /ready " + v + b"\r\n" + HOST + b"\r\n")
      for v in (b"HTTP/0.9", b"HTTP/2.0", b"HTTP/11")],
    *[("Host: %s" % h.decode(), (400, 421), b"GET /ready HTTP/1.1\r\nHost: " + h + b"\r\nConnection: close\r\n\r\n")
      for h in (b"127.0.0.1, example.org", b"example.org@127.0.0.1", b"", b"localhost.example.org", b"127.0.0.1.example.org")],
    ("2,000 requests in one piece", (200,), b"GET /ready HTTP/1.1\r\n%s\r\n" % HOST * 2000 + request(b"GET", b"/ready")),
]

NESTED_GROUPS = b"\x0b" * 1000000
PROFILES = [
    ("zeros that expand to 1 GiB", gzip.compress(bytes(1 << 28), 9) * 4),
    ("gzip in gzip", gzip.compress(gzip.compress(pprof(["a 1"], BASE_S)))),
    ("100,000 members of gzip", gzip.compress(b"") * 100000),
    ("nested groups", NESTED_GROUPS),
    ("a varint of 11 bytes", b"\x48" + b"\xff" * 10 + b"\x01"),
    *[("a length of %s" % n, b"\x32" + b) for n, b in (
        ("2^32 - 1", b"\xff\xff\xff\xff\x0f"), ("2^63", b"\xff" * 8 + b"\x7f"), ("2^64 - 1", b"\xff" * 9 + b"\x01"))],
    *[("a million of field %d" % n, bytes([n << 3 | 2, 0]) * 1000000) for n in (1, 2, 3, 4, 5, 6, 13)],
    *[("the time %d" % t, pprof(["a 1"], 0) + message((9, t))) for t in (-2**63, 2**63 - 1, -1)],
    *[("the duration %d" % d, pprof(["a 1"], BASE_S) + message((10, d))) for d in (-2**63, 2**63 - 1)],
    ("the greatest values", pprof(["a %d" % (2**63 - 1), "b %d" % (2**63 - 1)], BASE_S)),
    *[("a sample of %d labels" % n, pprof(["a 1"], BASE_S) + b"".join(message((6, "label%d" % i)) for i in range(n)) + message(
        (2, message((1, [1]), (2, [1, 1]), *[(3, message((1, 6 + i), (2, 6 + i))) for i in range(n)])))) for n in (62, 63, 64, 65)],
    ("a stack of 100,000 frames", pprof([";".join(["a"] * 100000) + " 1"], BASE_S)),
]

SELECTORS = ['(a+)+$', '(x+x+)+y', '((a{0,100}){0,100}){0,100}', '(?R)', '(?<=a{1,1000})b', '(?C1)',
             '(*LIMIT_MATCH=4000000000)(a+)+b', '(*UTF)\\\\xff', "|".join("s%d" % i for i in range(300))]
QUERIES = [
    *[("the expression %.30s" % e, (200, 400, 422), "SelectMergeStacktraces", {"labelSelector": '{service_name=~"%s"}' % e})
      for e in SELECTORS],
    *[("a step of %s" % s, (400,), "SelectSeries", {"step": s}) for s in (0, -1, 1e-9, "NaN", "Infinity")],
    ("a step of a millisecond over years", (400,), "SelectSeries", {"step": 1e-3, "start": 1}),
    *[("%s nodes" % n, (400,), "SelectMergeStacktraces", {"maxNodes": n}) for n in (-1, 2**31, "9223372036854775808", 1.5)],
    ("a range that ends before it begins", (400,), "SelectMergeStacktraces", {"start": RANGE["end"], "end": RANGE["start"]}),
    ("a range of all times", (200, 400, 422), "SelectMergeStacktraces", {"start": 1, "end": "9223372036854775807"}),
    ("a long type", (200, 400), "SelectMergeStacktraces", {"profileTypeID": "a" * 100000 + ":a:a:a:a"}),
]

GET = h2_fields(b"/ready").replace(h2_text(b":method", b"POST"), h2_text(b":method", b"GET"))


def each_stream(n, frames):
    return H2 + b"".join(frames(2 * i + 1) for i in range(n))


def grpc(body):
    return H2 + h2_frame(1, 4, 1, h2_fields(EXPORT, (b"content-type", b"application/grpc"), (b"te", b"trailers"))) + \
        h2_frame(0, 1, 1, body)


HTTP2 = [
    *[("gRPC: %s" % name, grpc(body)) for name, body in (
        ("an empty frame", bytes(5)), ("a length of 2^32 - 1", b"\0\xff\xff\xff\xff"), ("a flag of 255", b"\xff" + bytes(4)),
        ("compressed without an encoding", b"\1\0\0\0\1x"), ("3,000 messages", bytes(5) * 3000))],
    ("windows that overflow", H2 + h2_window(0, 2**31 - 1) * 2),
    ("a window that grows and shrinks", each_stream(60, lambda n: h2_frame(1, 4, n, h2_fields(b"/ready"))) + b"".join(
        h2_frame(4, 0, 0, b"\0\x04" + struct.pack(">I", i % 2 * 65535)) for i in range(3000))),
    ("40,000 settings", H2 + h2_frame(4, 0, 0, b"\0\x03\0\0\0\x64" * 2000) * 20),
    ("the largest table", H2 + h2_frame(4, 0, 0, b"\0\x01\xff\xff\xff\xff") + h2_frame(1, 5, 1, GET)),
    ("50,000 priorities", each_stream(50000, lambda n: h2_frame(2, 0, n, b"\0\0\0\0\x10"))),
    ("20,000 unknown frames", H2 + h2_frame(200, 0, 0, b"x" * 100) * 20000),
    ("a compressed number without an end", H2 + h2_frame(1, 5, 1, b"\x7f" + b"\xff" * 20)),
    ("an update of the table's size", H2 + h2_frame(1, 5, 1, b"\x3f\xff\xff\xff\xff\x07" + GET)),
    ("a line break in a header", H2 + h2_frame(1, 5, 1, GET + h2_text(b"x", b"a\r\nb"))),
    ("Transfer-Encoding", H2 + h2_frame(1, 5, 1, GET + h2_text(b"transfer-encoding", b"chunked"))),
    ("2,000 streams", each_stream(2000, lambda n: h2_frame(1, 4, n, h2_fields(b"/ready")))),
    ("5,000 bodies that are reset", each_stream(5000, lambda n: h2_frame(1, 4, n, h2_fields(PUSH.encode())) +
                                                h2_frame(3, 0, n, b"\0\0\0\x08"))),
    ("5,000 errors that the server must reset", each_stream(5000, lambda n: h2_frame(1, 4, n, h2_fields(PUSH.encode())) +
                                                            h2_frame(8, 0, n, bytes(4)))),
    ("a frame of 16 MiB", H2 + b"\xff\xff\xff\0\0\0\0\0\1"),
]

DOCUMENTS = [("arrays", b"[" * 10**6), ("objects", b'{"a":' * 10**6), ("digits", b'{"start":' + b"9" * 10**6 + b"}"),
             ("half a character", b'{"labelSelector":"\\ud800"}'), ("UTF-16", '{"start":1}'.encode("utf-16")),
             ("a NUL", json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "\0"}).encode())]


def check_labels(server):
    """Clients of protobuf refuse a whole response for one text that is not UTF-8."""
    labels = [(1, message((1, k), (2, v))) for k, v in (
        ("__name__", b"cpu\xff"), ("service_name", "text"), ("text", b"\xc0\x80"), ("text2", "\x1b[31m\n"))]
    body = message((1, message(*labels, (2, message((1, pprof([b"a\xff 1".decode("latin1")], BASE_S)))))))
    check("a label that is not UTF-8 is stored", server.ask(PUSH, body, PROTO)[0] == 200)
    for name, expected in (("__name__", "cpu\ufffd"), ("text", "\ufffd\ufffd"), ("text2", " [31m ")):
        body = message((1, name), (3, RANGE["start"]), (4, RANGE["end"]))
        got = server.ask(QUERIER + "LabelValues", body, PROTO)[2]
        check("and %s is returned as a line of UTF-8" % name, message((1, expected)) in got, got)


def wait_for(condition):
    """Does it become true within a minute?"""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def windows(server):
    """The number of windows that the agent of `cameo up` has reported."""
    agents = json.loads(server.ask("/api/v1/agents")[2])["agents"]
    return agents[0]["values"].get("windows", 0) if agents else 0


def can_profile(server):
    """Does the agent of `cameo up` profile? Without privileges both end, after the server has begun to serve."""
    with contextlib.suppress(OSError):
        return server.url.startswith("http") and wait_for(lambda: windows(server) > 0)
    return False


def check_agent(server):
    """The agent's reports and profiles, which have a connection of their own, were not held up."""
    def report():
        return json.loads(server.ask("/api/v1/agents")[2])["agents"][0]["values"]

    def services():
        return server.query("LabelValues", name="service_name", end=int(time.time() * 1000))[1].get("names", [])

    before = windows(server)
    check("the agent reports further windows", wait_for(lambda: windows(server) > before), report())
    check("and has dropped no profile", report().get("dropped") == 0, report())
    check("its profiles are stored", wait_for(lambda: set(services()) - {"attack", "other", "text"}), services())


def start(directory):
    if "up" in sys.argv:
        os.mkdir(directory)
        return Up(os.path.realpath(sys.argv[1]), directory, stderr=subprocess.DEVNULL), UP_MEMORY
    return Server(os.path.realpath(sys.argv[1]), directory, "--memory", "%dM" % (MEMORY >> 20)), MEMORY


def main():
    with tempfile.TemporaryDirectory() as tmp:
        server, memory = start(os.path.join(tmp, "a"))
        is_up = isinstance(server, Up)  # the requests are handled alike: for time's sake it gets some of them
        if is_up and not can_profile(server):
            skip("attacks on the server of `cameo up`", "it cannot profile this machine")
            return finish()
        victim = Victim(server, memory)
        for name, allowed, data in [] if is_up else HTTP1:
            victim.attempt(name, allowed, victim.send(data))
        for name, data in HTTP2:
            victim.attempt("HTTP/2: " + name, None, victim.send(data))
        for name, data in [] if is_up else PROFILES:
            labels = [(1, message((1, k), (2, v))) for k, v in (("__name__", "process_cpu"), ("service_name", "attack"))]
            body = message((1, message(*labels, (2, message((1, data))))))
            victim.attempt("a profile with " + name, STORED_OR_REFUSED, victim.ask(PUSH, body, PROTO))
        for name, allowed, method, fields in QUERIES:
            body = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "{}", **fields}).encode()
            victim.attempt(name, allowed, victim.ask(QUERIER + method, body, JSON))
        for name, body in DOCUMENTS:
            for path in (QUERIER + "SelectMergeStacktraces", PAGE + "Tree"):
                victim.attempt("%s for %s" % (name, path), (400,), victim.ask(path, body, JSON))
        check_labels(server)
        if is_up:
            check_agent(server)
        check("the server stops cleanly", server.stop() == 0)
    return finish()


sys.exit(main())
