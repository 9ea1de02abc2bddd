#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""store_model.py CAMEO [SEED [STEPS]]: random histories of a store, compared with a list in memory.

Windows with random labels, times and stacks are pushed, late ones and repeated ones among them; the server
ends, also killed in the middle of a push; profiles are deleted and files compacted. After each step the
server's flame graphs must be those of the list, and at each end so must be what store_reader.py reads.
Halfway, windows are packed (docs/store.md), so that the second half changes packs.
"""
import collections
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import store_reader
from durability import push
from serving import BASE_S, CPU, QUERIER, Server, check, finish, message, pprof, skip

SPAN_S = 10 * 3600  # of the windows; it includes a midnight
PERIOD = 10**7
SERVICES, ZONES = ["shop", "mail", "ça va"], ["eu", "us", ""]
PACK_TURNS_S = 200

Item = collections.namedtuple("Item", "number service zone time_s stacks")


class Model:
    def __init__(self, rng):
        self.rng, self.items, self.made = rng, [], 0
        self.stacks = [("main",)]
        while len(self.stacks) < 300:
            trunk = rng.choice(self.stacks)
            self.stacks.append(trunk[:rng.randrange(len(trunk)) + 1] + ("f%d" % rng.randrange(80),))

    def new(self):
        rng = self.rng
        self.made += 1
        begin = BASE_S + 7200 * rng.randrange(SPAN_S // 7200)
        stacks = collections.Counter(rng.choices(self.stacks[:rng.choice((5, 300))], k=rng.randrange(1, 40)))
        return Item(self.made, rng.choice(SERVICES), rng.choice(ZONES), begin + rng.randrange(7200),
                    tuple(stacks.items()))

    def select(self, service, zone, start_s, end_s):
        """Items with these labels, None for any, from start to end, both included."""
        return [i for i in self.items if service in (None, i.service) and zone in (None, i.zone) and
                start_s <= i.time_s <= end_s]

    def query(self):
        """Random labels and a random range."""
        rng = self.rng
        start = BASE_S + rng.choice((0, rng.randrange(SPAN_S)))
        return (rng.choice(SERVICES + [None]), rng.choice(ZONES + [None]), start,
                rng.choice((BASE_S + SPAN_S, start + rng.randrange(SPAN_S))))


def body_of(items):
    done = b""
    for i in items:
        labels = {"__name__": "process_cpu", "service_name": i.service, "zone": i.zone}
        folded = ["%s %d" % (";".join(stack), n) for stack, n in i.stacks]
        done += message((1, message(*[(1, message((1, k), (2, v))) for k, v in labels.items() if v],
                                    (2, message((1, pprof(folded, i.time_s)), (2, "id-%d" % i.number))))))
    return done


def sum_of(items):
    done = collections.Counter()
    for i in items:
        for stack, n in i.stacks:
            done[stack] += n * PERIOD
    return done


def selector(service, zone):
    parts = ['service_name="%s"' % service] * (service is not None) + ['zone="%s"' % zone] * (zone is not None)
    return "{%s}" % ",".join(parts)


def stacks_of(graph):
    """{stack: self value} of a flame graph, whose nodes lie above those that call them."""
    done, below = collections.Counter(), [(0, float("inf"), None)]
    for level in graph.get("levels", []):
        values, x, nodes = [int(v) for v in level["values"]], 0, []
        for offset, total, own, name in zip(*[iter(values)] * 4):
            x += offset
            caller = next(stack for begin, end, stack in below if begin <= x < end)
            stack = () if caller is None else caller + (graph["names"][name],)
            nodes.append((x, x + total, stack))
            x += total
            if own:
                done[stack] += own
        below = nodes
    return done


def check_queries(server, model, what, n=4):
    wrong = []
    for labels in [(None, None, BASE_S, BASE_S + SPAN_S)] + [model.query() for _ in range(n)]:
        service, zone, start, end = labels
        status, answer = server.rpc(QUERIER + "SelectMergeStacktraces", {
            "profileTypeID": CPU, "labelSelector": selector(service, zone), "start": start * 1000,
            "end": end * 1000, "maxNodes": 100000})
        got = stacks_of(answer.get("flamegraph", {})) if status == 200 else answer
        if got != sum_of(model.select(*labels)):
            wrong.append((labels, status))
    check("the server has what the list has: " + what, not wrong, wrong)


def check_reader(directory, model, what):
    """Windows with their series and rows; also the samples, of which flame graphs of CPU time have nothing."""
    want = collections.Counter()
    for i in model.items:
        labels = {"service_name": i.service, **({"zone": i.zone} if i.zone else {})}
        want[(tuple(sorted(labels.items())), i.time_s * 10**9,
              tuple(sorted((s, (n, n * PERIOD)) for s, n in i.stacks)))] += 1
    try:
        windows = store_reader.read(directory)
    except store_reader.Damaged as e:
        check("the reader reads the files: " + what, False, e)
        return
    got = collections.Counter((tuple(sorted(w.series.labels.items())), w.time_ns, tuple(sorted(w.rows))) for w in windows)
    check("the reader has what the list has: " + what, got == want, (list((got - want).items())[:2], list((want - got).items())[:2]))


def check_damage(directory, rng):
    """The reader reports a wrong bit, wherever it is."""
    days = [os.path.join(directory, "anonymous", n) for n in os.listdir(os.path.join(directory, "anonymous")) if n.endswith(".db")]
    for path in days:
        with open(path, "r+b") as f:
            at = rng.randrange(os.path.getsize(path))
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 1 << rng.randrange(8)]))
        try:
            store_reader.read(directory)
            why = "nothing"
        except store_reader.Damaged as e:
            why = str(e)
        check("the reader reports a wrong bit", os.path.basename(path) in why, (at, why))
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(bytes([byte]))


def packed(directory):
    """The number of packed windows."""
    n = 0
    for day in os.listdir(os.path.join(directory, "anonymous")):
        if day.endswith(".db"):
            db = sqlite3.connect("file:%s/anonymous/%s?mode=ro" % (directory, day), uri=True)
            n += db.execute("SELECT coalesce(sum(windows), 0) FROM packs").fetchone()[0]
            db.close()
    return n


class Run:
    def __init__(self, cameo, directory, rng):
        self.cameo, self.directory, self.model, self.rng = cameo, directory, Model(rng), rng
        self.server = Server(cameo, directory)

    def restart(self, how, what):
        self.server.stop(how)
        check_reader(self.directory, self.model, what)
        self.server = Server(self.cameo, self.directory)

    def push(self):
        items = [self.model.new() for _ in range(self.rng.choice((1, 1, 10, 60)))]
        again = self.rng.sample(self.model.items, min(len(self.model.items), 3))
        statuses = push(self.server, body_of(items)), push(self.server, body_of(again + items[:1]))
        self.model.items += items
        return "%d windows, %d repeated" % (len(items), len(again) + 1) + str(statuses) * (statuses != (200, 200))

    def end(self):
        self.restart(signal.SIGTERM, "the server ended")
        return "a restart"

    def kill(self):
        items = [self.model.new() for _ in range(self.rng.choice((1, 60)))]
        data = body_of(items)
        pushing = threading.Thread(target=push, args=(self.server, data))
        pushing.start()
        time.sleep(self.rng.random() * 0.05)
        self.server.stop(signal.SIGKILL)
        pushing.join()
        self.server = Server(self.cameo, self.directory)
        push(self.server, data)
        self.model.items += items
        self.restart(signal.SIGKILL, "it was killed")
        return "it was killed during a push, which was repeated"

    def command(self, *args):
        done = subprocess.run([self.cameo, "store", args[0], self.directory, *args[1:]], capture_output=True, text=True,
                              timeout=120, check=False)
        check("cameo store " + args[0], done.returncode == 0, done)

    def delete(self):
        service, zone, start, end = self.model.query()
        self.server.stop()
        self.command("delete", "-t", "anonymous", "-s", selector(service, zone), "--from", str(start),
                     "--until", str(end + 1))
        gone = set(self.model.select(service, zone, start, end))
        self.model.items = [i for i in self.model.items if i not in gone]
        check_reader(self.directory, self.model, "%d were deleted" % len(gone))
        self.server = Server(self.cameo, self.directory)
        return "%d were deleted" % len(gone)

    def compact(self):
        self.server.stop()
        self.command("compact")
        check_reader(self.directory, self.model, "the files were compacted")
        self.server = Server(self.cameo, self.directory)
        return "the files were compacted"

    def steps(self, n):
        actions = [self.push] * 6 + [self.end, self.kill, self.delete, self.compact]
        for action in self.rng.sample(actions, len(actions)) + self.rng.choices(actions, k=max(0, n - len(actions))):
            what = action()
            check_queries(self.server, self.model, what)

    def pack(self):
        """Waits until enough is packed for changes to meet it."""
        before = packed(self.directory)
        for _ in range(10):
            self.push()
        until = time.monotonic() + PACK_TURNS_S
        while time.monotonic() < until and packed(self.directory) < before + len(self.model.items) // 2:
            time.sleep(1)
        check("windows were packed", packed(self.directory) > before, packed(self.directory))
        check_queries(self.server, self.model, "windows were packed", 12)
        self.restart(signal.SIGKILL, "after packing")


def main():
    if not shutil.which("zstd"):
        skip("the store and the list", "no zstd")
        return finish()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as directory:
        run = Run(os.path.realpath(sys.argv[1]), os.path.join(directory, "data"), random.Random(seed))
        steps = int(sys.argv[3]) if len(sys.argv) > 3 else 12
        run.steps(steps)
        run.pack()
        run.steps(steps)
        run.server.stop()
        check_reader(run.directory, run.model, "the end")
        check_damage(run.directory, run.model.rng)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
