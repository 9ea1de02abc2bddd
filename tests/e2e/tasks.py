#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo tasks shows what each goroutine waits for, without stopping the program.

The oracle is the program itself: runtime.NumGoroutine() and runtime.Stack().
"""
import collections
import contextlib
import os
import re
import subprocess
import threading

import cameo
import go_programs
from cameo import PROGRAMS, Skip, Tap, Workshop, expect, need
from interpreted import marks
from task_program import TaskProgram, run, snapshot

SOURCE = os.path.join(PROGRAMS, "go", "tasks", "main.go")
GROWN = 25
COUNTS = {("chan receive", "receive"): 1200, ("chan send", "send"): 300, ("select", "choose"): 200,
          ("sync.Mutex.Lock", "lock"): 100, ("sync.WaitGroup.Wait", "wait"): 70, ("sync.Cond.Wait", "condition"): 50,
          ("sleep", "sleep"): 40, ("sync.RWMutex.RLock", "readLock"): 30, ("semacquire", "accept"): 9,
          ("IO wait", "accept"): 1}
# Releases before these have no reasons of their own for locks: they wait in semacquire.
LOCKS = {"sync.Mutex.Lock": 20, "sync.RWMutex.RLock": 20, "sync.WaitGroup.Wait": 24}
# Releases since which goroutines or reasons differ, and the last one.
LAYOUTS = {18, 20, 21, 23, 24, 25, 27}
VARIANTS = {"plain": (), "stripped": ("-ldflags=-s -w",),
            "pie and trimmed": ("-buildmode=pie", "-trimpath", "-ldflags=-s -w")}


def build(shop, go, name, *flags):
    return go_programs.build(shop, go, name, "tasks/main.go", *flags)


class Program(TaskProgram):
    """The program in a mode; it answers questions about its own goroutines."""

    def __init__(self, path, mode):
        super().__init__([path, mode])

    def dump(self):
        """Returns the program's own dump."""
        return "\n".join(self.lines("dump"))


def place(group):
    """The innermost function of the program itself."""
    return next((f for f in group["stack"] if f["function"].startswith("main.") and f["file"].endswith("main.go")), None)


def minor(snap):
    return int(snap["version"].split(".")[1])


def expected(snap):
    """The counts by reason and function, as the release names the reasons."""
    out = collections.Counter()
    for (reason, function), n in COUNTS.items():
        out["semacquire" if minor(snap) < LOCKS.get(reason, 0) else reason, "main." + function] += n
    return out


def counts(path):
    """Numbers, reasons and lines of 2,001 goroutines in known places are exact"""
    at = marks(SOURCE)[0]
    with Program(path, "counts") as p:
        snap = snapshot(p.pid)
        own = int(p.ask("count"))
    expect(snap["tasks"] == own == 2001, snap["tasks"], own)
    expect(not any(snap[k] for k in ("unread", "changed", "incomplete", "invalid")), snap)
    seen = collections.Counter()
    for g in snap["groups"]:
        where = place(g)
        if g["state"] == "waiting":
            seen[g["reason"], where["function"]] += g["count"]
            expect(where["line"] in at[where["function"].removeprefix("main.")], where, at)
            expect(g["stack"][-1]["function"] == "main.start", g)
    expect(seen == expected(snap), seen, expected(snap))


def own_stacks(text):
    """Functions of the program and their lines, by stack, of the program's own dump."""
    out = collections.Counter()
    for one in text.split("\n\n"):
        calls = re.findall(r"^(?:created by )?(main\.\S+?)(?:\(.*\)| in goroutine \d+)?\n\t\S*?(\w+\.go):(\d+)", one, re.MULTILINE)
        if one.startswith("goroutine ") and "[running]" not in one:
            out[tuple((name, int(line)) for name, _, line in calls)] += 1
    return out


def stacks(path):
    """Stacks are those of the program's own dump, with its lines"""
    with Program(path, "counts") as p:
        snap = snapshot(p.pid)
        own = own_stacks(p.dump())
    seen = collections.Counter()
    for g in snap["groups"]:
        calls = tuple((f["function"], f["line"]) for f in g["stack"] if f["function"].startswith("main."))
        if g["state"] == "waiting":
            seen[calls] += g["count"]
    # wrappers that the compiler generates for the go statement are not in the dump
    plain = collections.Counter()
    for calls, n in seen.items():
        plain[tuple(c for c in calls if ".gowrap" not in c[0])] += n
    expect(plain == own, plain - own, own - plain)


def times(path):
    """After a collection of garbage, the waiting time is known and within the time of the test"""
    with Program(path, "counts") as p:
        expect(p.ask("gc") == "done")
        p.ask("gc")
        snap = snapshot(p.pid)
    group = next(g for g in snap["groups"] if g["count"] == 1200)
    expect(group["timed"] == 1200, group)
    expect(0 < group["longest_ns"] < cameo.DEADLINE_S * 1e9, group)


def deadlock(path):
    """One command explains a deadlock that Go's own detector does not see"""
    with Program(path, "deadlock") as p:
        r = run("-p", str(p.pid))
        snap = snapshot(p.pid)
    lines = {place(g)["line"] for g in snap["groups"] if place(g)["function"] == "main.transfer"}
    expect(lines == marks(SOURCE)[0]["transfer"], lines)
    if minor(snap) < go_programs.LOCK_RECORDED:
        expect(not snap["circles"], snap["circles"])
        raise Skip(f"goroutines of Go {snap['version']} do not record the lock that they wait for")
    expect(re.search(r"^Deadlock: 2 goroutines wait for each other:\n"
                     r"( +\d+ · main\.go:\d+ · \S+ at 0x\w+, which \d+ appears to hold\n){2}", r.stdout, re.MULTILINE),
           r.stdout, r.stderr)
    expect(len(snap["circles"]) == 1 and len(snap["circles"][0]) == 2, snap["circles"])


def growth(path):
    """--watch names the group that grows, and by how much"""
    with Program(path, "50") as p:
        first, grown = p.watch(lambda: p.ask("grow"), lambda groups: [g for g in groups if g.get("growth")])
    expect(first["tasks"] == 51, first)
    waiting = [g for g in grown if g["state"] == "waiting"]
    expect(len(waiting) == 1 and waiting[0]["growth"] == GROWN and waiting[0]["count"] == GROWN, grown)


def changing(path):
    """Goroutines that start and end meanwhile are never invalid, and the others remain exact"""
    with Program(path, "spin") as p:
        for _ in range(10):
            snap = snapshot(p.pid)
            still = [g for g in snap["groups"] if g["count"] >= 900 and g["reason"] == "chan receive"]
            expect(len(still) == 1 and still[0]["count"] == 1000, snap["groups"])
            expect(not snap["invalid"] and not snap["unread"], snap)
            expect(1009 <= snap["tasks"] <= 1009 + 64, snap["tasks"])


def many(path):
    """A sample of 300,000 goroutines is read, and counts are scaled"""
    with Program(path, "300000") as p:
        snap = snapshot(p.pid, "--max", "100000", "--timeout", "60s")
    expect(snap["one_in"] == 4 and not snap["unread"], snap["one_in"], snap["unread"])
    expect(abs(snap["tasks"] - 300001) < 0.03 * 300000, snap["tasks"])


def profiles(path, shop):
    """The profile has as many tasks as the program, and so have the folded stacks"""
    out = shop.path("tasks.pb.gz")
    with Program(path, "counts") as p:
        r = run("-p", str(p.pid), "-o", out)
        folded = run("-p", str(p.pid), "--folded").stdout
    expect(r.returncode == 0, r.stderr)
    own = [line for line in folded.splitlines() if "main.main" in line or "main.start" in line]
    expect(sum(int(line.rsplit(" ", 1)[1]) for line in own) == 2001, folded)
    report = subprocess.run([cameo.CAMEO, "report", out], capture_output=True, text=True, check=False)
    expect("tasks:" in report.stdout, report.stdout, report.stderr)


def refusals():
    """Other programs, and processes that have ended, are errors of one line"""
    with subprocess.Popen(["sleep", "100"]) as p:
        r = run("-p", str(p.pid))
        p.kill()
    expect(r.returncode == 1 and r.stderr.count("\n") == 1 and "no runtime" in r.stderr, r.stderr)
    r = run("-p", str(p.pid))
    expect(r.returncode == 1 and r.stderr.count("\n") == 1, r.stderr)
    expect(run().returncode == 2)


def ends(path):
    """A process may end while it is read"""
    for delay in (0, 0.002, 0.01, 0.03):
        with Program(path, "100000") as p:
            timer = threading.Timer(delay, p.process.kill)
            timer.start()
            r = run("-p", str(p.pid), "--json")
            timer.join()
        expect(r.returncode in (0, 1) and "reader" not in r.stderr, r.stderr)


def is_stopped_never(path):
    """No tracer is attached and no signal is sent: the state of the process's threads is unchanged"""
    with Program(path, "counts") as p:
        strace = subprocess.run(["strace", "-f", "-qq", "-e", "trace=ptrace,kill,tgkill,pidfd_send_signal", cameo.CAMEO, "tasks", "-p",
                                 str(p.pid), "--json"], capture_output=True, text=True, check=False)
    expect("ptrace(" not in strace.stderr, strace.stderr)
    expect(not re.search(rf"kill\({p.pid}\b", strace.stderr), strace.stderr)


def releases(tap, shop):
    for i, go in enumerate(go_programs.toolchains(LAYOUTS)):
        version = subprocess.run([go, "version"], capture_output=True, text=True, check=False,
                                 env=dict(os.environ, GOTOOLCHAIN="local")).stdout.split()[2:3]
        if go == "go" or not version:
            continue
        path = None
        with contextlib.suppress(cameo.Failure):
            path = build(shop, go, f"release-{i}")
        if path is None:
            tap.skip(f"{version[0]}: counts", "its toolchain does not build the program")
            continue
        tap.run(f"{version[0]}: counts", counts, path)
        tap.run(f"{version[0]}: deadlock", deadlock, path)


def main():
    tap = Tap()
    need("go")
    with Workshop() as shop:
        for name, flags in VARIANTS.items():
            tap.run(f"Go, {name}: counts", counts, build(shop, "go", name, *flags))
        path = shop.path("plain")
        for test in (stacks, times, deadlock, growth, changing, many, ends):
            tap.run(test.__doc__, test, path)
        tap.run(profiles.__doc__, profiles, path, shop)
        tap.run(refusals.__doc__, refusals)
        if cameo.shutil.which("strace"):
            tap.run(is_stopped_never.__doc__, is_stopped_never, path)
        releases(tap, shop)
    tap.done()


main()
