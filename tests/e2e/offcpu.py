#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time off the CPU, judged by what each program measured of itself.

A program's truth of a function is the clock's time in it less the thread's own CPU time: what
the machine's load adds is in both, so nothing here depends on how busy it is.
"""
import ctypes
import errno
import json
import os
import platform
import shutil
import struct
import subprocess

from cameo import CAMEO, DEADLINE_S, PROGRAMS, SYS_BPF, Skip, Tap, Workshop, cameo, end, expect, \
    is_whole, need, need_bpf, Stack
from pprof import Profile

TURNS = 60
ENOUGH_NS = 50_000_000  # of a wait, to be judged
NEAR = 0.05
SUM_NEAR = 0.02

BPF_LINK_CREATE = 28
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x50000, 0x7fff0000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # words of a filter


# ---- what was recorded -------------------------------------------------------------


class Waits:
    """A profile of where threads wait, and what the program said of itself."""

    def __init__(self, path, said, truth, value):
        with open(path, "rb") as f:
            profile = Profile(f.read())
        self.types = profile.types
        self.at = [t for t, _ in profile.types].index(value)
        self.samples = profile.samples
        self.path, self.said = path, said
        words = [line.split() for line in truth.splitlines()]
        self.truth = {w[0]: (int(w[1]), int(w[2])) for w in words if len(w) == 3}

    def under(self, function):
        return [s for s in self.samples if function in s[0]]

    def total(self, samples):
        return sum(s[2][self.at] for s in samples)

    def show(self, samples):
        lines = [f"{s[2]} {s[1].get('thread')} {s[1].get('state')} {s[1].get('wait')} "
                 f"{';'.join(s[0][-12:])}" for s in samples]
        return "\n".join(sorted(lines, key=lambda s: -len(s))[:12] + [self.said])

    def judge(self, function, wait):
        """The function's time is the truth's, and most of it is a WAIT."""
        truth = self.truth[function][0]
        ours = self.under(function)
        total = self.total(ours)
        threads = {s[1].get("tid") for s in ours}
        # the CPU is taken away between the function and the reading of the clock, too
        beside = self.total(s for s in self.samples
                            if s[1].get("tid") in threads and s not in ours and
                            s[1]["state"] == "preempted")
        expect(truth >= ENOUGH_NS, f"{function} waited {truth} ns")
        expect(-NEAR * truth <= truth - total <= NEAR * truth + beside,
               f"{function}: {total} ns, truth {truth} ns, preempted beside it {beside} ns",
               self.show(ours))
        whole = [s for s in ours if is_whole(Stack("", s[0], 0))]
        expect(self.total(whole) >= 0.99 * total, self.show(ours))
        reasons = [s for s in ours if s[1].get("wait") == wait]
        expect(self.total(reasons) >= 0.9 * total, f"{function} waits for {wait}:",
               self.show(ours))


def record(shop, *command, how="--off-cpu", value="off_cpu", options=()):
    out = shop.path("waits.pb.gz")
    r = subprocess.run([CAMEO, "record", how, *options, "-o", out, "--", *command],
                       capture_output=True, text=True, check=False, timeout=DEADLINE_S,
                       stdin=subprocess.DEVNULL)
    expect(r.returncode == 0, r.stderr)
    return Waits(out, r.stderr, r.stdout, value)


# ---- programs of known waits -----------------------------------------------------------


def native_program(shop):
    return shop.c("waits", "-pthread")


def native(tap, shop):
    program = native_program(shop)
    waits = record(shop, program, str(TURNS), shop.path("disk"))
    for function, wait, what in (("wait_sleep", "sleep", "sleep"),
                                 ("wait_lock", "futex", "a lock"),
                                 ("wait_pipe", "pipe", "a pipe"),
                                 ("wait_fault", "page fault", "a page fault"),
                                 ("wait_child", "child", "a child"),
                                 ("wait_disk", "disk", "a slow disk"),
                                 ("wait_page", "page fault", "a page of a slow disk"),
                                 ("wait_sync", "disk", "the disk that is here")):
        name = f"C's time off the CPU is told where it waits: {what}"
        if waits.truth.get(function, (0, 0))[0] < ENOUGH_NS:
            tap.skip(name, "it does not wait for that here")
        elif function == "wait_sync":
            tap.run(name, disk_is_near, waits)
        else:
            tap.run(name, waits.judge, function, wait)
    tap.run("a thread's time off the CPU is its whole time less its CPU time", thread_total, waits)
    tap.run("what is idle is left out when that is asked for, and told", hide_idle, waits)


def disk_is_near(waits):
    """What the file system does when it waits is its own business."""
    truth, total = waits.truth["wait_sync"][0], waits.total(waits.under("wait_sync"))
    expect(abs(total - truth) <= NEAR * truth, f"{total} ns, truth {truth} ns",
           waits.show(waits.under("wait_sync")))


def thread_total(waits):
    for thread in ("wait_sleep", "wait_pipe"):
        ours = [s for s in waits.samples if s[1].get("thread") == thread]
        truth = waits.truth[thread][0]
        expect(abs(waits.total(ours) - truth) <= NEAR * truth,
               f"{thread}: {waits.total(ours)} ns, truth {truth} ns", waits.show(ours))


def hide_idle(waits):
    r = cameo("report", "--hide-idle", "--json", waits.path)
    expect(r.returncode == 0 and "--hide-idle left out " in r.stderr, r.stderr)
    left = {row["name"]: row["total"] for row in json.loads(r.stdout)["rows"]}
    # where it waits for a CPU is not hidden
    share = {f: left.get(f, 0) / waits.total(waits.under(f)) for f in ("wait_lock", "wait_sleep")}
    expect(share["wait_lock"] > 0.9 and share["wait_sleep"] < 0.5, share)


def python(shop):
    program = os.path.join(PROGRAMS, "python", "waits.py")
    waits = record(shop, shutil.which("python3"), program, str(TURNS))
    waits.judge("py_sleep", "sleep")
    waits.judge("py_lock", "futex")


def java(shop):
    need("java", "javac")
    r = subprocess.run(["javac", "-d", shop.dir, os.path.join(PROGRAMS, "java", "Waits.java")],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    waits = record(shop, shutil.which("java"), "-cp", shop.dir, "Waits", str(TURNS))
    waits.judge("Waits.javaSleep", "futex")
    waits.judge("Waits.javaLock", "futex")


def go(shop):
    need("go")
    r = subprocess.run(["go", "build", "-o", shop.path("gowaits"), "./waits"],
                       cwd=os.path.join(PROGRAMS, "go"), capture_output=True, text=True,
                       check=False, env={**os.environ, "GOENV": "off", "GOFLAGS": "-mod=mod",
                                         "GOTOOLCHAIN": "local", "GOPROXY": "off"})
    expect(r.returncode == 0, r.stderr)
    waits = record(shop, shop.path("gowaits"), str(TURNS))
    waits.judge("main.goSleep", "sleep")
    waits.judge("main.goPipe", "pipe")


# ---- kinds of recordings -----------------------------------------------------------------


def wall(shop):
    """On and off are in one profile, and are the thread's time together."""
    waits = record(shop, native_program(shop), str(TURNS), how="--wall", value="wall",
                   options=("-F", "997"))  # at 99 Hz a sample is 2 % of the thread's time
    expect([t for t, _ in waits.types] == ["samples", "cpu", "off_cpu", "wall"], waits.types)
    for function in ("wait_sleep", "wait_pipe"):
        truth = waits.truth[function][1]
        ours = [s for s in waits.samples if s[1].get("thread") == function]
        more = waits.total(ours) - truth
        # before it read the clock, and after that, it may have waited for a CPU
        beside = waits.total(s for s in ours if s[1]["state"] in ("preempted", "runnable", "new"))
        expect(-SUM_NEAR * truth <= more <= SUM_NEAR * truth + beside,
               f"{function}: {waits.total(ours)} ns, truth {truth} ns, for a CPU {beside} ns",
               waits.show(ours))
        expect(all(s[2][3] == s[2][1] + s[2][2] for s in ours), waits.show(ours))
        expect(all((s[1]["state"] == "running") == (s[2][2] == 0) for s in ours),
               waits.show(ours))


def lock(shop):
    """Only what waited for locks is left."""
    waits = record(shop, native_program(shop), str(TURNS), how="--lock")
    waits.judge("wait_lock", "futex")
    expect({s[1].get("wait") for s in waits.samples} == {"futex"}, waits.show(waits.samples))
    expect(not waits.under("wait_sleep") and "of it for locks" in waits.said,
           waits.show(waits.samples))


def off_min(shop):
    """What is left out is said."""
    waits = record(shop, native_program(shop), str(TURNS), options=("--off-min", "100s"))
    expect(not waits.total(waits.samples), waits.show(waits.samples))
    expect("left out: " in waits.said and " waits below --off-min" in waits.said, waits.said)


def asleep(shop, group=None):
    """A thread that sleeps from before the beginning to the end; known by its process, or cgroup."""
    out = shop.path("asleep.pb.gz")
    program = native_program(shop)
    with subprocess.Popen([program, "0"], stdin=subprocess.PIPE) as sleeper:
        try:
            while True:  # until it has got there
                with open(f"/proc/{sleeper.pid}/wchan", encoding="ascii") as f:
                    if "pipe" in f.read():
                        break
            if group:
                with open(f"{group}/cgroup.procs", "w", encoding="ascii") as f:
                    f.write(str(sleeper.pid))
            which = ("--cgroup", group) if group else ("-p", str(sleeper.pid))
            r = cameo("record", "--off-cpu", "-d", "1", "-o", out, *which)
        finally:
            end(sleeper)
    expect(r.returncode == 0, r.stderr)
    waits = Waits(out, r.stderr, "", "off_cpu")
    ours = waits.under("wait_input")
    expect({s[1]["pid"] for s in waits.samples} == {sleeper.pid}, waits.show(waits.samples))
    with open(out, "rb") as f:
        duration = Profile(f.read()).duration_ns
    expect(abs(waits.total(ours) - duration) <= NEAR * duration, f"of {duration}:",
           waits.show(waits.samples))
    expect(all(is_whole(Stack("", s[0], 0)) and s[1]["wait"] == "pipe" for s in ours),
           waits.show(ours))


# ---- held from outside ------------------------------------------------------------------


def can_hold(group):
    """Can a process be put there, and is it one of those that can be frozen?"""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        try:
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(process.pid))
        except OSError:
            return False
        finally:
            end(process)
    return os.path.exists(f"{group}/cgroup.freeze")


def freezer():
    """A new cgroup of the second hierarchy that can be frozen; None where there is none."""
    for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        group = f"{top}/cameo-held-{os.getpid()}"
        if not os.path.exists(f"{top}/cgroup.controllers"):
            continue
        try:
            os.mkdir(group)
        except OSError:
            continue
        if can_hold(group):
            return group
        os.rmdir(group)
    return None


def in_cgroup(tap, shop):
    name, group = "a thread that sleeps all the time is told of its cgroup", freezer()
    if not group:
        tap.skip(name, "no cgroup can be made here")
        return
    try:
        tap.run(name, asleep, shop, group)
    finally:
        os.rmdir(group)


def held(tap, shop):
    ways = (("stop", "stopped", "is stopped"), ("trace", "traced", "is traced"),
            ("kill", "sleeping", "is killed while it waits"), ("freeze", "frozen", "is frozen"))
    group = freezer()
    try:
        waits = record(shop, shop.c("held", "-pthread"), *filter(None, (group,)))
    finally:
        if group:
            os.rmdir(group)
    for way, state, what in ways:
        name = f"a process that {what} is told once, and why"
        if way == "freeze" and not group:
            tap.skip(name, "no cgroup that can be frozen can be made here")
        else:
            tap.run(name, is_held, waits, f"held_{way}", state)
    tap.run("a thread that is moved between CPUs while it sleeps is told once", waits.judge,
            "wait_moved", "sleep")
    tap.run("a thread that comes and goes while others wait is told once", waits.judge,
            "wait_short", "sleep")


def is_held(waits, name, state):
    """It was in that STATE as long as it was held, and its time is the clock's."""
    ours = [s for s in waits.samples if s[1].get("thread") == name]
    there = [s for s in ours if "wait_held" in s[0]]
    found = waits.total(s for s in there if s[1]["state"] == state)
    beside = waits.total(s for s in ours if s[1]["state"] in ("preempted", "runnable"))
    least, most = waits.truth[f"{name}.held"]
    expect(least - NEAR * least - beside <= found <= most + NEAR * most,
           f"{found} ns {state}, held for {least} to {most} ns", waits.show(ours))
    expect(all(is_whole(Stack("", s[0], 0)) for s in there), waits.show(there))
    if name in waits.truth:  # the killed one can't say
        truth, total = waits.truth[name][0], waits.total(there)
        expect(-NEAR * truth <= truth - total <= NEAR * truth + beside,
               f"{total} ns, truth {truth} ns", waits.show(ours))


# ---- what comes and goes, and what is refused ---------------------------------------------


def many_threads(shop):
    """Threads that come and go leave nothing behind, and their time is told."""
    need("python3")
    code = ("import threading\n"
            "for _ in range(3000):\n"
            "    t = threading.Thread(target=lambda: None); t.start(); t.join()")
    waits = record(shop, shutil.which("python3"), "-c", code)
    expect("no room" not in waits.said and waits.samples, waits.said)
    new = [s for s in waits.samples if s[1]["state"] == "new"]
    expect(new and {s[0] for s in new} == {("[thread not started]",)}, waits.show(waits.samples))


def refuse_links():
    """No program can be attached by a link: those at the scheduler's tracepoints are."""
    words = ((LOAD, 0, 0, 0), (EQUAL, 0, 3, SYS_BPF[platform.machine()]),  # the call's number
             (LOAD, 0, 0, 16), (EQUAL, 0, 1, BPF_LINK_CREATE),  # its first argument
             (RETURN, 0, 0, SECCOMP_RET_ERRNO | errno.EOPNOTSUPP),
             (RETURN, 0, 0, SECCOMP_RET_ALLOW))
    code = b"".join(struct.pack("<HBBI", *w) for w in words)
    code = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("<HxxxxxxQ", len(words), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(program)):
        raise OSError(ctypes.get_errno(), "no filter")


def unattachable(shop):
    """Where the scheduler's tracepoints are refused, one line says so and the rest goes on."""
    out = shop.path("refused.pb.gz")
    says = "can't attach to the scheduler's tracepoints: Operation not supported"
    try:
        wall = cameo("record", "--wall", "-F", "997", "-o", out, "--", shop.c("chain"), "200",
                     preexec_fn=refuse_links)
    except subprocess.SubprocessError as e:
        raise Skip(f"no filter of system calls here: {e}") from e
    waits = Waits(out, wall.stderr, "", "wall")
    expect(wall.returncode == 0 and wall.stderr.count("off the CPU") == 1 and says in wall.stderr,
           wall.stderr)
    expect(any("hot" in s[0] for s in waits.samples), waits.show(waits.samples))
    alone = cameo("record", "--off-cpu", "-o", out, "--", "true", preexec_fn=refuse_links)
    expect(alone.returncode == 1 and alone.stderr == f"cameo: {says}\n", alone.stderr)


def cameo_where(setup, *args):
    """Run cameo where SETUP has changed what is mounted below /sys, for it alone."""
    r = subprocess.run(["unshare", "--mount", "--propagation", "unchanged", "--", "sh", "-c",
                        f"mount --make-rprivate /sys && {setup} || exit 77; exec \"$@\"", "sh", CAMEO,
                        *args], capture_output=True, text=True, check=False, timeout=DEADLINE_S,
                       stdin=subprocess.DEVNULL)
    if r.returncode == 77 or "unshare" in r.stderr:
        raise Skip(f"nothing can be mounted here: {r.stderr}")
    return r


def no_tracepoint(shop):
    """Where the kernel has no such tracepoint, one line says what is needed and the rest goes on."""
    types, out = "/sys/kernel/btf/vmlinux", shop.path("none.pb.gz")
    with open(types, "rb") as f, open(shop.path("types"), "wb") as other:
        other.write(f.read().replace(b"\0btf_trace_sched_switch\0", b"\0btf_trace_sched_swotch\0"))
    setup = f"mount --bind {shop.path('types')} {types}"
    says = "this kernel has no tracepoint sched_switch"
    both = cameo_where(setup, "record", "--wall", "-F", "997", "-o", out, "--", shop.c("chain"), "200")
    expect(both.returncode == 0 and both.stderr.count(f"no time off the CPU: {says}") == 1, both.stderr)
    waits = Waits(out, both.stderr, "", "samples")
    expect(any("hot" in s[0] for s in waits.samples), waits.show(waits.samples))
    alone = cameo_where(setup, "record", "--off-cpu", "-o", out, "--", "true")
    expect(alone.returncode == 1 and alone.stderr.startswith(f"cameo: {says}") and
           alone.stderr.count("\n") == 1 and "needed" in alone.stderr, alone.stderr)


def no_tracefs(shop):
    """Where tracefs is not mounted, nothing is different."""
    out = shop.path("tracefs.pb.gz")
    r = cameo_where("for d in tracing debug; do "
                    "[ ! -d /sys/kernel/$d ] || mount -t tmpfs none /sys/kernel/$d; done",
                    "record", "--off-cpu", "-o", out, "--", "sleep", "0.1")
    expect(r.returncode == 0, r.stderr)
    waits = Waits(out, r.stderr, "", "off_cpu")
    slept = waits.total(s for s in waits.samples if s[1].get("wait") == "sleep")
    expect(slept >= ENOUGH_NS, waits.show(waits.samples))


def refusals():
    """What does not go together is said."""
    for args, why in ((("--off-cpu", "--wall"), "only one of"), (("--off-min", "1ms"), "goes with"),
                      (("--off-cpu", "-e", "page-faults"), "-e is not for"),
                      (("--off-cpu", "--off-min", "soon"), "takes a time")):
        r = cameo("record", *args, "-d", "1")
        expect(r.returncode == 2 and why in r.stderr, args, r.stderr)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        native(tap, shop)
        tap.run("Python's time off the CPU is told where it waits", python, shop)
        tap.run("Java's time off the CPU is told where it waits", java, shop)
        tap.run("Go's time off the CPU is told where it waits", go, shop)
        tap.run("--wall is what runs and what waits together", wall, shop)
        tap.run("--lock is only what waits for locks", lock, shop)
        tap.run("--off-min leaves out, and says so", off_min, shop)
        tap.run("a thread that sleeps all the time is told", asleep, shop)
        in_cgroup(tap, shop)
        held(tap, shop)
        tap.run("threads may come and go", many_threads, shop)
        tap.run("without the scheduler's tracepoints the rest goes on", unattachable, shop)
        tap.run("without a tracepoint the rest goes on", no_tracepoint, shop)
        tap.run("without tracefs all goes on", no_tracefs, shop)
        tap.run("options that do not go together", refusals)
    tap.done()


main()
