#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memory.py CAMEO LIST_METHODS: small requests whose data are large stay within --memory, several at once too."""
import base64
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse

from serving import BASE_S, CPU, PAGE, QUERIER, RANGE, Server, check, finish, message, peak_mib, pprof, push, varint

LIMIT_MIB = 128
AT_ONCE = 12
SERVICES = 14
LATE_S = 60


def at_once(fn):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(fn, range(AT_ONCE)))


def start(cameo, tmp, name, *options):
    return Server(cameo, os.path.join(tmp, name), "--memory", "%dM" % LIMIT_MIB, *options)


def node(name, own, children):
    """A node of a trie or a tree."""
    return varint(len(name)) + name + varint(own) + varint(children)


def check_tries(cameo, tmp):
    """Each node repeats its path: 60 kB of nodes are 120 MB of text."""
    server = start(cameo, tmp, "tries")
    trie = node(b"x" * 30000, 0, 4000) + b"".join(node(b";%d" % i, 1, 0) for i in range(4000))
    path = "/ingest?name=bomb.cpu&format=trie&from=%d" % BASE_S
    statuses = at_once(lambda i: server.ask(path, trie)[0])
    check("%d tries of 60 kB that are 120 MB of text are refused" % AT_ONCE, set(statuses) <= {422, 429}, statuses)
    check("and stay within the memory", peak_mib(server) < LIMIT_MIB, peak_mib(server))
    status = server.ask(path, node(b"main", 1, 1) + node(b";work", 2, 0))[0]
    check("a small one is stored", status == 200, status)
    check("and the server stops", server.stop() == 0)


def random_stacks(seed, n):
    """Stacks of eight of 300 functions, which have few nodes in common."""
    rng = random.Random(seed)
    return [";".join("f%d" % rng.randrange(300) for _ in range(8)) + " 1" for _ in range(n)]


def succeeds(query):
    """Does it in time, if it may be repeated?"""
    end = time.monotonic() + LATE_S
    while query() != 200:
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def check_queries(cameo, tmp):
    """Queries of which one fits into the memory, but not all."""
    server = start(cameo, tmp, "queries")
    stored = [push(server, {"service_name": "s%d" % i}, BASE_S, random_stacks(i, 8000), "q%d" % i)[0] for i in range(SERVICES)]
    check("%d,000 stacks are stored" % (8 * SERVICES), stored == [200] * SERVICES, stored)
    before = peak_mib(server)

    def query(i):
        return server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}", maxNodes=1000 + i)[0]

    check("a query of all is answered", query(0) == 200)
    print("# %d MiB, with one query %d MiB" % (before, peak_mib(server)))
    statuses = at_once(lambda i: query(1 + i))
    print("# with %d at once %d MiB" % (AT_ONCE, peak_mib(server)))
    check("of %d at once, those without memory are refused" % AT_ONCE, set(statuses) <= {200, 429}, statuses)
    check("and the server stays within its limit", peak_mib(server) <= LIMIT_MIB, peak_mib(server))
    check("a further one is answered", succeeds(lambda: query(AT_ONCE + 1)))
    check("and the server stops", server.stop() == 0)


ALL = {"profileTypeID": CPU, "labelSelector": "{}", **RANGE}
SIDES = {"left": ALL, "right": {**ALL, "labelSelector": "{service_name!~\"s1.*\"}"}}
SPANS = ["%016x" % i for i in range(1, 9)]
NODES = 1 << 20
FROM_UNTIL = {"from": RANGE["start"], "until": RANGE["end"]}
RENDERED = CPU + "{}"

# The largest request of each method that reads data, which returns all that is stored. A number makes it another one.
WORST = {
    QUERIER + "ProfileTypes": lambda i: RANGE,
    QUERIER + "LabelNames": lambda i: RANGE,
    QUERIER + "LabelValues": lambda i: {**RANGE, "name": "instance"},
    QUERIER + "Series": lambda i: RANGE,
    QUERIER + "SelectMergeStacktraces": lambda i: {**ALL, "maxNodes": NODES - i},
    QUERIER + "SelectMergeSpanProfile": lambda i: {**ALL, "maxNodes": NODES - i, "spanSelector": SPANS},
    QUERIER + "SelectMergeProfile": lambda i: {**ALL, "maxNodes": NODES - i},
    QUERIER + "SelectSeries": lambda i: {**ALL, "step": 1 + i / 1000, "groupBy": ["instance"], "limit": NODES},
    QUERIER + "SelectHeatmap": lambda i: {**ALL, "step": 0.001, "groupBy": ["instance"], "limit": NODES - i},
    QUERIER + "Diff": lambda i: {k: {**v, "maxNodes": NODES - i} for k, v in SIDES.items()},
    QUERIER + "GetProfileStats": lambda i: {},
    PAGE + "Tree": lambda i: {**ALL, "maxNodes": NODES - i},
    PAGE + "Diff": lambda i: {**SIDES, "maxNodes": NODES - i},
    PAGE + "Functions": lambda i: {**ALL, "limit": 100000 - i},
    PAGE + "Sandwich": lambda i: {**ALL, "function": {"name": "f1"}, "maxNodes": NODES - i},
    PAGE + "Movers": lambda i: {**SIDES, "limit": 100000 - i},
    PAGE + "Groups": lambda i: {**ALL, "label": "instance", "step": 1, "limit": 100000 - i},
    PAGE + "Executables": lambda i: {**ALL, "limit": 100000 - i},
    PAGE + "Cells": lambda i: {**ALL, "cellMs": 1},
    PAGE + "Threads": lambda i: {**ALL, "limit": 100000 - i},
    PAGE + "Thread": lambda i: {**ALL, "pid": 1 + i},
    PAGE + "Storage": lambda i: {},
    PAGE + "Targets": lambda i: {**ALL, "by": ["instance"]},
    "/api/v1/agents": lambda i: None,
    "/pyroscope/render": lambda i: {"query": RENDERED, "maxNodes": NODES - i, **FROM_UNTIL},
    "/pyroscope/render-diff": lambda i: {"maxNodes": NODES - i, **{
        side + k[0].upper() + k[1:]: v for side in ("left", "right") for k, v in {"query": RENDERED, **FROM_UNTIL}.items()}},
    "/api/v1/profile": lambda i: {"query": "{n!=\"%d\"}" % i, "type": CPU, "format": "folded", **FROM_UNTIL},
}


def ask_worst(server, path, i):
    request = WORST[path](i)
    if path.startswith((QUERIER, PAGE)):
        return server.ask(path, json.dumps(request).encode(), {"Content-Type": "application/json"})[0]
    return server.ask(path + ("?" + urllib.parse.urlencode(request) if request else ""))[0]


def push_windows(server, first, n):
    """Stores N small profiles at moments of their own, in several series."""
    series = []
    for i in range(first, first + n):
        labels = {"__name__": "process_cpu", "service_name": "w", "instance": "%0200d" % (i % 400)}
        raw = base64.b64encode(pprof(["main;work 1"], BASE_S + i % 30)).decode()
        series.append({"labels": [{"name": k, "value": v} for k, v in labels.items()],
                       "samples": [{"rawProfile": raw, "ID": "w%d" % i}]})
    status, answer = server.rpc("/push.v1.PusherService/Push", {"series": series})
    return status if status == 200 else answer


def check_methods(cameo, list_methods, tmp):
    """Each method that reads data, several times at once with as much as it can return."""
    rows = [x.split("\t") for x in subprocess.run([list_methods], capture_output=True, text=True, check=True).stdout.splitlines()]
    reading = {r[0] for r in rows if r[3] in ("query", "lookup")}
    check("each method that reads data has a request here", reading == set(WORST), reading ^ set(WORST))
    server = start(cameo, tmp, "methods", "--max-queries", "100", "--profile-rate", "1000000", "--shared-profile-rate", "1000000")
    stored = [push(server, {"service_name": "s%d" % i}, BASE_S, random_stacks(i, 6000), "q%d" % i)[0] for i in range(SERVICES)]
    stored += [push_windows(server, 800 * i, 800) for i in range(25)]
    check("stacks and 20,000 profiles are stored", stored == [200] * len(stored), stored)
    for path in sorted(WORST):
        with open("/proc/%d/clear_refs" % server.process.pid, "w", encoding="ascii") as f:
            f.write("5")  # the peak begins again
        statuses = at_once(lambda i, path=path: ask_worst(server, path, i))
        peak = peak_mib(server)
        check("%s, %d times at once: within the memory" % (path, AT_ONCE), peak <= LIMIT_MIB, peak)
        check("and those without memory are refused", set(statuses) <= {200, 422, 429}, statuses)
        print("# %d MiB: %s" % (peak, sorted(statuses)))
    check("afterwards the server answers", succeeds(lambda: ask_worst(server, PAGE + "Functions", 50)))
    check("and stops", server.stop() == 0)


def main():
    cameo = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as tmp:
        check_tries(cameo, tmp)
        check_queries(cameo, tmp)
        check_methods(cameo, sys.argv[2], tmp)
    return finish()


sys.exit(main())
