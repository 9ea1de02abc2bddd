#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares stacks with those of `perf record --call-graph dwarf` on the same programs.

perf copies the stack and unwinds it later by DWARF, up to 127 frames. The stacks that it finds most
often must be among ours. The comparison is limited to the functions of the program, because names of libc's
functions differ.
"""
import collections
import re
import subprocess

from cameo import SUFFIX, Skip, Tap, Workshop, expect, functions, need, need_bpf, record, \
    user_frames

MS = 400
MOST_FREQUENT = 8
SELDOM = 0.05  # stacks that perf saw less often may be missing by chance
PROGRAMS = {
    "chain": ["-O2"],
    "recursion": ["-O2"],
    "callback": ["-O2"],
    "signals": ["-O2"],
    "late": ["-O2"],
}


def chains_of_perf(program, args, data):
    """Returns {chain of symbols, root first: samples} according to perf."""
    # While another session records with build ids, Linux also marks the mappings that it reports to
    # perf. perf then mistakes device and inode for a build id and aborts.
    r = subprocess.run(["perf", "record", "-q", "-B", "-e", "cpu-clock", "-F", "499", "--call-graph",
                        "dwarf,16384", "-o", data, "--", program, *args], capture_output=True,
                       text=True, check=False)
    if r.returncode:
        raise Skip(f"perf record does not work here: {r.stderr.strip()[:100]}")
    r = subprocess.run(["perf", "script", "-F", "ip,sym", "-i", data], capture_output=True,
                       text=True, check=False)
    if r.returncode < 0:
        raise Skip(f"perf script fails here: {r.stderr.strip()[:100]}")
    expect(r.returncode == 0, r.stderr)
    chains = collections.Counter()
    for sample in r.stdout.split("\n\n"):
        frames = [SUFFIX.sub("", line.split(None, 1)[1].strip())
                  for line in sample.splitlines() if len(line.split(None, 1)) == 2]
        chains[tuple(reversed(frames))] += 1
    return chains


def own(chains, names):
    """Returns the chains that reach main, reduced to the program's own functions."""
    reduced = collections.Counter()
    for chain, n in chains.items():
        chain = tuple(re.sub(r"\+0x[0-9a-f]+$", "", f) for f in chain)
        if "main" in chain:
            reduced[tuple(f for f in chain if f in names)] += n
    return reduced


def agree(shop, name):
    need("perf")
    program = shop.c(name, *PROGRAMS[name])
    lib = shop.build("late_lib.so", "gcc", "late_lib.c", "-O2", "-shared", "-fPIC")
    args = [str(MS)] + {"recursion": ["60"], "late": [lib]}.get(name, [])
    names = {SUFFIX.sub("", f) for _, _, f in functions(program) + functions(lib)} - {"_start"}
    theirs = own(chains_of_perf(program, args, shop.path("perf.data")), names)
    recording = record("--", program, *args)
    ours = collections.Counter()
    for s in recording.of(name):
        ours[tuple(user_frames(s))] += s.count
    ours = own(ours, names)
    expect(theirs, "perf found no stack that reaches main")
    total = sum(theirs.values())
    missing = [c for c, n in theirs.most_common(MOST_FREQUENT) if c not in ours and n > SELDOM * total]
    expect(not missing, "stacks that only perf has:", *(";".join(c) for c in missing), "we have:",
           *(f"{n} {';'.join(c)}" for c, n in ours.most_common(MOST_FREQUENT)))


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        for name in PROGRAMS:
            tap.run(f"perf's stacks of {name} are among ours", agree, shop, name)
    tap.done()


main()
