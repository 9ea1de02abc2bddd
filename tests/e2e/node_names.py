#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What functions of Node programs are called, and how much of the time each has.

V8's own profiler is asked about the same run. It names a method without its class, and does not
tell all that was inlined: what is compared is the time of a function with what it calls. That run
writes a perf map, too, which has names for the same code.
"""
import collections
import glob
import json
import os
import re

from cameo import PROGRAMS, Tap, Workshop, expect, need_bpf, record
from interpreted import runtimes

PROGRAM = "node/names.js"
MS = 1500
SHARE_APART = 0.12  # of the program's time; the least of them has a twelfth
NAMES = ["Shape.area", "Shape.scaled", "Shape.unit", "Shape.get size|Shape.size", "Shape.corners",
         "Shape.later", "Anonymous.area", "Old.method", "short", "object.long",
         "object.nested.arrow", "evaluated", "callbacks", "spin", "all"]


def find_node(tap):
    found = runtimes("node", PROGRAM)
    if not found:
        tap.skip("node", "there is none here")
    return found


def base(name):
    """A function's name as V8's profiler has it."""
    return re.split(r"[. ]", name)[-1]


def shares_of_stacks(stacks):
    """{function: the part of the weight of STACKS, {tuple of names: weight}, that has it}"""
    total, whole = collections.Counter(), 0
    for names, weight in stacks.items():
        mine = {base(n) for n in names}
        if "spin" in mine:
            whole += weight
            for name in mine:
                total[name] += weight
    return {name: weight / whole for name, weight in total.items()} if whole else {}


def find_profile(directory):
    return glob.glob(os.path.join(directory, "*.cpuprofile"))[0]


def shares_by_v8(directory):
    with open(find_profile(directory), encoding="utf-8") as f:
        profile = json.load(f)
    nodes = {n["id"]: n for n in profile["nodes"]}
    parents = {c: n["id"] for n in profile["nodes"] for c in n.get("children", ())}
    stacks = collections.Counter()
    for node, n in collections.Counter(profile["samples"]).items():
        names = []
        while node:
            names.append(nodes[node]["callFrame"]["functionName"])
            node = parents.get(node)
        stacks[tuple(names)] += n
    return shares_of_stacks(stacks)


def judge_shares(recording, directory):
    stacks = collections.Counter()
    for stack in recording.stacks:
        stacks[tuple(stack.frames)] += stack.count
    mine = shares_of_stacks(stacks)
    theirs = shares_by_v8(directory)
    expect(mine and theirs, "nothing ran", mine, theirs)
    for name in sorted({base(n.split("|")[0]) for n in NAMES}):
        apart = abs(mine.get(name, 0) - theirs.get(name, 0))
        expect(apart < SHARE_APART, f"{name}: {mine.get(name, 0):.2f} of the time, for V8 "
               f"{theirs.get(name, 0):.2f}")


def judge_names(recording):
    seen = {name for stack in recording.stacks for name in stack.frames}
    for names in NAMES:
        expect(seen & set(names.split("|")), f"{names} is not among", *sorted(
            n for n in seen if "::" not in n))
    stale = sum(s.count for s in recording.stacks if "[stale function]" in s.frames)
    all_of_them = sum(s.count for s in recording.stacks)
    expect(stale * 20 < all_of_them, f"{stale} of {all_of_them} stacks with stale functions")


def judge_perf_map(recording, directory):
    """A function has one frame: by V8's objects, not once more by the map."""
    pid = os.path.basename(find_profile(directory)).split(".")[3]
    path = f"/tmp/perf-{pid}.map"
    expect(os.path.exists(path), f"no {path} was written")
    with open(path, encoding="utf-8", errors="replace") as f:
        expect(re.search(r":\S*spin ", f.read()), f"{path} has no name for spin")
    os.unlink(path)
    seen = collections.Counter()
    for stack in recording.stacks:
        seen["once", [base(n) for n in stack.frames].count("spin") == 1] += stack.count
        seen["mapped", any(re.match(r"[A-Z]\w+:[*~^+]?\w", n) for n in stack.frames)] += stack.count
    expect(seen["once", True] > seen["once", False], dict(seen))
    expect(seen["mapped", True] * 50 < seen["mapped", False], dict(seen))


def main():
    need_bpf()
    tap = Tap()
    for runtime in find_node(tap):
        recording = record("--", *runtime.command, runtime.path, str(MS), freq=499)
        tap.run(f"{runtime.name}: names", judge_names, recording)
        if not runtime.path.startswith(PROGRAMS):
            continue  # its files are in another root
        with Workshop() as shop:
            directory = shop.path("profiles")
            os.makedirs(directory)
            recording = record("--", *runtime.command, "--cpu-prof", "--cpu-prof-dir", directory,
                               "--perf-basic-prof", runtime.path, str(MS), freq=499,
                               cwd=directory)  # it leaves a log
            tap.run(f"{runtime.name}: as V8's own profiler", judge_shares, recording, directory)
            tap.run(f"{runtime.name}: a perf map doubles no names", judge_perf_map, recording,
                    directory)
    tap.done()


main()
