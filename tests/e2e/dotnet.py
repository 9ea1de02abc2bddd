#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on .NET have whole stacks, whose methods have the names of the source.

The runtimes are those of dotnet_runtimes.py.
"""
import re
import subprocess

import cameo
from cameo import RARE, Skip, Tap, Workshop, are_rare, end, expect, is_in, record, show, spawn
from dotnet_runtimes import all_runtimes, command

MS = 600
TOP = r"... Shapes\.Program\.Main Shapes\.Program\.Loop "
LEAF = r"Shapes\.Program\.Hot ..."
# libc has a name for it with debugging symbols only
THREAD = r"(clone3|\[thread.start\])"
# Optimized methods with a single call, as Outer and Middle, have no frame pointer.
SHAPES = {
    "chain": [TOP + r"Shapes\.Program\.Outer Shapes\.Program\.Middle " + LEAF],
    "interface": [TOP + rf"Shapes\.Program\.ByInterface Shapes\.{x}\.Step " + LEAF for x in ("Direct", "Other")],
    "delegate": [TOP + r"Shapes\.Program\.ByDelegate Shapes\.Program\.Middle " + LEAF],
    # the second version of a delegate's call inlines it
    "lambda": [TOP + r"Shapes\.Program\.ByLambda ... " + LEAF],
    "generic": [TOP + r"Shapes\.Program\.ByGeneric Shapes\.Box`1\.Run " + LEAF,
                TOP + r"Shapes\.Program\.ByGeneric Shapes\.Box`1\.Inner\.Run " + LEAF],
    # .NET 10 inlines the first call of the state machine
    "async": [TOP + r"Shapes\.Program\.ShapeOf\.<lambda> Shapes\.Program\.Fetch ... " + LEAF,
              rf"{THREAD} ... System\.Threading\.ThreadPoolWorkQueue\.Dispatch ... Shapes\.Program\.Fetch " + LEAF],
    "iterator": [TOP + r"Shapes\.Program\.ByIterator Shapes\.Program\.Items " + LEAF],
    "catch": [TOP + r"Shapes\.Program\.ByCatch ... Shapes\.Program\.ByCatch " + LEAF,
              # in .NET 9 the finally clause is a function of its own
              TOP + r"Shapes\.Program\.ByCatch (Shapes\.Program\.ByCatch|Shapes\.Program\.Middle) ... " + LEAF],
    "filter": [TOP + r"Shapes\.Program\.ByFilter Shapes\.Program\.Throws ... Shapes\.Program\.ByFilter "
                     r"Shapes\.Program\.IsExpected " + LEAF],
    # the runtime searches for the handler, on top of the method that throws
    "throw": [TOP + r"Shapes\.Program\.ByThrow Shapes\.Program\.Throws ...", TOP + r"Shapes\.Program\.ByThrow ..."],
    "finalizer": [rf"{THREAD} ... Shapes\.Program\.Finalized\.Finalize " + LEAF],
    # storing a reference calls a write barrier, which the runtime copies to where it has no range for code
    "garbage": [TOP + r"Shapes\.Program\.ByGarbage ...", TOP + r"Shapes\.Program\.ByGarbage \[\.NET.stub\]"],
    "callback": [TOP + r"Shapes\.Program\.ByCallback dynamicClass\.IL_STUB_PInvoke ... "
                       r"dynamicClass\.IL_STUB_ReversePInvoke Shapes\.Program\.CompareItems " + LEAF],
    "dynamic": [TOP + r"dynamicClass\.Made " + LEAF],
    "thread": [rf"{THREAD} ... Shapes\.Program\.Main\.<lambda> Shapes\.Program\.Loop Shapes\.Program\.Outer "
               r"Shapes\.Program\.Middle " + LEAF],
}

# Shapes that depend on structures of the runtime that differ between versions, and on those that a servicing release
# could change.
SINGLE_SHAPES = ("chain", "generic", "async", "catch", "filter", "garbage", "callback", "dynamic")
SERVICING_SHAPES = ("chain", "callback")
# Shapes that are run with settings that change where code is and how it is compiled.
SETTINGS = {"without W^X": (("callback", "dynamic"), "DOTNET_EnableWriteXorExecute=0"),
            "without tiers": (("chain", "filter"), "DOTNET_TieredCompilation=0")}
# Until the walk of the language is loaded, the agent walks the stacks of a new process later: some are incomplete then,
# because memory beyond the copy of the stack may have changed.
LATE = {"garbage": 0.1}
# On a busy machine it takes a part of the program's time until its runtime is known, in a file of 70 MB above all.
UNKNOWN = 0.5
# Code within this function is judged; default: Hot.
WITHIN = {"throw": r"Shapes\.Program\.ByThrow", "garbage": r"Shapes\.Program\.ByGarbage|\[anonymous.code\]"}


def judge(runtime, shape, *settings):
    recording = record("--", "env", *settings, *command(runtime, shape, MS))
    recording.stacks = [s._replace(comm="dotnet") for s in recording.stacks]
    # idle threads of the pool spin for work while "async" hands its tasks to them
    recording.judge("dotnet", *SHAPES[shape], leaf=WITHIN.get(shape, r"Shapes\.Program\.Hot"),
                    share=1 - LATE.get(shape, RARE),
                    most_elsewhere=0.95 if shape == "async" else 0.5)
    unnamed = [s for s in recording.stacks if is_in(s, r"\[(anonymous code|stale function|unreadable function)\]")]
    expect(are_rare(unnamed, recording.stacks, UNKNOWN), show(unnamed))
    expect("not supported" not in recording.said, recording.said)


def the_doctor(runtime):
    process = spawn(*command(runtime, "chain", 60000))
    try:
        cameo.wait_cpu(process, ms=600)
        p = subprocess.run([cameo.CAMEO, "doctor", "-p", str(process.pid)], capture_output=True, text=True,
                           check=False, timeout=cameo.DEADLINE_S)
    finally:
        end(process)
    version = re.escape(runtime.version) if runtime.is_single else rf"{runtime.version}\.\d+\.\d+"
    expect(re.search(rf"^ok +\.NET {version} +supported: /", p.stdout, re.M), p.stdout, p.stderr)


def main():
    cameo.need_bpf()
    tap = Tap()
    with Workshop() as shop:
        try:
            found = all_runtimes(shop)
        except Skip as e:
            found = []
            tap.skip(".NET", e)
        for i, runtime in enumerate(found):
            is_last = i == len(found) - 1
            name = f".NET {runtime.version}{' in one file' if runtime.is_single else ''}"
            for shape in SHAPES if not runtime.is_single else SINGLE_SHAPES if is_last else SERVICING_SHAPES:
                tap.run(f"{name}: {shape}", judge, runtime, shape)
            for setting, (shapes, variable) in SETTINGS.items():
                for shape in () if runtime.is_single and not is_last else shapes:
                    tap.run(f"{name} {setting}: {shape}", judge, runtime, shape, variable)
            tap.run(f"{name}: cameo doctor", the_doctor, runtime)
    tap.done()


main()
