#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memory.py CAMEO: small requests whose data are large stay within --memory, several at once too."""
import concurrent.futures
import os
import random
import sys
import tempfile
import time

from serving import BASE_S, CPU, Server, check, finish, peak_mib, push, varint

LIMIT_MIB = 128
AT_ONCE = 12
SERVICES = 16
LATE_S = 60


def at_once(fn):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(fn, range(AT_ONCE)))


def start(cameo, tmp, name):
    return Server(cameo, os.path.join(tmp, name), "--memory", "%dM" % LIMIT_MIB)


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
    check("and the server stays near its limit", peak_mib(server) < LIMIT_MIB * 5 // 4, peak_mib(server))
    check("a further one is answered", succeeds(lambda: query(AT_ONCE + 1)))
    check("and the server stops", server.stop() == 0)


def main():
    cameo = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as tmp:
        check_tries(cameo, tmp)
        check_queries(cameo, tmp)
    return finish()


sys.exit(main())
