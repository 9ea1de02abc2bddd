#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rewriter.py SECONDS COMMAND...: changes pointers in the memory of COMMAND while it runs, and restores them soon after.

The program is started again whenever that ends it.
"""
import os
import random
import signal
import struct
import subprocess
import sys
import time

PAGE = 4096
WORDS = struct.Struct(f"<{PAGE // 8}Q")
HOLD_S = 0.001
START_S = 0.1
READ_PAGES = 512  # of a mapping, from a random page on
NOWHERE = (0, 1, 0xffffffffffffffff, 0xffff888000000000, 0x8000000000000000, 0x7ffffffff000, 0x4141414141414141)


def mappings(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as f:
        for line in f:
            area, flags = line.split()[:2]
            begin, end = (int(a, 16) for a in area.split("-"))
            yield begin, end, flags


def pages(pid, rng):
    """Returns pages that the program may write, in random order."""
    found = []
    for begin, end, flags in mappings(pid):
        if not flags.startswith("rw"):
            continue
        n = (end - begin) // PAGE
        first = rng.randrange(max(1, n - READ_PAGES))
        found += [begin + i * PAGE for i in range(first, min(n, first + READ_PAGES))]
    rng.shuffle(found)
    return found


def changed(at, words, areas, rng):
    """Returns WORDS with other values for some pointers: themselves, their neighbours, other pointers, and none at all."""
    pointers = [i for i, w in enumerate(words) if any(b <= w < e for b, e in areas)]
    result = list(words)
    for i in rng.sample(pointers, len(pointers) // 4 + bool(pointers)):
        result[i] = rng.choice((at + 8 * i, at, at + PAGE - 8, words[rng.choice(pointers)], words[i] + 8,
                                words[i] - 16, words[i] ^ 1 << rng.randrange(64), rng.choice(NOWHERE)))
    return result


def rewrite(memory, at, areas, rng):
    words = WORDS.unpack(os.pread(memory, PAGE, at))
    lies = changed(at, words, areas, rng)
    if lies == list(words):
        return
    os.pwrite(memory, WORDS.pack(*(w & 0xffffffffffffffff for w in lies)), at)
    time.sleep(HOLD_S)
    for i, lie in enumerate(lies):
        if lie != words[i]:
            os.pwrite(memory, struct.pack("<Q", words[i]), at + 8 * i)


def attack(process, until, rng):
    time.sleep(START_S)
    memory = os.open(f"/proc/{process.pid}/mem", os.O_RDWR)
    try:
        areas = [(b, e) for b, e, _ in mappings(process.pid)]
        while time.monotonic() < until and process.poll() is None:
            for at in pages(process.pid, rng):
                if time.monotonic() >= until:
                    break
                rewrite(memory, at, areas, rng)
    finally:
        os.close(memory)


def main():
    rng = random.Random(0)
    until = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < until:
        process = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            attack(process, until, rng)
        except (OSError, struct.error):
            pass  # it has ended
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


main()
