#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""limits.py CAMEO: requests beyond a limit are refused and counted, and the server keeps working."""
import base64
import concurrent.futures
import gzip
import http.client
import itertools
import json
import os
import re
import resource
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
import zlib

from serving import BASE_S, CPU, DATA, PAGE, QUERIER, RANGE, Server, check, finish, message, peak_mib, pprof, push, varint

DAY_MS = 86400000


def counter(server, limit):
    text = server.ask("/metrics")[2].decode()
    name = 'cameo_limited_requests_total{limit="%s"} ' % limit
    return int(next(x for x in text.split("\n") if x.startswith(name)).split()[1])


def lives(server):
    return server.total("{}") == 30


def total_with_room(server):
    """The sum of all profiles. While memory is short, the query is refused and can be repeated."""
    end = time.monotonic() + 30
    total = server.total("{}")
    while not total and time.monotonic() < end:
        time.sleep(0.2)
        total = server.total("{}")
    return total


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
    query = {**RANGE, "profileTypeID": CPU, "labelSelector": "{}"}
    for n, want in ((1024, 200), (1025, 400)):
        status, got = server.rpc(PAGE + "Functions", {**query, "search": "a" * n})
        check("a search of %d bytes is %d" % (n, want), status == want, got)
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
    limit = resident_mib(server) + 1  # a query needs four
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


def deflated(head, one, times, tail=b""):
    """A gzip of HEAD, ONE repeated TIMES and TAIL, made in little memory."""
    gz = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [gz.compress(head)] + [gz.compress(one * 10000) for _ in range(times // 10000)]
    return b"".join([*parts, gz.compress(tail), gz.flush()])


def check_bombs(cameo, directory):
    """Small bodies that expand a thousand times are charged what they expand to."""
    server = Server(cameo, os.path.join(directory, "bombs"), "--memory", "128M")
    labels = [{"name": "__name__", "value": "process_cpu"}, {"name": "service_name", "value": "bomb"}]
    names = b"".join(b"\x32" + varint(len(x)) + x for x in (b"", b"samples", b"count"))
    # 30 million samples without anything, and a million of the value 1
    many = deflated(b"", b"\x12\x00", 30000000)
    valid = deflated(message((1, message((1, 1), (2, 2)))), b"\x12\x02\x10\x01", 1000000,
                     names + b"\x48" + varint(BASE_S * 10**9))

    def send(raw, copies=1):
        body = {"series": [{"labels": labels, "samples": [{"rawProfile": base64.b64encode(raw).decode(), "ID": "b%d" % i}
                                                          for i in range(copies)]}]}
        return server.rpc("/push.v1.PusherService/Push", body)

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        statuses = [f.result()[0] for f in [pool.submit(send, many) for _ in range(12)]]
    check("12 gzip bombs of %d KiB at once are refused" % (len(many) >> 10), set(statuses) <= {400, 422, 429}, statuses)
    status, got = send(valid)
    check("a profile of 4 KB with a million samples is stored", status == 200, got)
    status, got = send(valid, 60)
    # the memory of the requests before it may not be free yet
    end = time.monotonic() + 60
    while status == 429 and time.monotonic() < end:
        time.sleep(0.2)
        status, got = send(valid, 60)
    check("of 60 of them at once, those beyond half of the memory are refused for good",
          status in (400, 422) and "--memory" in got["message"], (status, got))
    check("the server stays within its limit", peak_mib(server) < 128, peak_mib(server))
    check_many_fields(server)
    check("and works", push(server, *DATA[0], "after")[0] == 200)
    server.stop()


def check_many_fields(server):
    """A field of two bytes needs up to a hundred when it is decoded, a line of ten three hundred."""
    proto = {"Content-Type": "application/proto"}
    label = message((1, message((1, b"\x0a\0" * 4000000))))
    for name, path, body in (
            ("texts of a query", QUERIER + "SelectMergeStacktraces", b"\x0a\0" * 12000000),
            ("texts of a look-up", QUERIER + "LabelNames", b"\x0a\0" * 12000000),
            ("series", "/push.v1.PusherService/Push", b"\x0a\2\x12\0" * 1000000),
            ("names of a label", "/push.v1.PusherService/Push", label)):
        status = server.ask(path, body, proto)[0]
        check("millions of %s are refused" % name, status in (400, 422, 429), status)
    folded = b"".join(b"f%d 1\n" % i for i in range(1000000))
    status = server.ask("/ingest?name=bomb.cpu&from=%d" % BASE_S, folded, {})[0]
    check("a million distinct stacks are refused", status in (422, 429), status)
    check("and need no more memory", peak_mib(server) < 128, peak_mib(server))


def amplifying():
    """A profile of 12 MB of names, of which each of 20,000 stacks has 120: written out, they are 144 GB."""
    names = ["a" * 60000 + str(i) for i in range(200)]
    return b"".join([
        message((1, message((1, 1), (2, 2)))),
        *(message((2, message((1, [(i * 7 + j * 13 + i * j) % 200 + 1 for j in range(120)]), (2, [1])))) for i in range(20000)),
        *(message((4, message((1, i + 1), (4, message((1, i + 1)))))) for i in range(200)),
        *(message((5, message((1, i + 1), (2, 3 + i)))) for i in range(200)),
        *(message((6, x)) for x in ["", "cpu", "nanoseconds", *names]),
        message((9, BASE_S * 10**9), (10, 10**10), (11, message((1, 1), (2, 2))), (12, 10**7))])


def check_responses(cameo, directory):
    """A response has a limit, however small the profiles and the question are."""
    server = Server(cameo, os.path.join(directory, "responses"), "--memory", "256M")
    labels = [(1, message((1, k), (2, v))) for k, v in (("__name__", "process_cpu"), ("service_name", "names"))]
    body = message((1, message(*labels, (2, message((1, gzip.compress(amplifying())))))))
    status = server.ask("/push.v1.PusherService/Push", body, {"Content-Type": "application/proto"})[0]
    check("a profile with long names is stored", status == 200, status)
    where = "/api/v1/profile?type=%s&query=%%7B%%7D&from=%d&until=%d&format=" % (CPU, RANGE["start"], RANGE["end"])
    for form, expected in (("folded", 422), ("svg", 422), ("chrome", 422), ("speedscope", 200), ("pprof", 200)):
        status, _, got = server.ask(where + form)
        check("a download as %s: status %d" % (form, expected), status == expected, (status, got[:300]))
    for form in ("TREE", "FLAMEGRAPH"):
        status, got = server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}", format="PROFILE_FORMAT_" + form, maxNodes=1 << 20)
        check("a %s of all nodes: refused, or small" % form.lower(), status in (200, 422) and len(str(got)) < 64 << 20, status)
    check("the server stays within its limit", peak_mib(server) < 256, peak_mib(server))
    check("and works", push(server, *DATA[0], "after")[0] == 200)
    check("and stops", server.stop() == 0)


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


def gauge(server, pool, state):
    text = server.ask("/metrics")[2].decode()
    name = 'cameo_requests{pool="%s",state="%s"} ' % (pool, state)
    return int(next(x for x in text.split("\n") if x.startswith(name)).split()[1])


def wait_for(what, limit_s=120):
    deadline = time.monotonic() + limit_s
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    return what()


def begin_query(server, **body):
    """Sends a query and returns its socket without reading the response."""
    text = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "{}", **body}).encode()
    s = connect(server)
    s.sendall(b"POST %sSelectMergeStacktraces HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
              b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" %
              (QUERIER.encode(), len(text), text))
    return s


def check_queue(cameo, directory):
    """Sends more queries than a queue holds, each of which takes milliseconds."""
    server = Server(cameo, os.path.join(directory, "queue"), "--max-queries", "0")
    stacks = ["main;f%d;g%d %d" % (i % 97, i, i + 1) for i in range(4000)]
    for i in range(60):
        push(server, {"service_name": "s%d" % (i % 7)}, BASE_S + i % 30, stacks, "q-%d" % i)
    sockets = [begin_query(server) for _ in range(400)]
    answers = [answer(s) for s in sockets]
    for s in sockets:
        s.close()
    refused = answers.count(503)
    check("more queries than a queue holds: some are 503, the others 200", refused > 0 and
          answers.count(200) == 400 - refused, {a: answers.count(a) for a in set(answers)})
    check("refusals by a full queue are counted as such", counter(server, "queue") == refused,
          counter(server, "queue"))
    check("and not as a lack of memory", counter(server, "memory") == 0)
    gone = [begin_query(server) for _ in range(60)]
    wait_for(lambda: gauge(server, "query", "waiting") + gauge(server, "query", "running") > 0, 1)
    for s in gone:
        s.close()
    check("queries whose clients have gone end", wait_for(
        lambda: gauge(server, "query", "waiting") + gauge(server, "query", "running") == 0))
    check("the server answers afterwards", server.query(
        "SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}")[0] == 200)
    server.stop()


def check_rates(cameo, directory):
    server = Server(cameo, os.path.join(directory, "rates"), "--tenants", "--profile-rate", "1",
                    "--shared-profile-rate", "1", "--push-rate", "1M", "--shared-push-rate", "1M")

    def one(tenant, i):
        body, kind = push_body({"service_name": "s"}, BASE_S + i, ["a 1"], "%s-%d" % (tenant, i))
        return ask_all(server, "/push.v1.PusherService/Push", body, {**kind, "X-Scope-OrgID": tenant})

    answers = [one("greedy", i) for i in range(40)]
    refused = [a for a in answers if a[0] == 429]
    check("a tenant that pushes more profiles than its rate and the shared one is refused",
          {a[0] for a in answers} == {200, 429} and answers[0][0] == 200, [a[0] for a in answers])
    check("the refusal says when to repeat", all(int(a[1].get("Retry-After", 0)) > 0 for a in refused), refused[:1])
    check("another tenant has a rate of its own", one("modest", 0)[0] == 200)
    check("refusals by rate are counted", counter(server, "rate") == len(refused), counter(server, "rate"))
    metrics = server.ask("/metrics")[2].decode()
    check("and reported by tenant", 'cameo_tenant_limited_pushes_total{tenant="greedy"} %d\n' % len(refused) in metrics
          and 'cameo_tenant_profiles_total{tenant="modest"} 1\n' in metrics, metrics)
    big = os.urandom(6 << 20)
    statuses = [ask_all(server, "/ingest?name=a.cpu", big, {"X-Scope-OrgID": "large"})[0] for _ in range(8)]
    check("so is one that pushes more bytes", 429 in statuses[1:] and statuses[0] != 429, statuses)
    for i in range(1200):
        server.ask("/push.v1.PusherService/Push", b"{}", {"Content-Type": "application/json", "X-Scope-OrgID": "t%d" % i})
    lines = [x for x in server.ask("/metrics")[2].decode().split("\n") if x.startswith("cameo_tenant_push_bytes_total")]
    check("1200 tenants make at most 101 rows of a metric", len(lines) <= 101, len(lines))
    server.stop()


def check_tenant_queries(cameo, directory):
    server = Server(cameo, os.path.join(directory, "queue"), "--max-queries", "2")
    sockets = [begin_query(server) for _ in range(40)]
    answers = [answer(s) for s in sockets]
    for s in sockets:
        s.close()
    check("queries beyond those of a tenant are 429", set(answers) == {200, 429}, answers)
    check("they are counted", counter(server, "queries") == answers.count(429), counter(server, "queries"))
    check("afterwards the tenant may query again", wait_for(lambda: server.query(
        "SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}")[0] == 200))
    server.stop()
    server = Server(cameo, os.path.join(directory, "queue"), "--query-nodes", "1000")
    status, got = server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}")
    check("a query of too many stack nodes is 422", status == 422 and "--query-nodes" in got["message"], got)
    check("it is counted", counter(server, "size") == 1)
    server.stop()


def check_names(cameo, directory):
    """A dictionary that is full accepts what it has, and the day stays readable, also after a restart."""
    path = os.path.join(directory, "names")
    server = Server(cameo, path, "--memory", "64M", "--max-names", "1M")
    status = push(server, {"service_name": "s"}, BASE_S, ["x" * (2 << 20) + " 1"], "long")[0]
    check("a profile with more names than the limit is refused", status == 422, status)
    known = ["main;known 1"]
    check("a profile is stored", push(server, {"service_name": "s"}, BASE_S, known, "known-0")[0] == 200)
    statuses, n = [], 0
    while 429 not in statuses and n < 120:
        names = ["%s%d 1" % ("n%d" % n * 200, i) for i in range(600)]
        statuses.append(push(server, {"service_name": "s"}, BASE_S, names, "names-%d" % n)[0])
        n += 1
    check("names are refused when the memory of a day is full", statuses[-1] == 429 and
          set(statuses[:-1]) == {200}, statuses)
    check("as names", counter(server, "names") == 1, counter(server, "names"))
    check("profiles without new names are still stored",
          push(server, {"service_name": "s"}, BASE_S + 1, known, "known-1")[0] == 200)
    expected = total_with_room(server)
    check("the server stays within twice its limit", resident_mib(server) < 128, resident_mib(server))
    server.stop()
    server = Server(cameo, path, "--memory", "64M")
    check("after a restart the day is read", total_with_room(server) == expected > 0, expected)
    server.stop()


def check_evicted(cameo, directory):
    """Many tenants in little memory: days that are not in use are closed and opened again.

    Requests that are refused because memory is short are repeated, as their clients would.
    """
    server = Server(cameo, os.path.join(directory, "many"), "--memory", "48M", "--tenants")
    stacks = ["main;f%d;%s%d 1" % (i % 50, "long_name_" * 10, i) for i in range(2000)]
    refused = 0
    for turn in range(2):
        for tenant in range(24):
            body, kind = push_body({"service_name": "s"}, BASE_S + turn, stacks, "%d-%d" % (tenant, turn))
            headers = {**kind, "X-Scope-OrgID": "t%d" % tenant}
            refused += not wait_for(lambda: ask_all(server, "/push.v1.PusherService/Push", body, headers)[0] == 200, 30)
    check("24 tenants whose dictionaries exceed the memory together are all served", refused == 0, refused)
    query = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "{}"}).encode()
    totals = {}

    def ask(tenant):
        status, _, got = server.ask(QUERIER + "SelectMergeStacktraces", query, {
            "Content-Type": "application/json", "X-Scope-OrgID": "t%d" % tenant})
        if status == 200:
            totals[tenant] = int(json.loads(got).get("flamegraph", {}).get("total", 0)) // 10000000
        return status == 200

    for t in range(24):
        wait_for(lambda t=t: ask(t), 30)
    check("and all answered", list(totals.values()) == [4000] * 24, totals)
    server.stop()


SILENT_S = 10  # DEFAULT_TIMEOUT_MS of src/symbol/debuginfod.c


def check_symbols(cameo, directory):
    """A debuginfod server that accepts connections and says nothing."""
    silent = socket.create_server(("127.0.0.1", 0))
    server = Server(cameo, os.path.join(directory, "silent"), "--debuginfod",
                    "http://127.0.0.1:%d" % silent.getsockname()[1])
    took = {}

    def timed(name, fn):
        begun = time.monotonic()
        ok = fn()
        took.setdefault(name, []).append((time.monotonic() - begun, ok))

    def unnamed(i):
        return server.ask("/push.v1.PusherService/Push", json.dumps({"series": [{
            "labels": [{"name": "__name__", "value": "process_cpu"}, {"name": "service_name", "value": "raw"}],
            "samples": [{"rawProfile": base64.b64encode(addresses("%040x" % (i + 1))).decode(),
                         "ID": "u%d" % i}]}]}).encode(), {"Content-Type": "application/json"})[0] == 200

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        waiting = [pool.submit(timed, "unnamed", lambda i=i: unnamed(i)) for i in range(20)]
        for i in range(20):
            timed("ready", lambda: server.ask("/ready")[0] == 200)
            timed("push", lambda: push(server, *DATA[0], "n%d" % i)[0] == 200)
        for w in waiting:
            w.result()
    for name in ("ready", "push"):
        slowest = max(t for t, _ in took[name])
        check("%s does not wait for a silent debuginfod server" % name,
              all(ok for _, ok in took[name]) and slowest < SILENT_S / 2, slowest)
    check("profiles without symbols are stored", all(ok for _, ok in took["unnamed"]) and len(took["unnamed"]) == 20)
    check("all of them are there", server.query("SelectMergeStacktraces", profileTypeID=CPU,
                                                labelSelector='{service_name="raw"}')[1]["flamegraph"]["total"] == "200000000")
    server.stop()
    silent.close()


class Saturation:
    """Keeps the workers of the pools for queries and for names busy, with requests in their queues; 50 bodies do not end."""

    def __init__(self, server):
        self.server, self.stopping, self.n = server, False, 0
        self.threads = [threading.Thread(target=self.repeat, args=(fn,), daemon=True)
                        for fn in [self.query] * 40 + [self.unnamed] * 12 + [self.known] * 12]
        self.slow = [connect(server) for _ in range(50)]
        for s in self.slow:
            s.sendall(b"POST /push.v1.PusherService/Push HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000\r\n\r\n{")
        for t in self.threads:
            t.start()

    def repeat(self, fn):
        while not self.stopping:
            try:
                fn()
            except OSError:
                pass

    def query(self):
        s = begin_query(self.server)
        answer(s)
        s.close()

    def unnamed(self):
        raw = base64.b64encode(addresses(os.urandom(20).hex())).decode()
        self.server.rpc("/push.v1.PusherService/Push", {"series": [{
            "labels": [{"name": "__name__", "value": "process_cpu"}, {"name": "service_name", "value": "raw"}],
            "samples": [{"rawProfile": raw, "ID": "u"}]}]})

    def known(self):
        self.n += 1
        push(self.server, {"service_name": "s0"}, BASE_S, ["main;f1;g1 %d" % self.n], "k%d" % self.n)

    def holds(self):
        """Has each of these workers a request, and do others wait?"""
        metrics = self.server.ask("/metrics")[2].decode()
        state = {tuple(re.findall(r'"(\w+)"', x)): int(x.split()[-1]) for x in metrics.split("\n")
                 if x.startswith("cameo_requests{")}
        return state["query", "running"] == 4 and state["query", "waiting"] > 0 and \
            state["symbolize", "running"] == 2 and state["symbolize", "waiting"] > 0

    def stop(self):
        self.stopping = True
        for s in self.slow:
            s.close()
        for t in self.threads:
            t.join()


def check_saturated(cameo, directory):
    """Small requests overtake: when they are answered, the queries that were sent before still wait."""
    silent = socket.create_server(("127.0.0.1", 0), backlog=1000)
    server = Server(cameo, os.path.join(directory, "saturated"), "--debuginfod", "http://127.0.0.1:%d" % silent.getsockname()[1])
    stacks = ["main;f%d;g%d %d" % (i % 97, i, i + 1) for i in range(4000)]
    for i in range(60):
        push(server, {"service_name": "s%d" % (i % 7)}, BASE_S + i % 30, stacks, "q-%d" % i)
    load = Saturation(server)
    small = {
        "/ready": lambda i: server.ask("/ready")[0] == 200,
        "a look-up of labels": lambda i: server.query("LabelValues", name="service_name")[0] == 200,
        "a push": lambda i: push(server, {"service_name": "small"}, BASE_S, ["a 1"], "small-%d" % i)[0] == 200,
    }
    for name, ask in small.items():
        overtaken, failed = 0, 0

        def round_of(i=itertools.count()):
            nonlocal overtaken, failed
            busy = load.holds()
            failed += not ask(next(i))
            overtaken += busy and load.holds()
            return overtaken >= 10

        check("%s is answered while all workers for queries and names are busy" % name, wait_for(round_of) and not failed,
              (overtaken, failed))
    load.stop()
    server.stop()
    silent.close()


def addresses(build_id):
    """A profile of one location without a name in a file with this build id."""
    strings = ["", "cpu", "nanoseconds", "/nonexistent", build_id]
    body = message((1, message((1, 1), (2, 2))), (3, message((1, 1), (2, 0x1000), (3, 0x2000), (5, 3), (6, 4))),
                   (4, message((1, 1), (2, 1), (3, 0x1234))), (2, message((1, [1]), (2, [10000000]))))
    for s in strings:
        body += message((6, s))
    return body + message((9, BASE_S * 10**9), (11, message((1, 1), (2, 2))), (12, 10000000))


def push_body(labels, time_s, folded, ident):
    labels = [{"name": k, "value": v} for k, v in {"__name__": "process_cpu", **labels}.items()]
    raw = base64.b64encode(pprof(folded, time_s)).decode()
    return json.dumps({"series": [{"labels": labels, "samples": [{"rawProfile": raw, "ID": ident}]}]}).encode(), \
        {"Content-Type": "application/json"}


def ask_all(server, path, body, headers):
    """Status and headers."""
    where = urllib.parse.urlparse(server.url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    try:
        connection.request("POST", path, body, headers)
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused by its headers, before the body was sent
    rs = connection.getresponse()
    rs.read()
    connection.close()
    return rs.status, dict(rs.getheaders())


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
        check_bombs(sys.argv[1], directory)
        check_responses(sys.argv[1], directory)
        check_queue(sys.argv[1], directory)
        check_tenant_queries(sys.argv[1], directory)
        check_rates(sys.argv[1], directory)
        check_names(sys.argv[1], directory)
        check_evicted(sys.argv[1], directory)
        check_symbols(sys.argv[1], directory)
        check_saturated(sys.argv[1], directory)
    return finish()


sys.exit(main())
