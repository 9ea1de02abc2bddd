#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Crafted names of files, functions, threads, units, cgroups, containers and services, in the agent and recordings."""
import attack
import cameo
import crafted
from cameo import ENOUGH, expect, show, total

MS = 300
LONGEST = 512  # bytes of a label


def judge_recording(outcome):
    """The programs' stacks are whole, whatever their functions are named"""
    ours = [s for s in outcome.recording.stacks if cameo.holds(s, "_start ... main outer middle ...")]
    odd = [s for s in ours if s.comm != "honest"]
    expect(total(odd) >= ENOUGH, show(outcome.recording.stacks))
    expect(len({s.comm for s in odd}) >= len(crafted.NAMES) - 1, sorted({s.comm for s in odd}))


def judge_labels(outcome):
    """Labels of units, containers and services come from the names, and are neither long nor those of others"""
    found = {key: set() for key in ("unit", "container", "pod", "container_id")}
    for _, labels, _ in outcome.samples:
        if labels.get("comm") == "honest":
            expect("container" not in labels and "cameo-crafted" not in str(labels), labels)
        for key, values in found.items():
            if key in labels:
                values.add(labels[key])
    for key, values in found.items():
        expect(len(values) >= len(crafted.NAMES) - 1, key, values)
        expect(all(len(v.encode()) <= LONGEST for v in values), key, values)


def main():
    attack.need_root()
    tap = cameo.Tap()
    with cameo.Workshop() as shop, crafted.Groups() as groups:
        outcome = {}
        tap.run(f"{len(crafted.NAMES)} programs with crafted names at once", lambda: outcome.update(of=attack.attack(
            shop, [], others=crafted.commands(shop, groups, MS), agent=["--root", crafted.container_root(shop)])))
        if outcome:
            for test in (attack.no_control_characters, judge_recording, judge_labels):
                tap.run(test.__doc__, test, outcome["of"])
    tap.done()


main()
