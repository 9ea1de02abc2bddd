#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Resident memory, judged by what a program says it holds, and by the kernel's smaps."""
import glob
import os
import re
import signal
import subprocess
import sys

from cameo import CAMEO, DEADLINE_S, Tap, Workshop, cameo, end, expect, need_bpf, until
from pprof import Profile

NEAR = 0.02
MEBIBYTE = 1 << 20
BEFORE, UNSEEN = "[present before the recording]", "[fault not seen]"


def rss(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("Rss:"))


def is_recording_faults(cameo_pid):
    """Faults are recorded once the link to the second tracepoint exists."""
    for path in glob.glob(f"/proc/{cameo_pid}/fdinfo/*"):
        try:
            with open(path, encoding="ascii", errors="replace") as f:
                if "page_fault_kernel" in f.read():
                    return True
        except OSError:
            pass
    return False


class Program:
    """tests/programs/native/memory.c, which holds memory after it has read a line."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.truth, self.child = {}, 0
        expect(self.process.stdout.readline() == "ready\n", "the program did not start")

    def hold(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for line in iter(self.process.stdout.readline, "held\n"):
            name, _, number = line.partition(" ")
            if name == "child":
                self.child = int(number)
            else:
                self.truth[name] = int(number)
        self.rss = {pid: rss(pid) for pid in (self.pid, self.child, os.getpid()) if pid}


class Memory:
    """A profile of resident memory."""

    def __init__(self, path, said):
        with open(path, "rb") as f:
            profile = Profile(f.read())
        self.types, self.samples, self.said = profile.types, profile.samples, said

    def of(self, pid, *functions):
        return sum(values[0] for frames, labels, values in self.samples
                   if labels["pid"] == pid and all(f in frames for f in functions))

    def show(self, pid):
        top = sorted((s for s in self.samples if s[1]["pid"] == pid), key=lambda s: -s[2][0])
        return "\n".join([f"{v[0]} {l} {';'.join(f)}" for f, l, v in top[:20]] + [self.said])


def is_near(a, b):
    return abs(a - b) <= NEAR * b


def record(shop, program, *options):
    out = shop.path("memory.pb.gz")
    recorder = subprocess.Popen([CAMEO, "record", "--memory", "-o", out, *options], stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: is_recording_faults(recorder.pid) or recorder.poll() is not None, "faults are recorded")
        program.hold()
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate(timeout=DEADLINE_S)
    finally:
        end(recorder)
    expect(recorder.returncode == 0, said)
    return Memory(out, said)


class Interpreted(Program):
    """A program whose functions the kernel finds in lists, and which holds memory without any others."""

    SOURCE = """
import mmap, sys, time
HELD = []
def touch_pages(memory):
    for at in range(0, len(memory), mmap.PAGESIZE):
        memory[at] = 1
def fault_for_a_while():
    while time.process_time() < 3:
        touch_pages(mmap.mmap(-1, 1 << 16, mmap.MAP_PRIVATE))
def hold_interpreted():
    HELD.append(mmap.mmap(-1, 1 << 23, mmap.MAP_PRIVATE))
    HELD[0].madvise(mmap.MADV_NOHUGEPAGE)
    touch_pages(HELD[0])
print("ready", flush=True)
sys.stdin.readline()
fault_for_a_while()
hold_interpreted()
print("hold_interpreted", 1 << 23)
print("held", flush=True)
sys.stdin.readline()
"""

    def __init__(self):
        super().__init__(sys.executable, "-c", self.SOURCE)


# ---- tests -------------------------------------------------------------------------


def is_bytes(memory):
    expect(memory.types == [("resident", "bytes")], memory.types)


def sum_is_rss(program, memory):
    for pid in (program.pid, program.child):
        expected = program.rss[pid]
        expect(is_near(memory.of(pid), expected), f"pid {pid}: {memory.of(pid)} bytes instead of {expected}",
               memory.show(pid))


def function_holds(program, memory, name):
    ours, expected = memory.of(program.pid, name), program.truth[name]
    expect(is_near(ours, expected), f"{name}: {ours} bytes instead of {expected}", memory.show(program.pid))


def before(program, memory):
    held = memory.of(program.pid, BEFORE)
    expect(8 * MEBIBYTE <= held <= 11 * MEBIBYTE, f"{held} bytes", memory.show(program.pid))
    expect(memory.of(program.pid, "hold_before") == 0, memory.show(program.pid))


def all_seen(program, memory):
    unseen = memory.of(program.pid, UNSEEN)
    expect(unseen <= MEBIBYTE / 2, f"{unseen} bytes", memory.show(program.pid))


def system_call(program, memory):
    """Innermost is what the kernel did with the memory, not the exception."""
    leaves = {frames[-1] for frames, labels, _ in memory.samples
              if labels["pid"] == program.pid and "hold_read" in frames}
    expect("read_zero" in leaves or "rep_stos_alternative" in leaves, leaves, memory.show(program.pid))
    expect(not any("exc_page_fault" in leaf or "bpf" in leaf for leaf in leaves), leaves)


def child(program, memory):
    """A page whose fault came too fast is attributed to the process that wrote it last, which may be the child."""
    if "came too fast" in memory.said:
        ours = sum(memory.of(program.child, name) for name in ("hold_inherited", "touch_in_child", "hold_written"))
        most = (9 + 7) * MEBIBYTE + program.truth["hold_written"]
        expect(ours <= most or is_near(ours, most), f"{ours} bytes instead of {most}", memory.show(program.child))
        return
    for name, expected in (("hold_inherited", 9 * MEBIBYTE), ("touch_in_child", 7 * MEBIBYTE),
                           ("hold_written", program.truth["hold_written"])):
        ours = memory.of(program.child, name)
        expect(is_near(ours, expected), f"{name}: {ours} bytes instead of {expected}", memory.show(program.child))
    expect(memory.of(program.pid, "touch_in_child") == 0, "the parent has", memory.show(program.pid))


def kinds(program, memory):
    def of(function):
        return {labels["memory"] for frames, labels, _ in memory.samples
                if labels["pid"] == program.pid and function in frames}
    expect(of("hold_written") == {"anonymous"}, memory.show(program.pid))
    expect(of("hold_shared") == {"file"}, memory.show(program.pid))


def others(program, memory):
    """Every process of the machine, also this one, which faulted before the recording began."""
    ours, expected = memory.of(os.getpid()), program.rss[os.getpid()]
    expect(is_near(ours, expected), f"{ours} bytes instead of {expected}", memory.show(os.getpid()))
    expect(len({labels["pid"] for _, labels, _ in memory.samples}) > 3, memory.said)


def native(tap, shop, path):
    program = Program(path)
    try:
        memory = record(shop, program, "-p", str(program.pid))
        tap.run("the only sample type is resident, in bytes", is_bytes, memory)
        tap.run("the sum is the Rss of the process and of its child", sum_is_rss, program, memory)
        for name in program.truth:
            tap.run(f"memory belongs to the function that touched it: {name}", function_holds, program, memory, name)
        tap.run("what was present before the recording is one frame", before, program, memory)
        tap.run("the other memory has a stack", all_seen, program, memory)
        tap.run("memory that a system call touched has the kernel's functions", system_call, program, memory)
        tap.run("a child's memory is that of its parent and its own", child, program, memory)
        tap.run("anonymous memory and that of files have labels", kinds, program, memory)
    finally:
        end(program.process)


def functions_of_lists(program, memory):
    function_holds(program, memory, "hold_interpreted")
    expect(is_near(memory.of(program.pid, "hold_interpreted", "touch_pages"), program.truth["hold_interpreted"]),
           memory.show(program.pid))


def interpreted(tap, shop):
    program = Interpreted()
    try:
        memory = record(shop, program, "-p", str(program.pid))
        tap.run("memory belongs to functions of an interpreter", functions_of_lists, program, memory)
    finally:
        end(program.process)


def machine(tap, shop, path):
    program = Program(path)
    try:
        memory = record(shop, program)
        tap.run("the same holds for a recording of the whole machine: Rss", sum_is_rss, program, memory)
        tap.run("memory of the whole machine includes that of idle processes", others, program, memory)
    finally:
        end(program.process)


def storm_is_recorded(memory):
    """A new program faults hundreds of times before its mappings are known; the rest of the stacks is walked at once."""
    found = re.search(r"(\d+) faults, ([\d.]+) % of their stacks complete, (\d+) lost", memory.said)
    expect(found, memory.said)
    faults, complete, lost = int(found[1]), float(found[2]), int(found[3])
    expect(complete >= 60 and lost <= faults / 20, memory.said)


def storm(tap, shop, path):
    """Short programs that start one after another on all CPUs."""
    program = Program(path)
    loops = [subprocess.Popen(["sh", "-c", "while :; do perl -e 1; python3 -c 'import json'; ls / >/dev/null; done"],
                              start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
             for _ in range(2 * os.cpu_count())]
    try:
        memory = record(shop, program)
        tap.run("a storm of new programs: stacks are whole, and few faults are lost", storm_is_recorded, memory)
    finally:
        for loop in loops:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()
        end(program.process)


def refusals():
    for options in (("-e", "page-faults"), ("--off-cpu",), ("-F", "99"), ("--cgroup", "x"), ("-c", "100000")):
        r = cameo("record", "--memory", *options, "-o", "/dev/null", "-d", "1")
        expect(r.returncode != 0 and "--memory cannot be used with" in r.stderr, options, r.stderr)


def empty(shop):
    """The command has ended before its memory can be read."""
    r = cameo("record", "--memory", "-o", shop.path("empty.pb.gz"), "--", "true")
    expect(r.returncode == 0 and "ended before the recording did" in r.stderr, r.stderr)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        path = shop.c("memory")
        native(tap, shop, path)
        interpreted(tap, shop)
        machine(tap, shop, path)
        storm(tap, shop, path)
        tap.run("a recording of memory alone is possible", refusals)
        tap.run("a process that ended has no memory, and the summary reports that", empty, shop)
    tap.done()


main()
