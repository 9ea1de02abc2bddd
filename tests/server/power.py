#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""power.py CAMEO SHIM [ROUNDS [FAULTS]]: acknowledged profiles survive a loss of power and a disk that fails.

In each of ROUNDS (40) rounds a server runs on a disk that loses power at a random moment: before, between
or after its writes (disk.py). The next round runs on what remained: each profile that was acknowledged before
that moment must be there exactly once, each other one at most once. Some rounds kill the server first and start it
again on the same disk.

Then every FAULTS-th (7) write and flush of a session fails, once or from there on, with ENOSPC or EIO. The server
continues to answer, and nothing that it acknowledged is lost. FAULTS=1 is a thorough run.
"""
import copy
import mmap
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import threading

from disk import Disk, length, read_log
from durability import push
from serving import BASE_S, CPU, QUERIER, Server, check, finish, message, pprof

CLIENTS = 3
DAYS = 3
ROUNDS_PER_STORE = 5
EVERY = {"start": (BASE_S - (DAYS + 1) * 86400) * 1000, "end": (BASE_S + 86400) * 1000}
ERRORS = {"ENOSPC": 28, "EIO": 5}


def body(number):
    folded = ["main;work%d;x 1" % number, "main;shared%d 0" % (number % 7)]
    labels = {"__name__": "process_cpu", "service_name": "s%d" % (number % 3)}
    profile = pprof(folded, BASE_S + number - number % DAYS * 86400)
    return message((1, message(*[(1, message((1, k), (2, v))) for k, v in labels.items()],
                               (2, message((1, profile), (2, "id-%d" % number))))))


class ShimServer(Server):
    def __init__(self, cameo, directory, shim, log=None, faults=None):
        env = {"LD_PRELOAD": shim, "CAMEO_DISK_DIR": directory, "CAMEO_DISK_LOG": log, "CAMEO_DISK_FAULTS": faults}
        os.environ.update({k: v for k, v in env.items() if v})
        try:
            super().__init__(cameo, directory)
        finally:
            for k in env:
                os.environ.pop(k, None)


def stored(server):
    """How often each profile is stored: {number: count}, or the error."""
    status, got = server.rpc(QUERIER + "SelectMergeStacktraces", {
        **EVERY, "profileTypeID": CPU, "labelSelector": "{}", "maxNodes": 100000})
    if status != 200:
        return got
    graph = got.get("flamegraph", {})
    names, counts = graph.get("names", []), {}
    for level in graph.get("levels", []):
        v = [int(x) for x in level["values"]]
        for i in range(0, len(v), 4):
            if names[v[i + 3]].startswith("work"):
                counts[int(names[v[i + 3]][4:])] = v[i + 1] / 10**7
    return counts


def can_continue(disk, log, directory):
    """Did the log get everything before the kill? The last write may be in the log only, and is then repeated."""
    model, records = copy.deepcopy(disk), list(read_log(log, os.path.getsize(log)))
    for record in records:
        model.record(*record)
    names = {os.path.join(d, f) for d, _, files in os.walk(directory) for f in files if not f.endswith("-shm")}
    if not records or os.path.getsize(log) != length(records) or names != {p for p, f in model.live.items() if f}:
        return False
    op, inode, offset, _, data = records[-1]
    for path in names if op == "W" else ():
        if os.stat(path).st_ino == inode:
            with open(path, "r+b") as f:
                f.seek(offset)
                f.write(data)
    return True


class Round:
    """Pushes of several clients, until @enough are acknowledged or the server fails."""

    def __init__(self, server, log, numbers, enough):
        self.server, self.log, self.enough = server, log, enough
        self.lock, self.numbers = threading.Lock(), numbers
        self.acknowledged, self.wrong = [], []  # (number, length of the log)
        self.threads = [threading.Thread(target=self.client) for _ in range(CLIENTS)]
        for t in self.threads:
            t.start()

    def client(self):
        while True:
            with self.lock:
                if len(self.acknowledged) >= self.enough or not self.numbers:
                    return
                number = self.numbers.pop(0)
            status = push(self.server, body(number))
            end = os.path.getsize(self.log)
            with self.lock:
                if status == 200:
                    self.acknowledged.append((number, end))
                    continue
                self.wrong += [] if status is None else [status]
            return

    def join(self):
        for t in self.threads:
            t.join()


class Store:
    """One store through many losses of power."""

    def __init__(self, cameo, shim, rng, tmp):
        self.cameo, self.shim, self.rng, self.tmp = cameo, shim, rng, tmp
        self.sure, self.next, self.problems, self.n = set(), 0, [], 0
        self.directory = os.path.join(tmp, "0")
        os.mkdir(self.directory)

    def verify(self, server):
        have = stored(server)
        if not all(isinstance(k, int) for k in have):
            self.problems.append((self.n, have))
            return
        lost = [n for n in self.sure if have.get(n) != 1]
        twice = [n for n, count in have.items() if count != 1]
        if lost or twice:
            self.problems.append((self.n, "lost", lost[:5], "twice", twice[:5]))

    def session(self, log):
        server = ShimServer(self.cameo, self.directory, self.shim, log)
        self.verify(server)
        numbers = [n for n in range(self.next) if n not in self.sure][-20:]
        numbers += range(self.next, self.next + 40)
        self.next += 40
        work = Round(server, log, numbers, self.rng.randrange(1, 14))
        if self.rng.random() < 0.5:
            work.join()
            server.stop(self.rng.choice((signal.SIGKILL, signal.SIGTERM)))
        else:
            while not work.acknowledged and any(t.is_alive() for t in work.threads):
                work.threads[0].join(0.01)
            server.stop(signal.SIGKILL)
            work.join()
        self.problems += [(self.n, "status", s) for s in work.wrong]
        return work.acknowledged

    def round(self):
        log = os.path.join(self.tmp, "log")
        disk = Disk(self.directory)
        acknowledged = self.session(log)
        if self.rng.random() < 0.3 and can_continue(disk, log, self.directory):
            self.sure.update(n for n, _ in acknowledged)
            acknowledged += self.session(log)
            self.sure.difference_update(n for n, _ in acknowledged)
        size = os.path.getsize(log)
        until = self.rng.choice((size, self.rng.randrange(size + 1)))
        self.n += 1
        for record in read_log(log, until):
            disk.record(*record)
        target = os.path.join(self.tmp, str(self.n))
        disk.lose_power(self.rng, target)
        self.sure.update(n for n, end in acknowledged if end <= until)
        shutil.rmtree(self.directory)
        os.unlink(log)
        self.directory = target


def check_power(cameo, shim, rounds, seed=5):
    problems, n_sure, rng = [], 0, random.Random(seed)
    for first in range(0, rounds, ROUNDS_PER_STORE):
        with tempfile.TemporaryDirectory() as tmp:
            store = Store(cameo, shim, rng, tmp)
            for _ in range(min(ROUNDS_PER_STORE, rounds - first)):
                store.round()
            server = Server(cameo, store.directory)
            store.verify(server)
            server.stop()
            problems += store.problems
            n_sure += len(store.sure)
    check("after each of %d losses of power all %d acknowledged profiles are there once" % (rounds, n_sure),
          not problems and n_sure > rounds, problems[:5])


class Faults:
    """Controls the shim: which operation fails, and how."""

    FORMAT = struct.Struct("<iiiii")

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(bytes(self.FORMAT.size))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), self.FORMAT.size)

    def set(self, at, error=0, kinds=0, sticky=0):
        self.map[:] = self.FORMAT.pack(0, at, error, kinds, sticky)

    def count(self):
        return self.FORMAT.unpack(self.map[:])[0]


def fault_session(cameo, shim, tmp, faults, at, error, sticky):
    """Problems of one session in which operation number @at fails, and the number of operations."""
    directory, problems, sure = os.path.join(tmp, "data"), [], set()
    os.mkdir(directory)
    faults.set(at, error, 3, sticky)
    server = ShimServer(cameo, directory, shim, faults=faults.path)
    for number in range(6):
        if server.url and push(server, body(number)) == 200:
            sure.add(number)
    have = stored(server) if server.url else {}
    if server.url and server.process.poll() is not None:
        problems.append("the server ended")
    # With a broken disk a query may fail, but not with a wrong answer. A full disk can be read.
    refused = "code" in have and sticky and error == ERRORS["EIO"]
    if not refused and any(have.get(n) != 1 for n in sure):
        problems.append(("cannot be read", sorted(sure), have))
    n = faults.count()
    faults.set(0)
    if server.url and not sticky:
        for number in range(6):  # repeated, they are stored once
            if push(server, body(number)) == 200:
                sure.add(number)
        if len(sure) < 6:
            problems.append(("not stored afterwards", sorted(sure)))
    server.stop(signal.SIGKILL)
    server = Server(cameo, directory)
    have = stored(server)
    if any(have.get(n) != 1 for n in sure) or any(count != 1 for count in have.values()):
        problems.append(("after a restart", sorted(sure), have))
    server.stop()
    shutil.rmtree(directory)
    return problems, n


def check_faults(cameo, shim, step):
    with tempfile.TemporaryDirectory() as tmp:
        faults = Faults(os.path.join(tmp, "faults"))
        problems, n = fault_session(cameo, shim, tmp, faults, 10**6, 0, 0)
        check("without a fault nothing is wrong", not problems and n > 20, (problems, n))
        done = 0
        for name, error in ERRORS.items():
            problems = []
            for at in range(1 + done % step, n + 1, step):
                for sticky in (0, 1):
                    wrong, _ = fault_session(cameo, shim, tmp, faults, at, error, sticky)
                    problems += [(at, sticky, p) for p in wrong]
                    done += 1
            check("no acknowledged profile is lost with %s at each %d. of %d operations" % (name, step, n),
                  not problems, problems[:4])


def main():
    cameo, shim = (os.path.realpath(a) for a in sys.argv[1:3])
    check_power(cameo, shim, int(sys.argv[3]) if len(sys.argv) > 3 else 40)
    check_faults(cameo, shim, int(sys.argv[4]) if len(sys.argv) > 4 else 7)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
