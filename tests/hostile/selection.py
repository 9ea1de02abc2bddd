#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that change what rules of selection match all the time."""
import os
import threading
import time

import attack
import cameo
from agent_process import Agent
from cameo import ENOUGH, expect

RENAMERS = 3
FOREVER_MS = 100000000
CHANGES = 2000  # of a process, during the test
# A turn of the agent's loop takes 50 ms at least, unless samples are urgent.
TURNS_PER_S = 100
RECHECK_S = 10


class Mover(threading.Thread):
    """Moves a process between two cgroups as fast as it can."""

    def __init__(self, pid, groups):
        super().__init__(daemon=True)
        self.pid, self.groups, self.n, self.stopped = pid, groups, 0, False

    def run(self):
        files = [os.open(f"{g}/cgroup.procs", os.O_WRONLY) for g in self.groups]
        while not self.stopped:
            os.write(files[self.n % 2], str(self.pid).encode())
            self.n += 1
        for fd in files:
            os.close(fd)

    def end(self):
        self.stopped = True
        self.join()


def renames_cost_a_decision_a_turn(shop):
    """Names that change all the time cost a bounded number of decisions"""
    hostile = shop.link(shop.c("hostile", "-pthread"), "renames")
    programs = [cameo.spawn(hostile, FOREVER_MS, "renames", user=attack.HOSTILE) for _ in range(RENAMERS)]
    try:
        judge(shop, programs, lambda: True)
    finally:
        cameo.end(*programs)


def moves_cost_a_bounded_number_of_decisions(shop):
    """A process that moves between cgroups all the time costs a bounded number of decisions"""
    top = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "/sys/fs/cgroup/systemd"
    groups = [f"{top}/cameo-{name}-{os.getpid()}" for name in ("a", "b")]
    program = cameo.spawn(shop.link(shop.c("chain"), "moved"), FOREVER_MS, user=attack.HOSTILE)
    made = []
    try:
        for group in groups:
            try:
                os.mkdir(group)
            except OSError as e:
                raise cameo.Skip(f"cannot create a cgroup: {e}")
            made.append(group)
        mover = Mover(program.pid, groups)
        mover.start()
        try:
            judge(shop, [program], lambda: mover.n > CHANGES, f"cgroup=*/{os.path.basename(groups[0])}")
        finally:
            mover.end()
    finally:
        cameo.end(program)
        for group in made:
            os.rmdir(group)


def judge(shop, programs, is_enough, *patterns):
    honest = cameo.spawn(shop.link(shop.c("chain"), "honest"), FOREVER_MS, user=attack.HONEST)
    rules = [word for pattern in ("comm=x*", *patterns) for word in ("--select", f"exclude {pattern}")]
    try:
        with Agent(shop, "-F", "99", "--window", "1s", *rules) as agent:
            agent.wait_sampling()
            began, before = time.monotonic(), agent.metric("cameo_selection_decisions_total")
            agent.wait_samples("honest", ENOUGH)
            agent.wait(is_enough, "changes")
            # the statistics are as of two seconds ago
            agent.wait_windows(3)
            decisions = agent.metric("cameo_selection_decisions_total") - before
            took = time.monotonic() - began
            processes = agent.metric("cameo_processes")
            agent.end()
            expect(agent.ended_well(), agent.said())
    finally:
        cameo.end(honest)
    most = took * TURNS_PER_S * len(programs) + 10 * processes * (took / RECHECK_S + 1)
    expect(decisions > 0, "no decisions")
    expect(decisions < most, f"{decisions} decisions in {took:.1f} s, at most {most:.0f} expected")


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in (renames_cost_a_decision_a_turn, moves_cost_a_bounded_number_of_decisions):
            tap.run(test.__doc__, test, shop)
    tap.done()


if __name__ == "__main__":
    main()
