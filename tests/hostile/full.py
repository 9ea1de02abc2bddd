#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user who fills the tables of the agent takes nothing from others, and there is room again after it."""
import os
import re
import shutil
import signal
import time

import attack
import cameo
from attack import HOSTILE, HONEST, as_user, user_dir
from cameo import expect

RUNTIMES = 300  # more than the walk has entries
SHARE = 64  # that one user may have of them
TRY_MS = 500
UNREADABLE = {"[unreadable function]", "[stale function]"}
SCRIPT = "def honest_function(n):\n    return sum(i * i for i in range(n))\nwhile True: honest_function(1000)\n"


LONG_MS = 10**6


def refused(agent):
    """Returns how many runtimes found no room, by the agent's metrics."""
    found = re.findall(r'^\w+\{reason="runtimes"\} (\d+)$', agent.get("/metrics")[1], re.MULTILINE)
    expect(len(found) == 1, "no counter of runtimes without an entry")
    return int(found[0])


def start_stopped(path):
    """Starts a program of the hostile user and stops it after its exec."""
    process = cameo.spawn(*as_user(HOSTILE, path, LONG_MS))
    deadline = time.monotonic() + cameo.DEADLINE_S
    while os.readlink(f"/proc/{process.pid}/exe") != path:
        expect(time.monotonic() < deadline, path, "does not start")
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    return process


def runtimes(shop):
    """300 programs that imitate CPython, each with another file: scripts of others are named, and their end makes room"""
    program = shop.c("false_python", "-rdynamic", "-Wl,--hash-style=both")
    folder = user_dir(shop, "runtimes")
    script, python = shop.path("script.py"), "/usr/bin/python3"
    with open(script, "w", encoding="ascii") as f:
        f.write(SCRIPT)
    if not os.path.exists(python):
        raise cameo.Skip("no python3")
    # a file of root's that the agent has not seen, as of a container that starts later
    own = shutil.copy(python, shop.path("honest-python"))
    os.truncate(own, os.path.getsize(own) + 1)
    hostile, busy = [], None
    with attack.Agent(shop, "-F", "199", "--window", "1s") as agent:
        try:
            agent.wait(agent.files, "a first window")
            for i in range(RUNTIMES):
                path = shutil.copy(program, os.path.join(folder, f"false-{i}"))
                os.truncate(path, os.path.getsize(path) + i + 1)  # another size is another file
                os.chown(path, HOSTILE, HOSTILE)
                hostile.append(start_stopped(path))
            agent.wait(lambda: refused(agent) >= RUNTIMES - SHARE, "the count of runtimes that are refused")
            busy = cameo.spawn(*as_user(HONEST, own, script))
            attack.windows_until_named(agent, "honest-python", "honest_function")
            for p in hostile:
                p.kill()
            later = shutil.copy(program, os.path.join(folder, "later"))
            os.chown(later, HOSTILE, HOSTILE)

            def is_recognized():
                """Tries another file each time, because a file is examined once."""
                begun = len(agent.files())
                os.truncate(later, os.path.getsize(later) + 1)
                hostile.append(cameo.spawn(*as_user(HOSTILE, later, TRY_MS, "circle")))
                hostile[-1].wait()
                agent.wait_windows(2)
                return any(UNREADABLE & set(names) for path in agent.files()[begun:]
                           for names, *_ in attack.samples_of(path, "later"))

            agent.wait(is_recognized, "an entry for another runtime")
        finally:
            cameo.end(*hostile, *([busy] if busy else []))


attack.main(runtimes)
