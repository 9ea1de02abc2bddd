#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The readers of language runtimes: they may be killed or hang, and only the process in question pays."""
import os
import sys

import attack
import cameo

# Each call of fresh() is of a function that nobody has read yet.
FRESH = """
import time
kept = []
while True:
    space = {"clock": time.process_time}
    exec("def fresh(until):\\n    while clock() < until:\\n        pass\\n", space)
    kept.append(space["fresh"])
    kept[-1](time.process_time() + 0.02)
"""


def readers_killed(shop):
    """Readers of Python that are killed ten times are replaced, and names are back in two windows each time"""
    program = shop.path("fresh-python")  # the process has this name
    os.symlink(os.path.realpath(sys.executable), program)
    busy = cameo.spawn(program, "-c", FRESH)
    with attack.Agent(shop, "-F", "199", "--window", "1s") as agent:
        try:
            attack.kill_children(agent, "fresh-python", "fresh")
        finally:
            cameo.end(busy)


attack.main(readers_killed)
