# SPDX-License-Identifier: Apache-2.0
"""The mixed load: up to ten busy programs, those whose compiler or interpreter is installed."""
import os
import subprocess
import time

import common

IDLE = ["chrt", "--idle", "0", "nice", "-n", "19"]  # everything else on the machine has priority over the load
# Programs whose outermost frame has a symbol; that of dd is stripped.
NATIVE = ("c", "c 400 deep", "go", "rust")


def source(name):
    return os.path.join(common.PROGRAMS, name)


def built(name, src, command):
    """Builds a program with a command, unless it is newer than its source; returns its path."""
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


# {name: (the command that must exist, a function that returns the argument list)}
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

# Nearly nothing, as on a desktop.
IDLERS = (
    ["/usr/bin/python3", "-c", "import time, json, ssl\nwhile True: time.sleep(0.2)"],
    ["bash", "-c", "while read -t 1 line || true; do :; done"],
    ["perl", "-e", "select(undef, undef, undef, 0.2) while 1"],
    ["node", "-e", "setInterval(() => 0, 200)"],
    ["sleep", "1000000"],
    ["tail", "-f", "/dev/null"],
)


def start(background, wrapper=()):
    """Starts the programs, each with the prefix WRAPPER, and waits until all are busy.

    Returns {name: process} and the names of those that are not installed.
    """
    running, missing = {}, []
    for name, (needs, argv) in PROGRAMS.items():
        if common.have(needs):
            running[name] = background.start([*wrapper, *argv()])
        else:
            missing.append(name)
    for name, child in running.items():
        while common.cpu_s(child.pid) < 0.3:
            if child.poll() is not None:
                raise SystemExit(f"the program {name} exited")
            time.sleep(0.05)
    return running, missing


def start_idlers(background, n):
    """Starts N processes of IDLERS."""
    kinds = [argv for argv in IDLERS if common.have(argv[0])]
    for i in range(n):
        background.start(kinds[i % len(kinds)], stdin=subprocess.PIPE)
