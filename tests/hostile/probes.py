#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`record -e uprobe:FILE:FUNCTION` on malformed files, and on what is not a file: an error of one line, and nothing is opened."""
import os
import random
import shutil
import struct
import subprocess
import time

import attack
import cameo
from attack import Baits, user_dir
from cameo import expect

LIMIT_S = 30
SEED = 20
MUTATIONS = 12
HEADER = 64
HUGE = (0xff, 0x7f, 0x00)
NAME = "function\x1b[2J\x1b]0;owned\x07"


def record(path, function="hot"):
    """Returns the status and the messages of a recording of calls of FUNCTION in the file PATH."""
    command = [cameo.CAMEO, "record", "-e", f"uprobe:{path}:{function}", "-o", "/dev/null", "--", "true"]
    begun = time.monotonic()
    r = subprocess.run(command, capture_output=True, timeout=cameo.DEADLINE_S, check=False)
    expect(time.monotonic() - begun < LIMIT_S, f"{path}: {time.monotonic() - begun:.0f} s")
    expect(r.returncode in (0, 1, 2), path, r.returncode, r.stderr)
    return r.returncode, r.stderr.decode()


def refuse(path, function="hot"):
    status, said = record(path, function)
    expect(status != 0 and said.count("\n") == 1 and said.endswith("\n"), f"{path}: status {status}", said)
    attack.expect_clean(said)


def not_regular(shop):
    """Devices, FIFOs, terminals, directories and files of /proc are refused, and not opened"""
    with Baits(shop) as baits:
        link = shop.path("link")
        fifo = baits.fifo("probed.fifo")
        os.symlink(fifo, link)
        for path in (fifo, link, baits.device("probed.zero"), baits.terminal(), shop.dir, "/proc/self/maps",
                     "/dev/null", "/proc/kmsg"):
            refuse(path)
        opened = baits.opened()
        expect(not opened, *sorted(opened))


def malformed(shop):
    """Programs that are empty, cut, sparse, or whose headers, sections and symbols lie"""
    chance, folder = random.Random(SEED), user_dir(shop, "malformed")
    with open(shop.c("chain"), "rb") as f:
        whole = f.read()
    offset, = struct.unpack_from("<Q", whole, 0x28)
    files = {"empty": b"", "cut": whole[:len(whole) // 2], "header": whole[:HEADER],
             "sections": whole[:0x3c] + b"\xff\xff" + whole[0x3e:]}
    for i in range(MUTATIONS):
        data = bytearray(whole)
        for _ in range(40):
            at = chance.choice((chance.randrange(16, HEADER), chance.randrange(offset, len(data)), chance.randrange(len(data))))
            data[at] = chance.choice(HUGE)
        files[f"mutated-{i}"] = bytes(data)
    for name, data in files.items():
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.write(data)
        status, said = record(path)
        attack.expect_clean(said)
        expect(status == 0 or said.strip(), name)
    path = shutil.copy(shop.c("chain"), os.path.join(folder, "sparse"))
    os.truncate(path, 64 << 30)
    record(path)
    refuse(os.path.join(folder, "empty"))
    refuse(os.path.join(folder, "header"))


def crafted(shop):
    """Names of functions and files with control characters and escapes are printed without them"""
    path = os.path.join(user_dir(shop, "probed"), NAME)
    refuse(path)
    shutil.copy(shop.c("chain"), path)
    refuse(path, "none")
    refuse(shop.c("chain"), NAME)


attack.main(not_regular, malformed, crafted)
