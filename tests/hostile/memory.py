#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cameo agent --memory` is a limit at every moment of a storm of programs, and the memory is returned after it.

All processes of the agent are measured, many times a second, by what the kernel reports: each page of RSS counts
once, also one that several of them share; BPF maps and the rings of process events are added, and memory files.
"""
import os
import re
import signal
import threading
import time

import attack
import cameo
from attack import HOSTILE, as_user, user_dir
from cameo import expect
from hangs import LONG_MS, mounted, wait_until_it_runs

LIMIT_MIB = 128
ROUNDS = 30
STORM_S = 600
SHRUNK_MIB = 15  # above the memory before the storm
SHRINK_S = 180
WINDOWS = 3
MIB = 1 << 20
USERS = 8
FIRST_USER = 64200
HALF_COPIED = 5 << 20
HUNG_KIB = 32
MEMORY_FILES_MAX = 8 << 20  # a sixteenth of the limit, and the files of readers
MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ ([0-9a-f]+) (\S+) (\d+) *(.*)$")


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def mappings(pid):
    """Returns (offset, device, inode, name, size, rss) of each mapping, with sizes in bytes."""
    found = []
    for line in read(f"/proc/{pid}/smaps").splitlines():
        m = MAPPING.match(line)
        if m:
            found.append([m[1], m[2], int(m[3]), m[4], 0, 0])
        elif line.startswith("Size:"):
            found[-1][4] = int(line.split()[1]) << 10
        elif line.startswith("Rss:"):
            found[-1][5] = int(line.split()[1]) << 10
    return found


def bpf_maps(pid):
    """Returns the bytes of each BPF map of PID, by its id, also of those in a map of maps that it has mapped."""
    sizes = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        text = read(f"/proc/{pid}/fdinfo/{fd}")
        m = re.search(r"^memlock:\s+(\d+)\n(?:.*\n)*?map_id:\s+(\d+)", text, re.MULTILINE)
        if m:
            sizes[m[2]] = int(m[1])
    return sizes


def memory_files(pid):
    """Returns the bytes of each memory file that PID has open, by its inode."""
    sizes = {}
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{fd}"
            if os.readlink(path).startswith("/memfd:"):
                st = os.stat(path)
                sizes[st.st_ino] = st.st_blocks * 512
    except OSError:
        pass
    return sizes


class Ledger:
    """The memory of an agent and its children, by kind; measured until end()."""

    def __init__(self, pid):
        self.pid = pid
        self.maps = sum(bpf_maps(pid).values())  # their number and sizes are fixed, except for chunks, which are mapped
        self.most, self.last = {}, {}
        self.plain_most = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def measure(self):
        shared, files = {}, {}
        now = {"bpf maps": self.maps, "chunks": 0, "event rings": 0, "rss": 0, "memory files": 0}
        plain = 0
        for pid in attack.own_tree(self.pid):
            files.update(memory_files(pid))
            for offset, device, inode, name, size, rss in mappings(pid):
                plain += rss
                if "bpf-map" in name:
                    # a chunk of unwind tables is closed once it is mapped; others are among self.maps
                    now["chunks"] += size if size == MIB and offset == "00000000" else 0
                elif "perf_event" in name:
                    now["event rings"] += size
                elif name.startswith("/memfd:"):
                    files.setdefault(inode, rss)
                elif inode:
                    key = (offset, device, inode)
                    shared[key] = max(shared.get(key, 0), rss)
                else:
                    now["rss"] += rss
        now["rss"] += sum(shared.values())
        now["memory files"] = sum(files.values())
        now["sum"] = sum(now.values())
        return now, plain

    def run(self):
        while not self.over.wait(0.02):
            now, plain = self.measure()
            self.last = now
            self.plain_most = max(self.plain_most, plain)
            if now["sum"] > self.most.get("sum", 0):
                self.most = now

    def end(self):
        self.over.set()
        self.thread.join()

    def text(self, of):
        return ", ".join(f"{name} {n / MIB:.1f} MiB" for name, n in of.items())


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
            print("# most:", ledger.text(ledger.most), flush=True)
            ended = time.monotonic()
            while ledger.last["sum"] > before["sum"] + SHRUNK_MIB * MIB and time.monotonic() < ended + SHRINK_S:
                time.sleep(0.1)
            took = time.monotonic() - ended
        finally:
            ledger.end()
        metrics = agent.get("/metrics")[1]
    print("# before:", ledger.text(before))
    print(f"# {took:.0f} s after:", ledger.text(ledger.last), f"RSS with shared pages counted for each process: {ledger.plain_most / MIB:.1f} MiB")
    expect(ledger.most["sum"] <= LIMIT_MIB * MIB, "over the limit:", ledger.text(ledger.most), metrics)
    expect(ledger.last["sum"] <= before["sum"] + SHRUNK_MIB * MIB, f"after {took:.0f} s:", ledger.text(ledger.last),
           "before:", ledger.text(before), metrics)


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
    print("# most:", ledger.text(ledger.most), f"RSS of hung openers: {sorted(hung)} KiB", flush=True)
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 15):
        # those that were killed within the last second still have theirs
        expect(sum(kib <= HUNG_KIB for kib in hung) >= USERS, f"RSS of hung openers: {hung} KiB")
    expect(ledger.most["sum"] <= LIMIT_MIB * MIB, "over the limit:", ledger.text(ledger.most), metrics)
    expect(ledger.most["memory files"] <= MEMORY_FILES_MAX, "memory files:", ledger.text(ledger.most), metrics)


attack.main(storm, half_copies)
