#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trust.py CAMEO: what clients and web pages try on the server's sockets, and what others still get."""
import base64
import collections
import concurrent.futures
import itertools
import json
import os
import re
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from frames import H2, H2_NO_WINDOW, PING, h2_call, h2_fields, h2_frame, h2_text
from serving import BASE_S, CPU, DATA, QUERIER, RANGE, Server, check, finish, push

IDLE_S = 30  # IDLE_SECONDS of src/server/server.c
LATE_S = 2 * IDLE_S + 60  # a busy machine is allowed some time
STEP_S = 1
SPIN_S = 3


def address(server):
    host, port = server.url.split("/")[2].split(":")
    return host, int(port)


def raw(server, request, timeout=30, last=None):
    """Sends bytes; returns what the server sends until it closes the connection or has sent LAST, and whether it closed it."""
    got = b""
    with socket.create_connection(address(server), timeout=timeout) as s:
        s.sendall(request)
        try:
            while True:
                part = s.recv(65536)
                if not part:
                    return got, True
                got += part
                if last and last in got:
                    return got, False
        except socket.timeout:
            return got, False
        except ConnectionResetError:
            return got, True


POST = b"POST /push.v1.PusherService/Push HTTP/1.1\r\n"
HOST = b"Host: 127.0.0.1\r\n"
SMUGGLED = {
    "Content-Length with Transfer-Encoding": POST + HOST +
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two Content-Lengths": POST + HOST + b"Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}{}",
    "two equal Content-Lengths": POST + HOST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a negative Content-Length": POST + HOST + b"Content-Length: -2\r\n\r\n{}",
    "a Content-Length with a sign": POST + HOST + b"Content-Length: +2\r\n\r\n{}",
    "a Content-Length of two numbers": POST + HOST + b"Content-Length: 2, 2\r\n\r\n{}",
    "a Transfer-Encoding other than chunked": POST + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a Transfer-Encoding after a control character": POST + HOST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "two Transfer-Encodings": POST + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "a Transfer-Encoding in HTTP/1.0": POST.replace(b"/1.1", b"/1.0") + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two equal Transfer-Encodings": POST + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a line feed alone after a header": POST + HOST + b"X: y\nContent-Length: 2\r\n\r\n{}",
    "a line feed alone after the last header": POST + HOST + b"Content-Length: 2\n\r\n{}",
    "a line feed alone before the body": POST + HOST + b"Content-Length: 2\r\n\n{}",
    "a line feed alone after the request line": POST.replace(b"\r\n", b"\n") + HOST + b"Content-Length: 2\r\n\r\n{}",
    "line feeds alone": (POST + HOST + b"Content-Length: 2\r\n\r\n").replace(b"\r\n", b"\n") + b"{}",
    "a NUL in a header": POST + HOST + b"X: y\0z\r\nContent-Length: 2\r\n\r\n{}",
    "a NUL at the end of a header": POST + HOST + b"X: y\0\r\nContent-Length: 2\r\n\r\n{}",
    "two NULs in a header": POST + HOST + b"X: y\0\0z: z\r\nContent-Length: 2\r\n\r\n{}",
    "a length after a NUL": POST + HOST + b"Content-Length: 2\0 7\r\n\r\n{}",
    "a continued line": POST + HOST + b"X: y\r\n z\r\nContent-Length: 2\r\n\r\n{}",
    "a continued encoding": POST + HOST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a carriage return in a header": POST + HOST + b"X: y\rContent-Length: 2\r\n\r\n{}",
    "a header's name of other bytes": POST + HOST + b"X\xff: y\r\nContent-Length: 2\r\n\r\n{}",
    "a blank before a colon": POST + b"Host : 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}",
    "two Hosts": POST + HOST + HOST + b"Content-Length: 2\r\n\r\n{}",
    "no Host": POST + b"Content-Length: 2\r\n\r\n{}",
    "a method of garbage": b"\x00\x01\x02 / HTTP/1.1\r\n" + HOST + b"\r\n",
}


def framing(server):
    for name, request in SMUGGLED.items():
        answer, closed = raw(server, request, timeout=10)
        refused = not answer or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))
        check("%s: refused, and the connection is closed" % name, refused and closed, answer)
    for path in (b"/ready%00", b"/ready%00/x"):
        answer, _ = raw(server, b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        check("%s is another path than /ready" % path.decode(), answer.startswith(b"HTTP/1.1 404"), answer)
    answer, _ = raw(server, b"GET /ready HTTP/1.0\r\n\r\n")
    check("HTTP/1.0 needs no Host", answer.split(b"\r\n")[0].endswith(b"200 OK"), answer)


def many_arguments(server):
    """A target of any number of arguments is answered."""
    for n, each in ((100, b"a=1"), (500, b"a=1"), (500, b""), (14000, b""), (200, b"b" * 100), (1, b"c" * 20000), (300, b"d" * 70)):
        target = b"/pyroscope/render?" + b"&".join([each] * n)
        answer, closed = raw(server, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        status = int(answer[9:12] or 0)
        check("%d arguments of %d bytes: refused with a status" % (n, len(each)), closed and status in (400, 414), answer[:200])
    answer, _ = raw(server, b"GET /ready?" + b"&".join(b"a%d=1" % i for i in range(100)) + b" HTTP/1.1\r\n" + HOST +
                    b"Connection: close\r\n\r\n")
    check("a hundred arguments are accepted", answer.startswith(b"HTTP/1.1 200"), answer[:200])


def foreign_pages(cameo, tmp, server):
    body = json.dumps(RANGE).encode()
    path = QUERIER + "LabelNames"
    own = "http://%s:%d" % address(server)
    kind = {"Content-Type": "application/json"}
    for name, headers, expected in (
            ("another name in Host", {"Host": "rebound.example.org:4040"}, 421),
            ("localhost in Host", {"Host": "localhost:4040"}, 200),
            ("an address in Host", {"Host": "[::1]:4040"}, 200),
            ("more than a port after the host", {"Host": "localhost:80.example.org"}, 421),
            ("a bracket that is not closed", {"Host": "[::1"}, 421),
            ("something between bracket and port", {"Host": "[::1]x:80"}, 421),
            ("a page's own origin", {"Origin": own}, 200),
            ("another origin", {"Origin": "https://example.org"}, 403),
            ("an opaque origin", {"Origin": "null"}, 403),
            ("a cross-site request", {"Sec-Fetch-Site": "cross-site"}, 403),
            ("a same-site request", {"Sec-Fetch-Site": "same-site"}, 403),
            ("the page's requests", {"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example.org"}, 200)):
        status = server.ask(path, body, {**kind, **headers})[0]
        check("%s: status %d" % (name, expected), status == expected, status)
    for name, headers, expected in (
            ("a link from another site", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
            ("a picture or script of another site", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
            ("a GET of another origin", {"Origin": "https://example.org"}, 403),
            ("a GET of the page itself", {"Origin": own}, 200)):
        status = server.ask("/ready", headers=headers)[0]
        check("%s: status %d" % (name, expected), status == expected, status)
    status = server.ask("/ingest?name=x&format=folded", b"a;b 1", {"Content-Type": "text/plain", "Origin": "null"})[0]
    check("a page of another origin stores nothing by /ingest", status == 403, status)
    grafana = "https://grafana.example.org"
    with_cors = Server(cameo, os.path.join(tmp, "cors"), "--cors-origin", "https://other.example.org," + grafana)
    preflight = {"Origin": grafana, "Access-Control-Request-Method": "POST"}
    status, headers = headers_of(with_cors, path, preflight, "OPTIONS")
    check("a preflight of an allowed origin is answered", status == 204 and
          headers.get("Access-Control-Allow-Origin") == grafana and "Content-Type" in
          headers.get("Access-Control-Allow-Headers", ""), (status, headers))
    status, headers = headers_of(with_cors, path, {**kind, "Origin": grafana, "Sec-Fetch-Site": "cross-site"}, "POST", body)
    check("and so is its request, for the page to read", status == 200 and
          headers.get("Access-Control-Allow-Origin") == grafana and
          not headers.get("Access-Control-Allow-Credentials"), (status, headers))
    check("every response forbids guessing its type", headers.get("X-Content-Type-Options") == "nosniff", headers)
    for origin in ("https://grafana.example.com", "null", grafana + ".evil.org", "https://other.example.org,"):
        status, headers = headers_of(with_cors, path, {**preflight, "Origin": origin}, "OPTIONS")
        check("a preflight of %s is not" % origin, status == 403 and "Access-Control-Allow-Origin" not in headers,
              (status, headers))
    with_cors.stop()
    named = Server(cameo, os.path.join(tmp, "named"), "--host-name", "profiles.example.org,other")
    for host, expected in (("profiles.example.org", 200), ("OTHER:80", 200), ("profiles.example.com", 421)):
        status = named.ask("/ready", headers={"Host": host})[0]
        check("with --host-name, %s: status %d" % (host, expected), status == expected, status)
    check_absolute(named)
    named.stop()


def check_absolute(server):
    """A target that is a whole URL: its host counts, and Host does not (RFC 9112, 3.2.2)."""
    for target, host, expected in (
            ("http://profiles.example.org/ready", "profiles.example.org", 200),
            ("HTTP://other:80/ready?x=1", "profiles.example.com", 200), ("https://127.0.0.1/ready", "other", 200),
            ("http://profiles.example.com/ready", "other", 421), ("http://profiles.example.com", "other", 421),
            ("http://other", "other", 200), ("http://other/nosuch", "other", 404), ("http://", "other", 400),
            ("http:///ready", "other", 400), ("http://user@other/ready", "other", 400),
            ("ftp://other/ready", "other", 404), ("/http://other/ready", "other", 404), ("*", "other", 404)):
        got = raw(server, ("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (target, host)).encode())[0]
        check("the target %s with Host %s: status %d" % (target, host, expected), got[9:12] == b"%d" % expected, got[:200])
    got = raw(server, b"GET http://other/ready HTTP/1.1\r\nConnection: close\r\n\r\n")[0]
    check("a whole URL does not replace the Host header", got[9:12] == b"400", got[:200])
    origin = b"GET http://other/ready HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://%s\r\nConnection: close\r\n\r\n"
    for name, expected in ((b"other", b"200"), (b"evil.example", b"403")):
        got = raw(server, origin % name)[0]
        check("the origin %s is compared with the target" % name.decode(), got[9:12] == expected, got[:200])


def headers_of(server, path, headers, method, body=None):
    rq = urllib.request.Request(server.url + path, data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(rq, timeout=30) as rs:
            return rs.status, dict(rs.headers)
    except urllib.error.HTTPError as e:
        return e.code, dict(e.headers)


def closed_after(server, first, drip, step_s=STEP_S):
    """Sends FIRST and then DRIP every STEP_S; returns the seconds until the server closes the connection."""
    begun = time.monotonic()
    with socket.create_connection(address(server)) as s:
        s.settimeout(step_s)
        s.sendall(first)
        while time.monotonic() - begun < LATE_S:
            try:
                if not s.recv(4096):
                    break
            except socket.timeout:
                pass
            except ConnectionResetError:
                break
            try:
                s.sendall(drip)
            except (BrokenPipeError, ConnectionResetError):
                break
    return time.monotonic() - begun


def h2_post(path, *more):
    return H2 + h2_frame(1, 4, 1, h2_fields(path, *more))


def flooded(server, first, piece, n):
    """Sends FIRST and N pieces; returns what the server sent until it closed the connection, and whether it did."""
    got = b""
    with socket.create_connection(address(server), timeout=30) as s:
        try:
            s.sendall(first)
            for i in range(n):
                s.sendall(piece(i))
        except OSError:
            pass
        try:
            while part := s.recv(65536):
                got += part
            return got, True
        except socket.timeout:
            return got, False
        except ConnectionResetError:
            return got, True


def floods(server):
    """Frames that make the server work without a request end the connection, at little cost."""
    get = h2_fields(b"/ready").replace(h2_text(b":method", b"POST"), h2_text(b":method", b"GET"))
    reset = (8).to_bytes(4, "big")
    for name, first, piece in (
            ("resets", H2, lambda i: h2_frame(1, 5, 2 * i + 1, get) + h2_frame(3, 0, 2 * i + 1, reset)),
            ("CONTINUATION", H2 + h2_frame(1, 0, 1, get), lambda i: h2_frame(9, 0, 1, h2_text(b"x", b"y" * 200))),
            ("empty CONTINUATION", H2 + h2_frame(1, 0, 1, get), lambda i: h2_frame(9, 0, 1, b"")),
            ("SETTINGS", H2, lambda i: h2_frame(4, 0, 0, b"\0\x03\0\0\0\x64")),
            ("PING", H2, lambda i: h2_frame(6, 0, 0, b"x" * 8))):
        begun = rss(server)
        _, closed = flooded(server, first, piece, 100000)
        grown = rss(server) - begun
        check("a flood of %s ends its connection and uses hardly any memory" % name, closed and grown < 16 << 20, (closed, grown))
    # each header field of a byte refers to an entry of 4 kB in the table
    bomb = get + b"\x40\x01x\x7f" + b"\xa1\x1e" + b"v" * 4000 + b"\xbe" * 8000
    begun = rss(server)
    flooded(server, H2, lambda i: h2_frame(1, 5, 2 * i + 1, bomb) if i < 50 else h2_frame(7, 0, 0, bytes(8)), 51)
    check("compressed headers that expand a thousand times use hardly any memory", rss(server) - begun < 16 << 20)
    check("the server answers after the floods", server.ask("/ready")[0] == 200)


def slow_clients(server):
    stacks = ["main;%s%d 1" % ("x" * 200, i) for i in range(4000)]
    push(server, {"service_name": "large"}, BASE_S, stacks, "large")
    query = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": '{service_name="large"}', "maxNodes": 100000})
    slow = {
        "PINGs in place of reading a response": (
            H2_NO_WINDOW + h2_call(1, (QUERIER + "SelectMergeStacktraces").encode(), query.encode()),
            h2_frame(PING, 0, 0, bytes(8))),
        "headers": (b"POST /ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"x"),
        "a body": (POST + HOST + b"Content-Length: 100000\r\n\r\n", b"{"),
        "a chunked body": (POST + HOST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        "a body of HTTP/2": (h2_post(b"/push.v1.PusherService/Push"), h2_frame(0, 0, 1, b"x")),
    }
    with concurrent.futures.ThreadPoolExecutor(len(slow)) as pool:
        took = {name: pool.submit(closed_after, server, *parts) for name, parts in slow.items()}
    for name, seconds in took.items():
        check("each second a byte, or a frame, of %s: closed in time" % name, seconds.result() < LATE_S, seconds.result())


def flood(server, requests):
    """Sends each of REQUESTS, a header and the parts of a body, on a connection of its own, a part of each in turn."""
    sockets = []
    for header, parts in requests:
        s = socket.create_connection(address(server))
        s.sendall(header)
        s.setblocking(False)
        sockets.append((s, iter(parts)))
    while sockets:
        for s, parts in list(sockets):
            part = next(parts, None)
            if part is None:
                sockets.remove((s, parts))
                s.close()
                continue
            # Bytes that one turn cannot send are lost, so the body stays incomplete and nothing is answered.
            select.select([], [s], [], 0.05)
            try:
                s.send(part)
            except OSError:
                pass


def open_paths(cameo, tmp, *options):
    """Paths without credentials have no body: one that is sent is discarded as it arrives. The memory of a server is
    measured by its peak, so each flood has a server of its own."""
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    data = [h2_frame(0, 0, n, b"x" * 16384) for _ in range(63) for n in (1, 3, 5, 7, 9, 11, 13)]
    for path in (b"/ready", b"/nothing"):
        head = b"POST " + path + b" HTTP/1.1\r\n" + HOST
        streams = b"".join(h2_frame(1, 4, n, h2_fields(path)) for n in (1, 3, 5, 7, 9, 11, 13))
        for name, first, parts in (("of 48 MiB", head + b"Content-Length: %d\r\n\r\n" % (48 << 20), [b"x" * 65536] * 100),
                                   ("in chunks", head + b"Transfer-Encoding: chunked\r\n\r\n", [chunk] * 100),
                                   ("over HTTP/2", H2 + streams, data)):
            server = Server(cameo, os.path.join(tmp, "open"), "--memory", "256M", *options)
            begun = rss(server)
            flood(server, [(first, parts)] * 16)
            grown = rss(server) - begun
            check("POST %s: a body %s uses hardly any memory" % (path.decode(), name), grown < 16 << 20, grown)
            server.stop()


def unauthenticated(cameo, tmp):
    tokens = os.path.join(tmp, "tokens")
    with open(tokens, "w", encoding="ascii") as f:
        f.write("a-long-secret\n")
    server = Server(cameo, os.path.join(tmp, "auth"), "--auth-token-file", tokens, "--memory", "256M")
    body = 48 << 20
    begun = rss(server)
    sockets = []
    for _ in range(16):
        s = socket.create_connection(address(server))
        s.sendall(POST + HOST + b"Content-Length: %d\r\n\r\n" % body)
        s.setblocking(False)
        sockets.append(s)
    for _ in range(400):
        for s in sockets:
            try:
                s.send(b"x" * 65536)
            except OSError:
                pass
    answers = []
    for s in sockets:
        s.settimeout(10)
        try:
            answers.append(s.recv(4096)[:12])
        except OSError:
            answers.append(b"reset")
        s.close()
    check("a body without credentials is refused at once", all(a in (b"HTTP/1.1 401", b"reset") for a in answers) and
          b"HTTP/1.1 401" in answers, answers)
    grown = rss(server) - begun
    check("bodies without credentials use hardly any memory", grown < 16 << 20, grown)
    answer, _ = raw(server, h2_post(b"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
                                    (b"content-type", b"application/grpc")), last=b"16")
    check("gRPC without credentials is refused before the body", b"16" in answer, answer)
    server.stop()
    open_paths(cameo, tmp, "--auth-token-file", tokens)


READY_S = 0.2  # the promise; a test on a busy machine allows more
READY_LIMIT_S = 2


def ask_basic(server, source, user, secret):
    """The status of a query with a user and password, on a connection of its own from the address SOURCE."""
    header = base64.b64encode(("%s:%s" % (user, secret)).encode())
    with socket.create_connection(address(server), timeout=60, source_address=(source, 0)) as s:
        s.sendall(b"GET /api/v1/agents HTTP/1.1\r\n" + HOST + b"Connection: close\r\nAuthorization: Basic " + header +
                  b"\r\n\r\n")
        answer = b""
        while b"\r\n" not in answer:
            part = s.recv(4096)
            if not part:
                break
            answer += part
    return int(answer.split()[1]) if answer else 0


def wrong_passwords(cameo, tmp):
    """50 connections send wrong passwords; others are answered meanwhile."""
    users = os.path.join(tmp, "users")
    hashed = subprocess.run([cameo, "server", "--hash-secret"], input="ann:password-of-ann\n", capture_output=True,
                            text=True, check=True).stdout
    bob = subprocess.run([cameo, "server", "--hash-secret"], input="bob:password-of-bob\n", capture_output=True,
                         text=True, check=True).stdout
    with open(users, "w", encoding="ascii") as f:
        f.write(hashed + bob)
    server = Server(cameo, os.path.join(tmp, "passwords"), "--auth-basic-file", users)
    attacker, other = "127.0.0.2", "127.0.0.3"
    check("a right password is accepted", ask_basic(server, attacker, "ann", "password-of-ann") == 200)
    stop = threading.Event()
    statuses = collections.Counter()

    def attack(n):
        for i in itertools.count():
            if stop.is_set():
                return
            try:
                statuses[ask_basic(server, attacker, "ann", "wrong-%d-%d" % (n, i))] += 1
            except OSError:
                statuses["error"] += 1

    threads = [threading.Thread(target=attack, args=(n,)) for n in range(50)]
    for t in threads:
        t.start()
    check("wrong passwords are refused, then limited", until(lambda: statuses[401] and statuses[429]), statuses)
    ready, known = [], []
    for _ in range(100):
        for times, ask in ((ready, lambda: ask_ready(server, other)),
                           (known, lambda: ask_basic(server, attacker, "ann", "password-of-ann"))):
            begun = time.monotonic()
            status = ask()
            times.append(time.monotonic() - begun if status == 200 else READY_LIMIT_S)
    for name, times in (("/ready", ready), ("a client that was verified before, from the same address,", known)):
        times.sort()
        print("# %s: median %.1f ms, 99 %% %.1f ms (promise %d ms)" % (name, times[50] * 1e3, times[98] * 1e3,
                                                                     READY_S * 1e3))
        check("%s is answered while 50 connections send wrong passwords" % name, times[98] < READY_LIMIT_S, times[-5:])
    check("another address signs in meanwhile", ask_basic(server, other, "bob", "password-of-bob") == 200)
    stop.set()
    for t in threads:
        t.join()
    check("no answer was lost", set(statuses) <= {401, 429, 503}, statuses)
    server.stop()


def ask_ready(server, source):
    with socket.create_connection(address(server), timeout=60, source_address=(source, 0)) as s:
        s.sendall(b"GET /ready HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        return int(s.recv(4096).split()[1])


def rss(server):
    with open("/proc/%d/status" % server.process.pid, encoding="ascii") as f:
        return int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1]) << 10


def cpu_s(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(condition, limit_s=60):
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def no_descriptors(cameo, tmp):
    """Connects while the server may not open a descriptor."""
    server = Server(cameo, os.path.join(tmp, "few"))
    limit = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (4, limit[1]))
    sockets = [socket.create_connection(address(server)) for _ in range(200)]
    # A program that does spin shows how much CPU time the machine had left.
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    begun = cpu_s(server.process.pid)
    while cpu_s(spinner.pid) < SPIN_S:
        time.sleep(0.1)
    spent = cpu_s(server.process.pid) - begun
    spinner.kill()
    spinner.wait()
    check("without free descriptors the server does not spin", spent < SPIN_S / 3, spent)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limit)
    for s in sockets:
        s.close()
    deadline, status = time.monotonic() + 60, None
    while status != 200 and time.monotonic() < deadline:
        try:
            status = server.ask("/ready")[0]
        except OSError:
            time.sleep(0.1)
    check("afterwards it answers again", status == 200, status)
    server.stop()


def main():
    cameo = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(cameo, os.path.join(tmp, "a"))
        framing(server)
        many_arguments(server)
        foreign_pages(cameo, tmp, server)
        floods(server)
        slow_clients(server)
        push(server, *DATA[0], "1")
        check("after all that the server stores and answers", server.total('{service_name="shop"}') == 11,
              server.total('{service_name="shop"}'))
        check("and stops cleanly", server.stop() == 0)
        unauthenticated(cameo, tmp)
        wrong_passwords(cameo, tmp)
        no_descriptors(cameo, tmp)
    return finish()


sys.exit(main())
