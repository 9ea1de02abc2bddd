#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""results.py CAMEO: equal queries at the same time are computed once, and no answer is older than its request."""
import concurrent.futures
import json
import re
import sys
import tempfile
import threading

from serving import BASE_S, CPU, QUERIER, RANGE, Server, check, finish, push

PUSHES = 40
READERS = 4
EQUAL = 12
QUERY = json.dumps({**RANGE, "profileTypeID": CPU, "labelSelector": "{}"}).encode()


def used(server):
    """How many answers were used at the same time, and later."""
    text = server.ask("/metrics")[2].decode()
    return [int(re.search(r'cameo_query_results_used_total{computed="%s"} (\d+)' % when, text)[1])
            for when in ("at the same time", "before")]


def ask(server, tenant="a"):
    status, _, body = server.ask(QUERIER + "SelectMergeStacktraces", QUERY,
                                 {"Content-Type": "application/json", "X-Scope-OrgID": tenant})
    return status, body


def check_equal(server):
    """Large profiles, so that the first query still runs when the others arrive."""
    stacks = ["main;f%d;g%d;h%d 1" % (i % 97, i % 1009, i) for i in range(20000)]
    for i in range(10):
        push(server, {"service_name": "large"}, BASE_S + i, stacks, "large-%d" % i)
    got, shared, rounds = set(), 0, 0
    with concurrent.futures.ThreadPoolExecutor(EQUAL) as pool:
        while not shared and rounds < 20:
            rounds += 1
            # a push of the range makes the next queries compute again
            push(server, {"service_name": "large"}, BASE_S, ["a 0"], "again-%d" % rounds)
            got.update(pool.map(lambda _: ask(server), range(EQUAL)))
            shared = used(server)[0]
    check("%d equal queries have one answer" % EQUAL, len(got) == 1 and next(iter(got))[0] == 200, [g[0] for g in got])
    check("which some of them shared", shared > 0, used(server))


def check_fresh(server):
    """Readers send the same query all the time: what was acknowledged before a request is in its answer."""
    acknowledged, over, late = 0, threading.Event(), []

    def read():
        while not over.is_set():
            before = acknowledged
            got = server.total("{}")
            if got < before:
                late.append((before, got))

    threads = [threading.Thread(target=read) for _ in range(READERS)]
    for t in threads:
        t.start()
    for i in range(PUSHES):
        push(server, {"service_name": "s%d" % (i % 3)}, BASE_S + i % 20, ["main;f%d 1" % i], "n%d" % i)
        acknowledged += 1
        if server.total("{}") != acknowledged:
            late.append(("own", acknowledged))
    over.set()
    for t in threads:
        t.join()
    check("no answer lacks a push that was acknowledged before its request", not late, late[:5])


def check_tenants(server):
    one, other = ask(server, "a"), ask(server, "b")
    check("equal queries of two tenants have answers of their own", one[0] == other[0] == 200 and one[1] != other[1])


def main():
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(sys.argv[1], tmp + "/fresh")
        check_fresh(server)
        server.stop()
        server = Server(sys.argv[1], tmp + "/equal")
        check_equal(server)
        server.stop()
        server = Server(sys.argv[1], tmp + "/tenants", "--tenants")
        for name in ("a", "b"):
            server.ask("/ingest?name=of-%s&from=%d" % (name, BASE_S), b"main;in_%s 1" % name.encode(), {"X-Scope-OrgID": name})
        check_tenants(server)
        server.stop()
    return finish()


sys.exit(main())
