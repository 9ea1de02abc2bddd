#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real compilers read what `cameo pgo` writes, and optimize what it shows to be hot."""
import os
import re
import shutil
import subprocess

from cameo import MACHINE, PROGRAMS, Skip, Tap, Workshop, cameo, expect, need, need_bpf, need_here

GO_SOURCE = os.path.join(PROGRAMS, "go")
C_SOURCE = os.path.join(PROGRAMS, "native", "pgo.c")
CLANG = ["-O2", "-g", "-fdebug-info-for-profiling"]
GO_ROUNDS, C_ROUNDS = "30000000", "40000"


def run(*command, **kw):
    r = subprocess.run(command, capture_output=True, text=True, check=False, **kw)
    expect(r.returncode == 0, " ".join(command), r.stdout, r.stderr)
    return r.stdout + r.stderr


def record(shop, name, *command):
    path = shop.path(name)
    r = cameo("record", "-F", str(MACHINE.frequency(997)), "-o", path, "--", *command)
    expect(os.path.exists(path), r.stderr)
    return path


def pgo(*args, status=0):
    r = cameo("pgo", *args)
    expect(r.returncode == status, *args, r.stderr)
    return r.stderr


def judge_go(shop):
    """Go devirtualizes the hot call and inlines its callee. Two recordings are merged."""
    need("go")
    release = re.search(r"go1\.(\d+)", run("go", "version"))
    env = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=mod")
    plain, profile = shop.path("go-plain"), shop.path("default.pgo")
    if int(release[1]) < 21:
        raise Skip(f"{release[0]} has no PGO")
    run("go", "build", "-pgo=off", "-o", plain, "./pgo", cwd=GO_SOURCE, env=env)
    recordings = [record(shop, f"go{i}.pb.gz", plain, GO_ROUNDS) for i in range(2)]
    said = pgo("go", "-o", profile, *recordings)
    expect("go-plain has" in said, said)
    log = run("go", "build", f"-pgo={profile}", "-gcflags=-d=pgodebug=3 -m", "-o", shop.path("go-fast"), "./pgo",
              cwd=GO_SOURCE, env=env)
    line = next(i for i, text in enumerate(open(os.path.join(GO_SOURCE, "pgo", "main.go"), encoding="ascii"), 1)
                if "s.apply(" in text)
    expect(f"main.go:{line}:" in log and "PGO devirtualizing interface call s.apply to mixer.apply" in log, log)
    expect(re.search(rf"main\.go:{line}:\d+: inlining call to mixer\.apply", log), log)
    expect("hottest callee" in log and "main.mixer.apply" in log, log)
    expect(run(plain, "1000") == run(shop.path("go-fast"), "1000"), "the programs differ")


def judge_go_refusals(shop):
    """A recording of a C program has nothing for Go."""
    r = cameo("pgo", "go", "-o", shop.path("none.pgo"), shop.path("c.pb.gz"))
    expect(r.returncode == 1 and "no samples of Go code with lines" in r.stderr, r.stderr)
    expect(not os.path.exists(shop.path("none.pgo")), "a file was written")


def judge_llvm(shop):
    """clang inlines the hot call, which it does not without the profile."""
    need("clang")
    clang = MACHINE.compiler("clang")
    plain, profile = shop.path("c-plain"), shop.path("llvm.prof")
    run(*clang, *CLANG, C_SOURCE, "-o", plain)
    recording = record(shop, "c.pb.gz", plain, C_ROUNDS)
    said = pgo("llvm", "-o", profile, recording)
    expect(re.search(r"wrote \S+: \d+ functions, \d+ of \d+ samples have lines", said), said)
    remarks = "-Rpass=inline"
    without = run(*clang, *CLANG, remarks, "-S", "-o", "/dev/null", C_SOURCE)
    log = run(*clang, *CLANG, remarks, "-Wall", f"-fprofile-sample-use={profile}", C_SOURCE, "-o", shop.path("c-fast"))
    hot = r"'?step'? inlined into '?main'?"
    expect(not re.search(hot, without), without)
    expect(re.search(hot, log), log)
    expect("warning" not in log, log)
    expect(run(plain, "10") == run(shop.path("c-fast"), "10"), "the programs differ")


def judge_lines(shop):
    """The lines of the profile are lines with code in the functions that they are in."""
    functions, name = {}, None
    for line in open(shop.path("llvm.prof"), encoding="ascii"):
        head = re.match(r"(\w+):\d+:\d+$", line)
        body = re.match(r" (\d+)(?:\.\d+)?: ", line)
        if head:
            name = head[1]
            functions[name] = set()
        elif body:
            functions[name].add(int(body[1]))
    source = open(C_SOURCE, encoding="ascii").read().split("\n")
    expect({"step", "main"} <= functions.keys(), functions)
    first = next(i for i, text in enumerate(source) if text.startswith("static unsigned long step("))
    for offset in functions["step"]:
        expect(source[first + offset].strip() not in ("", "default:"), offset, source[first + offset])
    # some tool that reads the format itself
    if shutil.which("llvm-profdata"):
        expect("Function: step:" in run("llvm-profdata", "show", "-sample", shop.path("llvm.prof")))


def judge_llvm_refusals(shop):
    """Executables without lines, or of another build, are refused with the reason."""
    plain = shop.path("c-plain")
    stripped = shop.path("c-stripped")
    run("strip", "-o", stripped, plain)
    said = pgo("llvm", "-o", shop.path("x.prof"), record(shop, "stripped.pb.gz", stripped, "5000"), status=1)
    expect("has no lines" in said, said)
    os.mkdir(shop.path("other"))
    run(*MACHINE.compiler("clang"), "-O1", C_SOURCE, "-o", shop.path("other/c-plain"))
    said = pgo("llvm", "--binary", shop.path("other/c-plain"), "-o", shop.path("x.prof"), shop.path("c.pb.gz"), status=1)
    expect("is not the recorded file" in said, said)
    expect(not os.path.exists(shop.path("x.prof")), "a file was written")


def main():
    need_bpf()
    need_here()
    tap = Tap()
    with Workshop() as shop:
        tap.run("clang reads the profile and inlines the hot call", judge_llvm, shop)
        tap.run("lines of the profile are lines of the functions", judge_lines, shop)
        tap.run("clang's profile needs lines and the same build", judge_llvm_refusals, shop)
        tap.run("Go reads the profile, devirtualizes and inlines the hot call", judge_go, shop)
        tap.run("Go's profile needs Go code", judge_go_refusals, shop)
    tap.done()


main()
