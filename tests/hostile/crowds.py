#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that start, end and rename processes, threads and mappings all the time, or have very many."""
import os
import re

import attack
import cameo
from cameo import ENOUGH, are_rare, expect, is_whole, show, total

MS = 400
CROWD = 3000
DESCRIPTORS = 1024
MAIN = "_start __libc_start_main.* ... main "

# mov %rdi,%rcx; 1: dec %rcx; jnz 1b; mov %rdi,%rax; ret
LOOP = bytes.fromhex("4889f948ffc975fb4889f8c3")
THREAD = (r"(_start|(__)?clone3?|start_thread|\[thread.start\]) ... work_and_exit ... hot", "hot")

# name of the program: what it does, and the chains that its stacks must have, with their leaf; None: any
SHAPES = {
    "names": ("a name with control characters", None),
    "fp-cycle": ("a frame pointer that points to itself", None),
    "sp-wild": ("a stack pointer that points nowhere", None),
    "exit-main": ("a main thread that has ended", THREAD),
    "threads": ("threads that end at once", None),
    "renames": ("a name that changes all the time", None),
}


def kind(shop, name, *args):
    return [shop.link(shop.c("hostile", "-pthread"), name), MS, name, *args]


def judge_shape(outcome, name, expected):
    stacks = outcome.recording.of("hos" if name == "names" else name)
    if name == "names":
        stacks = [s for s in outcome.recording.stacks if s.comm.startswith("hos") and "tile" in s.comm]
    if name == "renames":
        stacks = [s for s in outcome.recording.stacks if re.match("hostile-[0-9]+$", s.comm)]
    expect(total(stacks) >= ENOUGH, f"{name}: {total(stacks)} samples", show(outcome.recording.stacks))
    if expected:
        outcome.recording.judge(name, *expected[:-1], leaf=expected[-1], most_elsewhere=0.5)


def churn(shop):
    """Programs that exec each other, fork and remap a file all the time, at once"""
    code = shop.path("loop.code")
    with open(code, "wb") as f:
        f.write(LOOP.ljust(4096, b"\xcc"))
    hostile = shop.c("hostile", "-pthread")
    one, other = shop.link(hostile, "exec-one"), shop.link(hostile, "exec-other")
    recording = attack.attack(shop, [[one, MS, "exec", other], kind(shop, "fork"), kind(shop, "remap", code)]).recording
    for name in ("exec-one", "exec-other"):
        expect(recording.of(name), f"no sample of {name}", show(recording.stacks))
    ours = recording.of("remap")
    expect(total(ours) >= ENOUGH, show(ours))
    cut = [s for s in ours if not is_whole(s)]
    expect(are_rare(cut, ours, 0.5), show(cut))


def crowd(shop):
    """3,000 processes, with a limit of 1,024 open files"""
    outcome = attack.attack(shop, [kind(shop, "crowd", CROWD)],
                            wrapper=["prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}"])
    # After fork(), a stack cannot be read for the moment in which the kernel copies its page.
    outcome.recording.judge("crowd", MAIN + "... hot", leaf="hot", share=0.95, most_elsewhere=0.95)


def readers_killed(shop):
    """Readers of perf maps that are killed ten times are replaced, and names are back in two windows"""
    program = shop.link(shop.c("generated"), "mapped")
    busy = cameo.spawn(program, 1000000, "map")
    with attack.Agent(shop, "-F", "199", "--window", "1s") as agent:
        try:
            attack.kill_children(agent, "mapped", "mapped_function")
        finally:
            cameo.end(busy)
            os.unlink(f"/tmp/perf-{busy.pid}.map")


def main():
    attack.need_root()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        outcome = {}
        tap.run(f"{len(SHAPES)} programs of odd shapes at once", lambda: outcome.update(
            of=attack.attack(shop, [kind(shop, name) for name in SHAPES])))
        if outcome:
            for name, (what, expected) in SHAPES.items():
                tap.run(what, judge_shape, outcome["of"], name, expected)
            tap.run(attack.no_control_characters.__doc__, attack.no_control_characters, outcome["of"])
        for test in (churn, crowd, readers_killed):
            tap.run(test.__doc__, test, shop)
    tap.done()


main()
