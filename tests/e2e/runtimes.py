#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Versions of language runtimes that are not known yet: recordings, the agent and the doctor report them."""
import json
import os
import re
import subprocess

import cameo
from agent_process import Agent
from cameo import PROGRAMS, expect, record, spawn, end

MS = 500
WARNING = "Python 3.99 is not supported: its stacks show functions of the interpreter"


def build(shop):
    """Builds a library like that of a future CPython, and a program that links with it."""
    library = shop.build("libpython3.99.so", "gcc", "runtime.c", "-O2", "-fPIC", "-shared")
    return shop.build("run_runtime", "gcc", "run_runtime.c", "-O2", library, f"-Wl,-rpath,{shop.dir}")


def doctor(pid, *flags):
    p = subprocess.run([cameo.CAMEO, "doctor", "-p", str(pid), *flags], capture_output=True, text=True, check=False,
                       timeout=cameo.DEADLINE_S)
    return p.returncode, p.stdout, p.stderr


def a_program_that_runs_it(_, program):
    """A recording warns once of an unknown version that samples hit"""
    recording = record("--", *cameo.together([[program, "run", str(MS)]] * 3))
    expect(recording.said.count(WARNING) == 1, recording.said)
    expect("libpython3.99.so: unknown version)" in recording.said, recording.said)
    stacks = [s for s in recording.stacks if cameo.is_in(s, "_PyEval_EvalFrameDefault")]
    cut = [s for s in stacks if not cameo.is_whole(s)]
    expect(cameo.total(stacks) >= cameo.ENOUGH and cameo.are_rare(cut, stacks), "native frames are walked:", cameo.show(stacks))


def a_program_that_only_links_it(_, program):
    """A recording does not warn if no sample is in the interpreter's loop"""
    recording = record("--", program, "link", str(MS))
    expect(any(cameo.is_in(s, "Py_HashBuffer") for s in recording.stacks), cameo.show(recording.stacks))
    expect("not supported" not in recording.said, recording.said)


METRIC = re.compile(r'^cameo_unsupported_runtime_info\{runtime="Python",version="3.99",reason="unknown version"\} 1$',
                    re.MULTILINE)


def the_agent(shop, program):
    """The agent logs one line and has a metric, however many processes there are"""
    with Agent(shop, "--window", "2s", "--freq", "199") as agent:
        programs = [spawn(program, "run", "60000") for _ in range(2)]
        try:
            agent.wait(lambda: METRIC.search(agent.get("/metrics")[1]), "metric of the runtime")
            agent.wait_windows(2)
        finally:
            end(*programs)
        agent.end()
        # other programs of the machine may run runtimes that are not supported, too
        lines = [x for x in agent.said().splitlines() if "runtime is not supported" in x and "Python" in x]
        expect(len(lines) == 1 and 'version="3.99"' in lines[0] and 'libpython3.99.so"' in lines[0], agent.said())


def the_doctor(_, program):
    """cameo doctor -p names the runtime, its version and the reason"""
    running = spawn(program, "link", "60000")
    try:
        cameo.until(lambda: "libpython3.99" in open(f"/proc/{running.pid}/maps", encoding="utf-8").read(),
                    "the library")
        status, out, err = doctor(running.pid)
        expect(status == 0 and re.search(r"^degraded +Python 3\.99 +not supported \(unknown version\):", out), out, err)
        status, out, err = doctor(running.pid, "--json")
        expect(json.loads(out)["checks"][0]["name"] == "Python 3.99", out, err)
    finally:
        end(running)


def the_doctor_on_others(_, __):
    """cameo doctor -p shows supported runtimes, native programs, and processes that do not exist"""
    python = spawn("/usr/bin/python3", os.path.join(PROGRAMS, "python", "shapes.py"), "chain", "60000")
    native = spawn("sleep", "60")
    try:
        cameo.wait_cpu(python, ms=50)
        status, out, err = doctor(python.pid)
        expect(status == 0 and re.search(r"^ok +Python 3\.\d+ +supported: /", out), out, err)
        status, out, err = doctor(native.pid)
        expect(status == 0 and "no language runtime" in out, out, err)
    finally:
        end(python, native)
    status, out, err = doctor(2 ** 22 + 1)
    expect(status == 1 and "No such process" in err, f"status {status}", out, err)


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        program = build(shop)
        for test in (a_program_that_runs_it, a_program_that_only_links_it, the_agent, the_doctor,
                     the_doctor_on_others):
            tap.run(test.__doc__, test, shop, program)
    tap.done()


main()
