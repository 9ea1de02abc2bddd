#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spans.py CAMEO: profiles of spans and traces, as SDKs push them and Grafana queries them.

Samples with the labels span_id and trace_id are pushed as pprof, next to a day of other spans, and
selected by SelectMergeSpanProfile, by the selectors of other methods, and by `cameo report --span`.
"""
import os
import random
import subprocess
import sys
import tempfile
import time

from serving import BASE_S, CPU, QUERIER, RANGE, Server, check, finish, message

SHOP = '{service_name="shop"}'
SPAN, OTHER, TRACE = "9a517183f26a089d", "00000000000000AB", "5b8efff798038103d269b633813fc60c"
MANY, MOST_MS = 100000, 50


def pprof(samples, time_s):
    """A pprof of [(stack, count, {label: value})]."""
    strings, ids, body = ["", "samples", "count", "cpu", "nanoseconds"], {}, b""
    seen = {}

    def string(s):
        if s not in seen:
            seen[s] = len(strings)
            strings.append(s)
        return seen[s]
    body += message((1, message((1, 1), (2, 2))), (1, message((1, 3), (2, 4))))
    for stack, n, labels in samples:
        for f in stack.split(";"):
            if f not in ids:
                ids[f] = len(ids) + 1
                body += message((4, message((1, ids[f]), (4, message((1, ids[f]))))), (5, message((1, ids[f]), (2, string(f)))))
        locations = [ids[f] for f in reversed(stack.split(";"))]
        body += message((2, message((1, locations), (2, [n, n * 10**7]),
                                    *[(3, message((1, string(k)), (2, string(v)))) for k, v in labels.items()])))
    return b"".join([body, *[message((6, s)) for s in strings],
                     message((9, time_s * 10**9), (10, 15 * 10**9), (11, message((1, 3), (2, 4))), (12, 10**7))])


def push(server, service, samples, time_s=BASE_S):
    status, _, answer = server.ask(f"/ingest?name={service}&format=pprof", pprof(samples, time_s))
    return status if status == 200 else (status, answer)


def span_total(server, spans, method="SelectMergeSpanProfile", selector=SHOP, field="spanSelector", **body):
    """Samples and names of the flame graph."""
    status, got = server.query(method, profileTypeID=CPU, labelSelector=selector, **{field: spans}, **body)
    graph = got.get("flamegraph", {})
    return status, int(graph.get("total", 0)) // 10**7, sorted(graph.get("names", []))


def check_selection(server):
    status = push(server, "shop", [
        ("main;pay", 3, {"span_id": SPAN, "trace_id": TRACE, "span_name": "POST /pay"}),
        ("main;pay;db", 4, {"span_id": SPAN, "trace_id": TRACE, "span_name": "POST /pay"}),
        ("main;cart", 5, {"span_id": OTHER, "trace_id": TRACE, "span_name": "GET /cart"}),
        ("main;idle", 7, {})])
    check("a profile with spans is stored", status == 200, status)
    push(server, "mail", [("main;send", 9, {"span_id": SPAN})])
    push(server, "shop", [("main;late", 11, {"span_id": SPAN, "span_name": "POST /pay"})], BASE_S + 15)
    for method in ("SelectMergeSpanProfile", "SelectMergeStacktraces"):
        got = span_total(server, [SPAN], method)
        check(f"{method} has the samples of a span", got == (200, 18, ["db", "late", "main", "pay", "total"]), got)
        got = span_total(server, [SPAN, OTHER, SPAN], method)
        check(f"{method} has those of several spans once", got[:2] == (200, 23), got)
    got = span_total(server, [OTHER.lower()])
    check("case of the digits does not matter", got[:2] == (200, 5), got)
    got = span_total(server, [SPAN], selector='{service_name="shop",span_name="POST /pay"}', end=BASE_S * 1000 + 14999)
    check("selector and range apply", got[:2] == (200, 7), got)
    got = span_total(server, [SPAN], selector="{}")
    check("a span of several services", got[:2] == (200, 27), got)
    got = span_total(server, [TRACE], "SelectMergeStacktraces", field="traceIdSelector")
    check("a trace", got == (200, 12, ["cart", "db", "main", "pay", "total"]), got)
    got = span_total(server, ["1" * 16])
    check("an unknown span has nothing", got[:2] == (200, 0), got)
    got = span_total(server, [])
    check("no span selects all", got[:2] == (200, 30), got)
    status, got = server.query("LabelNames", matchers=["{}"])
    check("series have names of spans as labels, but not ids",
          "span_name" in got["names"] and not {"span_id", "trace_id"} & set(got["names"]), got)


def check_protobuf(server):
    """The request as Grafana's data source sends it."""
    body = message((1, CPU), (2, SHOP), (3, SPAN), (4, RANGE["start"]), (5, RANGE["end"]), (6, 1024))
    status, kind, got = server.ask(QUERIER + "SelectMergeSpanProfile", body, {"Content-Type": "application/proto"})
    check("protobuf", status == 200 and kind == "application/proto" and b"late" in got and
          message((3, 18 * 10**7)) in got, (status, got))


def check_otlp(server):
    """Links, by which OpenTelemetry's profiler refers to spans."""
    request = {
        "resourceProfiles": [{
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "linked"}}]},
            "scopeProfiles": [{"profiles": [{
                "sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "periodType": {"typeStrindex": 3, "unitStrindex": 4},
                "period": "10000000", "timeUnixNano": str(BASE_S * 10**9), "durationNano": str(10**10),
                "samples": [{"stackIndex": 1, "values": [2], "linkIndex": 1}, {"stackIndex": 1, "values": [3], "linkIndex": 0}]}]}]}],
        "dictionary": {"stringTable": ["", "samples", "count", "cpu", "nanoseconds", "run"], "mappingTable": [{}],
                       "functionTable": [{}, {"nameStrindex": 5}], "locationTable": [{}, {"lines": [{"functionIndex": 1}]}],
                       "stackTable": [{}, {"locationIndices": [1]}], "attributeTable": [{}],
                       "linkTable": [{}, {"traceId": TRACE[::-1], "spanId": SPAN[::-1]}]}}
    status, got = server.rpc("/v1development/profiles", request)
    check("OTLP with links is stored", status == 200, (status, got))
    linked = '{service_name="linked"}'
    got = span_total(server, [SPAN[::-1]], selector=linked)
    check("the span of a link", got == (200, 2, ["run", "total"]), got)
    got = span_total(server, [TRACE[::-1]], "SelectMergeStacktraces", linked, "traceIdSelector")
    check("the trace of a link", got[:2] == (200, 2), got)
    check("all samples of that profile", span_total(server, [], selector=linked)[:2] == (200, 5))


def check_bad(server):
    for bad in ("", "0", "zz517183f26a089d", SPAN + "0", TRACE, "0" * 16):
        status, got = server.query("SelectMergeSpanProfile", profileTypeID=CPU, labelSelector=SHOP, spanSelector=[bad])
        check(f"span {bad[:20]!r} is refused", status == 400 and "spanSelector" in got["message"], (status, got))
    status = push(server, "odd", [("a", 1, {"span_id": "x" * 16}), ("a", 1, {"span_id": SPAN * 4}), ("a", 1, {"span_id": ""})])
    got = span_total(server, [], selector='{service_name="odd"}')
    check("samples with malformed ids are stored", status == 200 and got[:2] == (200, 3), (status, got))


def check_many(server, directory):
    """A day of spans: each query must not read more than its own rows."""
    rng = random.Random(1)
    spans = [f"{rng.getrandbits(64) | 1:016x}" for _ in range(MANY)]
    each = 1000
    for i in range(0, MANY, each):
        status = push(server, "many", [(f"main;f{k % 50};g{k % 7}", 1, {"span_id": s, "trace_id": s + s}) for k, s in enumerate(spans[i:i + each])],
             BASE_S + 40000 * i // MANY)
        if status != 200:
            check("spans are stored", False, status)
    day = {"start": BASE_S * 1000, "end": (BASE_S + 86400) * 1000}
    took = []
    for span in rng.sample(spans, 20):
        began = time.monotonic()
        got = span_total(server, [span], selector="{}", **day)
        took.append(1000 * (time.monotonic() - began))
        if got[:2] != (200, 1):
            check(f"span {spans.index(span)} of many", False, got)
    took.sort()
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, names in os.walk(directory) for f in names)
    print(f"# {MANY} spans: a query of a day takes {took[10]:.1f} ms (median), {took[-1]:.1f} ms at most; "
          f"{size / MANY:.0f} bytes on disk for each")
    check(f"one of {MANY} spans of a day within {MOST_MS} ms", took[10] <= MOST_MS, took)
    _, got = server.query("Series", matchers=['{service_name="many"}'], labelNames=[], **day)
    check("they are one series for each sample type", len(got["labelsSet"]) == 2, len(got["labelsSet"]))


def check_report(cameo, server):
    def report(*args):
        return subprocess.run([cameo, "report", *args], capture_output=True, text=True, check=False)
    url = f"{server.url}/?query={SHOP}&from={BASE_S - 60}&until={BASE_S + 60}"
    got = report("--span", SPAN, url)
    check("report --span reads a server", got.returncode == 0 and "180.00ms total" in got.stdout, got)
    got = report("--span", TRACE, url)
    check("report --span with a trace", "120.00ms total" in got.stdout, got)
    got = report("--span", SPAN, "--by", "label:span_name", url)
    check("report --span with rows by label", "POST /pay" in got.stdout and "GET" not in got.stdout, got)
    for what, args in (("an unknown span", ("--span", "1" * 16, url)), ("no span", ("--span", "x", url)),
                       ("a server and a file", ("--span", SPAN, url, "/dev/null"))):
        got = report(*args)
        check(f"report: {what} fails in one line", got.returncode and got.stderr.count("\n") == 1, got)


def main():
    cameo = sys.argv[1]
    with tempfile.TemporaryDirectory() as tmp:
        directory = os.path.join(tmp, "data")
        server = Server(cameo, directory)
        check_selection(server)
        check_protobuf(server)
        check_otlp(server)
        check_bad(server)
        check_many(server, directory)
        check_report(cameo, server)
        check("the server stops", server.stop() == 0)
        checked = subprocess.run([cameo, "store", "check", directory], capture_output=True, text=True, check=False)
        check("its store is whole", checked.returncode == 0, checked)
        server = Server(cameo, directory)
        got = span_total(server, [SPAN])
        check("after a restart", got[:2] == (200, 18), got)
        server.stop()
    return finish()


sys.exit(main())
