# SPDX-License-Identifier: Apache-2.0
"""The mixed load: ten busy programs, those whose compiler or interpreter is here."""
import os
import subprocess
import time

import common

IDLE = ["chrt", "--idle", "0", "nice", "-n", "19"]  # whatever else the machine does goes before the load
# whose outermost frame has a name; dd's _start is stripped
NATIVE = ("c", "c 400 deep", "go", "rust")


def source(name):
    return os.path.join(common.PROGRAMS, name)


def built(name, src, command):
    """The program that a command makes of a source, made again only when that is newer."""
    out = os.path.join(common.WORK, name)
    if not common.newer(out, source(src)):
        env = {"HOME": common.WORK, "GOFLAGS": "-mod=mod", "GO111MODULE": "off", **os.environ}
        subprocess.run([w.format(src=source(src), out=out, dir=common.WORK) for w in command], check=True, env=env)
    return out


def c_chain():
    return [common.compile_c("chain", source("chain.c"), "-O2", "-fomit-frame-pointer")]


def c_deep():
    return [common.compile_c("frames", source("frames.c"), "-O2", "-fomit-frame-pointer",
                             "-fno-optimize-sibling-calls"), "400"]


def go():
    return [built("burn-go", "burn.go", ["go", "build", "-o", "{out}", "{src}"])]


def rust():
    return [built("burn-rust", "burn.rs", ["rustc", "-O", "-o", "{out}", "{src}"])]


def java():
    built("Burn.class", "Burn.java", ["javac", "-d", "{dir}", "{src}"])
    return ["java", "-cp", common.WORK, "Burn"]


# name: command it needs, its argument list
PROGRAMS = {
    "c": ("gcc", c_chain),
    "c 400 deep": ("gcc", c_deep),
    "dd": ("dd", lambda: ["dd", "if=/dev/zero", "of=/dev/null", "bs=4k"]),
    "go": ("go", go),
    "rust": ("rustc", rust),
    "python": ("/usr/bin/python3", lambda: ["/usr/bin/python3", source("burn.py"), "5"]),
    "python deep": ("/usr/bin/python3", lambda: ["/usr/bin/python3", source("burn.py"), "100"]),
    "java": ("java", java),
    "node": ("node", lambda: ["node", source("burn.js")]),
    "ruby": ("ruby", lambda: ["ruby", source("burn.rb")]),
}


def start(background, wrapper=()):
    """Start what can be, each behind WRAPPER; {name: process} and the names of those left out, when all are busy."""
    running, missing = {}, []
    for name, (needs, argv) in PROGRAMS.items():
        if common.have(needs):
            running[name] = background.start([*wrapper, *argv()])
        else:
            missing.append(name)
    for name, child in running.items():
        while common.cpu_s(child.pid) < 0.3:
            if child.poll() is not None:
                raise SystemExit(f"the program {name} has ended")
            time.sleep(0.05)
    return running, missing
