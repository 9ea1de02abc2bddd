#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with very many threads, sealed files, mappings of code and identities, which change all the time."""
import os
import shutil

import attack
import cameo
from cameo import ENOUGH, expect, show, total
from stalls import stalls

MS = 500
HERD = 20000
PATCHES = 10000
SEALED_MS = 5000  # of the clock
OWNERS = (64003, 64004)


def herd(shop):
    """20,000 threads, each with a name of its own"""
    outcome = attack.attack(shop, [stalls(shop, "herd", MS, "herd", HERD)])
    # a thread that has not run yet has a stack without pages, so only the main thread's are whole
    whole = [s for s in outcome.recording.of("herd") if cameo.holds(s, "_start ... main ... hot")]
    expect(total(whole) > 0, show(outcome.recording.of("herd")))


def sealed_files(shop):
    """Programs that are executed from sealed memory files, each new"""
    outcome = attack.attack(shop, [stalls(shop, "memfd", SEALED_MS, "memfd")])
    expect(total(outcome.recording.stacks) >= ENOUGH, show(outcome.recording.stacks))


def changing_code(shop):
    """10,000 mappings of code that change all the time, and a perf map that is rewritten while it is read"""
    outcome = attack.attack(shop, [stalls(shop, "patches", MS, "patches", PATCHES), stalls(shop, "rewrite", MS, "rewrite")])
    for name in ("patches", "rewrite"):
        expect(total(outcome.recording.of(name)) >= ENOUGH, show(outcome.recording.stacks))
    odd = [s for s in outcome.recording.of("patches") if "rewritten" in s.frames]
    expect(not odd, "names of another program:", show(odd))


def changing_users(shop):
    """Programs that become each other and another user with each exec"""
    hostile, paths = shop.c("hostile", "-pthread"), []
    for i, owner in enumerate(OWNERS):
        paths.append(shutil.copy(hostile, shop.path(f"setuid-{i}")))
        os.chown(paths[-1], owner, owner)
        os.chmod(paths[-1], 0o4755)
    outcome = attack.attack(shop, [[paths[0], MS, "exec", paths[1]]], setuid=True)
    for i in range(len(OWNERS)):
        expect(total(outcome.recording.of(f"setuid-{i}")) > 0, show(outcome.recording.stacks))


attack.main(herd, sealed_files, changing_code, changing_users)
