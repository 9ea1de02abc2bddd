#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code generated at run time is symbolized by perf maps and jitdumps, and never dropped."""
import re

from cameo import ENOUGH, RARE, Tap, Workshop, cameo, expect, need_bpf, record, together
from pprof import Profile

MS = 400
MAIN = "_start __libc_start_main.* ... main outer(_large)? "
# comm: the program's argument, and the name of its function
CASES = {
    "gen-map": ("map", "mapped_function"),
    "gen-dump": ("dump", "dumped_function"),
    "gen-none": ("none", r"\[anonymous.code\]"),
    "gen-bare": ("bare", r"\[anonymous.code\]"),
    "gen-large": ("large", r"\[anonymous.code\]"),
    "node": ("none", r"\[anonymous.code\]"),  # like Node in name only
}


def judge(recording, comm, name):
    recording.judge(comm, MAIN + name, leaf=name)


def judge_summary(recording):
    expect("samples contain generated code of " in recording.said, recording.said)


def judge_marks(path):
    """Expects the label unwind=search on stacks of generated code, and on none of a program that has unwind tables."""
    with open(path, "rb") as f:
        samples = Profile(f.read()).samples
    for comm, names in ("gen-bare", ["[anonymous code]"]), ("gen-none", ["[anonymous code]"]), ("chain", ["hot"]):
        ours = [s for s in samples if s[1]["comm"] == comm and any(n in s[0] for n in names)]
        n = sum(s[2][0] for s in ours)
        marked = sum(s[2][0] for s in ours if s[1].get("unwind") == "search")
        expect(n >= ENOUGH, f"{comm}: {n} samples")
        expect(marked == 0 if comm == "chain" else n - marked <= RARE * n, f"{comm}: {marked} of {n} samples are marked")


def frames_of(folded):
    """Returns the names of frames in FOLDED, without the program at the root and marks such as _[k] for kernel."""
    return {re.sub(r"_\[[a-z]\]$", "", name) for line in folded.splitlines()
            for name in line.rpartition(" ")[0].split(";")[1:]}


def judge_formats(shop, path):
    """Expects OTLP to have the mark as well, and formats without labels to have neither the mark nor other names.

    "unwind" alone is not the mark: the kernel has functions such as unwind_task_free, which fork and exit call.
    """
    outs = {suffix: shop.path("marks." + suffix) for suffix in ("otlp.pb", "folded")}
    for out in outs.values():
        r = cameo("convert", "-q", path, out)
        expect(r.returncode == 0, r.stderr)
    with open(path, "rb") as f:
        names = {name for stack, *_ in Profile(f.read()).samples for name in stack}
    with open(outs["otlp.pb"], "rb") as f:
        data = f.read()
    expect(b"\x06unwind" in data and b"\x06search" in data, "marks.otlp.pb: no mark")
    with open(outs["folded"], encoding="utf-8") as f:
        frames = frames_of(f.read())
    expect(frames and frames <= names, "marks.folded:", *sorted(frames - names))


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        program = shop.c("generated")
        recording = record("--", *together([[shop.link(program, comm), MS, how]
                                            for comm, (how, _) in CASES.items()]))
        for comm, (how, name) in CASES.items():
            tap.run(f"generated code of {comm}, {how}: {name}", judge, recording, comm, name)
        tap.run("frames without symbols are reported", judge_summary, recording)
        marks = shop.path("marks.pb.gz")
        r = cameo("record", "-F", "997", "-o", marks, "--",
                  *together([[shop.link(program, "gen-bare"), MS, "bare"], [shop.link(program, "gen-none"), MS, "none"],
                             [shop.c("chain"), MS]]))
        expect(r.returncode == 0, r.stderr)
        tap.run("stacks found by search, and only these, are marked", judge_marks, marks)
        tap.run("formats with labels keep the mark", judge_formats, shop, marks)
        tap.run("the summary counts them apart", expect, " with a caller found by search: " in r.stderr, r.stderr)
    tap.done()


main()
