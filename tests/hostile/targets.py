#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes whose memory lies, given to `cameo tasks`, `debug capture` and `doctor`: these end in time, and print valid text."""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
import unicodedata

import attack  # noqa: F401  finds the modules of tests/e2e
import cameo
import go_programs
from cameo import PROGRAMS, Tap, Workshop, expect, until
from task_program import TaskProgram

SEED = 20
ROUNDS = 16
FRESH_AFTER = 8  # rounds, after which most pointers are wrong
LIMIT_S = 2
HARMLESS = ("Cn", "Co")  # unassigned and private characters, which garbage may consist of
GRACE_S = 30  # on a busy machine
SEARCHED = 64 << 20  # bytes of a mapping
SMALL = 1 << 17  # what is less may be a length
LENGTHS = (1 << 20, 1 << 31, 1 << 40, 1 << 62, (1 << 64) - 1)
EXECS = 40


def written_mappings(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as f:
        lines = [line.split() for line in f]
    spans = [[int(x, 16) for x in fields[0].split("-")] for fields in lines if fields[1].startswith("rw")]
    return [(low, min(high, low + SEARCHED)) for low, high in spans]


class Liar:
    """Changes the memory of a process that is stopped."""

    def __init__(self, pid, chance):
        self.fd = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        self.chance = chance
        self.spans = written_mappings(pid)
        self.pointers, self.lengths = [], []
        for low, high in self.spans:
            try:
                data = os.pread(self.fd, high - low, low)
            except OSError:
                continue
            for i, (value,) in enumerate(struct.iter_unpack("<Q", data[:len(data) & ~7])):
                if value >= SMALL and any(a <= value < b for a, b in self.spans):
                    self.pointers.append((low + 8 * i, value))
                elif 0 < value < SMALL:
                    self.lengths.append((low + 8 * i, value))
        expect(self.pointers and self.lengths, "nothing to change")

    def end(self):
        os.close(self.fd)

    def put(self, address, value):
        os.pwrite(self.fd, struct.pack("<Q", value), address)

    def lie(self, n):
        """Makes N pointers refer to themselves, to each other and to nothing, or lengths huge."""
        for _ in range(n):
            if self.chance.random() < 0.7:
                address, _ = self.chance.choice(self.pointers)
                other, value = self.chance.choice(self.pointers)
                self.put(address, self.chance.choice((address, address & ~15, other, value, self.chance.getrandbits(47))))
            else:
                self.put(self.chance.choice(self.lengths)[0], self.chance.choice(LENGTHS))


def run(*command):
    """Runs cameo; expects it to end in time, by itself, with valid text. Returns what it printed, or None if it refused."""
    begun = time.monotonic()
    r = subprocess.run([cameo.CAMEO, *command], capture_output=True, timeout=cameo.DEADLINE_S, check=False)
    expect(r.returncode in (0, 1), r.returncode, *command, r.stderr)
    expect(time.monotonic() - begun < LIMIT_S + GRACE_S, *command, f"took {time.monotonic() - begun:.0f} s")
    for text in (r.stdout.decode(), r.stderr.decode()):
        odd = [c for c in text if c not in "\n\r" and not c.isprintable() and unicodedata.category(c) not in HARMLESS]
        expect(not odd, *command, repr(odd[:20]))
    return None if r.returncode else r.stdout


def judge(shop, pid):
    tasks = run("tasks", "-p", str(pid), "--timeout", f"{LIMIT_S}s", "--json")
    if tasks:
        json.loads(tasks)
    run("tasks", "-p", str(pid), "--timeout", f"{LIMIT_S}s", "-o", shop.path("tasks.pb.gz"))
    run("debug", "capture", "-p", str(pid), "-o", shop.path("stack.core"))
    run("doctor", "-p", str(pid))
    return tasks is not None


def lying(shop, command):
    chance, n_read = random.Random(SEED), 0
    for begin in range(0, ROUNDS, FRESH_AFTER):
        with TaskProgram(command) as p:
            os.kill(p.pid, signal.SIGSTOP)
            liar = Liar(p.pid, chance)
            expect(judge(shop, p.pid), "the tasks of a process that is stopped are not read")
            for i in range(begin, begin + FRESH_AFTER):
                liar.lie(4 ** (i % FRESH_AFTER))
                n_read += judge(shop, p.pid)
            liar.end()
    expect(n_read, "no tasks were read at all")


def lying_go(shop):
    """Goroutines whose lists and stacks are circles, huge or garbage"""
    cameo.need("go")
    lying(shop, [go_programs.build(shop, "go", "liar", "tasks/main.go"), "counts"])


def lying_asyncio(shop):
    """Asyncio tasks whose lists, frames and names are circles, huge or garbage"""
    lying(shop, [sys.executable, os.path.join(PROGRAMS, "python", "tasks.py"), "counts"])


# Executes itself permanently, at the same pid.
EXEC = "import os, sys; os.execv(sys.executable, [sys.executable, '-S', '-c', sys.argv[1], sys.argv[1]])"


def executed_again(shop):
    """A process that executes itself all the time, and then ends while it is read"""
    program = cameo.spawn(sys.executable, "-S", "-c", EXEC, EXEC)
    try:
        for _ in range(EXECS):
            run("tasks", "-p", str(program.pid), "--timeout", "200ms")
            run("debug", "capture", "-p", str(program.pid), "-o", shop.path("exec.core"))
        with subprocess.Popen([cameo.CAMEO, "tasks", "-p", str(program.pid), "--watch", "0.1"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as watch:
            until(lambda: watch.poll() is not None or cameo.children_of(watch.pid), "a reader")
            program.kill()
            program.wait()
            expect(watch.wait(cameo.DEADLINE_S) in (0, 1), watch.returncode)
    finally:
        cameo.end(program)


def main():
    tap = Tap()
    if os.geteuid() != 0:
        print("1..0 # SKIP only root can change the memory of any process")
        return
    with Workshop() as shop:
        for test in (lying_go, lying_asyncio, executed_again):
            tap.run(test.__doc__, test, shop)
    tap.done()


if __name__ == "__main__":
    main()
