#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page.py CAMEO: the API of the web page on a real server (docs/api.md)."""
import gzip
import struct
import subprocess
import sys
import tempfile

from ingest import export, otlp
from serving import BASE_S, CPU, DATA, PAGE, RANGE, Server, check, finish, message, push, varint

UNIT = 10000000


def ask(server, method, **body):
    query = {} if "left" in body else {**RANGE, "profileTypeID": CPU}
    status, answer = server.rpc(PAGE + method, {**query, **body})
    if status != 200:
        raise SystemExit("%s: %s" % (method, answer))
    return answer


def paths(profile, value="self"):
    """The tree as {"main;serve": value}; totals are summed here."""
    nodes, frames, strings = profile["nodes"], profile["frames"], profile["strings"]
    n = len(nodes["parent"])
    values = list(nodes["self"])
    names = [""] * n
    for i in range(1, n):
        name = strings[frames[nodes["frame"][i]][0]]
        up = names[nodes["parent"][i]]
        names[i] = up + ";" + name if up else name
    for i in range(n - 1, 0, -1):
        if value == "total":
            values[nodes["parent"][i]] += values[i]
    return {names[i]: values[i] // UNIT for i in range(1, n) if values[i]}


def kinds(profile):
    return {profile["strings"][f[3]] for f in profile["frames"]}


def check_trees(server):
    t = ask(server, "Tree")
    check("a tree has all stacks", paths(t) == {
        "main;serve": 2, "main;serve;parse": 7, "main;serve;query;lock": 5, "main;serve;query": 6,
        "main;gc": 3, "main;send;smtp": 7}, t)
    check("it has type, unit and total", (t["version"], t["type"], t["unit"], t["total"],
                                     t["time_ns"]) ==
          (1, "cpu", "nanoseconds", 30 * UNIT, RANGE["start"] * 10**6), t)
    cut = ask(server, "Tree", maxNodes=3)
    check("a pruned tree has the greatest nodes and one for the others", paths(cut, "total") == {
        "main": 30, "main;serve": 20, "main;serve;query": 11, "main;serve;query;other": 5,
        "main;serve;other": 7, "main;other": 10} and "other" in kinds(cut), paths(cut, "total"))
    part = ask(server, "Tree", callSite=["main", "serve"], labelSelector='{service_name="shop"}')
    check("pruned nodes are found by their call site", paths(part) == {
        "main;serve": 2, "main;serve;parse": 7, "main;serve;query;lock": 5, "main;serve;query": 6},
        part)
    none = ask(server, "Tree", labelSelector='{service_name="none"}')
    check("an empty tree is a root", none["nodes"] == {"parent": [-1], "frame": [-1],
                                                           "self": [0]}, none)


def check_split(server):
    t = ask(server, "Tree", label="service_name")
    check("a tree split by a label has its values at the top", paths(t, "total")["shop"] == 21 and
          paths(t, "total")["mail"] == 9 and t["total"] == 30 * UNIT, paths(t, "total"))
    check("and all stacks below them", paths(t) == {
        "shop;main;serve": 2, "shop;main;serve;parse": 7, "shop;main;serve;query;lock": 5,
        "shop;main;serve;query": 6, "shop;main;gc": 1, "mail;main;send;smtp": 7, "mail;main;gc": 2}, t)
    check("the values are of kind group", {t["strings"][f[0]] for f in t["frames"]
                                     if t["strings"][f[3]] == "group"} == {"shop", "mail"})
    part = ask(server, "Tree", label="region", callSite=["us", "main"])
    check("its call sites begin with the values", paths(part) == {
        "us;main;serve;parse": 4, "us;main;serve;query": 6}, part)
    none = ask(server, "Tree", label="zone")
    check("profiles without the label are one group", paths(none, "total")["(none)"] == 30)


def check_diff(server):
    side = lambda instance: {**RANGE, "profileTypeID": CPU,
                             "labelSelector": '{instance="%s"}' % instance}
    d = ask(server, "Diff", left=side("a"), right=side("c"))
    check("two trees have the same nodes", d["before"]["nodes"]["parent"] ==
          d["after"]["nodes"]["parent"])
    check("and each its own values", paths(d["before"]) == {
        "main;serve": 2, "main;serve;parse": 3, "main;serve;query;lock": 5, "main;gc": 1} and
          paths(d["after"]) == {"main;send;smtp": 7, "main;gc": 2}, d)
    m = ask(server, "Movers", left=side("a"), right=side("c"))
    first = m["functions"][0]
    check("the greatest change is first", (first["name"], first["self"]["before"],
                                           first["self"]["after"]) == ("smtp", 0, 7 * UNIT), m)
    rows = {f["name"]: f["self"] for f in m["functions"]}
    check("noise is distinguished from change", m["counted"] and rows["gc"]["noise"] and
          rows["smtp"]["z"] == 2.65, rows)
    check("the sums of both sides", (m["all"]["before"], m["all"]["after"]) == (11 * UNIT, 9 * UNIT), m)
    m = ask(server, "Movers", left=side("a"), right=side("c"), normalize=True, limit=1)
    check("a limit does not change the count", len(m["functions"]) == 1 and m["found"] > 1, m)


def check_sandwich(server):
    s = ask(server, "Sandwich", function={"name": "serve"})
    check("the totals of a sandwich", (s["total"], s["self"], s["all"]) ==
          (20 * UNIT, 2 * UNIT, 30 * UNIT), s)
    check("the callers of a function", paths(s["callers"], "total") == {"serve": 20, "serve;main": 20}, s)
    check("the callees of a function", paths(s["callees"], "total") == {
        "serve": 20, "serve;parse": 7, "serve;query": 11, "serve;query;lock": 5}, s)
    check("an unknown function is 404",
          server.rpc(PAGE + "Sandwich", {**RANGE, "profileTypeID": CPU,
                                         "function": {"name": "nothing"}})[0] == 404)


def check_tables(server):
    f = ask(server, "Functions", sort="total")
    check("functions by total", [(r["name"], r["total"] // UNIT) for r in f["functions"]][:3] ==
          [("main", 30), ("serve", 20), ("query", 11)] and f["found"] == 8, f)
    f = ask(server, "Functions", search="er")
    check("functions by a part of the name", [r["name"] for r in f["functions"]] ==
          ["query", "serve"] and f["total"] == 30 * UNIT, f)
    g = ask(server, "Groups", label="region", step=15)
    check("groups of a label", g["groups"] == [
        {"value": "eu", "total": 20 * UNIT, "points": [[BASE_S * 1000, 11 * UNIT],
                                                       [(BASE_S + 15) * 1000, 9 * UNIT]]},
        {"value": "us", "total": 10 * UNIT, "points": [[(BASE_S + 15) * 1000, 10 * UNIT]]}] and
          (g["total"], g["found"]) == (30 * UNIT, 2), g)
    g = ask(server, "Groups", label="nothing")
    check("profiles without the label are a group", g["groups"] ==
          [{"value": "", "total": 30 * UNIT}], g)
    e = ask(server, "Executables")
    check("executables", [(r["self"], r["functions"], r["unnamed"]) for r in e["executables"]] ==
          [(30 * UNIT, 8, 0)], e)


def check_targets(server):
    t = server.rpc(PAGE + "Targets", {**RANGE, "by": ["service_name", "region"]})[1]["targets"]
    shop = next(x for x in t if x["labels"] == {"service_name": "shop", "region": "us"})
    check("senders with first and last time", shop == {
        "labels": {"service_name": "shop", "region": "us"}, "firstSeen": (BASE_S + 15) * 1000,
        "lastSeen": (BASE_S + 15) * 1000, "profiles": 1, "samples": 10, "lost": None} and
          len(t) == 3, t)
    t = server.rpc(PAGE + "Targets", {**RANGE, "by": ["service_name"]})[1]["targets"]
    check("senders over all types", [(x["labels"], x["profiles"], x["samples"]) for x in t] ==
          [({"service_name": "shop"}, 2, 21), ({"service_name": "mail"}, 1, 9)], t)


def check_download(server):
    where = "/api/v1/profile?type=%s&from=%d&until=%d" % (CPU, RANGE["start"], RANGE["end"])
    status, _, folded = server.ask(where + "&format=folded&query=%7Bregion%3D%22us%22%7D")
    check("a profile as folded text", status == 200 and sorted(folded.decode().split("\n")) ==
          ["", "main;serve;parse 40000000", "main;serve;query 60000000"], folded)
    status, _, packed = server.ask(where)
    check("a profile as pprof", status == 200 and packed[:2] == b"\x1f\x8b" and
          b"smtp" in gzip.decompress(packed), packed[:100])
    for wrong in ("/api/v1/profile", where + "&format=nothing", where + "&query=%7B",
                  where.replace("from", "x")):
        status, _, answer = server.ask(wrong)
        check("%s is 400" % wrong, status == 400, answer)


def check_storage(server, cameo, directory):
    s = server.rpc(PAGE + "Storage", {})[1]
    day = s["days"][0]
    check("stored days", (s["oldest"], s["newest"], len(s["days"]), day["day"], day["profiles"]) ==
          (BASE_S * 1000, (BASE_S + 15) * 1000, 1, "2026-11-20", 3) and
          0 < sum(day["parts"].values()) <= day["bytes"] == s["bytes"] and s["series"] == 3, s)
    check("the retention", s["retention"] == {"days": 0, "bytes": 10 << 30}, s)
    run = subprocess.run([cameo, "server", *server.store, "--store-info"],
                         capture_output=True, text=True)
    check("--store-info agrees", run.returncode == 0 and
          run.stdout.split("\n")[1].split()[0] == "2026-11-20" and "\n1 day, " in run.stdout,
          run.stdout + run.stderr)


def check_cells(server):
    start = (BASE_S + 60) * 1000
    at = [(start + ms) * 10**6 for ms in (5, 7, 1012, 1999, 2500)]
    times = [message((1, 1)) + varint(5 << 3 | 2) + varint(8 * len(at)) +
             struct.pack("<%dQ" % len(at), *at)]
    export(server, otlp("moments", times))
    body = {"profileTypeID": CPU, "labelSelector": '{service_name="moments"}', "start": start,
            "end": start + 1999}
    c = server.rpc(PAGE + "Cells", body)[1]
    check("samples are in the cell of their time", (c["at"], c["value"]) ==
          ([0, 101, 199], [2 * UNIT, UNIT, UNIT]) and (c["n"], c["timed"], c["total"]) ==
          (200, 4 * UNIT, 5 * UNIT), c)
    c = server.rpc(PAGE + "Cells", {**body, "start": start + 2000, "end": start + 3000,
                                    "cellMs": 500})[1]
    check("a window reaches beyond the range it begins in", (c["at"], c["timed"], c["total"]) ==
          ([1], UNIT, 0), c)
    c = ask(server, "Cells", labelSelector='{service_name="shop"}')
    check("profiles without timestamps have no cells", (c["at"], c["timed"]) == ([], 0), c)
    for wrong in ({"cellMs": -1}, {"end": start + 3600001}):
        check("cells %s are 400" % wrong, server.rpc(PAGE + "Cells", {**body, **wrong})[0] == 400)


def check_threads(server):
    """Samples of two threads, whose ids are attributes 2 and 3 of the dictionary."""
    start = (BASE_S + 120) * 1000

    def sample(stack, thread, *ms):
        at = [(start + x) * 10**6 for x in ms]
        return message((1, stack), (2, [thread])) + varint(5 << 3 | 2) + varint(8 * len(at)) + \
            struct.pack("<%dQ" % len(at), *at)
    export(server, otlp("threads", [sample(1, 2, 5, 25), sample(2, 2, 15), sample(1, 3, 7)],
                        time_s=BASE_S + 120))
    body = {"profileTypeID": CPU, "labelSelector": '{service_name="threads"}', "start": start,
            "end": start + 1999}
    t = server.rpc(PAGE + "Threads", body)[1]
    check("threads are listed", (t["found"], [(x["pid"], x["tid"], x["samples"], x["total"],
                                             x["firstSeen"], x["lastSeen"]) for x in t["threads"]])
          == (2, [(42, 7, 3, 3 * UNIT, start + 5, start + 25),
                  (42, 8, 1, UNIT, start + 7, start + 7)]), t)
    one = server.rpc(PAGE + "Thread", {**body, "pid": 42, "tid": 7})[1]
    thread = one["times"]["threads"][0]
    names = [one["strings"][one["frames"][one["nodes"]["frame"][n]][0]] for n in thread["node"]]
    check("a thread's samples have their times and stacks", one["total"] == 3 * UNIT and
          len(one["times"]["threads"]) == 1 and (thread["tid"], thread["at"]) ==
          (7, [0, 10000, 10000]) and names[0] == names[2] != names[1], one)
    both = server.rpc(PAGE + "Thread", {**body, "start": start + 6, "end": start + 15})[1]
    check("a slice has the samples taken in it", both["total"] == 2 * UNIT and
          [x["tid"] for x in both["times"]["threads"]] == [7, 8], both)
    none = server.rpc(PAGE + "Thread", {**body, "tid": 9})[1]
    check("an unknown thread has no samples", none["total"] == 0 and "times" not in none, none)
    for wrong in ({"tid": -1}, {"end": start + 3600001}):
        check("threads %s are 400" % wrong, server.rpc(PAGE + "Threads", {**body, **wrong})[0] == 400)


def check_errors(server):
    for method, body, status in [
            ("Nothing", {}, 404), ("Tree", {"maxNodes": -1}, 400), ("Groups", {}, 400),
            ("Functions", {"sort": "name"}, 400), ("Functions", {"limit": -1}, 400),
            ("Tree", {"labelSelector": "{"}, 400), ("Sandwich", {}, 400),
            ("Diff", {}, 400), ("Tree", {"start": 0}, 400), ("Movers", {"normalize": 1}, 400)]:
        got, answer = server.rpc(PAGE + method, {**RANGE, "profileTypeID": CPU, **body})
        check("%s %s is %d" % (method, body, status), got == status and answer["message"], answer)
    got = server.ask(PAGE + "Tree", b"", {"Content-Type": "application/proto"})
    check("protobuf is refused, with the type to use", got[0] == 415 and b"use application/json" in got[2], got)


def main():
    with tempfile.TemporaryDirectory() as directory:
        server = Server(sys.argv[1], directory)
        for i, (labels, time_s, folded) in enumerate(DATA):
            push(server, labels, time_s, folded, "id-%d" % i)
        check_trees(server)
        check_split(server)
        check_diff(server)
        check_sandwich(server)
        check_tables(server)
        check_targets(server)
        check_download(server)
        check_storage(server, sys.argv[1], directory)
        check_cells(server)
        check_threads(server)
        check_errors(server)
        check("SIGTERM stops the server", server.stop() == 0)
    return finish()


sys.exit(main())
