#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo record --memory=heap reads the heap profile of a Go program from outside.

The oracle is the program itself: its own profile, as /debug/pprof/heap would return it, and the functions with known
numbers of allocations. Both profiles are read by `go tool pprof -raw`.
"""
import collections
import itertools
import os
import re
import subprocess

import cameo
import go_programs
from cameo import Tap, Workshop, expect, need
from task_program import TaskProgram

# Releases since which the records are found or written differently.
LAYOUTS = {18, 19, 21, 23, 24}


class Program(TaskProgram):
    """The program with a rate; it allocates and writes its own profile."""

    def __init__(self, path, rate, **env):
        super().__init__([path, str(rate)], env)

    def profile(self, path):
        expect(self.ask("profile " + path) == "done")
        return raw(path)


def record(pid, path, *args):
    return subprocess.run([cameo.CAMEO, "record", "--memory=heap", "-p", str(pid), "-o", path, *args],
                          capture_output=True, text=True, check=False, timeout=cameo.DEADLINE_S)


def read(pid, path):
    r = record(pid, path)
    expect(r.returncode == 0, r.stderr)
    for gap in ("INCOMPLETE", "invalid", "changed"):
        expect(gap not in r.stderr, r.stderr)
    return raw(path), r.stderr


def raw(path):
    """Returns the header of a profile, and the sums of values by (stack, block size), as pprof reads it."""
    r = subprocess.run(["go", "tool", "pprof", "-raw", "-symbolize=none", path], capture_output=True, text=True, check=False,
                       env=go_programs.environment())
    expect(r.returncode == 0, r.stderr)
    head, rest = r.stdout.split("Samples:\n")
    samples, rest = rest.split("Locations\n")
    locations = frames(rest.split("Mappings\n")[0])
    lines = samples.splitlines()
    sums = collections.defaultdict(lambda: [0] * 4)
    for i, line in enumerate(lines[1:], 1):
        sample = re.fullmatch(r"\s*((?:-?\d+\s+){3}-?\d+): ?([\d ]*)", line)
        if not sample:
            continue
        labels = itertools.takewhile(lambda line: re.match(r"\s+[a-z]+:\[", line), lines[i + 1:])
        size = re.search(r"bytes:\[(\d+)", " ".join(labels))
        stack = tuple(f for at in sample[2].split() for f in locations[at])
        values = [int(v) for v in sample[1].split()]
        if any(values):
            key = (stack, int(size[1]) if size else 0)
            sums[key] = [a + b for a, b in zip(sums[key], values)]
    head = [line for line in head.splitlines() if line.startswith("Period")]
    return head + [lines[0].replace("[dflt]", "")], dict(sums)


def frames(text):
    """The functions, files and lines of each location, innermost first."""
    out = {}
    for line in text.splitlines():
        first = re.match(r"\s+(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*)", line)
        if first:
            number = first[1]
            out[number] = []
        call = re.match(r"(.+) (\S*):(\d+):\d+ s=\d+", first[2] if first else line.strip())
        out[number].append(call.groups() if call else line)
    return out


def equal(ours, own):
    expect(ours[0] == own[0], ours[0], own[0])
    differing = {k: (ours[1].get(k), own[1].get(k)) for k in ours[1].keys() | own[1].keys() if ours[1].get(k) != own[1].get(k)}
    expect(not differing, len(differing), len(own[1]), list(differing.items())[:3])


def by_function(profile, function):
    """Sums of samples whose innermost function of the program is this one."""
    out = [0] * 4
    for (stack, _), values in profile[1].items():
        first = next((f[0] for f in stack if f[0].startswith("main.")), "")
        if first == "main." + function:
            out = [a + b for a, b in zip(out, values)]
    return out


def at_rest(shop, path, rate):
    """The profile is that of the program, to the last byte"""
    with Program(path, rate) as p:
        p.ask("gc")
        own = p.profile(shop.path("own.pb.gz"))
        equal(read(p.pid, shop.path("ours.pb.gz"))[0], own)
        p.ask("allocate")
        p.ask("gc")
        own = p.profile(shop.path("own.pb.gz"))
        equal(read(p.pid, shop.path("ours.pb.gz"))[0], own)
    expect(len(own[1]) >= (20 if rate == 1 else 3), len(own[1]))


def known(shop, path):
    """With a rate of 1, allocations by function are what the program has allocated and holds"""
    with Program(path, 1) as p:
        p.ask("gc")
        profile, said = read(p.pid, shop.path("ours.pb.gz"))
    expect("every allocation is recorded" in said, said)
    expect(by_function(profile, "drop") == [240, 200 * 8192 + 40 * 13568, 0, 0], by_function(profile, "drop"))
    blocks = sum(v[3] for (stack, size), v in profile[1].items() if stack[0][0] == "main.keep" and size == 5376)
    expect(blocks == 100 * 5376, blocks)
    expect(by_function(profile, "inner")[:2] == [50, 50 * 1152], by_function(profile, "inner"))


def unpublished(shop, path):
    """Before the first collection of garbage, recent allocations count, as in the program's own profile"""
    with Program(path, 1) as p:
        ours, said = read(p.pid, shop.path("ours.pb.gz"))
        own = p.profile(shop.path("own.pb.gz"))
    expect("no garbage collection has ended" in said, said)
    # the program allocates to write its own
    for profile in (ours, own):
        for key in [k for k in profile[1] if any(f[0] in ("main.write", "main.answer") for f in k[0])]:
            del profile[1][key]
        for key in [k for k in profile[1] if not any(f[0] in ("main.allocate", "main.drop") for f in k[0])]:
            del profile[1][key]
    equal(ours, own)
    expect(len(ours[1]) > 20, len(ours[1]))


def several_cycles(shop, path):
    """Between collections, only what was published counts, whatever the number of the cycle"""
    with Program(path, 1) as p:
        for _ in range(4):
            p.ask("gc")
            p.ask("allocate")
            ours = read(p.pid, shop.path("ours.pb.gz"))[0]
            equal(ours, p.profile(shop.path("own.pb.gz")))


def deepest(shop, path):
    """Stack traces that the runtime has limited end with the callers of its last inlined call"""
    with Program(path, 1, GODEBUG="profstackdepth=63") as p:
        p.ask("gc")
        own = p.profile(shop.path("own.pb.gz"))
        equal(read(p.pid, shop.path("ours.pb.gz"))[0], own)
    expect(any(sum(f[0] == "main.recurse" for f in stack) > 8 for stack, _ in own[1]), "no deep stack")


def busy(shop, path):
    """A program that allocates and collects all the time is read, and what changed is counted"""
    with Program(path, 1) as p:
        for _ in range(5):
            p.process.stdin.write("allocate\ngc\n" * 20)
            p.process.stdin.flush()
            r = record(p.pid, shop.path("ours.pb.gz"))
            expect(r.returncode == 0, r.stderr)
            values = raw(shop.path("ours.pb.gz"))[1].values()
            if "changed" not in r.stderr:
                expect(all(v >= 0 for sample in values for v in sample), r.stderr)
            for _ in range(40):
                expect(p.process.stdout.readline() == "done\n")


def several(shop, path):
    """Several programs are one profile, with the process as label"""
    with Program(path, 1) as a, Program(path, 0) as b:
        a.ask("gc")
        b.ask("gc")
        out = shop.path("both.folded")
        r = record(f"{a.pid},{b.pid}", out)
        expect(r.returncode == 0, r.stderr)
        expect(r.stderr.count("one sample every 512.00kB") == r.stderr.count("every allocation") == 1, r.stderr)
        out = shop.path("both.pb.gz")
        expect(record(f"{a.pid},{b.pid}", out).returncode == 0)
        text = subprocess.run(["go", "tool", "pprof", "-raw", out], capture_output=True, text=True, check=True).stdout
    for pid in (a.pid, b.pid):
        expect(f"pid:[{pid}]" in text, text[:3000])


def refusals(shop):
    """Programs without a heap profile are refused with the reason"""
    silent = go_programs.build(shop, "go", "tasks", "tasks/main.go")
    with TaskProgram([silent, "counts"]) as p:
        r = record(p.pid, shop.path("none.pb.gz"))
    expect(r.returncode == 1 and "Go's linker disables it" in r.stderr, r.stderr)
    r = record(os.getpid(), shop.path("none.pb.gz"))
    expect(r.returncode == 1 and "is not a Go program" in r.stderr, r.stderr)
    expect(not os.path.exists(shop.path("none.pb.gz")))
    for args in (("-d", "3"), ("--no-kernel",), ("--max-stack", "4")):
        r = record(os.getpid(), shop.path("none.pb.gz"), *args)
        expect(r.returncode == 2 and "--memory=heap" in r.stderr, args, r.stderr)


def release(tap, shop, go):
    version = go_programs.version(go)
    plain = go_programs.build(shop, go, "plain-" + version, "heap/main.go")
    stripped = go_programs.build(shop, go, "stripped-" + version, "heap/main.go", "-buildmode=pie", "-ldflags=-s -w")
    for rate in (1, 0, 4096):
        tap.run(f"{version}, rate {rate}: {at_rest.__doc__}", at_rest, shop, plain, rate)
    for test, path in ((at_rest, stripped), (known, stripped), (unpublished, plain), (several_cycles, plain), (deepest, plain)):
        tap.run(f"{version}{', stripped PIE' * (path == stripped)}: {test.__doc__}", test, shop, path, *[4096] * (test == at_rest))
    return plain


def main():
    tap = Tap()
    need("go")
    with Workshop() as shop:
        paths = [release(tap, shop, go) for go in go_programs.toolchains(LAYOUTS)]
        for test in (busy, several):
            tap.run(test.__doc__, test, shop, paths[0])
        tap.run(refusals.__doc__, refusals, shop)
    tap.done()


main()
