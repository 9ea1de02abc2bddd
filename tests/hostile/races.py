#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ThreadSanitizer, with which this cameo is built, finds no data race in the agent during a storm of programs."""
import glob
import os
import signal
import subprocess

import attack
import cameo
from attack import HOSTILE, as_user, storm, user_dir
from cameo import expect

ROUNDS = 10
STORM_S = 1200
ENDS_S = 120  # everything takes ten times as long


def races(shop):
    """No data race in a storm, while metrics are read and the configuration is reloaded"""
    reports = shop.path("races")
    # posix_spawn() looks like a fork of a process with threads
    os.environ["TSAN_OPTIONS"] = f"log_path={reports} exitcode=0 die_after_fork=0 history_size=4"
    folder = user_dir(shop, "storm")
    with attack.Agent(shop, "-F", "19", "--off-cpu", "--window", "5s", "--memory", "512M") as agent:
        process = cameo.spawn(*as_user(HOSTILE, storm(shop), folder, ROUNDS, shop.c("generated")))
        n = 0
        while process.poll() is None:
            for page in ("/metrics", "/healthz"):
                agent.get(page)
            n += 1
            if n % 20 == 10:
                agent.process.send_signal(signal.SIGHUP)
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                expect(n < STORM_S, "the storm does not end")
        expect(process.returncode == 0, "the storm failed")
        agent.process.send_signal(signal.SIGTERM)
        agent.process.wait(ENDS_S)
        said = agent.said()
    found = sorted(glob.glob(reports + ".*"))
    text = []
    for path in found:
        with open(path, encoding="utf-8", errors="replace") as f:
            text.append(f.read())
    expect(not found, *text, said)


attack.main(races)
