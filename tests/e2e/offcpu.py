#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time off the CPU, judged by what each program measured of itself.

The expected time of a function is its wall-clock time less the thread's CPU time. The load of the
machine is in both, so no result depends on it.
"""
import ctypes
import errno
import json
import os
import platform
import shutil
import struct
import subprocess

from cameo import CAMEO, DEADLINE_S, PROGRAMS, SYS_BPF, Skip, Tap, Workshop, cameo, end, expect, expect_refused, \
    is_whole, need, need_bpf, Stack
from pprof import Profile

TURNS = 60
ENOUGH_NS = 50_000_000  # the least total wait that is judged
NEAR = 0.05
SUM_NEAR = 0.02

BPF_LINK_CREATE = 28
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x50000, 0x7fff0000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # words of a filter


# ---- profiles of waits -------------------------------------------------------------


class Waits:
    """A profile of where threads wait, and the program's own measurements."""

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
        """Expects the measured time of FUNCTION, most of it with the reason WAIT."""
        truth = self.truth[function][0]
        ours = self.under(function)
        total = self.total(ours)
        threads = {s[1].get("tid") for s in ours}
        # the program can also lose the CPU between the function and the reading of the clock
        beside = self.total(s for s in self.samples
                            if s[1].get("tid") in threads and s not in ours and
                            s[1]["state"] == "preempted")
        expect(truth >= ENOUGH_NS, f"{function} waited for only {truth} ns")
        expect(-NEAR * truth <= truth - total <= NEAR * truth + beside,
               f"{function}: {total} ns instead of {truth} ns, preempted in addition {beside} ns",
               self.show(ours))
        whole = [s for s in ours if is_whole(Stack("", s[0], 0))]
        expect(self.total(whole) >= 0.99 * total, self.show(ours))
        reasons = [s for s in ours if s[1].get("wait") == wait]
        expect(self.total(reasons) >= 0.9 * total, f"{function}: reasons other than {wait}:",
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
                                 ("wait_sync", "disk", "the disk of this machine")):
        name = f"C's time off the CPU is reported where it waits: {what}"
        if waits.truth.get(function, (0, 0))[0] < ENOUGH_NS:
            tap.skip(name, "this machine causes no such wait")
        elif function == "wait_sync":
            tap.run(name, disk_is_near, waits)
        else:
            tap.run(name, waits.judge, function, wait)
    tap.run("a thread's time off the CPU is its whole time less its CPU time", thread_total, waits)
    tap.run("idle threads are hidden on request, and the summary reports it", hide_idle, waits)


def disk_is_near(waits):
    """The frames of a waiting file system are not checked."""
    truth, total = waits.truth["wait_sync"][0], waits.total(waits.under("wait_sync"))
    expect(abs(total - truth) <= NEAR * truth, f"{total} ns instead of {truth} ns",
           waits.show(waits.under("wait_sync")))


def thread_total(waits):
    for thread in ("wait_sleep", "wait_pipe"):
        ours = [s for s in waits.samples if s[1].get("thread") == thread]
        truth = waits.truth[thread][0]
        expect(abs(waits.total(ours) - truth) <= NEAR * truth,
               f"{thread}: {waits.total(ours)} ns instead of {truth} ns", waits.show(ours))


def hide_idle(waits):
    r = cameo("report", "--hide-idle", "--json", waits.path)
    expect(r.returncode == 0 and "--hide-idle excluded " in r.stderr, r.stderr)
    left = {row["name"]: row["total"] for row in json.loads(r.stdout)["rows"]}
    # waits for a CPU are not hidden
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
    """Expects running and waiting samples in one profile, with the thread's whole time as their sum."""
    waits = record(shop, native_program(shop), str(TURNS), how="--wall", value="wall",
                   options=("-F", "997"))  # at 99 Hz a sample is 2 % of the thread's time
    expect([t for t, _ in waits.types] == ["samples", "cpu", "off_cpu", "wall"], waits.types)
    for function in ("wait_sleep", "wait_pipe"):
        truth = waits.truth[function][1]
        ours = [s for s in waits.samples if s[1].get("thread") == function]
        more = waits.total(ours) - truth
        # it may have waited for a CPU before and after it read the clock
        beside = waits.total(s for s in ours if s[1]["state"] in ("preempted", "runnable", "new"))
        expect(-SUM_NEAR * truth <= more <= SUM_NEAR * truth + beside,
               f"{function}: {waits.total(ours)} ns instead of {truth} ns, {beside} ns on the run queue",
               waits.show(ours))
        expect(all(s[2][3] == s[2][1] + s[2][2] for s in ours), waits.show(ours))
        expect(all((s[1]["state"] == "running") == (s[2][2] == 0) for s in ours),
               waits.show(ours))


def lock(shop):
    """Expects only waits for locks."""
    waits = record(shop, native_program(shop), str(TURNS), how="--lock")
    waits.judge("wait_lock", "futex")
    expect({s[1].get("wait") for s in waits.samples} == {"futex"}, waits.show(waits.samples))
    expect(not waits.under("wait_sleep") and "of it for locks" in waits.said,
           waits.show(waits.samples))


def off_min(shop):
    """Expects the summary to report the omitted waits."""
    waits = record(shop, native_program(shop), str(TURNS), options=("--off-min", "100s"))
    expect(not waits.total(waits.samples), waits.show(waits.samples))
    expect("skipped " in waits.said and " waits below --off-min" in waits.said, waits.said)


def asleep(shop, group=None):
    """Records a thread that sleeps all the time, selected by its process or its cgroup."""
    out = shop.path("asleep.pb.gz")
    program = native_program(shop)
    with subprocess.Popen([program, "0"], stdin=subprocess.PIPE) as sleeper:
        try:
            while True:  # until the thread sleeps
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


# ---- threads stopped by others ----------------------------------------------------------


def can_hold(group):
    """Returns whether a process can be moved to GROUP and frozen there."""
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
    """Creates a cgroup (version 2) that can be frozen. Returns None where that is impossible."""
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
    name, group = "a thread that sleeps all the time is reported for its cgroup", freezer()
    if not group:
        tap.skip(name, "cannot create a cgroup")
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
        name = f"a process that {what} is reported once, with the reason"
        if way == "freeze" and not group:
            tap.skip(name, "cannot create a cgroup that can be frozen")
        else:
            tap.run(name, is_held, waits, f"held_{way}", state)
    tap.run("a thread that is moved between CPUs while it sleeps is reported once", waits.judge,
            "wait_moved", "sleep")
    tap.run("a thread that starts and ends while others wait is reported once", waits.judge,
            "wait_short", "sleep")


def is_held(waits, name, state):
    """Expects the thread to be in STATE all the time, for the duration that the clock measured."""
    ours = [s for s in waits.samples if s[1].get("thread") == name]
    there = [s for s in ours if "wait_held" in s[0]]
    found = waits.total(s for s in there if s[1]["state"] == state)
    beside = waits.total(s for s in ours if s[1]["state"] in ("preempted", "runnable"))
    least, most = waits.truth[f"{name}.held"]
    expect(least - NEAR * least - beside <= found <= most + NEAR * most,
           f"{found} ns {state}, held for {least} to {most} ns", waits.show(ours))
    expect(all(is_whole(Stack("", s[0], 0)) for s in there), waits.show(there))
    if name in waits.truth:  # a killed process does not report its time
        truth, total = waits.truth[name][0], waits.total(there)
        expect(-NEAR * truth <= truth - total <= NEAR * truth + beside,
               f"{total} ns instead of {truth} ns", waits.show(ours))


# ---- short threads and missing features -----------------------------------------------------


def many_threads(shop):
    """Expects short threads to be reported and to leave nothing behind."""
    need("python3")
    code = ("import threading\n"
            "for _ in range(3000):\n"
            "    t = threading.Thread(target=lambda: None); t.start(); t.join()")
    waits = record(shop, shutil.which("python3"), "-c", code)
    expect("no room" not in waits.said and waits.samples, waits.said)
    new = [s for s in waits.samples if s[1]["state"] == "new"]
    expect(new and {s[0] for s in new} == {("[thread not started]",)}, waits.show(waits.samples))


def refuse_links():
    """Prevents attaching BPF programs by a link, as those at the scheduler's tracepoints are."""
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
    """Expects one line about refused tracepoints, and CPU samples nevertheless."""
    out = shop.path("refused.pb.gz")
    says = "cannot attach to the scheduler's tracepoints: Operation not supported"
    try:
        wall = cameo("record", "--wall", "-F", "997", "-o", out, "--", shop.c("chain"), "200",
                     preexec_fn=refuse_links)
    except subprocess.SubprocessError as e:
        raise Skip(f"cannot install a seccomp filter: {e}") from e
    waits = Waits(out, wall.stderr, "", "wall")
    expect(wall.returncode == 0 and wall.stderr.count("cannot record off-CPU time: ") == 1 and says in wall.stderr,
           wall.stderr)
    expect(any("hot" in s[0] for s in waits.samples), waits.show(waits.samples))
    alone = cameo("record", "--off-cpu", "-o", out, "--", "true", preexec_fn=refuse_links)
    expect(alone.returncode == 1 and alone.stderr == f"cameo record: {says}\n", alone.stderr)


def cameo_where(setup, *args):
    """Runs cameo in a mount namespace in which SETUP has changed the mounts below /sys."""
    r = subprocess.run(["unshare", "--mount", "--propagation", "unchanged", "--", "sh", "-c",
                        f"mount --make-rprivate /sys && {setup} || exit 77; exec \"$@\"", "sh", CAMEO,
                        *args], capture_output=True, text=True, check=False, timeout=DEADLINE_S,
                       stdin=subprocess.DEVNULL)
    if r.returncode == 77 or "unshare" in r.stderr:
        raise Skip(f"cannot mount anything here: {r.stderr}")
    return r


def no_tracepoint(shop):
    """Expects one line about a missing tracepoint, and CPU samples nevertheless."""
    types, out = "/sys/kernel/btf/vmlinux", shop.path("none.pb.gz")
    with open(types, "rb") as f, open(shop.path("types"), "wb") as other:
        other.write(f.read().replace(b"\0btf_trace_sched_switch\0", b"\0btf_trace_sched_swotch\0"))
    setup = f"mount --bind {shop.path('types')} {types}"
    says = "this kernel has no tracepoint sched_switch"
    both = cameo_where(setup, "record", "--wall", "-F", "997", "-o", out, "--", shop.c("chain"), "200")
    expect(both.returncode == 0 and both.stderr.count(f"cannot record off-CPU time: {says}") == 1, both.stderr)
    waits = Waits(out, both.stderr, "", "samples")
    expect(any("hot" in s[0] for s in waits.samples), waits.show(waits.samples))
    alone = cameo_where(setup, "record", "--off-cpu", "-o", out, "--", "true")
    expect(alone.returncode == 1 and alone.stderr.startswith(f"cameo record: {says}") and
           alone.stderr.count("\n") == 1 and "CONFIG_TRACEPOINTS=y" in alone.stderr, alone.stderr)


def no_tracefs(shop):
    """Expects the same result without a mounted tracefs."""
    out = shop.path("tracefs.pb.gz")
    r = cameo_where("for d in tracing debug; do "
                    "[ ! -d /sys/kernel/$d ] || mount -t tmpfs none /sys/kernel/$d; done",
                    "record", "--off-cpu", "-o", out, "--", "sleep", "0.1")
    expect(r.returncode == 0, r.stderr)
    waits = Waits(out, r.stderr, "", "off_cpu")
    slept = waits.total(s for s in waits.samples if s[1].get("wait") == "sleep")
    expect(slept >= ENOUGH_NS, waits.show(waits.samples))


def refusals():
    """Expects options that cannot be used together to be refused."""
    expect_refused((("--off-cpu", "--wall"), "cannot be used together"), (("--off-min", "1ms"), "--off-min requires"),
                   (("--off-cpu", "-e", "page-faults"), "--event cannot be used with"),
                   (("--off-cpu", "--off-min", "soon"), "expected a duration"))


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        native(tap, shop)
        tap.run("Python's time off the CPU is reported where it waits", python, shop)
        tap.run("Java's time off the CPU is reported where it waits", java, shop)
        tap.run("Go's time off the CPU is reported where it waits", go, shop)
        tap.run("--wall reports running and waiting time together", wall, shop)
        tap.run("--lock reports only waits for locks", lock, shop)
        tap.run("--off-min omits short waits and reports their number", off_min, shop)
        tap.run("a thread that sleeps all the time is reported", asleep, shop)
        in_cgroup(tap, shop)
        held(tap, shop)
        tap.run("threads may start and end", many_threads, shop)
        tap.run("without the scheduler's tracepoints CPU sampling continues", unattachable, shop)
        tap.run("without a tracepoint CPU sampling continues", no_tracepoint, shop)
        tap.run("without tracefs everything continues", no_tracefs, shop)
        tap.run("options that cannot be used together are refused", refusals)
    tap.done()


main()
