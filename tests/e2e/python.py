#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every CPython that is found: known stacks with known lines.

Debian's, and those of pyenv. The interpreter's own frames must not be between
those of the program, unless they are asked for.
"""
import collections
import glob
import gzip
import os
import re
import subprocess

from cameo import CAMEO, PROGRAMS, Tap, Workshop, end, expect, is_in, need_bpf, record, \
    record_while_running, show, spawn, together, total

MS = 600
PROGRAM = os.path.join(PROGRAMS, "python", "shapes.py")
MAIN = "_start __libc_start_main.* ... <module> main "
THREAD = "(__)?clone3? start_thread ... "
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
INTERNAL = "_PyEval_.*|_?PyObject_(Vector)?[cC]all.*|_PyFunction_.*|call_function"


def pythons():
    """name -> path; equal versions of Debian and pyenv are two."""
    found = {}
    for path in sorted(glob.glob("/usr/bin/python3.[0-9]*")):
        if re.search(r"python3\.\d+$", path):
            found["Debian's " + os.path.basename(path)] = path
    for path in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))):
        found["pyenv's " + path.split("/")[-3]] = path
    return found


# ---- pprof, as far as lines need it ---------------------------------------------


def fields(data):
    """(number, value) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = varint()
            yield tag >> 3, data[at:at + size]
            at += size


def function_lines(path):
    """{function: {(its first line, line)}} of the locations in a pprof file."""
    with gzip.open(path) as f:
        message = list(fields(f.read()))
    strings = [v.decode() for n, v in message if n == 6]
    functions = {}
    for n, v in message:
        if n == 5:
            f = collections.defaultdict(int, fields(v))
            functions[f[1]] = strings[f[2]], f[5]
    lines = collections.defaultdict(set)
    for n, v in message:
        if n != 4:
            continue
        for m, w in fields(v):
            if m == 4:
                line = collections.defaultdict(int, fields(w))
                name, start = functions[line[1]]
                lines[name.split(".")[-1]].add((start, line[2]))
    return lines


def marks():
    """{name: lines that end in `# at NAME`}, {name: line of its def}"""
    at, starts = collections.defaultdict(set), {}
    with open(PROGRAM, encoding="utf-8") as f:
        for i, text in enumerate(f, 1):
            m = re.search(r"# at (\w+)$", text)
            if m:
                at[m[1]].add(i)
            m = re.match(r" *def (\w+)", text)
            if m:
                starts[m[1]] = i
    return at, starts


def judge_lines(shop, python):
    """The lines that were running, and those that called."""
    out = shop.path("lines.pb.gz")
    r = subprocess.run([CAMEO, "record", "-F", "997", "-o", out, "--", python, PROGRAM, "chain",
                        str(MS)], capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    lines = function_lines(out)
    at, starts = marks()
    for name in ("chain", "key", "method"):
        got = {line for _, line in lines[name]} - {starts[name]}
        expect(got == at[name] or got == at[name] | {max(at[name]) - 1},
               f"{name}: lines {sorted(got)}, not {sorted(at[name])}")
    body = set(range(starts["hot"], starts["hot"] + 5))
    got = {line for _, line in lines["hot"]}
    expect(got <= body and at["hot"] & got, f"hot: lines {sorted(got)}")
    for name in ("hot", "chain", "key", "method"):
        expect({s for s, _ in lines[name]} == {starts[name]}, f"{name}: {lines[name]}")


# ---- stacks -----------------------------------------------------------------------


def judge_folded(recording):
    """No frame of the interpreter between two of the program."""
    wrong = [s for s in recording.stacks if is_in(s, "hot") and
             any(re.fullmatch(INTERNAL, f) for f in s.frames[:s.frames.index("hot")])]
    expect(total(wrong) <= 2, show(wrong))


def judge_all_native(python):
    recording = record("--native-frames=all", "--", python, PROGRAM, "chain", str(MS))
    recording.judge("chain", "_start ... _PyEval_EvalFrameDefault ... <module> ... chain "
                    "... key ... hot ...", leaf="hot", most_elsewhere=0.2)
    expect(any(s.frames.count("_PyEval_EvalFrameDefault") > 1 for s in recording.stacks),
           show(recording.stacks))


def judge_running(python):
    """Begun before Cameo, which is told the pid."""
    program = spawn(python, PROGRAM, "chain", 60000)
    try:
        recording = record_while_running("-p", str(program.pid), processes=[program])
    finally:
        end(program)
    recording.judge("chain", *SHAPES["chain"], leaf="hot", most_elsewhere=0.2)


def shapes(tap, shop, name, python):
    recording = record("--", *together([[python, PROGRAM, s, MS] for s in SHAPES]))
    for shape, chains in SHAPES.items():
        tap.run(f"{name}: {shape}", recording.judge, shape, *chains)
    tap.run(f"{name}: nothing of the interpreter's in between", judge_folded, recording)
    tap.run(f"{name}: lines", judge_lines, shop, python)
    tap.run(f"{name}: a process that runs already", judge_running, python)


def main():
    need_bpf()
    tap = Tap()
    found = pythons()
    with Workshop() as shop:
        for name, python in found.items():
            shapes(tap, shop, name, python)
        if found:
            tap.run("--native-frames=all", judge_all_native, found[sorted(found)[-1]])
    tap.done()


main()
