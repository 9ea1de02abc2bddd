#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""limits.py CAMEO: requests beyond a limit are refused and counted, and the server keeps working."""
import gzip
import json
import os
import resource
import socket
import sys
import tempfile
import urllib.parse

from serving import BASE_S, CPU, DATA, PAGE, QUERIER, RANGE, Server, check, finish, push

DAY_MS = 86400000


def counter(server, limit):
    text = server.ask("/metrics")[2].decode()
    name = 'cameo_limited_requests_total{limit="%s"} ' % limit
    return int(next(x for x in text.split("\n") if x.startswith(name)).split()[1])


def lives(server):
    return server.total("{}") == 30


def connect(server):
    where = urllib.parse.urlparse(server.url)
    return socket.create_connection((where.hostname, where.port), timeout=30)


def answer(s):
    """The status of the next response."""
    s.settimeout(30)
    data = b""
    while b"\r\n\r\n" not in data:
        part = s.recv(4096)
        if not part:
            break
        data += part
    return int(data.split()[1]) if data else 0


def check_sizes(server):
    head = "POST /push.v1.PusherService/Push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n" \
           "Content-Type: application/proto\r\n\r\n" % (100 << 20)
    with connect(server) as s:
        s.sendall(head.encode())
        check("a too large body is refused before it arrives", answer(s) == 413)
    check("the refusal is counted", counter(server, "body") == 1)
    bomb = gzip.compress(b"\0" * (300 << 20), 9)
    for path in ("/push.v1.PusherService/Push", "/ingest?name=app.cpu"):
        status = server.ask(path, bomb, {"Content-Type": "application/proto",
                                         "Content-Encoding": "gzip"})[0]
        check("a gzip bomb at %s is 413" % path, status == 413, status)
    check("gzip bombs are counted", counter(server, "body") == 3)
    deep = "[" * 100000
    wide = '{service_name=~"%s"}' % ("(a|b)" * 5000)
    many = "{%s}" % ",".join('a%d="b"' % i for i in range(100))
    for what, body in (("nesting", '{"x":%s' % deep), ("expressions", json.dumps(
            {**RANGE, "profileTypeID": CPU, "labelSelector": wide})), ("matchers", json.dumps(
                {**RANGE, "profileTypeID": CPU, "labelSelector": many}))):
        status = server.ask(QUERIER + "SelectMergeStacktraces", body.encode(),
                            {"Content-Type": "application/json"})[0]
        check("%s beyond its limit is 400" % what, status == 400, status)
    for body in ({"maxNodes": 1 << 21}, {"maxNodes": -5}):
        check("maxNodes %s is 400" % body, server.query(
            "SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}", **body)[0] == 400)
    status = server.query("SelectSeries", profileTypeID=CPU, labelSelector="{}", step=0.001,
                          end=RANGE["end"] + DAY_MS)[0]
    check("too many steps are 400", status == 400, status)
    check("the server keeps working", lives(server))


def check_agents(server):
    def post(body):
        return server.ask("/api/v1/agents", json.dumps(body).encode())[0]

    def get(**headers):
        return json.loads(server.ask("/api/v1/agents", None, headers)[2])["agents"]

    check("a report is stored", post({"agent": "b", "time": 5, "labels": {"host": "n\u0001"},
                                    "values": {"lost": 1.5, "table_bytes": 10**12}}) == 200)
    check("a newer report replaces it", post({"agent": "a"}) == 200 and
          post({"agent": "a", "values": {"lost": 3}, "other": [{}]}) == 200)
    a, b = get()
    check("both reports are returned", (a["agent"], a["labels"], a["values"]) == ("a", {}, {"lost": 3}) and
          (b["time"], b["labels"], b["values"]) ==
          (5, {"host": "n\u0001"}, {"lost": 1.5, "table_bytes": 10**12}), (a, b))
    for wrong in ({}, [], 7, {"agent": ""}, {"agent": 5}, {"agent": "x" * 257},
                  {"agent": "c", "values": {"a": "1"}}, {"agent": "c", "labels": {"a": 1}},
                  {"agent": "c", "labels": {"a": "x" * 1025}}, {"agent": "c", "time": -1},
                  {"agent": "c", "labels": {str(i): "" for i in range(65)}},
                  {"agent": "c", "values": {str(i): 0 for i in range(257)}}):
        check("%.40s is rejected as a report" % json.dumps(wrong), post(wrong) == 400, post(wrong))
    check("a long report is 413", post({"agent": "c", "x": "x" * 65536}) == 413)
    check("rejected reports are not stored", len(get()) == 2)


def check_series(cameo, directory):
    server = Server(cameo, directory, "--max-series", "3")
    for i, want in enumerate([200, 200, 200, 429, 429]):
        labels = {"service_name": "many", "request": str(i)}
        status = push(server, labels, BASE_S, ["a 1"], "series-%d" % i)[0]
        check("series %d of a service is %d" % (i + 1, want), status == want, status)
    check("refusals are counted", counter(server, "series") == 2)
    check("an existing series is still accepted", push(
        server, {"service_name": "many", "request": "1"}, BASE_S + 1, ["a 1"], "again")[0] == 200)
    check("other services are not affected", push(
        server, {"service_name": "few"}, BASE_S, ["a 1"], "few")[0] == 200)
    server.stop()


def check_time(cameo, directory):
    server = Server(cameo, directory, "--query-seconds", "100")
    for method in ("SelectMergeStacktraces", "SelectSeries", "SelectMergeProfile"):
        body = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "{}", "step": 15})
        status, _, got = server.ask(QUERIER + method, body.encode(), {
            "Content-Type": "application/json", "Connect-Timeout-Ms": "0"})
        check("%s past its time limit is 504" % method, (status, json.loads(got)["code"]) ==
              (504, "deadline_exceeded"), got)
    check("refusals are counted by limit", counter(server, "time") == 3)
    check("a query with enough time works", lives(server))
    server.stop()


def check_range(cameo, directory):
    server = Server(cameo, directory, "--query-days", "1")
    for method in (QUERIER + "SelectMergeStacktraces", QUERIER + "LabelNames", PAGE + "Functions"):
        status, got = server.rpc(method, {"profileTypeID": CPU, "labelSelector": "{}",
                                          "start": RANGE["start"] - DAY_MS, "end": RANGE["end"]})
        check("%s beyond the range limit is 422" % method, (status, got["code"]) ==
              (422, "invalid_argument"), got)
    check("refusals are counted", counter(server, "range") == 3)
    check("a query of one day works", lives(server))
    server.stop()


def resident_mib(server):
    with open("/proc/%d/status" % server.process.pid) as f:
        return next(int(x.split()[1]) for x in f if x.startswith("VmRSS")) >> 10


def check_memory(cameo, directory):
    server = Server(cameo, directory)
    lives(server)
    limit = resident_mib(server) + 12
    server.stop()
    server = Server(cameo, directory, "--memory", str(limit))
    status, got = server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}")
    check("a query without memory is 429", (status, got["code"]) ==
          (429, "resource_exhausted"), got)
    check("the refusal is counted", counter(server, "memory") == 1)
    check("small pushes are accepted", push(server, DATA[0][0], BASE_S + 30, ["a 1"], "m") ==
          (200, {}))
    status = server.ask("/push.v1.PusherService/Push", os.urandom(5 << 20),
                        {"Content-Type": "application/proto"})[0]
    check("large pushes are 429", status == 429, status)
    check("the server still runs", server.ask("/ready")[0] == 200)
    server.stop()


def check_connections(server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n = min(10000, hard - 200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    idle = [connect(server) for _ in range(n)]
    check("%d idle connections do no harm" % n, lives(server))
    for s in idle[:200]:
        s.sendall(b"POST /ingest?name=a.cpu HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhalf")
    for s in idle[200:400]:
        s.sendall(b"POST /ing")
    for s in idle[400:600]:
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    check("600 incomplete requests do no harm", lives(server))
    for s in idle:
        s.close()
    slow = connect(server)
    for c in b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":
        slow.sendall(bytes([c]))
    check("a client that sends single bytes gets a response", answer(slow) == 200)
    slow.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    check("the server works afterwards", lives(server))


def main():
    with tempfile.TemporaryDirectory() as directory:
        server = Server(sys.argv[1], directory)
        for i, (labels, time_s, folded) in enumerate(DATA):
            push(server, labels, time_s, folded, "id-%d" % i)
        check_sizes(server)
        check_agents(server)
        check_connections(server)
        server.stop()
        check_range(sys.argv[1], directory)
        check_time(sys.argv[1], directory)
        check_series(sys.argv[1], directory)
        check_memory(sys.argv[1], directory)
    return finish()


sys.exit(main())
