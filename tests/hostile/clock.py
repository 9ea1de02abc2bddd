#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The system's time is set back and forward by hours while an agent profiles and scrapes."""
import gzip
import os
import struct
import subprocess

import attack
import cameo
from agent_process import Agent
from cameo import ENOUGH, expect
from files import Pprof, message, number, varint
from pprof import fields, get
from web_server import WebServer, respond

HOUR_NS = 3600 * 10**9
STEPS_H = (-5, 11)  # less than the default of max-age: files have the times of the kernel, whose clock stays
TOLERANCE_NS = HOUR_NS // 4  # less than a step, and more than a busy machine needs to write a window
FOREVER_MS = 100000000
SHIM = os.path.join(attack.TOP, "tests", "server", "clock_shim.c")


class Clock:
    """The time that programs started with self.wrapper see; set() moves it."""

    def __init__(self, shop):
        shim, self.path = shop.path("clock.so"), shop.path("clock")
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-U_FORTIFY_SOURCE", "-fvisibility=hidden", SHIM, "-o", shim,
                        "-ldl"], check=True)
        with open(self.path, "wb") as f:
            f.write(bytes(8))
        self.wrapper = ["env", f"LD_PRELOAD={shim}", f"CAMEO_TEST_CLOCK={self.path}"]

    def set(self, hours):
        """In place, since the programs have mapped the file."""
        with open(self.path, "r+b") as f:
            f.write(struct.pack("=q", hours * HOUR_NS))


class Allocating(WebServer):
    """A program whose profile of allocations has grown with each request."""
    n = 0

    def get(self, request):
        self.n += 1
        p = Pprof()
        p.parts.clear()
        for kind, unit in (("alloc_objects", "count"), ("alloc_space", "bytes")):
            p.put(1, number(1, p.string(kind)) + number(2, p.string(unit)))
        at = p.location((p.function("allocate", "/none.go"), 1))
        p.put(2, message(1, varint(at)) + message(2, varint(self.n) + varint(64 * self.n)))
        respond(request, 200, p.data())


def end_ns(path):
    """Returns the end of a window, which has a duration."""
    with open(path, "rb") as f:
        profile = gzip.decompress(f.read())
    start, duration = get(profile, 9), get(profile, 10)
    expect(0 < duration < TOLERANCE_NS, f"{os.path.basename(path)}: {duration} ns long")
    return start + duration


def is_scraped(path):
    with open(path, "rb") as f:
        return any(n == 6 and value == b"allocate" for n, value in fields(gzip.decompress(f.read())))


def windows_keep_their_times(shop):
    """Windows and scraped profiles have the time at which they end, and their durations, after each step"""
    clock, honest = Clock(shop), cameo.spawn(shop.link(shop.c("chain"), "honest"), FOREVER_MS, user=attack.HONEST)
    judged, before = set(), 0
    try:
        with Allocating() as target, Agent(shop, "-F", "99", "--window", "1s", "--scrape", target.url, "--scrape-types", "memory",
                                           "--scrape-interval", "2s", wrapper=clock.wrapper) as agent:
            agent.wait_sampling()
            for hours in (0, *STEPS_H):
                clock.set(hours)
                wait_for_both(agent, judged, hours, before)
                before = hours
            agent.wait_samples("honest", ENOUGH)
            agent.end()
            expect(agent.ended_well(), agent.said())
    finally:
        cameo.end(honest)


def wait_for_both(agent, judged, hours, before):
    """Waits for windows of both kinds that end at the time of the clock, and adds their files to JUDGED."""
    kinds = set()

    def has_both():
        for path in set(agent.files()) - judged:
            moved = end_ns(path) - os.stat(path).st_mtime_ns
            if abs(moved - hours * HOUR_NS) < TOLERANCE_NS:
                kinds.add(is_scraped(path))
            else:  # it ended before the step, and was written after it
                expect(abs(moved - before * HOUR_NS) < TOLERANCE_NS, f"{os.path.basename(path)}: moved by {moved} ns")
            judged.add(path)
        return kinds == {False, True}
    agent.wait(has_both, f"windows at {hours:+} hours")


if __name__ == "__main__":
    attack.main(windows_keep_their_times)
