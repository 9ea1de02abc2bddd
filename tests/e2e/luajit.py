#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every installed LuaJIT has known stacks, interpreted and in traces."""
import os
import re
import subprocess

from cameo import CAMEO, DEADLINE_S, ENOUGH, MACHINE, Tap, Workshop, expect, need_bpf, need_here
from interpreted import MS, function_lines, judge_lines, judge_running, judge_shapes, runtimes

TOP = r"(_start|\[.*|__libc_start.*|__clone.*) ... <\w+\.lua> repeat_shape <\w+\.lua:\d+> "
SHAPES = {
    "chain": [TOP + r"gsub ... <shapes\.lua:25> method (hot|<shapes\.lua:5>) ..."],
    "recursion": [TOP + "down " * 151 + "hot ..."],
    "callback": [TOP + r"sort ... <shapes\.lua:49> hot ..."],
    "protected": [TOP + r"pcall (hot|<shapes\.lua:5>) ...",
                  TOP + r"pcall <shapes\.lua:57> (hot|<shapes\.lua:5>) ..."],
    "coroutines": [TOP + r"resume (producer|<shapes\.lua:61>) hot ...",
                   TOP + r"outer <shapes\.lua:71> inner <shapes\.lua:72> (producer|<shapes\.lua:61>) hot ..."],
}
# A trace may count the first instructions of a function that it inlined for the caller; see trace.c.
TRACES = {
    "inlined": [TOP + r"inner leaf ...", TOP + "..."],
    "callback": [TOP + r"qsort ... qsort_r ... <traces\.lua:47> spin ..."],
    "metamethods": [TOP + r"<traces\.lua:35> ..."],
    "variadic": [TOP + r"variadic spin ..."],
}
SHAPES_MS, TRACES_MS = 2 * MS, 3 * MS
INNERMOST = r"hot|spin|leaf|<shapes\.lua:5>|<traces\.lua:(27|35)>"
NOT_READ = r"\[functions not read in time\]"
# On a busy machine it takes seconds until a runtime is known. Stacks before that end at a callback, and
# their functions are not named.
LATE = 0.5
START = r"_start|\[.*|__libc_start.*"


def judge_calls(shop, runtime):
    """The link of a frame that is being made belongs to an earlier call, by which it must not be named."""
    need_here()
    output = shop.path("calls.pb.gz")
    with open(os.devnull, "wb") as null:
        subprocess.run([CAMEO, "record", "-F", str(MACHINE.frequency(3997)), "-o", output, "--", *runtime.run(MS)],
                       stdout=null, stderr=null, check=True, timeout=DEADLINE_S)
    starts = {name: {start for start, _ in places} for name, places in function_lines(output).items()}
    found = {name: lines for name, lines in starts.items() if re.fullmatch(r"f\d+", name)}
    wrong = {name: lines for name, lines in found.items() if lines != {int(name[1:])}}
    print(f"# {len(found)} functions")
    expect(len(found) >= ENOUGH and not wrong, f"of {len(found)} names {len(wrong)} are those of other functions:", wrong)


def judge(tap, shop, shapes, traces, calls):
    """SHAPES, TRACES and CALLS: an interpreter with each of the programs."""
    tap.run(f"{calls.name}: calls and returns", judge_calls, shop, calls.told("-joff", ["-joff"]))
    for mode in ([], ["-joff"]):
        runtime = shapes.told(mode[0], mode) if mode else shapes
        path = judge_shapes(tap, shop, runtime, SHAPES, f"{INNERMOST}|{NOT_READ}", SHAPES_MS, late=LATE)
        tap.run(f"{runtime.name}: lines", judge_lines, path, runtime, ("method",))
        tap.run(f"{runtime.name}: a running process", judge_running, runtime, SHAPES["chain"][0], INNERMOST, START,
                LATE)
        judge_shapes(tap, shop, traces.told(" ".join(["traces", *mode]), mode), TRACES, f"{INNERMOST}|{NOT_READ}",
                     TRACES_MS, late=LATE)


def main():
    need_bpf()
    tap = Tap()
    found = list(zip(*(runtimes("luajit", f"lua/{name}.lua") for name in ("shapes", "traces", "calls"))))
    if not found:
        tap.skip("luajit", "it is not installed")
    with Workshop() as shop:
        for shapes, traces, calls in found:
            judge(tap, shop, shapes, traces, calls)
    tap.done()


main()
