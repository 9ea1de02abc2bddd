#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The newest runtimes of a distribution (scripts/newest) have right stacks, or a warning: never neither.

A version that is newer than this program's tables must not break silently. If `cameo doctor -p` says that the runtime
is supported, its functions have to be in the stacks; if not, the recording has to name it, and native frames are whole.
"""
import glob
import os
import re
import subprocess

import cameo
from cameo import PROGRAMS, Tap, Workshop, end, expect, is_whole, need, record, show, spawn, total
from interpreted import Runtime

ROOT = os.path.join(os.environ.get("CAMEO_CACHE", "/var/cache/cameo"), "newest")
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
        if not os.path.isdir(ROOT) or os.geteuid():
            tap.skip("the newest runtimes", "scripts/newest was not run, or no root")
        else:
            for name, runtime, function in runtimes(shop):
                tap.run(name, judge, runtime, function)
    tap.done()


main()
