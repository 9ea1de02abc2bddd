#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/proc with hidepid=2, where users see their own processes only, in the mount namespaces of Cameo and of its targets."""
import subprocess

import attack
import cameo
from attack import HOSTILE, as_user
from cameo import Skip, expect

MS = 400
MOUNTED = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
HIDDEN = ("unshare", "--mount", "sh", "-c", MOUNTED, "sh")
MAIN = "_start __libc_start_main.* ... main outer "


def need_hidepid():
    check = [*HIDDEN, *as_user(HOSTILE, "test", "!", "-e", "/proc/1")]
    if subprocess.run(check, check=False, capture_output=True).returncode:
        raise Skip("the kernel hides no processes here")


def judge(outcome):
    outcome.recording.judge("mapped", MAIN + "mapped_function", leaf="mapped_function", most_elsewhere=0.9)
    found = [s for s in outcome.agent_stacks("mapped") if cameo.holds(s, "... mapped_function")]
    expect(found, "the agent has no name of a perf map:", cameo.show(outcome.agent_stacks("mapped")))
    expect(any(labels.get("exe") for _, labels, _ in outcome.samples if labels.get("comm") == "mapped"), "no exe")


def generated(shop):
    return [shop.link(shop.c("generated"), "mapped"), MS, "map"]


def for_cameo(shop):
    """Cameo's own /proc hides the processes of others"""
    need_hidepid()
    judge(attack.attack(shop, [generated(shop)], wrapper=HIDDEN))


def for_targets(shop):
    """The /proc of a program hides the processes of others"""
    need_hidepid()
    judge(attack.attack(shop, [], others=[[*HIDDEN, *as_user(HOSTILE, *generated(shop))]]))


attack.main(for_cameo, for_targets)
