#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every CPython of Debian and of pyenv has known stacks with known lines.

The interpreter's own frames must not appear between those of the program, unless requested.
"""
import glob
import os
import re
import subprocess

import machine
from cameo import MACHINE, PROGRAMS, SPARE, Skip, Tap, Workshop, expect, is_in, need, need_bpf, need_here, record, show, \
    together, total
from interpreted import Runtime, expect_lines, function_lines, judge_running, marks, \
    record_with_lines, runtimes

MS = MACHINE.ms(400)
PROGRAM = os.path.join(PROGRAMS, "python", "shapes.py")
MAIN = r"(_start|\[libc.*|__libc_start_main.*) ... <module> main "
THREAD = r"((__)?clone3?|\[libc.*|\[thread.start\]) (start_thread|\[libc.*) ... "
WORKER = r"(Thread\.)?_bootstrap (Thread\.)?_bootstrap_inner (Thread\.)?run "
SHAPES = {
    "chain": [MAIN + r"repeat chain key (Thing\.)?method hot ..."],
    "recursion": [MAIN + "repeat recursion " + "down " * 501 + "hot ..."],
    "callback": [MAIN + "repeat callback ... .*qsort.* ... compare hot ..."],
    "generators": [MAIN + "repeat generators generator inner_generator hot ..."],
    "coroutine": [MAIN + "repeat coroutine outer_waiter waiter hot ..."],
    "threads": [THREAD + WORKER + "worker_one spin hot ...",
                THREAD + WORKER + "worker_two spin hot ..."],
    "forked": [MAIN + r"forked repeat chain key (Thing\.)?method hot ..."],
}
SWITCHED = "[incomplete: the stack was being switched]"
INTERNAL = "_PyEval_.*|_?PyObject_(Vector)?[cC]all.*|_PyFunction_.*|call_function"


def pythons():
    """Returns the interpreters of this machine, of pyenv and of other releases."""
    found = [p for p in runtimes("python3.[0-9]*", "python/shapes.py")
             if re.search(r"python3\.\d+$", p.name)]
    for path in [] if machine.is_virtual() else sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))):
        found.append(Runtime("pyenv's " + path.split("/")[-3], [path], PROGRAM))
    return found


# ---- lines ---------------------------------------------------------------------


def judge_lines(path):
    """Checks the lines of running code and of calls in a pprof file."""
    lines = function_lines(path)
    at, starts = marks(PROGRAM)
    for name in ("chain", "key", "method"):
        # and the neighbouring statements, which take hardly any time
        expect_lines(name, lines[name], {m + off for m in at[name] for off in (-1, 0, 1)})
        expect(at[name] & {line for _, line in lines[name]}, f"{name}: {lines[name]}")
    expect_lines("hot", lines["hot"], range(starts["hot"], starts["hot"] + 5))
    expect(at["hot"] & {line for _, line in lines["hot"]}, f"hot: {lines['hot']}")
    for name in ("hot", "chain", "key", "method"):
        expect({s for s, _ in lines[name]} == {starts[name]}, f"{name}: {lines[name]}")


# ---- stacks -----------------------------------------------------------------------


def judge_folded(recording):
    """Expects no frame of the interpreter between two of the program."""
    hot = [s for s in recording.stacks if is_in(s, "hot")]
    wrong = [s for s in hot
             if any(re.fullmatch(INTERNAL, f) for f in s.frames[:s.frames.index("hot")])]
    expect(total(wrong) <= max(0.01 * total(hot), SPARE), show(wrong))


def judge_all_native(python):
    recording = record("--native-frames=all", "--", *python.run("chain", MS))
    recording.judge("chain", "_start ... _PyEval_EvalFrameDefault ... <module> ... chain "
                    "... key ... hot ...", leaf="hot", most_elsewhere=0.2)
    expect(any(s.frames.count("_PyEval_EvalFrameDefault") > 1 for s in recording.stacks),
           show(recording.stacks))


def judge_trampolines(python):
    """Expects the trampolines of -X perf not to end stacks or to duplicate functions."""
    with_perf = Runtime(python.name, python.command + ["-X", "perf"], PROGRAM)
    with_perf.path = python.path
    recording = record("--", *with_perf.run("chain", MS))
    if "requires" in recording.said or not recording.of("chain"):
        raise Skip("not a Python with -X perf")
    recording.judge("chain", *SHAPES["chain"], leaf="hot", most_elsewhere=0.35)
    doubled = [s for s in recording.of("chain") if any(f.startswith("py::") for f in s.frames)]
    expect(total(doubled) <= 0.01 * total(recording.of("chain")), show(doubled))


def judge_greenlets():
    """Expects stacks of greenlets to end at the start of the greenlet.

    While a stack is copied to its place, an error frame reports that its owner is unknown.
    """
    need_here()
    if subprocess.run(["/usr/bin/python3", "-c", "import greenlet"], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip("greenlet is not installed")
    python = Runtime("python3", ["/usr/bin/python3"], PROGRAM)
    recording = record("--", *together([python.run(s, MS) for s in ("greenlets", "switching")]))
    switched = [s for s in recording.stacks if s.frames[0] == SWITCHED]
    mixed = [s for s in switched if is_in(s, "green|hot|dig|switch(ing|er)|repeat|<module>|main")]
    expect(not mixed, "frames of different greenlets:", show(mixed))
    expect(any(s.comm == "switching" for s in switched), "no sample was taken during a switch", recording.said)
    recording.stacks = [s for s in recording.stacks if s not in switched]
    recording.judge("greenlets", r".*UserGreenlet::inner_bootstrap.* green hot ...",
                    leaf="hot", start=r"_start|.*inner_bootstrap.*", most_elsewhere=0.4)
    recording.judge("switching", r".*UserGreenlet::inner_bootstrap.* " + "dig " * 31 + "switcher ...",
                    leaf="switcher", start=r"_start|.*inner_bootstrap.*", most_elsewhere=0.9)


def judge_old():
    """Expects a message that Python 2 is not supported."""
    need_here()
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/2.*/bin/python2"))
    if not found:
        raise Skip("Python 2 is not installed")
    recording = record("--", found[0], "-c", "sum(range(5000000))")
    expect("Python before 3.6 is not supported" in recording.said, recording.said)


def judge_pypy():
    """Expects a message that PyPy is not supported."""
    need("pypy3")
    recording = record("--", "pypy3", "-c", "print(sum(i * i for i in range(10000000)))")
    expect("PyPy is not supported" in recording.said, recording.said)


def judge_embedded(shop, late):
    """Records a C program that has Python in a library, linked or loaded by dlopen()."""
    need("python3-config")
    library = glob.glob("/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0")
    if not library:
        raise Skip("no libpython here")
    program = shop.build("late_python" if late else "embedded", "gcc", "embedded.c", "-O2",
                         *([] if late else ["-Wl,--no-as-needed", library[0]]), "-ldl")
    args = [library[0]] if late else [""]
    recording = record("--", program, *args, PROGRAM, "chain", str(MS))
    recording.judge("chain", *SHAPES["chain"], leaf="hot", most_elsewhere=0.2)


def shapes(tap, shop, python):
    name = python.name
    recording, path = record_with_lines(shop, [python.run(s, MS) for s in SHAPES])
    for shape, chains in SHAPES.items():
        tap.run(f"{name}: {shape}",
                lambda s=shape, c=chains: recording.judge(
                    s, *c, most_elsewhere=0.35, start=r"_start|_dl_.*|\[.*|.*clone3?|start_thread|"
                                                      r".*libc_start_main.*"))
    tap.run(f"{name}: no frames of the interpreter in between", judge_folded, recording)
    tap.run(f"{name}: lines", judge_lines, path)
    tap.run(f"{name}: a running process", judge_running, python, SHAPES["chain"][0],
            "hot")


def main():
    need_bpf()
    tap = Tap()
    found = pythons()
    with Workshop() as shop:
        for python in found:
            shapes(tap, shop, python)
        for python in found:
            if int(python.command[-1].split("3.")[-1].split("/")[0].split(".")[0]) >= 12:
                tap.run(f"{python.name}: -X perf", judge_trampolines, python)
        if found:
            tap.run("--native-frames=all", judge_all_native, found[-1])
        tap.run("Python in a library", judge_embedded, shop, False)
        tap.run("Python in a library that is loaded late", judge_embedded, shop, True)
        tap.run("greenlets", judge_greenlets)
        tap.run("Python 2", judge_old)
        tap.run("PyPy", judge_pypy)
    tap.done()


main()
