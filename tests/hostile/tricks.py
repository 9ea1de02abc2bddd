#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with stacks, threads, mappings and files that programs rarely have, all at once next to an honest one."""
import os
import shutil

import attack
import cameo
from attack import HOSTILE, user_dir
from cameo import ENOUGH, expect, show, total

MS = 150
WHOLE = "... main ... hot"
# name of the program, and the frames that most of its stacks have: none for one that destroys them, or that is short
TRICKS = {
    "shared-memory": "... in_shared_memory work hot",
    "vfork-work": WHOLE,
    "signal-stack": WHOLE,
    "punched-stack": None,
    "huge-stack": "... work_and_exit work hot",
    "deep": None,
    "wild-stack": None,
    "wild-frames": None,
    "names": None,
    "leader-gone": "... (work_and_exit|map_and_work) ... (hot|\\[anonymous.code\\]) ...",
    "threads": None,
    "moved": None,
    "protected": None,
    "strict": None,
    "hidden": WHOLE,
    "stopped": None,
    "zombies": None,
    "time-space": WHOLE,
    "root-space": None,
    "first-pid": None,
}
SWAPS = ("rewritten", "map-swap", "dump-swap")


def commands(shop):
    program, swaps = shop.c("tricks", "-pthread"), shop.c("swaps", "-pthread")
    code = os.path.join(user_dir(shop, "rewritten-code"), "code")
    shutil.copy(shop.c("chain", "-g"), code)
    os.chown(code, HOSTILE, HOSTILE)
    found = [[shop.link(program, name), MS, name] for name in TRICKS]
    return found + [[shop.link(swaps, name), MS, name, *([code] if name == "rewritten" else [])] for name in SWAPS]


def frames_are_their_own(outcome):
    """No sample of the honest program has a frame of another"""
    for names, labels, _ in outcome.samples:
        expect(labels.get("comm") != "honest" or not any("tricks" in n or "swaps" in n for n in names), names)


def judge(outcome, name, chain):
    stacks = outcome.recording.of(name)
    expect(total(stacks) >= ENOUGH, f"{total(stacks)} samples of {name}:", show(outcome.recording.stacks))
    found = [s for s in stacks if cameo.holds(s, chain)]
    expect(total(found) >= 0.4 * total(stacks), f"{total(found)} of {total(stacks)}:", show(stacks))


def main():
    attack.need_root()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        outcome = {}
        tap.run(f"{len(TRICKS) + len(SWAPS)} programs at once",
                lambda: outcome.update(of=attack.attack(shop, commands(shop))))
        if outcome:
            for name, chain in TRICKS.items():
                if chain:
                    tap.run(name, judge, outcome["of"], name, chain)
            for test in (attack.no_control_characters, frames_are_their_own):
                tap.run(test.__doc__, test, outcome["of"])
    tap.done()


if __name__ == "__main__":
    main()
