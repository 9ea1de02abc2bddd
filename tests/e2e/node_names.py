#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of functions in Node programs, and the share of time of each.

V8's own profiler records the same run. It names a method without its class and does not report all
inlined calls, so the cumulative time of functions is compared. That run also writes a perf map,
which has names for the same code.
"""
import collections
import glob
import gzip
import json
import os
import re
import subprocess

from cameo import CAMEO, PROGRAMS, Tap, Workshop, expect, need_bpf, record
from interpreted import runtimes
from pprof import fields, get, numbers

PROGRAM = "node/names.js"
MS = 1500
COLUMNS_MS = 2000  # a busy machine may need half a second of it until functions are known
SHARE_APART = 0.12  # allowed difference in shares; the smallest function has a twelfth of the time
NAMES = ["Shape.area", "Shape.scaled", "Shape.unit", "Shape.get size|Shape.size", "Shape.corners",
         "Shape.later", "Anonymous.area", "Old.method", "short", "object.long",
         "object.nested.arrow", "evaluated", "callbacks", "spin", "all"]
OTHERS = ["assembled", "wasm-function[0]"]
COLLECTS, COLLECTOR = "v8::internal::Heap::CollectGarbage(", "(garbage collection)"


def find_node(tap):
    found = runtimes("node", PROGRAM)
    if not found:
        tap.skip("node", "it is not installed")
    return found


def base(name):
    """Returns a function's name in the form of V8's profiler."""
    return re.split(r"[. ]", name)[-1]


def shares_of_stacks(stacks):
    """Returns {function: its share of the weight of STACKS}; STACKS is {tuple of names: weight}."""
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
    for names in NAMES + OTHERS:
        expect(seen & set(names.split("|")), f"{names} is missing in", *sorted(
            n for n in seen if "::" not in n))
    # where the file documents the reason
    collecting = [s for s in recording.stacks if any(n.startswith(COLLECTS) for n in s.frames)]
    for stack in collecting:
        expect(COLLECTOR in stack.frames, *stack.frames)
    stale = sum(s.count for s in recording.stacks if "[stale function]" in s.frames)
    all_of_them = sum(s.count for s in recording.stacks)
    expect(stale * 20 < all_of_them, f"{stale} of {all_of_them} stacks with stale functions")


def judge_perf_map(recording, directory):
    """Expects one frame per function, from V8's objects and not again from the perf map."""
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


def places_of(path, function):
    """Returns {(line, column): samples that have it} of FUNCTION in a pprof file."""
    with gzip.open(path) as f:
        message = list(fields(f.read()))
    strings = [v.decode() for n, v in message if n == 6]
    mine = {get(v, 1) for n, v in message if n == 5 and strings[get(v, 2)] == function}
    places = {get(v, 1): [(get(line, 2), get(line, 3)) for n, line in fields(v)
                          if n == 4 and get(line, 1) in mine] for n, v in message if n == 4}
    found = collections.Counter()
    for n, v in message:
        if n == 2:
            for place in {p for i in numbers(get(v, 1)) for p in places[i]}:
                found[place] += numbers(get(v, 2))[0]
    return found


def judge_columns(shop, runtime):
    """Expects the lines of calls that V8 shows for an error."""
    out = shop.path("columns.pb.gz")
    program = os.path.join(os.path.dirname(runtime.path), "columns.js")
    r = subprocess.run([CAMEO, "record", "-F", "499", "-o", out, "--", *runtime.command, program,
                        str(COLUMNS_MS)], capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    right = {(int(line), int(column)) for line, column in
             re.findall(r"at called .*columns\.js:(\d+):(\d+)", r.stdout)}
    found = places_of(out, "called")
    expect(len(right) == 2 and right <= set(found), right, found)
    expect(sum(found[p] for p in right) > 0.8 * sum(found.values()), right, found)


def main():
    need_bpf()
    tap = Tap()
    for runtime in find_node(tap):
        recording = record("--", *runtime.command, runtime.path, str(MS), freq=499)
        tap.run(f"{runtime.name}: names", judge_names, recording)
        with Workshop() as shop:
            tap.run(f"{runtime.name}: columns", judge_columns, shop, runtime)
        if not runtime.path.startswith(PROGRAMS):
            continue  # its files have another root directory
        with Workshop() as shop:
            directory = shop.path("profiles")
            os.makedirs(directory)
            recording = record("--", *runtime.command, "--cpu-prof", "--cpu-prof-dir", directory,
                               "--perf-basic-prof", runtime.path, str(MS), freq=499,
                               cwd=directory)  # V8 leaves a log there
            tap.run(f"{runtime.name}: shares as in V8's profiler", judge_shares, recording, directory)
            tap.run(f"{runtime.name}: a perf map duplicates no frames", judge_perf_map, recording,
                    directory)
    tap.done()


main()
