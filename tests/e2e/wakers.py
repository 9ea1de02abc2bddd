#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The threads that end waits (--wakers), judged by programs that wake in known ways."""
import os
import re
import shutil
import subprocess

from cameo import CAMEO, DEADLINE_S, PROGRAMS, Tap, Workshop, cameo, end, expect, expect_refused, need, need_bpf, \
    need_here
from pprof import Profile

TURNS = 40
RIGHT = 0.95  # the least share of a wait's time that must have the right waker
CHAIN = 0.85  # the same for a chain, each part of which may be sampled or not on a busy machine
ENOUGH_NS = 30_000_000
NEAR = 0.05
WAITS = ("sleeping", "uninterruptible")


class Wakers:
    """A profile of waits with wakers."""

    def __init__(self, path, said):
        with open(path, "rb") as f:
            profile = Profile(f.read())
        self.at = [t for t, _ in profile.types].index("off_cpu")
        self.samples, self.said, self.path = profile.samples, said, path

    def ns(self, samples):
        return sum(s[2][self.at] for s in samples)

    def show(self, samples):
        lines = [f"{self.ns([s])} {s[1].get('thread')} {s[1].get('state')} {';'.join(s[0])}"
                 for s in sorted(samples, key=lambda s: -self.ns([s]))]
        return "\n".join(lines[:8] + [self.said])

    def waits(self, function):
        """Returns the waits in FUNCTION, without the time on the run queue."""
        return [s for s in self.samples if s[1]["state"] in WAITS and function in own(s)]

    def judge(self, function, *chain):
        """Expects most time in FUNCTION to be ended by CHAIN: dividers and functions, in order."""
        ours = self.waits(function)
        right = [s for s in ours if has_in_order(s[0][len(own(s)):], chain)]
        total, share = self.ns(ours), CHAIN if sum("woken by" in c for c in chain) > 1 else RIGHT
        expect(total >= ENOUGH_NS, f"{function} waited for only {total} ns", self.show(self.samples))
        expect(self.ns(right) >= share * total,
               f"{function}: {self.ns(right)} of {total} ns are ended by {' '.join(chain)}",
               self.show([s for s in ours if s not in right]))


def is_divider(frame):
    return frame.startswith("[woken by ") or frame in ("[waker unknown]", "[not woken yet]")


def own(sample):
    """Returns the frames of the waiting thread."""
    frames = sample[0]
    return frames[:next((i for i, f in enumerate(frames) if is_divider(f)), len(frames))]


def has_in_order(frames, chain):
    rest = iter(frames)
    return all(any(re.fullmatch(pattern, f) for f in rest) for pattern in chain)


def record(shop, *command, options=("--off-cpu",)):
    out = shop.path("wakers.pb.gz")
    r = subprocess.run([CAMEO, "record", "--wakers", *options, "-o", out, "--", *command],
                       capture_output=True, text=True, check=False, timeout=DEADLINE_S,
                       stdin=subprocess.DEVNULL)
    expect(r.returncode == 0, r.stderr)
    return Wakers(out, r.stderr), r.stdout


# ---- ways to wake ---------------------------------------------------------------------------


def native_program(shop):
    return shop.c("wakes", "-pthread", "-lrt", "-fno-optimize-sibling-calls")


def native(tap, shop):
    wakers, said = record(shop, native_program(shop), str(TURNS), shop.path("file"))
    ways = [line.split() for line in said.splitlines()]
    expect(len(ways) > 20, said, wakers.said)
    for name, kind in ways:
        if name == "pty":
            continue
        who = f"wake_{name}" if kind == "process" else f"wakes/wake_{name}"
        tap.run(f"the waker is reported: {name}, by a {kind}", native_way, wakers, name, who)
    tap.run("a kernel thread that wakes is named as one", wakers.judge, "wait_pty",
            r"\[woken by kernel thread kworker\]", "kthread", "worker_thread")
    tap.run("a wait that a timer ends is that of an interrupt", timers, wakers)
    tap.run("the summary reports the share of unknown wakers", summary, wakers)


def native_way(wakers, name, who):
    """Both ways of one name are in one profile, so only the waits that WHO ended are judged."""
    ours = wakers.waits(f"wait_{name}")
    of_who = [s for s in ours if f"[woken by {who}]" in s[0]]
    others = {f for s in ours for f in s[0] if is_divider(f)}
    total, right = wakers.ns(of_who), wakers.ns(s for s in of_who if f"wake_{name}" in s[0])
    expect(total >= ENOUGH_NS, f"{total} ns are ended by {who}", others, wakers.show(ours))
    expect(right >= RIGHT * total, f"{right} of {total} ns with the function", wakers.show(of_who))
    known = wakers.ns(s for s in ours if re.search(rf"^\[woken by (wakes/)?wake_{name}\]$",
                                                   next(filter(is_divider, s[0]), "")))
    expect(known >= RIGHT * wakers.ns(ours), f"{known} of {wakers.ns(ours)} ns", wakers.show(ours))


def timers(wakers):
    wakers.judge("usleep", r"\[woken by interrupt: timer\]", "hrtimer_wakeup", "try_to_wake_up")
    slept = wakers.waits("usleep")
    expect(not any(f.startswith("wake_") for s in slept for f in s[0][len(own(s)):]),
           wakers.show(slept))


def summary(wakers):
    found = re.search(r"(\d+) wakers; they are unknown for ([\d.]+) % of the off-CPU time", wakers.said)
    expect(found and int(found[1]) > 0 and float(found[2]) < 5, wakers.said)
    unknown = wakers.ns(s for s in wakers.samples if s[0] == ("[stack not taken]",) or
                        s[0][len(own(s)):][:1] == ("[waker unknown]",))
    total = wakers.ns(wakers.samples)
    expect(abs(100 * unknown / total - float(found[2])) < 0.2, unknown, total, wakers.said)


def chain(shop):
    """Expects wakers of wakers, in other processes, up to the timer that began it."""
    wakers, _ = record(shop, native_program(shop), "0")
    wakers.judge("wait_last", r"\[woken by wake_middle\]", "wake_middle", r"\[woken by wake_first\]",
                 "wake_first", r"\[woken by interrupt: timer\]", "hrtimer_wakeup")
    wakers.judge("wake_middle", r"\[woken by wake_first\]", "wake_first",
                 r"\[woken by interrupt: timer\]")


def convoy(shop):
    """Expects one command to show for whom threads wait at a lock."""
    program = shop.c("convoy", "-pthread", "-fno-optimize-sibling-calls")
    wakers, _ = record(shop, program, "20", options=("--lock",))
    # glibc 2.41 jumps from pthread_mutex_unlock() to a function that only its debugging symbols name
    wakers.judge("append_to_log", r"\[woken by convoy/worker\]", "append_to_log",
                 r".*pthread_mutex_unlock.*|\[libc\.so\.6\+0x[0-9a-f]+\]", r"\[woken by logreader\]", "read_log", "read")
    r = cameo("report", wakers.path, "--by", "waker", "--limit", "1")
    expect(r.returncode == 0 and r.stdout.endswith("  append_to_log [woken by convoy/worker]\n"), r.stdout, r.stderr)


def other_process(shop):
    """Expects a waker whose process is not selected to be reported with its stack."""
    need_here()
    out = shop.path("other.pb.gz")
    program = native_program(shop)
    with subprocess.Popen([program, "200", shop.path("other")], stdout=subprocess.PIPE) as p:
        try:
            p.stdout.readline()  # a way that a thread ends; a process ends the next
            r = cameo("record", "--off-cpu", "--wakers", "--no-inherit", "-d", "1", "-o", out, "-p",
                      str(p.pid))
        finally:
            end(p)
    expect(r.returncode == 0, r.stderr)
    wakers = Wakers(out, r.stderr)
    expect({s[1]["pid"] for s in wakers.samples} == {p.pid}, wakers.show(wakers.samples))
    # the recording ends at any time, so the last wait may not have ended
    wakers.samples = [s for s in wakers.samples if "[not woken yet]" not in s[0]]
    wakers.judge("wait_pipe", r"\[woken by wake_pipe\]", "main", "wake_pipe", "try_to_wake_up")


# ---- sums ------------------------------------------------------------------------------------


def sums(shop):
    """Expects the time of each wait to be what the program has measured, as without --wakers."""
    program = shop.c("waits", "-pthread")
    wakers, said = record(shop, program, "40", shop.path("disk"))
    truth = {w[0]: int(w[1]) for w in map(str.split, said.splitlines()) if len(w) == 3}
    for function in ("wait_sleep", "wait_lock", "wait_pipe", "wait_child"):
        ours = [s for s in wakers.samples if function in own(s)]
        thread = [s for s in wakers.samples if s[1].get("thread") == function and s not in ours]
        beside = wakers.ns(s for s in thread if s[1]["state"] == "preempted")
        missing = truth[function] - wakers.ns(ours)
        expect(-NEAR * truth[function] <= missing <= NEAR * truth[function] + beside,
               f"{function}: {wakers.ns(ours)} ns instead of {truth[function]} ns", wakers.show(ours))
        expect({s[1]["state"] for s in ours if len(own(s)) < len(s[0])} <= set(WAITS),
               wakers.show(ours))
    wakers.judge("wait_child", r"\[woken by .*\]", "do_exit", "try_to_wake_up")


# ---- interpreters ----------------------------------------------------------------------------


def python(shop):
    need("python3")
    program = os.path.join(PROGRAMS, "python", "wakes.py")
    wakers, _ = record(shop, shutil.which("python3"), program, str(TURNS))
    # a thread that was woken may wait again, for the interpreter's lock
    wakers.samples = [s for s in wakers.samples if "take_gil" not in own(s)]
    wakers.judge("wait_queue", r"\[woken by .*\]", "wake_queue")
    wakers.judge("wait_event", r"\[woken by .*\]", "wake_event")
    wakers.judge("wait_socket", r"\[woken by .*\]", "wake_socket")


def go(shop):
    need("go")
    r = subprocess.run(["go", "build", "-o", shop.path("gowakes"), "./wakes"],
                       cwd=os.path.join(PROGRAMS, "go"), capture_output=True, text=True,
                       check=False, env={**os.environ, "GOENV": "off", "GOFLAGS": "-mod=mod",
                                         "GOTOOLCHAIN": "local", "GOPROXY": "off"})
    expect(r.returncode == 0, r.stderr)
    wakers, _ = record(shop, shop.path("gowakes"), str(TURNS))
    wakers.judge("main.waitPipe", r"\[woken by .*\]", "main.wakePipe")


def java(shop):
    need("java", "javac")
    r = subprocess.run(["javac", "-d", shop.dir, os.path.join(PROGRAMS, "java", "Wakes.java")],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    # where methods are compiled, the threads also wait for the compiler's queue, in any of their functions
    wakers, _ = record(shop, shutil.which("java"), "-Xint", "-cp", shop.dir, "Wakes", str(3 * TURNS))
    wakers.judge("Wakes.waitQueue", r"\[woken by .*\]", "Wakes.wakeQueue")
    wakers.judge("Wakes.waitMonitor", r"\[woken by .*\]", "Wakes.wakeMonitor")


# ---- options and hostile programs ---------------------------------------------------------------


def not_woken(shop):
    """Expects a wait that does not end to have no waker."""
    need_here()
    out = shop.path("asleep.pb.gz")
    with subprocess.Popen(["sleep", "1000"]) as p:
        try:
            r = cameo("record", "--off-cpu", "--wakers", "-d", "1", "-o", out, "-p", str(p.pid))
        finally:
            end(p)
    wakers = Wakers(out, r.stderr)
    expect(wakers.samples and {s[0][-1] for s in wakers.samples} == {"[not woken yet]"},
           wakers.show(wakers.samples))


def storm(shop):
    """Expects wakers that exit at once to be named, in a storm of processes."""
    code = "i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done"
    wakers, _ = record(shop, "/bin/sh", "-c", code)
    ours = [s for s in wakers.samples if s[1]["comm"] == "sh" and s[1].get("wait") == "child" and
            s[1]["state"] == "sleeping"]
    right = wakers.ns(s for s in ours if has_in_order(s[0], [r"\[woken by (true|sh)\]", "do_exit"]))
    expect(right >= RIGHT * wakers.ns(ours) > 0, f"{right} of {wakers.ns(ours)} ns", wakers.show(ours))


def refusals():
    expect_refused((("--wakers",), "--wakers requires --off-cpu"),
                   (("--wakers", "--off-cpu", "--no-kernel"), "--wakers cannot be used with --no-kernel"))


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        native(tap, shop)
        tap.run("wakers of wakers follow, in other processes", chain, shop)
        tap.run("a convoy on a lock is explained up to its cause", convoy, shop)
        tap.run("a waker need not be selected", other_process, shop)
        tap.run("the sums are those without wakers", sums, shop)
        tap.run("Python's queues, events and sockets: the waker is reported", python, shop)
        tap.run("Go: the waker is reported", go, shop)
        tap.run("Java's queues and monitors: the waker is reported", java, shop)
        tap.run("a wait that has not ended has no waker", not_woken, shop)
        tap.run("processes that end at once are wakers", storm, shop)
        tap.run("options that cannot be used together are refused", refusals)
    tap.done()


main()
