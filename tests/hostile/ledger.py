# SPDX-License-Identifier: Apache-2.0
"""Shared by the hostile tests: the memory of all processes of a command together, at each moment.

It consists of what the kernel reports: each page of RSS counts once, also one that several processes share. BPF maps,
rings of process events and memory files are added, and so is what each process had at most since the previous
measurement and has no longer. High-water marks since the start of each process would count memory that one process
freed before another allocated its own.
"""
import os
import re
import threading
import time

import cameo

MIB = 1 << 20
STEP_S = 0.02
MAPS_STEP_S = 0.5
MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ ([0-9a-f]+) (\S+) (\d+) *(.*)$")
RESET_PEAK = "5"  # of clear_refs, proc(5)


def own_tree(pid, without=()):
    """Returns PID, which is cameo, and its descendants that are cameo: not the commands that it runs, nor WITHOUT."""
    found = [pid]
    for p in found:
        found += [c for c in cameo.children_of(p) if c not in without and is_cameo(c) and not shares_memory(c, p)]
    return found


def is_cameo(pid):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", cameo.CAMEO)
    except OSError:
        return False


def shares_memory(pid, parent):
    """Returns whether PID has not called exec yet since the vfork of its PARENT: it would be counted twice."""
    try:
        return command_line(pid) == command_line(parent)
    except OSError:
        return True


def command_line(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as f:
        return f.read()


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


def freed_since_peak(pid):
    """Returns by how many bytes PID's RSS is below its peak since the last call, which begins the next peak."""
    text = read(f"/proc/{pid}/status")
    kib = [int(m[1]) if (m := re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)) else 0 for name in ("VmHWM", "VmRSS")]
    try:
        with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as f:
            f.write(RESET_PEAK)
    except OSError:
        return 0  # it has ended
    return max(0, kib[0] - kib[1]) << 10


class Ledger:
    """The memory of PID, a command, and its children but those in WITHOUT, by kind; measured until end()."""

    def __init__(self, pid, without=()):
        self.pid, self.without = pid, without
        self.maps, self.maps_at = 0, 0
        self.most, self.last = {}, {}
        self.measured_most = 0  # without what was freed since the previous measurement
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def measure_maps(self):
        """Chunks of unwind tables are mapped and closed, so they are not among these."""
        now = time.monotonic()
        if now >= self.maps_at + MAPS_STEP_S:
            self.maps, self.maps_at = sum(bpf_maps(self.pid).values()), now
        return self.maps

    def measure(self):
        shared, files = {}, {}
        now = {"bpf maps": self.measure_maps(), "chunks": 0, "event rings": 0, "rss": 0, "freed": 0, "memory files": 0}
        for pid in own_tree(self.pid, self.without):
            now["freed"] += freed_since_peak(pid)
            files.update(memory_files(pid))
            for offset, device, inode, name, size, rss in mappings(pid):
                if "bpf-map" in name:
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
        return now

    def run(self):
        while not self.over.wait(STEP_S):
            try:
                self.last = self.measure()
            except OSError:
                continue  # it has ended
            self.measured_most = max(self.measured_most, self.last["sum"] - self.last["freed"])
            if self.last["sum"] > self.most.get("sum", 0):
                self.most = self.last

    def end(self):
        """Returns the most that all had at a moment, in MiB."""
        self.over.set()
        self.thread.join()
        return self.most.get("sum", 0) / MIB


def text(of):
    return ", ".join(f"{name} {n / MIB:.1f} MiB" for name, n in of.items())
