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
import tables
from attack import HOSTILE, HONEST, as_user, user_dir
from cameo import expect

RUNTIMES = 300  # more than the walk has entries
SHARE = 64  # that one user may have of them
TRY_MS = 500
UNREADABLE = {"[unreadable function]", "[stale function]"}
SCRIPT = "def honest_function(n):\n    return sum(i * i for i in range(n))\nwhile True: honest_function(1000)\n"


LONG_MS = 10**6
RULES = 8000  # of a file
RULE_FILES = 5


def refused(agent):
    """Returns how many runtimes found no room, by the agent's metrics."""
    found = re.findall(r'^\w+\{reason="runtimes"\} (\d+)$', agent.get("/metrics")[1], re.MULTILINE)
    expect(len(found) == 1, "no counter of runtimes without an entry")
    return int(found[0])


def rules_refused(agent):
    return sum(map(int, re.findall(r'^\w+\{reason="unwind_rules"\} (\d+)$', agent.get("/metrics")[1], re.MULTILINE)))


def later_stacks(agent, begun):
    """Returns the stacks of frames.c in the windows from number BEGUN on; by rule: those whose callers were not searched."""
    found = [(labels, cameo.Stack("frames", names, values[0])) for path in agent.files()[begun:]
             for names, labels, values in attack.samples_of(path, "frames")]
    return [s for _, s in found], [s for labels, s in found if labels.get("unwind") != "search"]


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


def many_rules(first):
    """An executable file whose functions have RULES different frame sizes, from FIRST words on."""
    rows = b"".join(b"\x41\x0e" + tables.uleb(8 * (first + i)) for i in range(RULES))
    return tables.with_eh_frame(tables.fdes(tables.CIE, [rows], 1, length=RULES))


def unwind_rules(shop):
    """Files with 40,000 unwind rules, more than there is room for: those of others are used, and theirs are counted"""
    folder, program = user_dir(shop, "rules"), shop.c("run_file", "-O0")
    later = shop.c("frames", "-fomit-frame-pointer")
    running = []
    with attack.Agent(shop, "-F", "199", "--window", "1s") as agent:
        try:
            agent.wait(agent.files, "a first window")
            for i in range(RULE_FILES):
                path = os.path.join(folder, f"rules-{i}")
                with open(path, "wb") as f:
                    f.write(many_rules(1000 + i * RULES))
                os.chown(path, HOSTILE, HOSTILE)
                running.append(cameo.spawn(*as_user(HOSTILE, program, LONG_MS, path, tables.PAGE)))
            agent.wait(lambda: agent.metric("cameo_unwind_rules") > RULES, "many rules")
            agent.wait(lambda: rules_refused(agent) > 0, "rules without room")
            for p in running:  # leaves the CPUs to the others
                p.send_signal(signal.SIGSTOP)
            begun = len(agent.files())
            running.append(cameo.spawn(*as_user(HONEST, later, LONG_MS)))
            agent.wait(lambda: later_stacks(agent, begun)[0], "a stack of a program that starts later")
            # the first ones may be from before its table was made
            begun = len(agent.files()) + 1
            agent.wait(lambda: cameo.total(later_stacks(agent, begun)[0]) >= cameo.ENOUGH, "stacks of a program that starts later")
            stacks, by_rule = later_stacks(agent, begun)
        finally:
            cameo.end(*running)
    right = [s for s in by_rule if cameo.holds(s, "_start ... main outer middle hot")]
    expect(cameo.total(right) >= 0.9 * cameo.total(stacks), cameo.show(stacks))


attack.main(runtimes, unwind_rules)
