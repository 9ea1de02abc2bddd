#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The newest runtimes of a distribution (scripts/newest) have right stacks, or a warning: never neither.

A version that is newer than this program's tables must not break silently. If `cameo doctor -p` says that the runtime
is supported, its functions have to be in the stacks; if not, the recording has to name it, and native frames are whole.
Programs of the newest compilers run with the newest C library, and their stacks have to be right.
"""
import glob
import os
import re
import subprocess

import cameo
from cameo import PROGRAMS, Skip, Tap, Workshop, end, expect, is_whole, need, record, show, spawn, total
from interpreted import Runtime
from languages import GO_MAIN, GO_START, RUST

ROOT = os.path.join(os.environ.get("CAMEO_CACHE", "/var/cache/cameo"), "newest")
DOWNLOAD_S = 900  # the test as a whole has 2400 s
MS = 3000
WHOLE = 0.97
NAMED = 0.5  # of the samples; a runtime starts before it runs the program
# pattern of the program in ROOT, the script that it runs, the function that has the time
KINDS = (
    ("usr/bin/python3.*[0-9]", "python/shapes.py", r"hot"),
    ("usr/bin/lua5.*", "lua/shapes.lua", r"hot|<shapes\.lua:5>"),
    ("usr/bin/perl", "perl/shapes.pl", r"main::hot"),
    ("usr/bin/php*[0-9]", "php/shapes.php", r"hot"),
    ("usr/bin/ruby*[0-9]", "ruby/shapes.rb", r"(Object#)?hot"),
    ("usr/bin/node", "node/shapes.js", r"hot"),
    ("usr/lib/jvm/java-*-openjdk-amd64/bin/java", "java/Shapes.java", r"Shapes\.hot.*"),
)
# name: pattern of the compiler in ROOT, directory of the sources, command, chain of the program
LIBC = "_start __libc_start_main.* ... main outer middle hot"
COMPILED = {
    "gcc": ("usr/bin/x86_64-linux-gnu-g++-[0-9]*", "native", "{} -x c -D_GNU_SOURCE -O2 -fomit-frame-pointer chain.c -o gcc",
            LIBC, {}),
    "static-glibc": ("usr/bin/x86_64-linux-gnu-g++-[0-9]*", "native", "{} -x c -D_GNU_SOURCE -O2 -static chain.c -o static-glibc",
                     "_start ... main outer middle hot", {}),
    "rust": ("usr/bin/rustc", "native", "{} -O -C linker=x86_64-linux-gnu-gcc chain.rs -o rust", RUST, {}),
    "rust-v0": ("usr/bin/rustc", "native", "{} -O -C linker=x86_64-linux-gnu-gcc -C symbol-mangling-version=v0 chain.rs -o rust-v0",
                RUST, {}),
    "go": ("usr/lib/go-*/bin/go", "go", "{} build -o go ./chain", GO_MAIN,
           {"start": GO_START, "leaf": r"main\.hot", "most_elsewhere": 0.5, "enough": 20}),
    "go-stripped": ("usr/lib/go-*/bin/go", "go", "{} build -ldflags='-s -w' -o go-stripped ./chain", GO_MAIN,
                    {"start": GO_START, "leaf": r"main\.hot", "most_elsewhere": 0.5, "enough": 20}),
}


def unpack():
    """Unpacks the newest runtimes if they are missing or old; raises Skip if there are none then."""
    try:
        r = subprocess.run([os.path.join(cameo.TOP, "scripts", "newest"), "-m"], capture_output=True, text=True, check=False,
                           timeout=DOWNLOAD_S)
        why = (r.stderr.strip().splitlines() or ["no reason given"])[-1]
    except subprocess.TimeoutExpired:
        why = f"scripts/newest took more than {DOWNLOAD_S} s"
    if not os.path.isdir(os.path.join(ROOT, "usr")):
        raise Skip(f"the newest runtimes cannot be downloaded: {why}")


def build(command):
    """Runs a command of the shell in ROOT, where compilers need devices."""
    r = subprocess.run(["unshare", "--mount", "sh", "-c",
                        'mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" sh -c "$1"', ROOT, command],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, f"{command}:", r.stdout, r.stderr)
    return r.stdout


def native_frames(runtime, function):
    """With --native-frames=all, the interpreter's own functions are between those of the program, which are whole as well."""
    recording = record("--native-frames=all", "--", *runtime.run("chain", MS))
    stacks = [s for s in recording.stacks if any(re.fullmatch(function, f) for f in s.frames)]
    whole = total([s for s in stacks if is_whole(s)]) / max(1, total(stacks))
    print(f"# {total(stacks)} samples, {whole:.2%} whole", flush=True)
    expect(total(stacks) > 50 and whole >= WHOLE, f"{whole:.2%} whole:", show(stacks), recording.said)
    both = [s for s in stacks if any(f.startswith(("_PyEval_", "PyEval_", f"[{runtime.name}+0x")) for f in s.frames)]
    expect(total(both) >= WHOLE * total(stacks), "stacks without functions of the interpreter:",
           show([s for s in stacks if s not in both]))


def compiled(name):
    """Compiles a program in ROOT with a compiler there, runs it there and judges its stacks."""
    pattern, directory, command, chain, how = COMPILED[name]
    found = sorted(glob.glob(os.path.join(ROOT, pattern)))
    if not found:
        raise Skip(f"there is no {pattern} in {ROOT}")
    where = os.path.dirname(Runtime(name, [], os.path.join(PROGRAMS, directory, "any"), ROOT).path)
    compiler = found[-1][len(ROOT):]
    build(f"cd {where} && export HOME=/tmp GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off CGO_ENABLED=0 && {command.format(compiler)}")
    version = build(f"{compiler} {'version' if directory == 'go' else '--version'}")
    print("#", *version.splitlines()[:1], flush=True)
    amount = MS // 1000 if directory == "go" else MS // 3  # seconds, or milliseconds of CPU time
    recording = record("--", *Runtime.enter(ROOT), f"{where}/{name}", str(amount))
    recording.judge(name, chain, **how)


def runtimes(shop):
    """Yields (name, Runtime, pattern of its function)."""
    for pattern, script, function in KINDS:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern)))[-1:]:
            command = ["env", "LC_ALL=C", path[len(ROOT):]]
            runtime = Runtime(os.path.basename(path), command, os.path.join(PROGRAMS, script), ROOT)
            if script.endswith(".java"):
                classes(shop, os.path.dirname(runtime.path))
                runtime.command += ["-cp", os.path.dirname(runtime.path)]
                runtime.path = "Shapes"
            yield os.path.basename(path), runtime, function


def classes(_, directory):
    """Compiles the Java programs for a VM of any version."""
    need("javac")
    sources = [os.path.join(PROGRAMS, "java", "Shapes.java")]
    r = subprocess.run(["javac", "-nowarn", "-Xlint:-options", "--release", "8", "-d", ROOT + directory, *sources],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)


def doctor(runtime):
    """Returns the doctor's line about a process that runs the program."""
    process = spawn(*runtime.run("chain", 60000))
    try:
        cameo.wait_cpu(process, ms=600)
        p = subprocess.run([cameo.CAMEO, "doctor", "-p", str(process.pid)], capture_output=True, text=True,
                           check=False, timeout=cameo.DEADLINE_S)
    finally:
        end(process)
    expect(p.returncode == 0, p.stderr)
    return p.stdout.splitlines()[0]


def judge(runtime, function):
    said = doctor(runtime)
    recording = record("--", *runtime.run("chain", MS))
    stacks = [s for s in recording.stacks if s.comm not in ("unshare", "sh", "mount", "chroot", "env")]
    whole = total([s for s in stacks if is_whole(s)]) / max(1, total(stacks))
    named = total([s for s in stacks if any(re.fullmatch(function, f) for f in s.frames)]) / max(1, total(stacks))
    print(f"# {said[:60].strip()}: {whole:.2%} whole, {named:.1%} in the function", flush=True)
    expect(total(stacks) > 50 and whole >= WHOLE, f"{whole:.2%} whole:", show(stacks), recording.said)
    if said.startswith("ok"):
        expect("not supported" not in recording.said, recording.said)
        expect(named >= NAMED, f"{named:.1%} in {function}:", said, show(stacks))
    else:
        name = re.match(r"degraded +(.*?)  +not supported", said)
        expect(name and f"cameo: {name[1]} is not supported" in recording.said, said, recording.said)


def main():
    cameo.need_bpf()
    tap = Tap()
    with Workshop() as shop:
        try:
            if os.geteuid():
                raise Skip("only root can enter the directory of the newest runtimes")
            unpack()
        except Skip as e:
            tap.skip("the newest runtimes", e)
        else:
            for name, runtime, function in runtimes(shop):
                tap.run(name, judge, runtime, function)
                if name.startswith("python"):
                    tap.run(f"{name} with --native-frames=all", native_frames, runtime, function)
            for name in COMPILED:
                tap.run(f"a program of {name}", compiled, name)
    tap.done()


main()
