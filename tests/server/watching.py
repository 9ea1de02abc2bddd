#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""watching.py CAMEO SOURCE: what the server reports of itself: metrics, logs, readiness, dashboards."""
import concurrent.futures
import glob
import json
import os
import re
import signal
import socket
import sys
import tempfile
import time

from serving import CPU, DATA, PAGE, QUERIER, RANGE, Server, check, finish, push, skip

JSON = {"Content-Type": "application/json"}
QUERY = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": '{service_name="shop"}'}).encode()


def metrics(server, headers=None):
    """Name with labels -> value."""
    lines = server.ask("/metrics", headers=headers)[2].decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}


def until(condition, limit_s=60):
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


def histograms(server):
    server.ask(PAGE + "Tree", QUERY, JSON)
    got = metrics(server)
    labels = '{endpoint="%sTree",tenants="default"' % PAGE
    counts = [v for k, v in got.items() if k.startswith("cameo_request_duration_seconds_bucket" + labels)]
    check("a histogram of each endpoint: cumulative counts of all bounds", len(counts) == 14 and
          counts == sorted(counts) and counts[-1] == got["cameo_request_duration_seconds_count" + labels + "}"] == 1, got)
    check("its sum is a duration", 0 < got["cameo_request_duration_seconds_sum" + labels + "}"] < 60)
    push_labels = '{endpoint="/push.v1.PusherService/Push",tenants="default"}'
    check("pushes too", got.get("cameo_request_duration_seconds_count" + push_labels) == 1, got)


def refusals(server):
    """Each way to be refused is counted once under its cause."""
    huge = {**RANGE, "end": RANGE["start"] - 1}
    for cause, ask in (
            ("path", lambda: server.ask("/nothing")),
            ("verb", lambda: server.ask(PAGE + "Tree")),
            ("invalid", lambda: server.rpc(QUERIER + "LabelNames", huge)),
            ("malformed", lambda: server.ask("/push.v1.PusherService/Push", b"{", JSON)),
            ("method", lambda: server.rpc(PAGE + "Nothing", {})),
            ("host", lambda: server.ask("/ready", headers={"Host": "rebound.example.org"})),
            ("origin", lambda: server.ask(PAGE + "Tree", QUERY, {**JSON, "Origin": "https://example.org"})),
            ("framing", lambda: raw(server, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n"))):
        key = 'cameo_refusals_total{cause="%s"}' % cause
        before = metrics(server)[key]
        status = ask()[0]
        after = metrics(server)[key]
        check("refused for %s: counted once" % cause, after == before + 1, (status, before, after))


def raw(server, request):
    host, port = server.url.split("/")[2].split(":")
    with socket.create_connection((host, int(port)), timeout=30) as s:
        s.sendall(request)
        return s.recv(65536), None


def access_log(cameo, tmp):
    path, tokens = os.path.join(tmp, "access.log"), os.path.join(tmp, "tokens")
    with open(tokens, "w", encoding="ascii") as f:
        f.write("secret-of-agents shop\n")
    server = Server(cameo, os.path.join(tmp, "log"), "--access-log", path, "--auth-token-file", tokens)
    token = {"Authorization": "Bearer secret-of-agents"}
    server.ask(PAGE + "Tree", QUERY, {**JSON, **token})
    server.ask(PAGE + "Tree?secret=in-url", QUERY, JSON)
    server.ask("/a%20%22b%0astatus=200")
    until(lambda: len(lines_of(path)) >= 3)
    text = lines_of(path)
    check("each request has a line", len(text) == 3, text)
    want = r'time=\S+Z peer=127\.0\.0\.1 method=POST path=/cameo\.v1\.PageService/Tree status=200 seconds=0\.\d+ ' \
           r'bytes_in=\d+ bytes_out=\d+ client=token-1 tenant=shop'
    check("with what is known of it", re.fullmatch(want, text[0]), text[0])
    check("a refused one too", " status=401 " in text[1], text[1])
    check("text of clients is escaped", 'path="/a \\"b\\nstatus=200" status=401' in text[2] or
          'path="/a \\"b\\nstatus=200" status=404' in text[2], text[2])
    check("it contains no credentials", "secret" not in "".join(text), text)
    os.rename(path, path + ".1")
    reopened = until(lambda: server.ask("/ready")[0] == 200 and os.path.exists(path))
    check("it is opened again after a rotation", reopened and until(lambda: len(lines_of(path)) >= 1) and
          len(lines_of(path + ".1")) >= 3)
    server.stop()
    server = Server(cameo, os.path.join(tmp, "json"), "--access-log", path, "--access-log-json")
    server.ask("/a%20%22b")
    until(lambda: lines_of(path)[-1].startswith("{"))
    last = json.loads(lines_of(path)[-1])
    check("as JSON", last["path"] == '/a "b' and last["status"] == 404 and last["peer"] == "127.0.0.1", last)
    server.stop()


def blocked_log(cameo, tmp):
    """The access log is a pipe that nobody reads."""
    path = os.path.join(tmp, "log.pipe")
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    server = Server(cameo, os.path.join(tmp, "blocked"), "--access-log", path)
    host, port = server.url.split("/")[2].split(":")
    request = b"GET /" + b"x" * 500 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    slowest, lost = 0, 0
    with socket.create_connection((host, int(port)), timeout=60) as s, s.makefile("rb") as answers:
        for _ in range(20000):
            begun = time.monotonic()
            s.sendall(request)
            while answers.readline() not in (b"\r\n", b""):
                pass
            answers.read(len("404 page not found\n"))
            slowest = max(slowest, time.monotonic() - begun)
            if _ % 500 == 499:
                lost = metrics(server)["cameo_access_log_lost_lines_total"]
                if lost:
                    break
    check("a log that cannot be written delays no request", slowest < 5, slowest)
    check("its lost lines are counted", lost > 0, lost)
    check("and the server stops", server.stop() == 0)
    os.close(reader)


def slow_queries(cameo, tmp):
    path = os.path.join(tmp, "slow.log")
    with open(path, "w", encoding="utf-8") as log:
        server = Server(cameo, os.path.join(tmp, "slow"), "--slow-query", "1ms", stderr=log)
        push(server, *DATA[0], "1")
        server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name=~"(s|h|o|p)+"}')
        for _ in range(200):
            server.query("SelectSeries", profileTypeID=CPU, labelSelector='{service_name="shop"}', step=1)
            server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}")
            if "SelectMerge" in "".join(lines_of(path)):
                break
        server.stop()
    text = [x for x in lines_of(path) if "slow_query=" in x]
    merged = [x for x in text if "SelectMergeStacktraces" in x]
    if not merged:
        skip("slow queries", "no query took 1 ms")
        return
    check("a slow query is logged with the question", "service_name" in merged[0] or "{}" in merged[0], merged)
    check("with what it read and how long",
          re.search(r"seconds=\d.*question=\".*until \d+\" series=\d+ profiles=1 nodes=[1-9]\d* samples=\d+", merged[0]),
          merged[0])


def readiness(cameo, tmp):
    data = os.path.join(tmp, "ready")
    server = Server(cameo, data)
    check("a server that can store is ready", server.ask("/ready")[0] == 200)
    os.rename(data, data + ".away")
    check("without its directory it is not", until(lambda: server.ask("/ready")[0] == 503), server.ask("/ready"))
    os.rename(data + ".away", data)
    check("and it is again", until(lambda: server.ask("/ready")[0] == 200), server.ask("/ready"))
    server.stop()


def replaced_directory(cameo, tmp):
    """A second server owns the directory that took the place of the first one's; neither harms the other."""
    data = os.path.join(tmp, "replaced")
    first = Server(cameo, data)
    check("a push is stored", push(first, *DATA[0], "1")[0] == 200)
    os.rename(data, data + ".away")
    os.mkdir(data)
    second = Server(cameo, data)
    check("the server of the new directory stores", push(second, *DATA[2], "2")[0] == 200)
    check("the other is not ready", until(lambda: first.ask("/ready")[0] == 503), first.ask("/ready"))
    check("and stores nothing", push(first, *DATA[0], "3")[0] == 503)
    query = {"profileTypeID": CPU, "labelSelector": "{}"}
    check("its queries fail", first.query("SelectMergeStacktraces", **query)[0] == 500)
    first.stop()
    second.stop()
    for name, directory, service, total in (("new", data, "mail", 9), ("old", data + ".away", "shop", 11)):
        again = Server(cameo, directory)
        got = again.total('{service_name="%s"}' % service)
        check("the %s directory has its own profiles" % name, got == total, got)
        again.stop()


def graceful_stop(cameo, tmp):
    """Requests whose bodies have arrived when SIGTERM does are answered."""
    server = Server(cameo, os.path.join(tmp, "stop"))
    n = 24
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        asked = [pool.submit(push, server, DATA[i % 3][0], DATA[i % 3][1], DATA[i % 3][2], str(i)) for i in range(n)]
        until(lambda: any(a.done() for a in asked))
        server.process.send_signal(signal.SIGTERM)
        ends = []
        for a in asked:
            try:
                ends.append(a.result()[0])
            except OSError:
                ends.append(None)  # not accepted any more
    check("it exits with 0", server.process.wait(30) == 0)
    again = Server(cameo, os.path.join(tmp, "stop"))
    labels = again.rpc(QUERIER + "SelectSeries", {**RANGE, "profileTypeID": CPU, "labelSelector": "{}", "step": 1})
    total = sum(float(p["value"]) for s in labels[1].get("series", []) for p in s["points"])
    check("each acknowledged push is stored, others got an error", set(ends) <= {200, 503, None} and
          (total > 0) == (200 in ends), (ends, total))
    again.stop()


def names_in(text):
    return {re.sub(r"_(bucket|sum|count)$", "", n) for n in re.findall(r"\bcameo_[a-z_]+", text)}


def dashboards(server, source):
    """Dashboards and alerts name only metrics that exist."""
    known = {"server": names_in(server.ask("/metrics")[2].decode()), "agent": set()}
    for path in glob.glob(os.path.join(source, "src/agent/*.c")) + glob.glob(os.path.join(source, "src/symbolize/*.def")):
        with open(path, encoding="utf-8") as f:
            known["agent"] |= names_in(f.read())
    folder = os.path.join(source, "packaging/monitoring")
    for kind in ("server", "agent"):
        with open(os.path.join(folder, "cameo-%s.json" % kind), encoding="utf-8") as f:
            board = json.load(f)
        used = names_in("\n".join(t["expr"] for p in board["panels"] for t in p["targets"]))
        check("the dashboard of the %s names existing metrics" % kind, len(used) > 9 and used <= known[kind],
              used - known[kind])
        check("each of its panels has a title and a query", all(p["title"] and p["targets"] for p in board["panels"]))
    with open(os.path.join(folder, "alerts.yml"), encoding="utf-8") as f:
        text = f.read()
    rules = re.findall(r"^ +expr: (.*)$", text, re.M)
    check("each alert has an expression", len(rules) == len(re.findall("- alert:", text)) > 8)
    for rule in rules:
        job = "agent" if 'job="cameo-agent"' in rule else "server"
        check("alert on existing metrics: %s" % rule[:60], names_in(rule) <= known[job], names_in(rule) - known[job])
    with open(os.path.join(source, "docs/server.md"), encoding="utf-8") as f:
        documented = f.read()
    missing = [n for n in known["server"] if n not in documented]
    check("docs/server.md names every metric of the server", not missing, missing)


def main():
    cameo, source = os.path.realpath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(cameo, os.path.join(tmp, "a"))
        push(server, *DATA[0], "1")
        histograms(server)
        refusals(server)
        dashboards(server, source)
        check("there is no /debug", server.ask("/debug/pprof/")[0] == 404)
        server.stop()
        access_log(cameo, tmp)
        blocked_log(cameo, tmp)
        slow_queries(cameo, tmp)
        if not os.environ.get("CAMEO_TEST_STORE"):
            readiness(cameo, tmp)
            replaced_directory(cameo, tmp)
        graceful_stop(cameo, tmp)
    return finish()


sys.exit(main())
