#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and exit statuses: however a recording ends, its file is complete or does not exist."""
import collections
import gzip
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from cameo import CAMEO, RARE, TOP, Recorder, Recording, Skip, Tap, Workshop, cameo, end, expect, \
    expect_kept, is_in, need, need_bpf, parse_folded, record, show, spawn, summary, together, total, wait_cpu

MS = 300
CHAIN = "_start __libc_start_main.* ... main outer middle hot"
GO_TOP = re.compile(r"^\s*[\d.]+\w*\s+[\d.]+%.*\bhot\b", re.MULTILINE)


def interrupted(shop, sig):
    """Expects SIGINT or SIGTERM to leave a complete file, and no other files."""
    chain = spawn(shop.c("chain"), 60000)
    place = shop.path("out-" + sig.name)
    os.mkdir(place)
    try:
        with Recorder("-p", str(chain.pid), output=os.path.join(place, "x.folded")) as recorder:
            recorder.wait_attached()
            wait_cpu(chain, ms=100)
            recording = recorder.finish(sig)
    finally:
        end(chain)
    expect(recording.status == 0, recording.status, recording.said)
    expect(os.listdir(place) == ["x.folded"], os.listdir(place))
    recording.judge("chain", CHAIN, enough=1)


def killed(shop):
    """Expects kill -9 to leave no file, or the old one."""
    for old in None, "the earlier content":
        path = shop.path("killed.folded")
        if old:
            with open(path, "w", encoding="ascii") as f:
                f.write(old)
        chain = spawn(shop.c("chain"), 60000)
        try:
            with Recorder("-a", output=path) as recorder:
                recorder.wait_attached()
                end(recorder.process)
        finally:
            end(chain)
        if old:
            with open(path, encoding="ascii") as f:
                expect(f.read() == old, "the old file was changed")
        else:
            expect(not os.path.exists(path), "an incomplete file exists")


def statuses(shop):
    """Expects Cameo's exit status to be the command's."""
    out = shop.path("status.folded")
    for command, status in (["true"], 0), (["false"], 1), (["sh", "-c", "exit 42"], 42), \
            (["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM):
        r = cameo("record", "-o", out, "--", *command)
        expect(r.returncode == status, command, f"{r.returncode}, not {status}", r.stderr)
        expect(os.path.exists(out), r.stderr)
        os.unlink(out)


def standard_output(shop):
    """Expects `-o -` to write only the profile to stdout, in the given format."""
    chain = shop.c("chain")
    r = cameo("record", "-F", "997", "-o", "-", "--format", "folded", "--", chain, str(MS))
    expect(any("hot" in s.frames for s in parse_folded(r.stdout)), r.stdout[:400], r.stderr)
    r = subprocess.run([CAMEO, "record", "-o", "-", "--", chain, str(MS)], capture_output=True,
                       check=False)
    expect(b"hot" in gzip.decompress(r.stdout), "no pprof on stdout")


def durations(shop):
    """Expects -d to end the recording although the command still runs."""
    chain = spawn(shop.c("chain"), 60000)
    try:
        recording = record("-p", str(chain.pid), "-d", "0.5")
    finally:
        end(chain)
    said = re.search(r"samples in ([\d.]+) s", recording.said)
    expect(said and float(said[1]) >= 0.5, recording.said)


def counts_agree(shop):
    """Expects the summary to count the samples in the file."""
    recording = record("--", shop.c("chain"), str(MS))
    expect(summary(recording.said)["samples"] == total(recording.stacks),
           recording.said, show(recording.stacks))


def pprof_file(shop):
    path = shop.path("p.pb.gz")
    if not os.path.exists(path):
        r = cameo("record", "-F", "997", "-o", path, "--",
                  *together([[shop.c("chain"), MS],
                             ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=100k"]]))
        expect(r.returncode == 0, r.stderr)
    return path


def by_protoc(shop):
    need("protoc")
    proto = shutil.copy(os.path.join(TOP, "tests", "oracle", "profile.proto"), shop.dir)
    with gzip.open(pprof_file(shop)) as f:
        r = subprocess.run(["protoc", "--decode=pprof.Profile", "-I", shop.dir, proto],
                           input=f.read(), capture_output=True, check=False)
    text = r.stdout.decode(errors="replace")
    expect(r.returncode == 0, r.stderr.decode())
    unknown = re.search(r"^\s*\d+[: ]", text, re.MULTILINE)
    expect(not unknown, "a field that the format does not have:", unknown and unknown[0])
    for word in "samples", "count", "cpu", "nanoseconds", "[kernel.kallsyms]", "pid", "tid", \
            "comm", "hot", "has_functions: true":
        expect(word in text, f"no {word} in it")
    for field in "time_nanos", "duration_nanos", "period", "build_id":
        expect(re.search(rf"^\s*{field}: [1-9]", text, re.MULTILINE), f"no {field}")


def by_go(shop):
    need("go")
    path = pprof_file(shop)
    for how, pattern in ("-raw", re.compile("Samples:\nsamples/count cpu/nanoseconds")), \
            ("-top", GO_TOP), ("-traces", re.compile(r"hot\n\s+middle\n\s+outer\n\s+main")):
        r = subprocess.run(["go", "tool", "pprof", how, path], capture_output=True, text=True,
                           check=False, env=dict(os.environ, PPROF_TMPDIR=shop.dir))
        expect(r.returncode == 0 and pattern.search(r.stdout), how, r.stdout[:1500], r.stderr)
    out = shop.path("again.pb.gz")
    r = subprocess.run(["go", "tool", "pprof", "-proto", "-output", out, path],
                       capture_output=True, text=True, check=False,
                       env=dict(os.environ, PPROF_TMPDIR=shop.dir))
    expect(r.returncode == 0 and os.path.getsize(out), r.stderr)


PAGES = 5000


def other_events(shop):
    """Expects a sample for each page fault, and one for every two milliseconds of CPU time."""
    faults = shop.c("faults")
    recording = record_events("-e", "page-faults", "--", faults, str(PAGES))
    touched = total([s for s in recording.of("faults") if is_in(s, "touch")])
    expect_kept(recording.said)
    expect(abs(touched - PAGES) <= RARE * PAGES, touched, recording.said)
    recording = record_events("-e", "page-faults", "-c", "10", "--", faults, str(PAGES))
    touched = total([s for s in recording.of("faults") if is_in(s, "touch")])
    # values are in the unit that was counted; a CPU counts faults of other programs, too, up to the tenth
    expect(abs(touched - PAGES) <= 0.05 * PAGES, touched, recording.said)
    recording = record_events("-c", "2000000", "--max-stack", "2", "--", shop.c("chain"), "400")
    ours = recording.of("chain")
    # time that the host takes from a virtual machine has no samples
    expect(200 <= total(ours) / 1e6 <= 480, total(ours), recording.said)
    # an inlined function shares the frame that contains it
    expect(all(sum(not f.endswith("_[i]") for f in s.frames) <= 2 for s in ours), show(ours))


def record_folded(*args):
    r = cameo("record", "--format", "folded", "-o", "-", *args)
    expect(r.returncode == 0, r.stderr)
    return Recording(parse_folded(r.stdout), r.stderr, 0)


def probes(shop):
    """Expects a sample for each hit of a tracepoint or function that is not lost, and a sample type per event."""
    writes, n = shop.c("writes", "-pthread"), 2000
    pprof = shop.path("probes.pb.gz")
    recording = record_folded("-e", f"uprobe:{writes}:put", "--per-thread", "--", writes, str(n))
    by_root = collections.Counter()
    for s in recording.stacks:
        by_root[re.sub(r"-\d+$", "-TID", s.comm)] += s.count
    expect_hits(by_root, {"writes-TID": n, "second-TID": 2 * n}, recording.said)
    expect(all(s.frames[-1] == "put" for s in recording.stacks), show(recording.stacks))
    events = ["-e", "syscalls:sys_enter_write,sched:sched_process_exec", "-e", f"uprobe:{writes}:put+0"]
    r = cameo("record", *events, "-c", "1", "-o", pprof, "--", writes, str(n))
    if r.returncode and "tracepoint" in r.stderr:
        raise Skip(r.stderr.strip())
    expect(r.returncode == 0, r.stderr)
    want = {"syscalls:sys_enter_write": 3 * n, "sched:sched_process_exec": 1, "uprobe:writes:put+0": 3 * n}
    said = {name: int(count) for count, name in re.findall(r"(\d+) samples? of ([\w:+]+\w)", r.stderr)}
    expect_hits(said, want, r.stderr)
    for name, count in said.items():
        table = json.loads(cameo("report", "--json", "--sample-type", name, pprof).stdout)
        expect(table["total"] == count, name, table)
    recording = record_folded("-e", f"uprobe:{writes}:put", "-c", "100", "--", writes, str(n))
    counts = summary(recording.said)
    expect(abs(counts["samples"] + counts["lost"] - 3 * n / 100) <= os.cpu_count(), recording.said)


def expect_hits(counted, want, said):
    """Expects the hits counted by name and those lost to be the expected ones exactly, and most of them to be counted.

    The ring buffer holds less than these programs fill while another process has the CPU of its reader."""
    lost = summary(said)["lost"]
    expect(counted.keys() == want.keys(), counted, said)
    expect(all(want[name] / 2 < counted[name] <= want[name] for name in want), counted, said)
    expect(sum(counted.values()) + lost == sum(want.values()), counted, said)


def record_events(*args):
    """Returns a recording whose counts are those of its last sample type."""
    with tempfile.TemporaryDirectory(prefix="cameo-e2e.") as tmp:
        pprof, folded = os.path.join(tmp, "x.pb.gz"), os.path.join(tmp, "x.folded")
        r = cameo("record", "-o", pprof, *args)
        expect(r.returncode == 0, r.stderr)
        again = cameo("convert", "-q", pprof, folded)
        expect(again.returncode == 0, again.stderr)
        with open(folded, encoding="utf-8", errors="replace") as f:
            return Recording(parse_folded(f.read()), r.stderr, 0)


def refuses_unknown_events(shop):
    for args, message in ((["-e", "colour"], r'"colour": unknown event; expected one of cpu-clock, '),
                          (["-e", "page-faults", "-F", "9"], r"--freq has no effect on these events"),
                          (["-e", "sched:*"], r"patterns are not supported: name each event"), (["-e", "sched:"], r"GROUP:NAME"),
                          (["-e", "uprobe:cat:no_such"], r'cannot find function "no_such" in "cat"'),
                          (["-c", "5"], r"--count \"5\": expected at least \d+ ns"), (["-c", "x"], r"-c \"x\": expected a whole number")):
        r = cameo("record", *args, "--", "true")
        expect(r.returncode == 2 and re.search(message, r.stderr) and r.stderr.count("\n") == 1, r.stderr)
    r = cameo("record", "-e", "cycles", "-o", shop.path("cycles.folded"), "--", "true")
    expect(r.returncode == 0 or re.fullmatch(r'cameo record: event "cycles" is not available on this machine.*\n', r.stderr),
           r.returncode, r.stderr)


def live_tables(shop):
    """Expects cameo top to show the functions of the selected process only."""
    process = spawn(shop.c("chain"), 60000)
    try:
        r = cameo("top", "-p", str(process.pid), "-i", "1", "-n", "2", "-F", "499")
        who = cameo("top", "-p", str(process.pid), "-i", "1", "-n", "1", "--by", "process")
    finally:
        end(process)
    tables = [t.splitlines() for t in r.stdout.strip().split("\n\n")]
    expect(r.returncode == 0 and len(tables) == 2, r.returncode, r.stdout, r.stderr)
    for table in tables:
        expect(table[0].startswith("functions ") and any(row.endswith("%  hot") for row in table)
               and re.search(r" (100|9[5-9])\.\d\d%  main$", "\n".join(table), re.M), r.stdout)
    rows = who.stdout.strip().splitlines()[1:]
    expect(len(rows) == 1 and rows[0].endswith(f"chain ({process.pid})"), who.stdout)


def costs_are_read(shop):
    """Expects the programs of bench/ to find every cost in the output of record -v."""
    r = cameo("record", "-v", "-o", shop.path("costs.pb.gz"), "--", shop.c("chain"), str(MS))
    sys.path.append(os.path.join(TOP, "bench"))
    costs = importlib.import_module("common").cameo_costs(r.stderr)
    expect(costs["samples"] > 0 and costs["bpf_ns"] > 0 and costs["us_all"] >= costs["us_sampling"], costs)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        for sig in signal.SIGINT, signal.SIGTERM:
            tap.run(f"{sig.name} in the middle leaves a whole file", interrupted, shop, sig)
        tap.run("kill -9 leaves no file, or the old one", killed, shop)
        tap.run("the exit status is the command's", statuses, shop)
        tap.run("-o - writes the profile to standard output", standard_output, shop)
        tap.run("-d ends the recording", durations, shop)
        tap.run("the summary counts the samples in the file", counts_agree, shop)
        tap.run("benchmarks read the costs of a recording", costs_are_read, shop)
        tap.run("protoc decodes the pprof", by_protoc, shop)
        tap.run("go tool pprof reads it", by_go, shop)
        tap.run("-e, -c and --max-stack", other_events, shop)
        tap.run("-e at tracepoints and functions", probes, shop)
        tap.run("unknown events are refused", refuses_unknown_events, shop)
        tap.run("cameo top of one process", live_tables, shop)
    tap.done()


main()
