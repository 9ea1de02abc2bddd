#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on .NET have whole stacks, whose methods have the names of the source.

The runtimes are those that scripts/runtimes unpacks below $CAMEO_CACHE/dotnet.
"""
import glob
import os
import re
import subprocess

import cameo
from cameo import PROGRAMS, Skip, Tap, Workshop, are_rare, end, expect, is_in, need, record, show, spawn

ROOT = os.path.join(os.environ.get("CAMEO_CACHE", "/var/cache/cameo"), "dotnet")
MS = 1500
DOWNLOAD_S = 600
TOP = r"... Shapes\.Program\.Main Shapes\.Program\.Loop "
LEAF = r"Shapes\.Program\.Hot ..."
# Optimized methods with a single call, as Outer and Middle, have no frame pointer.
SHAPES = {
    "chain": [TOP + r"Shapes\.Program\.Outer Shapes\.Program\.Middle " + LEAF],
    "interface": [TOP + rf"Shapes\.Program\.ByInterface Shapes\.{x}\.Step " + LEAF for x in ("Direct", "Other")],
    "delegate": [TOP + r"Shapes\.Program\.ByDelegate Shapes\.Program\.Middle " + LEAF],
    # the second version of a delegate's call inlines it
    "lambda": [TOP + r"Shapes\.Program\.ByLambda ... " + LEAF],
    "generic": [TOP + r"Shapes\.Program\.ByGeneric Shapes\.Box`1\.Run " + LEAF,
                TOP + r"Shapes\.Program\.ByGeneric Shapes\.Box`1\.Inner\.Run " + LEAF],
    "async": [TOP + r"Shapes\.Program\.ShapeOf\.<lambda> Shapes\.Program\.Fetch ... Shapes\.Program\.Fetch " + LEAF,
              r"clone3 ... System\.Threading\.ThreadPoolWorkQueue\.Dispatch ... Shapes\.Program\.Fetch " + LEAF],
    "iterator": [TOP + r"Shapes\.Program\.ByIterator Shapes\.Program\.Items " + LEAF],
    "catch": [TOP + r"Shapes\.Program\.ByCatch ... Shapes\.Program\.ByCatch " + LEAF,
              # in .NET 9 the finally clause is a function of its own
              TOP + r"Shapes\.Program\.ByCatch (Shapes\.Program\.ByCatch|Shapes\.Program\.Middle) ... " + LEAF],
    "callback": [TOP + r"Shapes\.Program\.ByCallback dynamicClass\.IL_STUB_PInvoke ... "
                       r"dynamicClass\.IL_STUB_ReversePInvoke Shapes\.Program\.CompareItems " + LEAF],
    "dynamic": [TOP + r"dynamicClass\.Made " + LEAF],
    "thread": [r"clone3 ... Shapes\.Program\.Main\.<lambda> Shapes\.Program\.Loop Shapes\.Program\.Outer "
               r"Shapes\.Program\.Middle " + LEAF],
}


def assembly(shop):
    """Compiles the program, which runs on every version."""
    need("mcs")
    out = shop.path("shapes.dll")
    r = subprocess.run(["mcs", "-nologo", "-langversion:7", "-optimize+", f"-out:{out}",
                        os.path.join(PROGRAMS, "dotnet", "shapes.cs")], capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stdout, r.stderr)
    return out


def host(shop):
    out = shop.path("run_dotnet")
    r = subprocess.run(["gcc", "-O2", os.path.join(PROGRAMS, "dotnet", "host.c"), "-o", out, "-ldl"],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    return out


def command(runtime, program, dll, *args):
    return ["env", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1", program, runtime, dll, *map(str, args)]


def judge(runtime, program, dll, shape):
    recording = record("--", *command(runtime, program, dll, shape, MS))
    recording.stacks = [s._replace(comm="dotnet") for s in recording.stacks]
    # idle threads of the pool spin for work while "async" hands its tasks to them
    recording.judge("dotnet", *SHAPES[shape], leaf=r"Shapes\.Program\.Hot",
                    most_elsewhere=0.95 if shape == "async" else 0.5)
    unnamed = [s for s in recording.stacks if is_in(s, r"\[(anonymous code|stale function|unreadable function)\]")]
    expect(are_rare(unnamed, recording.stacks), show(unnamed))
    expect("not supported" not in recording.said, recording.said)


def the_doctor(runtime, program, dll, version):
    process = spawn(*command(runtime, program, dll, "chain", 60000))
    try:
        cameo.wait_cpu(process, ms=600)
        p = subprocess.run([cameo.CAMEO, "doctor", "-p", str(process.pid)], capture_output=True, text=True,
                           check=False, timeout=cameo.DEADLINE_S)
    finally:
        end(process)
    expect(re.search(rf"^ok +\.NET {version}\.\d+ +supported: /", p.stdout), p.stdout, p.stderr)


def runtimes():
    """Returns the runtimes' libraries, which are downloaded if there are none, and why there are none then."""
    pattern, why = os.path.join(ROOT, "*", "libcoreclr.so"), ""
    if not glob.glob(pattern):
        try:
            r = subprocess.run([os.path.join(cameo.TOP, "scripts", "runtimes"), "dotnet"], capture_output=True, text=True,
                               check=False, timeout=DOWNLOAD_S)
            why = (r.stderr.strip().splitlines() or ["no reason given"])[-1]
        except subprocess.TimeoutExpired:
            why = f"scripts/runtimes took more than {DOWNLOAD_S} s"
    return sorted(glob.glob(pattern)), why


def main():
    cameo.need_bpf()
    tap = Tap()
    found, why = runtimes()
    with Workshop() as shop:
        try:
            if not found:
                raise Skip(f"the runtimes cannot be downloaded: {why}")
            dll, program = assembly(shop), host(shop)
        except Skip as e:
            found = []
            tap.skip(".NET", e)
        for path in found:
            runtime = os.path.dirname(path)
            version = os.path.basename(runtime)
            for shape in SHAPES:
                tap.run(f".NET {version}: {shape}", judge, runtime, program, dll, shape)
            tap.run(f".NET {version}: cameo doctor", the_doctor, runtime, program, dll, version)
    tap.done()


main()
