#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The basic functions on an emulated machine: `cameo doctor`, waits, probes, kernel stacks, and the agent."""
import re

from cameo import CAMEO, MACHINE, Tap, Workshop, cameo, expect, holds, parse_folded, record, show, \
    together, total


def doctor():
    """On a busy host, the two seconds of the self-test may end before the first unwind table is read."""
    for _ in range(3):
        r = cameo("doctor")
        if r.returncode == 0:
            break
    expect(r.returncode == 0 and re.search(r"^ok *self-test", r.stdout, re.MULTILINE), r.stdout, r.stderr)


def chains(shop):
    """Functions without frame pointers, by CFI: in a dynamic and in a static program."""
    link = {"plain": [], "static": ["-static"]}
    built = [shop.build("chain-" + name, "gcc", "chain.c", "-O2", *how) for name, how in link.items()]
    recording = record("--", *together([[p, MACHINE.ms(300)] for p in built]))
    for name in link:
        recording.judge("chain-" + name, "_start ... main outer middle hot")


def kernel_stacks(shop):
    """A loop of system calls has user frames, and kernel frames from the entry to the call."""
    out = shop.path("calls.folded")
    r = cameo("record", "-F", "199", "-o", out, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=4000")
    with open(out, encoding="utf-8") as f:
        stacks = [s for s in parse_folded(f.read()) if s.comm == "dd"]
    reading = [s for s in stacks if any(re.fullmatch(r"(vfs_read|ksys_read)_\[k\]", f) for f in s.frames)]
    entered = [s for s in reading if any(f.startswith("el0_svc") for f in s.frames) and
               re.fullmatch(r"_start|\[.*", s.frames[0])]
    expect(total(reading) > 20 and total(entered) >= 0.95 * total(reading), show(stacks), r.stderr)


def waits(shop):
    out = shop.path("waits.folded")
    r = cameo("record", "--off-cpu", "-o", out, "--", "sleep", "3")
    expect(r.returncode == 0, r.stderr)
    with open(out, encoding="utf-8") as f:
        stacks = parse_folded(f.read())
    slept = sum(s.count for s in stacks if any("nanosleep" in f for f in s.frames) and
                re.fullmatch(r"_start|\[sleep\+.*", s.frames[0]))
    expect(2.9e9 < slept < 4e9, f"{slept} ns of sleep", show(stacks), r.stderr)


def probes(shop):
    program = shop.c("chain")
    r = cameo("record", "-e", f"uprobe:{program}:main", "--format", "folded", "-o", "-", "--", program, "200")
    stacks = [s for s in parse_folded(r.stdout) if s.comm == "chain"]
    expect(total(stacks) == 1 and holds(stacks[0], "_start __libc_start_main ... main"), r.stdout[-2000:], r.stderr)


# Runs in the machine: waits until the server has a series of the agent.
AGENT = """
import subprocess, sys, time, urllib.request
cameo = sys.argv[1]
server = subprocess.Popen([cameo, "server", "--listen", "127.0.0.1:4040", "--data", "/tmp/data"])
agent = subprocess.Popen([cameo, "agent", "--server", "http://127.0.0.1:4040", "--window", "2s", "--metrics", "no"])
query = urllib.request.Request("http://127.0.0.1:4040/querier.v1.QuerierService/LabelNames", b"{}",
                               {"Content-Type": "application/json"})
deadline = time.monotonic() + 300
text = ""
while "service_name" not in text and time.monotonic() < deadline and agent.poll() is None:
    time.sleep(1)
    try:
        text = urllib.request.urlopen(query, timeout=60).read().decode()
    except OSError as e:
        text = str(e)
print(text)
for process in agent, server:
    process.terminate()
    print("status", process.wait())
"""


def agent_and_server():
    """An agent exports a window to a server, which then has its labels."""
    r = MACHINE.run(["python3", "-c", AGENT, CAMEO], 900)
    expect("service_name" in r.stdout and r.stdout.count("status 0") == 2, r.stdout, r.stderr)


def main():
    tap = Tap()
    with Workshop() as shop:
        tap.run("cameo doctor finds nothing missing", doctor)
        tap.run("chains of functions without frame pointers", chains, shop)
        tap.run("kernel stacks", kernel_stacks, shop)
        tap.run("a sleep is recorded as time off the CPU", waits, shop)
        tap.run("a probed function has a sample for each call", probes, shop)
        tap.run("an agent pushes to a server", agent_and_server)
    tap.done()


main()
