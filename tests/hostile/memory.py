#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cameo agent --memory` is a limit at every moment of a storm of programs, and the memory is returned after it.

Ledger measures all processes of the agent many times a second.
"""
import os
import re
import signal
import time

import attack
import cameo
from attack import HOSTILE, as_user, user_dir
from cameo import expect
from hangs import LONG_MS, mounted, wait_until_it_runs
from ledger import MIB, Ledger, read, text

LIMIT_MIB = 128
ROUNDS = 30
STORM_S = 600
SHRUNK_MIB = 15  # above the memory before the storm
SHRINK_S = 180
WINDOWS = 3
USERS = 8
FIRST_USER = 64200
HALF_COPIED = 5 << 20
HUNG_KIB = 32
MEMORY_FILES_MAX = 8 << 20  # a sixteenth of the limit, and the files of readers


def storm(shop):
    """At most --memory during a storm of new programs, and back to 15 MiB above the start after it"""
    folder = user_dir(shop, "storm")
    with attack.Agent(shop, "-F", "199", "--window", "2s", "--memory", f"{LIMIT_MIB}M") as agent:
        agent.wait_windows(WINDOWS)
        ledger = Ledger(agent.process.pid)
        try:
            agent.wait(lambda: ledger.last, "a measurement")
            agent.wait_windows(1)
            before = ledger.last
            process = cameo.spawn(*as_user(HOSTILE, attack.storm(shop), folder, ROUNDS, shop.c("generated")))
            expect(process.wait(STORM_S) == 0, "the storm failed")
            print("# most:", text(ledger.most), flush=True)
            ended = time.monotonic()
            while ledger.last["sum"] > before["sum"] + SHRUNK_MIB * MIB and time.monotonic() < ended + SHRINK_S:
                time.sleep(0.1)
            took = time.monotonic() - ended
        finally:
            ledger.end()
        metrics = agent.get("/metrics")[1]
    print("# before:", text(before))
    print(f"# {took:.0f} s after:", text(ledger.last))
    expect(ledger.most["sum"] <= LIMIT_MIB * MIB, "over the limit:", text(ledger.most), metrics)
    expect(ledger.last["sum"] <= before["sum"] + SHRUNK_MIB * MIB, f"after {took:.0f} s:", text(ledger.last),
           "before:", text(before), metrics)


def resident_kib_of_hung(pid):
    """Returns the resident memory of each opener of the agent PID that does not die, in KiB."""
    sizes = []
    for child in cameo.children_of(pid):
        status = read(f"/proc/{child}/status")
        if re.search(r"^Name:\tcameo-opener$", status, re.MULTILINE) and "(disk sleep)" in status:
            sizes.append(int(re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[1]))
    return sizes


def half_copies(shop):
    """At most --memory while eight users' files on FUSE hang in the middle of being copied"""
    hostile = []
    with mounted(shop, "half", size=HALF_COPIED, hang_from=HALF_COPIED * 3 // 4) as fuse:
        try:
            for i in range(USERS):
                hostile.append(cameo.spawn(*as_user(FIRST_USER + i, fuse.path, LONG_MS)))
            for p in hostile:
                wait_until_it_runs(p)
            fuse.server.send_signal(signal.SIGUSR2)
            with attack.Agent(shop, "-F", "199", "--window", "1s", "--memory", f"{LIMIT_MIB}M") as agent:
                agent.wait_windows(1)
                ledger = Ledger(agent.process.pid)
                try:
                    agent.wait(lambda: agent.metric("cameo_openers_abandoned") >= USERS, "openers that hang")
                    agent.wait_windows(WINDOWS)
                    hung = resident_kib_of_hung(agent.process.pid)
                finally:
                    ledger.end()
                metrics = agent.get("/metrics")[1]
        finally:
            fuse.end()
            cameo.end(*hostile)
    print("# most:", text(ledger.most), f"RSS of hung openers: {sorted(hung)} KiB", flush=True)
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 15):
        # those that were killed within the last second still have theirs
        expect(sum(kib <= HUNG_KIB for kib in hung) >= USERS, f"RSS of hung openers: {hung} KiB")
    # Openers are killed and replaced one after the other: what several of them freed between two measurements was not
    # there at the same time. A peak that is shorter than the time between two measurements is not seen.
    expect(ledger.measured_most <= LIMIT_MIB * MIB, "over the limit:", text(ledger.most), metrics)
    expect(ledger.most["memory files"] <= MEMORY_FILES_MAX, "memory files:", text(ledger.most), metrics)


attack.main(storm, half_copies)
