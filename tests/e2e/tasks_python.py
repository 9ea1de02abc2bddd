#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo tasks shows what each task of asyncio waits for, without stopping the program.

The oracle is the program itself: the objects of its tasks, and the numbers in tests/programs/python/tasks.py. Each CPython from
3.9 to 3.14 of this machine, of pyenv and of other releases is tested.
"""
import ast
import collections
import glob
import os
import re
import socket
import subprocess

import cameo
import machine
from cameo import PROGRAMS, Tap, Workshop, expect
from interpreted import Runtime, marks, runtimes
from task_program import TaskProgram, run, snapshot

PROGRAM = os.path.join(PROGRAMS, "python", "tasks.py")
FIRST, LAST = 9, 14
SNAPSHOTS = 6
SEEDS = 12
REQUESTS = 25
# (reason, function, number): the function that the program's line is in
WAITS = [("sleep", "sleep", 405), ("future", "generator", 200), ("Event.wait", "items", 100), ("Queue.get", "get", 70),
         ("Lock.acquire", "acquire", 50), ("Condition.wait", "notified", 30), ("Event.wait", "wait", 20 + 40 + 25),
         ("task", "join", 10), ("gather", "gathered", 5), ("future", "main", 1)]
TOTAL = sum(n for _, _, n in WAITS)


def pythons():
    """Returns the interpreters of this machine, of pyenv and of other releases."""
    found = [p for p in runtimes("python3.[0-9]*", "python/tasks.py") if re.search(r"python3\.\d+$", p.name)]
    for path in [] if machine.is_virtual() else sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))):
        found.append(Runtime("pyenv's " + path.split("/")[-3], [path], PROGRAM))
    return found


def minor_of(python):
    return int(re.search(r"3\.(\d+)", python.name)[1])


class Program(TaskProgram):
    """The program in a mode; it answers questions about its own tasks."""

    def __init__(self, python, *args, env=None):
        super().__init__(python.run(*args), env)

    def dump(self):
        """Returns the numbers of tasks by their calls, outermost first."""
        out = collections.Counter()
        for line in self.lines("dump"):
            n, calls = line.split(" ", 1)
            out[tuple(ast.literal_eval(calls))] += int(n)
        return out


def last_part(function):
    return function.split(".")[-1]


def place(group):
    """The innermost function of the program itself, or of asyncio."""
    stack = group["stack"]
    return next((f for f in stack if f["file"].endswith("tasks.py") and "/asyncio/" not in f["file"]), stack[0])


def counts(python, env=None):
    """Numbers, reasons and lines of 956 tasks in known places are exact"""
    at = marks(PROGRAM)[0]
    with Program(python, "counts", env=env) as p:
        snap = snapshot(p.pid)
        own = int(p.ask("count"))
        dump = p.dump()
    expect(snap["runtime"] == "Python" and snap["version"].startswith("3."), snap)
    # two tasks of gathered() each have one more
    expect(snap["tasks"] == own + 5 == TOTAL, snap["tasks"], own)
    expect(not any(snap[k] for k in ("unread", "changed", "incomplete", "invalid", "all_wait", "circles")), snap)
    seen, stacks = collections.Counter(), collections.Counter()
    for g in snap["groups"]:
        expect(g["state"] == "waiting", g)
        function = last_part(place(g)["function"])
        seen[g["reason"], function] += g["count"]
        expect(place(g)["line"] in at[function], g, at)
        stacks[tuple((last_part(f["function"]), f["line"]) for f in reversed(g["stack"]))] += g["count"]
    want = collections.Counter()
    for reason, function, n in WAITS:
        want[reason, function] += n
    expect(seen == want, seen - want, want - seen)
    judge_stacks(stacks, dump)


def judge_stacks(stacks, dump):
    """The stacks are those of the program's objects, which do not show what asynchronous generators await."""
    for calls, n in dump.items():
        if calls[0][0] == "iterate":
            expect(sum(m for s, m in stacks.items() if s[:1] == calls) == n, calls, stacks)
        # tasks in Python have a frame more, and gathered() has tasks that the program does not count
        elif calls[0][0] not in ("wait", "sleep"):
            expect(stacks[calls] == n, calls, stacks)
    expect(sum(n for s, n in stacks.items() if s[0][0] == "sleep") == 405, stacks)


def deadlock(python):
    """Two tasks that wait for each other are reported, with their names"""
    with Program(python, "deadlock") as p:
        r = run("-p", str(p.pid))
        snap = snapshot(p.pid)
    expect(re.search(r"^Deadlock: 2 tasks wait for each other:\n"
                     r"( +\d+ \(Task-\d+\) · tasks\.py:\d+ · task, for \d+\n){2}", r.stdout, re.MULTILINE), r.stdout, r.stderr)
    expect(len(snap["circles"]) == 1 and len(snap["circles"][0]) == 2, snap["circles"])
    lines = {place(g)["line"] for g in snap["groups"] if last_part(place(g)["function"]) == "transfer"}
    expect(lines == marks(PROGRAM)[0]["transfer"], lines)


def request(port, n):
    """Sends requests to the server; each has been handled when this returns."""
    with socket.create_connection(("127.0.0.1", port), cameo.DEADLINE_S) as s:
        with s.makefile("rwb") as f:
            for _ in range(n):
                f.write(b"request\n")
                f.flush()
                expect(f.readline() == b"ok\n")


def leak(python):
    """--watch names the group of a server that grows with each request, and since when it waits"""
    def find(groups):
        grown = [g for g in groups if g.get("growth") == REQUESTS]
        return grown if grown and grown[0]["timed"] == REQUESTS + 3 else []

    with Program(python, "server") as p:
        port = int(p.ask("port"))
        request(port, 3)
        first, grown = p.watch(lambda: request(port, REQUESTS), find)
    before = [g for g in first["groups"] if last_part(place(g)["function"]) == "audit"]
    expect(len(before) == 1 and before[0]["count"] == 3, first)
    expect(len(grown) == 1 and grown[0]["count"] == REQUESTS + 3 and grown[0]["reason"] == "future", grown)
    expect(place(grown[0])["line"] in marks(PROGRAM)[0]["audit"], grown)
    expect(grown[0]["longest_ns"] > 0, grown)


def changing(python):
    """Tasks that start, run and end meanwhile are never unread, and the others remain exact"""
    want = {(reason, function): n for reason, function, n in WAITS if function in ("get", "acquire", "items", "join")}
    exact = 0
    with Program(python, "spin") as p:
        for _ in range(SNAPSHOTS):
            snap = snapshot(p.pid)
            seen = collections.Counter()
            for g in snap["groups"]:
                if g["state"] == "waiting" and g["stack"]:
                    seen[g["reason"], last_part(place(g)["function"])] += g["count"]
            expect(not snap["unread"], snap)
            is_exact = all(seen[k] == n for k, n in want.items())
            # the set of all tasks may move during each attempt to read it; then the snapshot reports that
            expect(is_exact or snap["invalid"], seen, snap)
            exact += is_exact
    expect(exact >= SNAPSHOTS - 1, f"{exact} of {SNAPSHOTS} snapshots are exact")


def many(python):
    """A sample of 30,000 tasks is read, and counts are scaled"""
    with Program(python, "30000") as p:
        snap = snapshot(p.pid, "--max", "10000")
    expect(snap["one_in"] == 4, snap["one_in"])
    expect(abs(snap["tasks"] - 30001) < 0.05 * 30000, snap["tasks"])


def lies(python):
    """Objects that were overwritten are no reason to fail"""
    ended = 0
    for seed in range(SEEDS):
        with Program(python, "lie", seed) as p:
            if p.ask("lie") != "done":
                ended += 1  # the interpreter needed what it has overwritten
                continue
            r = run("-p", str(p.pid), "--json", "--timeout", "2s")
            expect(p.process.poll() is None, "the program has ended", seed)
        expect(r.returncode in (0, 1) and "reader" not in r.stderr and r.stderr.count("\n") == r.returncode, seed, r.stderr)
    expect(ended < SEEDS / 4, ended, "programs have ended")


def profiles(python, shop):
    """The profile and the folded stacks have as many tasks as the program"""
    out = shop.path("tasks.pb.gz")
    with Program(python, "counts") as p:
        r = run("-p", str(p.pid), "-o", out)
        folded = run("-p", str(p.pid), "--folded").stdout
    expect(r.returncode == 0, r.stderr)
    expect(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == TOTAL, folded)
    report = subprocess.run([cameo.CAMEO, "report", out], capture_output=True, text=True, check=False)
    expect("tasks:" in report.stdout, report.stdout, report.stderr)


def uvloop(python):
    """Tasks of uvloop are the same"""
    counts(python, {"LOOP": "uvloop"})


def without_asyncio(python):
    """A program without asyncio, or of an older release, is an error of one line"""
    is_old = minor_of(python) < FIRST
    with subprocess.Popen([*python.command, "-c", "import sys; print('ready', flush=True); sys.stdin.read()"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        r = run("-p", str(p.pid))
        p.stdin.close()
    want = "this release of Python cannot be read" if is_old else "has not imported asyncio"
    expect(r.returncode == 1 and r.stderr.count("\n") == 1 and want in r.stderr, r.stderr)


def main():
    tap = Tap()
    found = pythons()
    if not found:
        tap.skip("tasks of asyncio", "no Python is installed")
    for python in found:
        tap.run(f"{python.name}: {without_asyncio.__doc__}", without_asyncio, python)
        if not FIRST <= minor_of(python) <= LAST:
            continue
        for test in (counts, deadlock, leak, changing, lies):
            tap.run(f"{python.name}: {test.__doc__}", test, python)
        if subprocess.run([*python.command, "-c", "import uvloop"], capture_output=True, check=False).returncode == 0:
            tap.run(f"{python.name}: {uvloop.__doc__}", uvloop, python)
    for python in sorted((p for p in found if FIRST <= minor_of(p) <= LAST), key=minor_of)[-1:]:
        tap.run(many.__doc__, many, python)
        with Workshop() as shop:
            tap.run(profiles.__doc__, profiles, python, shop)
    tap.done()


main()
