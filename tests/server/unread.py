#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unread.py CAMEO: clients that do not read their responses harm only themselves."""
import concurrent.futures
import json
import os
import re
import socket
import sys
import tempfile
import time

from frames import (DATA, END_STREAM, H2, H2_NO_WINDOW, HEADERS, STATUS_200, h2_call, h2_fields, h2_frame, h2_read,
                    h2_window)
from serving import BASE_S, CPU, QUERIER, RANGE, Server, check, finish, push

METHOD = (QUERIER + "SelectMergeStacktraces").encode()
MIB = 1 << 20
N_STACKS = 5000  # a response has about a megabyte
WAIT_S = 120


def query_body(i=0):
    """Queries that differ are computed each."""
    return json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "{}", "maxNodes": 100000 + i}).encode()


def metric(server, name):
    text = server.ask("/metrics")[2].decode()
    return sum(float(x.split()[-1]) for x in text.split("\n") if x.startswith(name))


def idle(server):
    return metric(server, 'cameo_requests{pool="query"') == 0


def wait_for(what):
    deadline = time.monotonic() + WAIT_S
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    return what()


def peak(server):
    with open("/proc/%d/status" % server.process.pid, encoding="ascii") as f:
        return int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1]) << 10


def connect(server, room=4096):
    """The buffer of the client is small, so nearly all of a response stays in the server."""
    host, port = server.url.split("/")[2].split(":")
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    s.settimeout(WAIT_S)
    s.connect((host, int(port)))
    return s


def is_open(s):
    """Reads what has arrived: the end of a connection follows what the server's kernel had buffered."""
    s.setblocking(False)
    try:
        while s.recv(1 << 16):
            pass
        return False
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def start(cameo, directory, *options, n_stacks=N_STACKS):
    server = Server(cameo, directory, *options)
    stacks = ["main;%s%d 1" % ("x" * 200, i) for i in range(n_stacks)]
    status, answer = push(server, {"service_name": "s"}, BASE_S, stacks, "1")
    check("a profile is stored", status == 200, answer)
    return server


def ask(server, i, n_stacks=N_STACKS):
    status, _, answer = server.ask(METHOD.decode(), query_body(i), {"Content-Type": "application/json"})
    return status == 200 and json.loads(answer)["flamegraph"]["total"] == str(n_stacks * 10**7)


def others(server, what, n_stacks=N_STACKS):
    """Other clients of the same tenant: as many queries as its limit, one after another and at once."""
    answered = [ask(server, 1000 + i, n_stacks) for i in range(10)]
    check("%s: another client of the tenant is answered" % what, all(answered), answered.count(True))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(lambda i: ask(server, 2000 + i, n_stacks), range(16)))
    check("%s: and so are several at once" % what, all(answered), answered.count(True))


def closed_window(cameo, tmp):
    """400 streams over four connections, whose bodies may not be sent."""
    server = start(cameo, os.path.join(tmp, "window"), "--max-queries", "8")
    sockets = [connect(server) for _ in range(4)]
    for s in sockets:
        s.sendall(H2_NO_WINDOW)
        for i in range(100):
            s.sendall(h2_call(2 * i + 1, METHOD, query_body(i)))
    check("the queries of clients with a closed window are computed", wait_for(
        lambda: metric(server, "cameo_tenant_queries_total") >= 8 and idle(server)))
    check("another client is answered while these are connected", ask(server, 999) and any([is_open(s) for s in sockets]))
    others(server, "closed windows")
    check("the tenant's queries were limited while they were computed", metric(
        server, 'cameo_limited_requests_total{limit="queries"}') > 0)
    for s in sockets:
        s.close()
    check("the server stops", server.stop() == 0)


def unsent_bodies(cameo, tmp):
    """Queries whose bodies do not end: what has not arrived does not count as a query."""
    server = start(cameo, os.path.join(tmp, "bodies"), "--max-queries", "8")
    s = connect(server)
    fields = h2_fields(METHOD, (b"content-type", b"application/json"))
    s.sendall(H2 + b"".join(h2_frame(HEADERS, 4, 2 * i + 1, fields) for i in range(50)) + h2_frame(6, 0, 0, bytes(8)))
    check("the headers have arrived", any(kind == 6 and flags == 1 for kind, flags, _, _ in h2_read(s)))
    others(server, "bodies that do not arrive")
    s.close()
    server.stop()


def bounded_memory(cameo, tmp):
    """More responses than fit into memory, of clients of both protocols that do not read."""
    n = 4 * N_STACKS  # more than the kernel buffers of a connection through this machine
    server = start(cameo, os.path.join(tmp, "memory"), "--memory", "512M", n_stacks=n)
    check("a query is answered", ask(server, 0, n))
    begun, sockets = peak(server), []
    for i in range(25):
        h1, h2 = connect(server), connect(server)
        h1.sendall(b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" %
                   (METHOD, len(query_body(i)), query_body(i)))
        h2.sendall(H2_NO_WINDOW + h2_call(1, METHOD, query_body(i)))
        sockets += [h1, h2]
        if i % 10 == 9:
            wait_for(lambda: idle(server))
            check("%d clients do not read: another one is answered" % len(sockets), ask(server, i, n))
    others(server, "unread responses", n)
    grown = peak(server) - begun
    print("# memory: %d MiB more" % (grown / MIB))
    check("over 200 MiB of unread responses take an eighth of --memory, besides those that are computed",
          grown < 64 * MIB + 80 * MIB, grown / MIB)
    closed = metric(server, "cameo_unread_connections_total")
    # the kernel buffers a part of each response of HTTP/1.1, so the least is what those of HTTP/2 exceed the limit by
    check("clients that did not read for the longest time were disconnected", closed >= 10, closed)
    check("each of them sees the end of its connection",
          wait_for(lambda: [is_open(s) for s in sockets].count(False) >= closed), closed)
    check("those of both protocols", any(not is_open(s) for s in sockets[::2]) and
          any(not is_open(s) for s in sockets[1::2]))
    for s in sockets:
        s.close()
    check("the server stops", server.stop() == 0)


def patient_client(cameo, tmp):
    """A client that queries more than a connection may leave unread, and reads it slowly, loses nothing."""
    server = start(cameo, os.path.join(tmp, "patient"))
    n, got, ok = 60, {}, set()
    s = connect(server, 1 << 18)
    s.sendall(H2 + b"".join(h2_call(2 * i + 1, METHOD, query_body(i)) for i in range(n)))
    wait_for(lambda: idle(server))
    computed = metric(server, "cameo_tenant_queries_total")
    check("requests wait while the client does not read", computed < n, computed)
    ended = set()
    for kind, flags, stream, payload in h2_read(s):
        if kind == HEADERS and payload[0] == STATUS_200:
            ok.add(stream)
        if kind == DATA and payload:
            got[stream] = got.get(stream, 0) + len(payload)
            s.sendall(h2_window(0, len(payload)) + h2_window(stream, len(payload)))
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            ended.add(stream)
        if len(ended) == n:
            break
    check("a client that reads slowly gets all responses", len(ok) == len(ended) == n and min(got.values()) > MIB,
          (len(ok), len(ended)))
    check("no client was disconnected", metric(server, "cameo_unread_connections_total") == 0)
    s.close()
    server.stop()


def main():
    cameo = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as tmp:
        closed_window(cameo, tmp)
        unsent_bodies(cameo, tmp)
        bounded_memory(cameo, tmp)
        patient_client(cameo, tmp)
    return finish()


sys.exit(main())
