#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lies.py CAMEO: what answers as ClickHouse is broken, or something else. CAMEO_TEST_STORE is a real one.

A proxy replaces single responses. A push is acknowledged only if ClickHouse has said that it is stored, and can be
repeated otherwise; a query fails and can be repeated; time and memory stay within their limits.
"""
import contextlib
import gzip
import http.client
import os
import re
import socket
import sys
import tempfile
import threading
import time
import urllib.parse

from serving import BASE_S, CPU, Server, check, finish, peak_mib, push

MEMORY_MIB = 128
QUERY_S = 2
LATE_S = 20  # on a busy machine
RETRYABLE = (429, 503, 504, 507)
NAME = b"X-ClickHouse-Server-Display-Name: x\r\n"
CHUNKED = b"HTTP/1.1 %s\r\n" + NAME + b"Transfer-Encoding: chunked\r\n\r\n"


def response(body=b"", headers=NAME, status=b"200 OK"):
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n" % (status, headers, len(body)) + body


LIES = {  # what is sent, and then sent again and again
    "an exception in the body": (response(b"Code: 241. DB::Exception: Memory limit exceeded"), b""),
    "an exception in a header": (response(headers=NAME + b"X-ClickHouse-Exception-Code: 241\r\n"), b""),
    "a page of another server": (response(b"<html>sign in</html>", b""), b""),
    "an empty response of another server": (response(b"", b""), b""),
    "another status of success": (b"HTTP/1.1 204 No Content\r\n" + NAME + b"\r\n", b""),
    "a redirect": (response(headers=b"Location: http://127.0.0.1:1/\r\n", status=b"307 Elsewhere"), b""),
    "refused credentials": (response(status=b"401 Unauthorized"), b""),
    "nothing": (b"", b""),
    "bytes": (bytes(range(256)), b""),
    "half a head": (b"HTTP/1.1 200 OK\r\nX-Click", b""),
    "a body without a length": (b"HTTP/1.1 200 OK\r\n" + NAME + b"\r\n", b""),
    "half a body": (b"HTTP/1.1 200 OK\r\n" + NAME + b"Content-Length: 32\r\n\r\n" + bytes(16), b""),
    "half a chunk": (CHUNKED % b"200 OK" + b"20\r\n" + bytes(16), b""),
    "a bomb": (response(gzip.compress(bytes(300 << 20)), NAME + b"Content-Encoding: gzip\r\n"), b""),
    "a body without an end": (CHUNKED % b"200 OK", b"40000\r\n" + bytes(1 << 18) + b"\r\n"),
    "an error without an end": (CHUNKED % b"500 Error", b"40000\r\n" + bytes(1 << 18) + b"\r\n"),
    "a head without an end": (b"HTTP/1.1 200 OK\r\n", b"X: " + bytes(b"y" * 1000) + b"\r\n"),
}


class Proxy:
    """In front of ClickHouse. Statements that begin with LIE_TO get the lie instead of a response."""

    def __init__(self, address):
        self.address, self.lie_to, self.lie, self.has_lied = address, None, None, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, s):
        with contextlib.suppress(OSError), s, s.makefile("rb") as reader:
            while line := reader.readline():
                headers = http.client.parse_headers(reader)
                body = reader.read(int(headers.get("Content-Length", "0")))
                self.answer(s, line.split()[1].decode(), body)

    def answer(self, s, path, body):
        statement = re.search("query=(INSERT)", path)
        statement = statement[1].encode() if statement else body
        if self.lie_to and statement.startswith(self.lie_to):
            first, more = self.lie
            self.has_lied.set()
            s.sendall(first)
            while more:
                s.sendall(more)
            if more is None:  # silence until the client closes
                s.recv(1)
            raise OSError
        to = http.client.HTTPConnection(self.address, timeout=60)
        to.request("POST", path, body)
        rs = to.getresponse()
        s.sendall(response(rs.read(), NAME, b"%d X" % rs.status))
        to.close()

    @contextlib.contextmanager
    def lying(self, to, lie):
        self.has_lied.clear()
        self.lie, self.lie_to = lie, to
        try:
            yield
        finally:
            self.lie_to = None


def check_push(server, proxy, i, name, lie):
    service = "service%d" % i

    def store():
        return push(server, {"service_name": service}, BASE_S, ["main;work%d 1" % i], "id%d" % i)[0]

    with proxy.lying(b"INSERT", lie):
        status = store()
    check("%s: a push is not acknowledged" % name, status in RETRYABLE, status)
    again = store()
    graph = server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="%s"}' % service)[1]
    check("and is stored when it is repeated", (again, graph["flamegraph"]["total"]) == (200, "10000000") and
          "work%d" % i in graph["flamegraph"]["names"], (again, graph))


def merge(server, i):
    return server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name!="n%d"}' % i)[0]


def timed(fn):
    begun = time.monotonic()
    return fn(), time.monotonic() - begun


def check_silence(server, proxy):
    for name, first in (("says nothing", b""), ("is silent after the head", CHUNKED % b"200 OK")):
        with proxy.lying(b"SELECT", (first, None)):
            status, took = timed(lambda: merge(server, -1))
            check("while ClickHouse %s, a query ends at its time limit" % name,
                  status == 504 and took < QUERY_S + LATE_S, (status, took))
            status, took = timed(lambda: server.ask("/ready")[0])
            check("and /ready fails in time", status == 503 and took < LATE_S, (status, took))
            status, took = timed(lambda: server.ask("/metrics")[0])
            check("and /metrics answers in time", status == 200 and took < LATE_S, (status, took))


def main():
    url = urllib.parse.urlparse(os.environ["CAMEO_TEST_STORE"])
    proxy = Proxy(url.netloc)
    os.environ["CAMEO_TEST_STORE"] = "clickhouse://127.0.0.1:%d" % proxy.port
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(os.path.realpath(sys.argv[1]), os.path.join(tmp, "lies"), "--memory", "%dM" % MEMORY_MIB,
                        "--query-seconds", str(QUERY_S))
        push(server, {"service_name": "first"}, BASE_S, ["main;work 1"], "first")
        for i, (name, lie) in enumerate(LIES.items()):
            check_push(server, proxy, i, name, lie)
            with proxy.lying(b"SELECT", lie):
                status = merge(server, i)
            check("and a query fails", status in RETRYABLE, status)
        check("the server stays within its memory", peak_mib(server) < MEMORY_MIB * 5 // 4, peak_mib(server))
        check_silence(server, proxy)
        with proxy.lying(b"", (b"", None)):
            asked = threading.Thread(target=merge, args=(server, -2))
            asked.start()
            proxy.has_lied.wait(LATE_S)
            status, took = timed(server.stop)
            asked.join()
        check("the server stops while ClickHouse says nothing", status == 0, (status, took))
    return finish()


sys.exit(main())
