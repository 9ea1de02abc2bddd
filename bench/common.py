# SPDX-License-Identifier: Apache-2.0
"""Shared by the programs of bench/: building, running, reading costs of processes, tables, results."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("CAMEO_BUILD", os.path.join(TOP, "build"))
CAMEO = os.path.join(BUILD, "cameo")
PROGRAMS = os.path.join(TOP, "bench", "programs")
WORK = os.path.join(BUILD, "bench-programs")


def need_root():
    if os.geteuid() != 0:
        sys.exit("root is required to load BPF programs")


def bpf_ns(*command):
    """BPF time in ns per sample of recording COMMAND; None if there were no samples."""
    with tempfile.TemporaryDirectory() as tmp:
        said = subprocess.run([CAMEO, "record", "-v", "-F", "1999", "-o",
                               os.path.join(tmp, "out.folded"), "--", *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False).stderr
    return cost(said, "bpf_ns")


def ninja(*targets):
    """Builds Ninja targets and makes the working directory."""
    subprocess.run(["ninja", "-C", BUILD, *targets], check=True, stdout=subprocess.DEVNULL)
    os.makedirs(WORK, exist_ok=True)


def newer(path, *than):
    return os.path.exists(path) and all(os.path.getmtime(path) >= os.path.getmtime(t) for t in than)


def compile_c(name, source, *flags):
    """Compiles a C program unless it is newer than its source; returns its path."""
    out = os.path.join(WORK, name)
    if not newer(out, source, os.path.join(PROGRAMS, "leaf.h")):
        subprocess.run([os.environ.get("CC", "gcc"), *flags, "-I", PROGRAMS, source, "-o", out], check=True)
    return out


class Background:
    """Processes that run until the end of the block."""

    def __init__(self):
        self.children = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
        for child in self.children:
            child.wait()

    def start(self, argv, cpu=None, **more):
        if cpu is not None:
            argv = ["taskset", "-c", str(cpu), *argv]
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more}
        child = subprocess.Popen(argv, **more)
        self.children.append(child)
        return child


def cpu_s(pid):
    """CPU seconds that a process has used; 0 if it has exited."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Finished:
    """A command that has exited: its standard error and its costs, including those of its children."""

    def __init__(self, argv, **more):
        t = time.monotonic()
        with open(os.path.join(WORK, "stderr"), "w+", encoding="utf-8", errors="replace") as err:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, **more)
            _, self.status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(self.status)
            err.seek(0)
            self.stderr = err.read()
        self.seconds = time.monotonic() - t
        self.cpu_us = (usage.ru_utime + usage.ru_stime) * 1e6
        self.rss_kib = usage.ru_maxrss
        if child.returncode:
            sys.exit(f"{' '.join(argv)}: exit status {child.returncode}\n{self.stderr}")


MAPS_OF_MAPS = (12, 13)

COSTS = {
    "samples": r"(\d+) samples in",
    "lost": r"(\d+) lost",
    "complete": r"([\d.]+) % complete",
    "frames": r"(\d+) frames, \d+ rule cache hits",
    "us_sampling": r"per sample ([\d.]+) us while sampling",
    "us_all": r"([\d.]+) us with symbolization and output",
    "bpf_ns": r"BPF (\d+) ns per sample",
}


def cost(stderr, name):
    """One of COSTS in the output of `cameo record -v`; None if it is not there."""
    m = re.search(COSTS[name], stderr)
    return float(m[1]) if m else None


def cameo_costs(stderr):
    """The numbers that `cameo record -v` reports."""
    found = {name: cost(stderr, name) for name in COSTS}
    missing = [name for name, value in found.items() if value is None]
    if missing:
        sys.exit(f"cameo record -v did not report {', '.join(missing)}:\n{stderr}")
    return found


def have(command):
    return shutil.which(command) is not None


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def number(v, digits=1):
    return "-" if v is None else f"{v:,.{digits}f}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else str(v)


def table(head, rows):
    """Prints aligned columns: the first one to the left, the others to the right."""
    rows = [[str(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for n, row in enumerate(rows):
        print("| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w)
                                for i, (c, w) in enumerate(zip(row, widths))) + " |")
        if n == 0:
            print("|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|")
    sys.stdout.flush()


def hardware():
    """Processors and kernel."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return f"{os.cpu_count()} x {model[1] if model else os.uname().machine}, Linux {os.uname().release}"


def machine():
    """One line about the conditions of a measurement."""
    return f"{time.strftime('%Y-%m-%d')}, {hardware()}, load average {os.getloadavg()[0]:.1f}"


class Results:
    """The figures of one run, for bench/results/NAME.json; bench/report makes RESULTS.md from these files.

    figure() adds a line of the overview, table() prints a table and adds it. Everything is
    text as it appears in the report.
    """

    def __init__(self, name, title):
        self.path = os.path.join(TOP, "bench", "results", f"{name}.json")
        self.title = title
        self.figures, self.tables = [], []
        self.load = os.getloadavg()[0]  # before the measurement adds its own

    def figure(self, figure, value, against="", ratio=""):
        self.figures.append({"figure": figure, "value": str(value), "against": against,
                             "ratio": f"{ratio:.2f}" if isinstance(ratio, float) else ratio})

    def table(self, head, rows, caption=""):
        table(head, rows)
        self.tables.append({"caption": caption, "head": [str(c) for c in head],
                            "rows": [[str(c) for c in row] for row in rows]})

    def write(self):
        """Replaces the results of the previous run; one row per line, which makes for readable differences."""
        program = os.path.relpath(os.path.realpath(sys.argv[0]), TOP)
        fields = {"command": " ".join([program, *sys.argv[1:]]), "title": self.title, "date": time.strftime("%Y-%m-%d"),
                  "machine": hardware(), "load": f"{self.load:.0f}"}

        def lines(indent, items):
            return ",\n".join(" " * indent + json.dumps(item, ensure_ascii=False) for item in items)

        tables = ",\n".join(
            f'  {{"caption": {json.dumps(t["caption"])},\n   "head": {json.dumps(t["head"])},\n'
            f'   "rows": [\n{lines(4, t["rows"])}\n   ]}}' for t in self.tables)
        with open(self.path, "w", encoding="utf-8") as f:
            f.write("{\n" + "".join(f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)},\n" for k, v in fields.items()) +
                    f' "figures": [\n{lines(2, self.figures)}\n ],\n "tables": [\n{tables}\n ]\n}}\n')
        print(f"\nwrote {os.path.relpath(self.path)}; bench/report makes RESULTS.md from it", file=sys.stderr)


def descriptors(pid):
    """/proc/PID/fdinfo as dictionaries."""
    base = f"/proc/{pid}/fdinfo"
    for fd in os.listdir(base):
        try:
            with open(os.path.join(base, fd), encoding="utf-8", errors="replace") as f:
                yield dict(line.split(":", 1) for line in f.read().splitlines() if ":" in line)
        except OSError:
            continue


def bpftool(*args):
    said = subprocess.run(["bpftool", "-j", *args], capture_output=True, text=True, check=False).stdout
    try:
        return json.loads(said)
    except ValueError:
        return []


def inner_maps(map_id):
    """{id: bytes} of the maps in a map of maps, whose own descriptors may be closed."""
    ids = {e.get("inner_map_id") for e in bpftool("map", "dump", "id", str(map_id))} - {None}
    return {i: int(bpftool("map", "show", "id", str(i)).get("bytes_memlock", 0)) for i in ids}


def bpf_map_kib(pid):
    """Kernel memory of the BPF maps that a process holds, in KiB."""
    sizes = {}
    for d in descriptors(pid):
        if "map_id" in d:
            sizes[int(d["map_id"])] = int(d["memlock"])
            if int(d["map_type"]) in MAPS_OF_MAPS:
                sizes.update(inner_maps(int(d["map_id"])))
    return sum(sizes.values()) / 1024


def bpf_time(pid):
    """(ns, runs) of the BPF programs that a process holds; kernel.bpf_stats_enabled must be on."""
    programs = {d["prog_id"]: d for d in descriptors(pid) if "prog_id" in d}
    return (sum(int(d.get("run_time_ns", 0)) for d in programs.values()),
            sum(int(d.get("run_cnt", 0)) for d in programs.values()))


class Memory:
    """KiB of a process: rss, peak, maps (BPF maps in the kernel), and all, which counts mapped maps once."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            status = dict(line.split(":", 1) for line in f)
        self.rss = int(status["VmRSS"].split()[0])
        self.peak = int(status["VmHWM"].split()[0])
        self.maps = round(bpf_map_kib(pid))
        self.all = self.rss + self.maps - self.mapped_maps(pid)

    @staticmethod
    def mapped_maps(pid):
        with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as f:
            parts = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", f.read(), flags=re.MULTILINE)
        return sum(int(re.search(r"^Rss:\s+(\d+)", p, re.MULTILINE)[1]) for p in parts if "bpf-map" in p.split("\n", 1)[0])
