#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One chain of C functions, built in every way that compilers and linkers offer."""
import re
import subprocess

from cameo import (ENOUGH, MACHINE, Failure, Skip, Tap, Workshop, are_rare, expect, holds, is_in, need_bpf, record, show,
                   together,
                   total, user_frames)

MS = MACHINE.ms(300)
LIBC = "_start __libc_start_main(_impl|@@.*)? ... main outer middle hot"
MUSL = r"_start (libc_start_main_stage2|\[libc\.so\+.*) main outer middle hot"

# name: compiler, flags, chain
PROGRAMS = {}
for level in "0123":
    for cc in "gcc", "clang":
        PROGRAMS[f"{cc}-O{level}"] = (cc, [f"-O{level}"], LIBC)
        PROGRAMS[f"{cc}-O{level}-nofp"] = (cc, [f"-O{level}", "-fomit-frame-pointer"], LIBC)
PROGRAMS.update({
    "gcc-Os": ("gcc", ["-Os"], LIBC),
    "gcc-fp": ("gcc", ["-O2", "-fno-omit-frame-pointer"], LIBC),
    "gcc-lto": ("gcc", ["-O2", "-flto"], LIBC),
    "gcc-no-pie": ("gcc", ["-O2", "-no-pie", "-fno-pie"], LIBC),
    "gcc-static": ("gcc", ["-O2", "-static"], "_start ... main outer middle hot"),
    "gcc-static-pie": ("gcc", ["-O2", "-static-pie", "-fPIE"], "_start ... main outer middle hot"),
    # code without CFI in a file that otherwise has CFI
    "gcc-static-no-cfi": ("gcc", ["-O2", "-static", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                                  "-fomit-frame-pointer", "-falign-functions=256", "-fno-reorder-functions"],
                          "_start ... main outer middle hot"),
    "gcc-realign": ("gcc", ["-O2", "-mstackrealign"], LIBC),
    "gcc-sections": ("gcc", ["-O2", "-ffunction-sections", "-Wl,--gc-sections"], LIBC),
    "clang-no-pie": ("clang", ["-O2", "-no-pie", "-fno-pie"], LIBC),
    "clang-static": ("clang", ["-O2", "-static"], "_start ... main outer middle hot"),
    "clang-lto": ("clang", ["-O2", "-flto", "-fuse-ld=lld"], LIBC),
    "musl": ("musl-gcc", ["-O2"], MUSL),
    "musl-static": ("musl-gcc", ["-O2", "-static"], MUSL),
    "musl-no-pie": ("musl-gcc", ["-O2", "-no-pie", "-fno-pie"], MUSL),
})
NEEDED = {"gcc-static-no-cfi": "code without CFI", "gcc-realign": "x86-64"}


def judge_stripped(recording, twin):
    recording.name_by("stripped", "stripped", twin)
    recording.judge("stripped", LIBC)


FIBERS = "_start ... main outer fiber_run body back_call middle hot"

# The last frame of the stacks of no_cfi.S, by variant. Where the code misleads the search, the walk of a copied stack
# leaves the copy. The page at rsp of no_cfi_other_calls was never touched.
CHANGED = r"\[incomplete: stack changed before it was read\]"
NO_CFI = {"no_cfi_chain": "_start", "no_cfi_other_calls": r"\[incomplete: (no unwind rule|stack not readable)\]|" + CHANGED,
          "no_cfi_generated": r"\[incomplete: no unwind table and no frame pointer\]|" + CHANGED}


def judge_no_cfi(recording, name):
    """Only stacks whose bottom was reached are complete."""
    ours = recording.of(name)
    expect(total(ours) >= ENOUGH, f"{total(ours)} samples", recording.said)
    wrong = [s for s in ours if not re.fullmatch(NO_CFI[name], user_frames(s)[0])]
    expect(are_rare(wrong, ours, 0.02), f"stacks that do not begin at {NO_CFI[name]}:", show(wrong))
    if name == "no_cfi_chain":
        recording.judge(name, "_start outer hot", start="_start")


# Processes that end before the agent can read what a copy of one piece of their stack does not hold.
DEEP = 'i=0; while [ $i -lt 100 ]; do "$0" 4; i=$((i + 1)); done'
CUT = r"\[incomplete: stack (changed before it was read|not readable)\]"


def judge_deep(program):
    """The first samples of a process have their whole stack, however deep it is."""
    recording = record("--", "sh", "-c", DEEP, program)
    ours = [s for s in recording.of("deep") if is_in(s, "wide")]
    cut = [s for s in ours if is_in(s, CUT)]
    whole = [s for s in ours if holds(s, "... thread (left|right) roomy " + "wide " * 40 + "hot ...")]
    expect(total(ours) >= ENOUGH, f"{total(ours)} samples", recording.said)
    expect(total(cut) <= max(1, 0.005 * total(ours)), f"{total(cut)} of {total(ours)} stacks are cut:", show(cut), recording.said)
    expect(total(whole) >= 0.8 * total(ours), f"{total(whole)} of {total(ours)} have all callers:", show(ours))


def build(shop):
    """Builds all programs. A program that cannot be built is replaced by the reason."""
    built, skipped = {}, {}
    for name, (cc, flags, _) in PROGRAMS.items():
        if not MACHINE.has(NEEDED.get(name)):
            skipped[name] = f"needs {NEEDED[name]}"
            continue
        try:
            built[name] = shop.build(name, cc, "chain.c", *flags)
        except (Skip, Failure) as e:
            if isinstance(e, Failure) and "lld" not in str(e):
                raise
            skipped[name] = "no lld here" if isinstance(e, Failure) else e
    return built, skipped


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        built, skipped = build(shop)
        twin = shop.build("chain-twin", "gcc", "chain.c", "-O2")
        subprocess.run([MACHINE.tool("strip"), "-o", shop.path("stripped"), twin], check=True)
        strange = [shop.build(name, "gcc", "no_cfi.S", "-nostdlib", "-static",
                              "-D" + name.removeprefix("no_cfi_").upper())
                   for name in NO_CFI if MACHINE.has("x86-64")]
        if MACHINE.has("x86-64"):
            built["fibers"] = shop.build("fibers", "gcc", "fibers.c", "-O2")
            built["leaf_asm"] = shop.build("leaf_asm", "gcc", "leaf_asm.c", "-O2", "-fno-omit-frame-pointer")
        recording = record("--", *together([[p, MS] for p in built.values()] +
                                           [[shop.path("stripped"), MS]] + [[p] for p in strange]))
        for name, (_, _, chain) in PROGRAMS.items():
            if name in skipped:
                tap.skip(name, skipped[name])
            else:
                tap.run(name, recording.judge, name, chain)
        if "fibers" in built:
            tap.run("stacks of OCaml's kind", recording.judge, "fibers", FIBERS)
            tap.run("a leaf without CFI does not hide its caller", recording.judge, "leaf_asm",
                    "_start __libc_start_main.* ... main outer inner hot")
        tap.run("stripped", judge_stripped, recording, twin)
        for name in NO_CFI if strange else []:
            tap.run(name, judge_no_cfi, recording, name)
        tap.run("deep stacks of short processes", judge_deep, shop.build("deep", "gcc", "deep.c", "-O2", "-pthread"))
    tap.done()


main()
