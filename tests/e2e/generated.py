#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code that a program makes at run time: named by perf maps and jitdumps, never dropped."""
from cameo import Tap, Workshop, expect, need_bpf, record, together

MS = 400
MAIN = "_start __libc_start_main.* ... main outer "
# comm: what the program is told, and the name of its function
CASES = {
    "gen-map": ("map", "mapped_function"),
    "gen-dump": ("dump", "dumped_function"),
    "gen-none": ("none", r"\[anonymous.code\]"),
    "gen-bare": ("bare", r"\[anonymous.code\]"),
    "node": ("none", r"\[anonymous.code\]"),  # by its name only: nothing of V8's is made of it
}


def judge(recording, comm, name):
    recording.judge(comm, MAIN + name, leaf=name)


def judge_summary(recording):
    expect("samples hold code without names that " in recording.said, recording.said)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        program = shop.c("generated")
        recording = record("--", *together([[shop.link(program, comm), MS, how]
                                            for comm, (how, _) in CASES.items()]))
        for comm, (how, name) in CASES.items():
            tap.run(f"generated code of {comm}, {how}: {name}", judge, recording, comm, name)
        tap.run("what has no names is told", judge_summary, recording)
    tap.done()


main()
