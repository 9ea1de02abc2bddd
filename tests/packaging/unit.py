#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The systemd unit grants no more than the agent needs, and no less.

There is no systemd to run the unit here: setpriv gives the agent the user and the capabilities of the unit,
and strace lists its system calls, which must be among those that the unit's filter allows.
"""
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
import cameo  # noqa: E402
from agent_process import Agent  # noqa: E402
from cameo import Skip, Tap, Workshop, expect  # noqa: E402

UNIT = os.path.join(TOP, "packaging", "cameo-agent.service")
MOST_EXPOSURE = 3.5
USER = 61184  # the first user of DynamicUser=
OTHER = 65534


def settings(key):
    """The values of KEY in the unit, a list of words per line."""
    with open(UNIT, encoding="utf-8") as f:
        return [line.split("=", 1)[1].split() for line in f if line.startswith(key + "=")]


def analyze(*args):
    cameo.need("systemd-analyze")
    r = subprocess.run(["systemd-analyze", *args], capture_output=True, text=True, check=False)
    return r.stdout


def exposes_little():
    score = re.search(r"Overall exposure level .*: (\d+\.\d)", analyze("security", "--offline=true", UNIT))
    if not score:
        raise Skip("this systemd-analyze does not rate a file")
    expect(float(score[1]) <= MOST_EXPOSURE, score[0])


def changes_no_sysctl():
    commands = [line for key in ("ExecStartPre", "ExecStart", "ExecStartPost") for line in settings(key)]
    expect(len(commands) == 1 and commands[0][0] == "/usr/bin/cameo", commands)
    expect(settings("ProtectKernelTunables") == [["yes"]], settings("ProtectKernelTunables"))


def as_the_unit():
    """The command that starts a program with the user and capabilities of the unit."""
    granted, = settings("AmbientCapabilities")
    names = ["+" + c.removeprefix("CAP_").lower() for c in granted]
    some, everything = ",".join(names), ",".join(["-all", *names])
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs",
            f"--bounding-set={everything}", f"--inh-caps={some}", f"--ambient-caps={some}"]


def allowed_calls():
    """The system calls that the unit's filter allows: its first list without the others."""
    first, *denied = settings("SystemCallFilter")
    return members(first) - members(word.removeprefix("~") for line in denied for word in line)


def members(words):
    calls = set()
    for word in words:
        if word.startswith("@"):
            listed = analyze("syscall-filter", word).splitlines()[1:]
            calls |= members(line.strip() for line in listed if line.strip() and not line.strip().startswith("#"))
        else:
            calls.add(word)
    return calls


def runs_as_the_unit_starts_it(shop):
    """Programs of root and of another user are whole and named, and no other system call is needed"""
    cameo.need_bpf()
    cameo.need("strace")
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) > 2:
            raise Skip("the kernel reserves perf events for CAP_SYS_ADMIN")
    program = shop.c("chain", "-g")
    os.chmod(shop.dir, 0o777)
    # the build directory need not be readable for others
    cameo.CAMEO = shutil.copy(cameo.CAMEO, shop.path("cameo"))
    traced = shop.path("calls")
    programs = [cameo.spawn(shop.link(program, "of_root"), "100000"),
                cameo.spawn("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups",
                            shop.link(program, "of_other"), "100000")]
    wrapper = ["strace", "-f", "-qq", "-c", "-S", "name", "-U", "name", "-o", traced, *as_the_unit()]
    try:
        with Agent(shop, "-F", "99", "--window", "1s", wrapper=wrapper) as agent:
            for comm in ("of_root", "of_other"):
                agent.wait(lambda c=comm: any("hot" in s[0] and s[0][0] == "_start" for s in agent.samples(c)),
                           f"whole stacks of {comm}")
            child, = cameo.children_of(agent.process.pid)
            os.kill(child, 15)
            expect(agent.process.wait(cameo.DEADLINE_S) == 0, agent.said())
            said = agent.said()
    finally:
        cameo.end(*programs)
    expect("privileges: capabilities bpf perfmon" in said and "seccomp" in said, said)
    with open(traced, encoding="ascii") as f:
        calls = set(re.findall(r"^([a-z]\w+)$", f.read(), re.MULTILINE)) - {"syscall", "total"}
    expect({"bpf", "perf_event_open", "execve"} <= calls, calls)
    expect(calls <= allowed_calls(), "not allowed:", *sorted(calls - allowed_calls()))


def main():
    tap = Tap()
    tap.run("the unit's exposure is low", exposes_little)
    tap.run("the unit changes no sysctl", changes_no_sysctl)
    with Workshop() as shop:
        tap.run("the agent runs as the unit starts it", runs_as_the_unit_starts_it, shop)
    tap.done()


main()
