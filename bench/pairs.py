# SPDX-License-Identifier: Apache-2.0
"""Two versions of `cameo record` in turns, for bench/start-pair and bench/guard."""
import os
import subprocess
import tempfile

import common

SECONDS = 1
BUSY_PYTHON = ("import time\ndef busy(n):\n    return sum(i * i for i in range(n))\n"
               f"t = time.process_time()\nwhile time.process_time() - t < {SECONDS}: busy(1000)")


def programs():
    """{what is recorded: command}"""
    chain = common.compile_c("chain", os.path.join(common.PROGRAMS, "chain.c"), "-O2", "-fomit-frame-pointer")
    traced = common.compile_c("traced", os.path.join(common.TOP, "tests/programs/native/traced.c"), "-O2", "-D_GNU_SOURCE",
                              "-rdynamic", "-ldl", "-pthread")
    return {"a program that exits at once": ["true"],
            "a busy C program": [chain, str(SECONDS * 1000)],
            "a busy C program that publishes a context": [traced, str(SECONDS * 1000), "span"],
            "a busy Python program": ["/usr/bin/python3", "-c", BUSY_PYTHON],
            "a storm of programs": ["sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done"]}


def measure(cameo, command):
    """{what: cost} of one recording; system time is that of Cameo and of the recorded program."""
    with tempfile.TemporaryDirectory() as directory:
        child = subprocess.Popen([cameo, "record", "-v", "-F", "997", "-o", os.path.join(directory, "out.pb.gz"),
                                  "--", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{cameo} record -- {' '.join(command)}: exit status {child.returncode}\n{said}")
    costs = {"system time, ms": usage.ru_stime * 1e3}
    if command != ["true"] and common.cost(said, "samples"):
        costs["BPF, ns per sample"] = common.cost(said, "bpf_ns")
        costs["user space while sampling, us per sample"] = common.cost(said, "us_sampling")
        costs["user space with symbolization and output, us per sample"] = common.cost(said, "us_all")
    return costs


def in_turns(versions, command, pairs):
    """
    {what: [(old, new), …]}: records COMMAND with both of VERSIONS, one after the other, in PAIRS rounds;
    every other round begins with the new version.
    """
    costs = ([], [])
    for i in range(pairs):
        for which in ((0, 1), (1, 0))[i % 2]:
            costs[which].append(measure(versions[which], command))
    everywhere = [what for what in costs[0][0] if all(what in c for side in costs for c in side)]
    return {what: [(old[what], new[what]) for old, new in zip(*costs)] for what in everywhere}
