#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on the BEAM have whole stacks of Erlang and Elixir functions.

The runtimes are this system's and those of the chroots of scripts/runtimes.
"""
import glob
import os
import re
import shutil
import subprocess

import cameo
from cameo import PROGRAMS, RARE, Tap, Workshop, are_rare, end, expect, holds, is_in, record, show, spawn
from interpreted import expect_lines, function_lines, marks

SOURCES = os.path.join(PROGRAMS, "beam")
MS = 1200  # of CPU
MAIN = "init:do_boot/3 init:start_em/1 ... shapes:repeat/2 "
MIDDLE = r"shapes:middle/1 shapes:hot/2 ..."
NIF = "... native_burn native_hot ..."
SHAPES = {
    "chain": [MAIN + r"shapes:shape/1 shapes:outer/1 " + MIDDLE],
    "spawned": [r"shapes:'-shape/1-fun-\d-'/0 shapes:outer/1 " + MIDDLE],
    "fun": [MAIN + r"shapes:shape/1 shapes:by_fun/1 shapes:'-shape/1-fun-\d-'/1 shapes:hot/2 ..."],
    "list": [MAIN + r"shapes:shape/1 lists:map(_1)?/2 ... " + MIDDLE],
    "comprehension": [MAIN + r"shapes:shape/1 ... shapes:'-shape/1-lc\$\^\d/1-\d-'/1 ... " + MIDDLE],
    "catch": [MAIN + r"shapes:shape/1 shapes:catching/1 " + MIDDLE],
    "wide": [MAIN + r"shapes:shape/1 shapes:wide/8 " + MIDDLE],
    "recursion": [MAIN + r"shapes:shape/1 " + r"shapes:down/1 " * 150 + MIDDLE],
    "nif": [MAIN + r"shapes:shape/1 shapes:by_nif/1 " + NIF],
    "dirty": [MAIN + r"shapes:shape/1 shapes:by_dirty/1 erts_dirty_process_main " + NIF],
    "bif": [MAIN + r"shapes:shape/1 shapes:by_bif/1 term_to_binary_\d ..."],
    "reload": [MAIN + rf"shapes:shape/1 shapes:by_reload/0 ... shapes:by_name/1 shapes:by_{x}/0 "
               rf"reloaded:{x}/1 shapes:hot/2 ..."
               for x in ("first", "other")],
    "elixir": [MAIN + r'shapes:shape/1 Shop\.checkout/1 ... Shop\.total\?/1 shapes:hot/2 ...'],
}
# Until the walk of the language is loaded, the agent walks the stacks of a new process later: those that end in C are
# incomplete then, because the Erlang process may run another function by that time.
LATE = 0.1
LEAVES = {"nif": "native_hot", "dirty": "native_hot", "bif": r"term_to_binary_\d"}
SUPPORTED = ("25", "27")
BAD = r"\[(anonymous code|stale function|unreadable function)\]|\[memfd.*"


class Runtime:
    """A BEAM, in @root, with the compiled programs in its directory @dir."""

    def __init__(self, root):
        self.root = root
        self.dir = os.path.join(root, "tmp", f"cameo-beam.{os.getpid()}")
        self.release = os.path.basename(glob.glob(os.path.join(root, "usr/lib/erlang/releases/[0-9]*"))[0])
        self.has_elixir = os.path.exists(os.path.join(root, "usr/bin/elixirc"))

    def command(self, *args):
        """Returns the command that runs @args in the runtime's root, in the directory of the programs."""
        inner = os.path.relpath(self.dir, self.root)
        if self.root == "/":
            return ["sh", "-c", 'cd "$0" && exec "$@"', self.dir, *args]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && r=$0 && d=$1 && shift && '
                'exec chroot "$r" sh -c \'cd "$0" && exec "$@"\' "/$d" "$@"', self.root, inner, *args]

    def run(self, *args):
        r = subprocess.run(self.command(*args), capture_output=True, text=True, check=False)
        expect(r.returncode == 0, r.stdout, r.stderr)

    def build(self):
        os.makedirs(self.dir)
        for name in os.listdir(SOURCES):
            shutil.copy(os.path.join(SOURCES, name), self.dir)
        self.run("erlc", "+debug_info", "shapes.erl")
        r = subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-I/usr/lib/erlang/usr/include",
                            os.path.join(SOURCES, "shapes_nif.c"), "-o", os.path.join(self.dir, "shapes_nif.so")],
                           capture_output=True, text=True, check=False)
        expect(r.returncode == 0, r.stderr)
        if self.has_elixir:
            self.run("elixirc", "shop.ex")

    def erl(self, shape, ms, *flags):
        elixir = glob.glob(os.path.join(self.root, "usr/lib/elixir/lib/elixir/ebin"))
        path = ["-pa", "/" + os.path.relpath(elixir[0], self.root)] if elixir else []
        # schedulers that wait do not spin
        return self.command("erl", "+sbwt", "none", "+sbwtdcpu", "none", *flags, "-noshell", "-pa", ".", *path, "-run",
                            "shapes", "main", shape, str(ms))


def judge(runtime, shape, *flags):
    recording = record("--", *runtime.erl(shape, MS, *flags))
    # threads are named by what they do, which differs by release
    ours = [s for s in recording.stacks if is_in(s, r"shapes:.*|native_hot|term_to_binary_\d|.*\bhot/2")]
    recording.stacks = [s._replace(comm="beam") for s in ours]
    recording.judge("beam", *SHAPES[shape], leaf=LEAVES.get(shape, r"shapes:hot/2"),
                    share=1 - (LATE if shape in LEAVES else RARE), start=r"init:.*|shapes:.*",
                    most_elsewhere=0.95 if shape == "reload" else 0.5)  # modules are loaded in between
    unnamed = [s for s in recording.stacks if is_in(s, BAD)]
    expect(are_rare(unnamed, recording.stacks), show(unnamed))
    expect("not supported" not in recording.said, recording.said)


def garbage(runtime):
    """A collection of garbage is under the function that called for it"""
    recording = record("--", *runtime.erl("garbage", MS))
    inside = [s for s in recording.stacks if is_in(s, r"erts_garbage_collect.*")]
    under = [s for s in inside if is_in(s, r"shapes:by_garbage/1")]
    expect(cameo.total(under) > 20, show(inside))


def lines(runtime, shop):
    """Frames have the lines of their calls"""
    path = shop.path("lines.pb.gz")
    cameo.cameo("record", "-F", "997", "-o", path, "--", *runtime.erl("chain", MS))
    seen, (at, _) = function_lines(path), marks(os.path.join(SOURCES, "shapes.erl"))
    for name in ("outer", "middle"):
        expect_lines(name, seen[f"{name}/1"], at[name])
    expect(at["hot"] & {line for _, line in seen["hot/2"]}, seen["hot/2"])


def reloads_never_mix(runtime):
    """No frame has the name of the other version of a module, which has the same addresses"""
    recording = record("--", *runtime.erl("reload", 2 * MS))
    ours = [s for s in recording.stacks if is_in(s, "reloaded:.*")]
    right = [s for s in ours if any(holds(s, f"... shapes:by_{x}/0 reloaded:{x}/1 ...") for x in ("first", "other"))]
    wrong = [s for s in ours if s not in right and is_in(s, "shapes:by_(first|other)/0")]
    expect(right and not wrong, show(wrong or recording.stacks))


def the_doctor(runtime):
    process = spawn(*runtime.erl("chain", 60000))
    try:
        cameo.wait_cpu(process, ms=1000)
        p = subprocess.run([cameo.CAMEO, "doctor", "-p", str(process.pid)], capture_output=True, text=True,
                           check=False, timeout=cameo.DEADLINE_S)
    finally:
        end(process)
    expect(re.search(rf"^ok +Erlang/OTP {runtime.release} +supported: /", p.stdout, re.MULTILINE), p.stdout, p.stderr)


def warns(runtime):
    """A release that cannot be read is named"""
    recording = record("--", *runtime.erl("chain", MS))
    expect(re.search("Erlang/OTP.* is not supported", recording.said), recording.said)


def roots():
    cache = os.environ.get("CAMEO_CACHE", "/var/cache/cameo")
    return [r for r in ["/", *sorted(glob.glob(os.path.join(cache, "runtimes", "*")))]
            if glob.glob(os.path.join(r, "usr/lib/erlang/erts-*/bin/beam.smp"))]


def judge_all(tap, runtime, shop):
    runtime.build()
    name = f"OTP {runtime.release}"
    if runtime.release not in SUPPORTED:
        tap.run(f"{name}: a warning", warns, runtime)
        return
    for shape in SHAPES:
        if shape == "elixir" and not runtime.has_elixir:
            tap.skip(f"{name}: {shape}", "Elixir is not installed")
        else:
            tap.run(f"{name}: {shape}", judge, runtime, shape)
    tap.run(f"{name}: chain, with frame pointers", judge, runtime, "chain", "+JPperf", "true")
    tap.run(f"{name}: garbage collection", garbage, runtime)
    tap.run(f"{name}: lines", lines, runtime, shop)
    tap.run(f"{name}: reloaded code", reloads_never_mix, runtime)
    tap.run(f"{name}: cameo doctor", the_doctor, runtime)


def main():
    cameo.need_bpf()
    tap = Tap()
    found = roots()
    if not found:
        tap.skip("BEAM", "Erlang is not installed")
    with Workshop() as shop:
        for root in found:
            runtime = Runtime(root)
            try:
                judge_all(tap, runtime, shop)
            finally:
                shutil.rmtree(runtime.dir, ignore_errors=True)
    tap.done()


main()
