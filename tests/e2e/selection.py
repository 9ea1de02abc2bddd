#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules that select processes: what they exclude has no samples, and its stacks are not walked."""
import os
import re
import shutil
import signal
import subprocess

import cameo
from agent_process import Agent, count
from cameo import expect

ENOUGH_SAMPLES = 30
NOBODY = 65534


def rules_of(agent):
    """Returns the samples that each rule excluded in the kernel, by the rule's text."""
    text = agent.get("/metrics")[1]
    found = re.findall(r'^cameo_rule_samples_excluded_total\{number="\d+",rule="(.*)"\} (\d+)$', text, re.MULTILINE)
    return {rule.replace('\\"', '"'): int(n) for rule, n in found}


def flags_of(*rules):
    return [word for rule in rules for word in ("--select", rule)]


class Running:
    """Programs that use the CPU until the end of the block."""

    def __init__(self, shop, *names, **options):
        self.programs = [cameo.spawn(shop.link(shop.c("chain"), name), "1000000", **options) for name in names]

    def __enter__(self):
        return self.programs

    def __exit__(self, *_):
        cameo.end(*self.programs)


def select(shop, rules, kept, excluded, *flags):
    """Runs an agent with RULES until KEPT has samples and the kernel has excluded some. Expects none of EXCLUDED."""
    with Agent(shop, "-F", "99", "--window", "1s", *flags_of(*rules), *flags) as agent:
        agent.wait_samples(kept, ENOUGH_SAMPLES)
        agent.wait(lambda: sum(rules_of(agent).values()) > ENOUGH_SAMPLES, "excluded samples")
        agent.wait_samples(kept, count(agent.samples(kept)) + ENOUGH_SAMPLES)
        samples = agent.samples(excluded)
        counted = rules_of(agent)
        agent.end()
        said = agent.said()
    expect(not samples, f"{len(samples)} samples of {excluded}", *samples[:3])
    excluded_by_line = sum(map(int, re.findall(r"msg=agent .* excluded=(\d+)", said)))
    expect(excluded_by_line >= sum(counted.values()), counted, said)
    return counted


def by_comm(shop):
    """exclude comm=NAME"""
    with Running(shop, "selkept", "selcomm"):
        counted = select(shop, ["exclude comm=selcomm"], "selkept", "selcomm")
    expect(counted["exclude comm=selcomm"] > ENOUGH_SAMPLES, counted)


def by_exe(shop):
    """exclude exe=*/NAME, for programs that give themselves another name"""
    with Running(shop, "selkept", "selexe"):
        counted = select(shop, ["exclude exe=*/selexe"], "selkept", "selexe")
    expect(counted["exclude exe=*/selexe"] > ENOUGH_SAMPLES, counted)


def by_uid(shop):
    """include uid=N excludes all others"""
    os.chmod(shop.path(""), 0o755)
    with Running(shop, "selroot"), Running(shop, "seluser", user=NOBODY):
        counted = select(shop, [f"include uid={NOBODY}"], "seluser", "selroot")
    expect(list(counted) == [""], counted)


def by_cgroup_and_unit(shop):
    """cgroup=PATTERN and unit=NAME; a process that moves is noticed"""
    top = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "/sys/fs/cgroup/systemd"
    slices, group, other = f"{top}/selected.slice", f"{top}/selected.slice/sel.service", f"{top}/selected.slice/other"
    try:
        for path in (slices, group, other):
            os.mkdir(path)
    except OSError as e:
        raise cameo.Skip(f"cannot create a cgroup: {e}")

    def move(program, to):
        with open(f"{to}/cgroup.procs", "w", encoding="utf-8") as f:
            f.write(str(program.pid))

    try:
        with Running(shop, "selkept", "selunit", "selmoves") as (_, in_unit, moves):
            move(in_unit, group)
            select(shop, ["exclude unit=sel.service"], "selkept", "selunit")
            select(shop, ["exclude cgroup=*/selected.slice/*"], "selkept", "selunit")
            with Agent(shop, "-F", "99", "--window", "1s",
                       *flags_of("exclude cgroup=*/selected.slice/other")) as agent:
                agent.wait_samples("selmoves", ENOUGH_SAMPLES)
                move(moves, other)
                agent.wait(lambda: sum(rules_of(agent).values()) > ENOUGH_SAMPLES, "excluded samples after the move")
                n = count(agent.samples("selunit"))
                agent.wait_samples("selunit", n + ENOUGH_SAMPLES)
    finally:
        for path in (group, other, slices):
            os.rmdir(path)


def by_container(shop):
    """include container=NAME and namespace=NAME, by the files of the runtime"""
    top = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "/sys/fs/cgroup/systemd"
    ident = "5e1ec7ed" * 8
    group, root = f"{top}/docker-{ident}.scope", shop.path("selroot-dir")
    os.makedirs(f"{root}/var/lib/docker/containers/{ident}")
    with open(f"{root}/var/lib/docker/containers/{ident}/config.v2.json", "w", encoding="utf-8") as f:
        f.write('{"Name": "/selweb", "Config": {"Labels": {"io.kubernetes.pod.name": "web-0", '
                '"io.kubernetes.pod.namespace": "selprod"}}}')
    try:
        os.mkdir(group)
    except OSError as e:
        raise cameo.Skip(f"cannot create a cgroup: {e}")
    try:
        with Running(shop, "selout", "selin") as (_, inside):
            with open(f"{group}/cgroup.procs", "w", encoding="utf-8") as f:
                f.write(str(inside.pid))
            select(shop, ["include container=selweb namespace=selprod"], "selin", "selout", "--root", root)
            select(shop, [f"include container_id={ident[:12]}*"], "selin", "selout")
    finally:
        os.rmdir(group)


def the_first_match_decides(shop):
    """A rule before another one wins; quotes and != work"""
    with Running(shop, "selkept", "selother"):
        select(shop, ["include comm=\"selkept\"", "exclude comm=sel* exe!=*/nothing"], "selkept", "selother")


def new_processes_are_decided(shop):
    """A program that an excluded one starts is profiled, and one that an included program starts is not"""
    kept = shop.link(shop.c("chain"), "selborn")
    dropped = shop.link(shop.c("chain"), "seldead")
    script = f"while :; do {kept} 200; {dropped} 200; done"
    with Agent(shop, "-F", "99", "--window", "1s",
               *flags_of("exclude comm=sh", "exclude comm=seldead")) as agent:
        agent.wait_sampling()
        shell = subprocess.Popen(["sh", "-c", script], start_new_session=True)
        try:
            agent.wait_samples("selborn", 4 * ENOUGH_SAMPLES)
            agent.wait(lambda: agent.metric("cameo_samples_excluded_total") > ENOUGH_SAMPLES, "excluded samples")
            samples = agent.samples("seldead")
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
    expect(not samples, f"{len(samples)} samples of seldead", *samples[:3])


def reload_changes_the_rules(shop):
    """On SIGHUP other rules apply to running processes; a bad rule is reported with its line and changes nothing"""
    config = shop.path("select.conf")

    def write(*rules):
        with open(config, "w", encoding="utf-8") as f:
            f.write("freq = 99\nwindow = 1s\n" + "".join(f"select = {rule}\n" for rule in rules))

    def reload(agent):
        agent.process.send_signal(signal.SIGHUP)

    def stopped(agent, comm, other):
        """Waits until windows that begin after now have samples of OTHER; returns those of COMM in them."""
        agent.wait_windows(1)
        before, n = count(agent.samples(comm)), count(agent.samples(other))
        agent.wait_samples(other, n + ENOUGH_SAMPLES)
        return count(agent.samples(comm)) - before

    write()
    with Running(shop, "selone", "seltwo"):
        with Agent(shop, "--config", config) as agent:
            agent.wait_samples("selone", ENOUGH_SAMPLES)
            agent.wait_samples("seltwo", ENOUGH_SAMPLES)
            write("exclude comm=selone")
            reload(agent)
            agent.wait(lambda: rules_of(agent).get("exclude comm=selone", 0) > ENOUGH_SAMPLES, "excluded samples")
            # a window that was being counted may have some
            agent.wait_windows(2)
            expect(stopped(agent, "selone", "seltwo") == 0, "samples of a process that a new rule excludes")
            write("exclude com=seltwo")
            reload(agent)
            agent.wait(lambda: "cannot reload the configuration" in agent.said(), "the complaint")
            expect("select.conf:3: select" in agent.said() and 'unknown key \\"com\\"' in agent.said(), agent.said())
            expect(stopped(agent, "selone", "seltwo") == 0, "samples of a process that the old rule excludes")
            write("include comm=selone")
            reload(agent)
            n = count(agent.samples("selone"))
            agent.wait_samples("selone", n + ENOUGH_SAMPLES)
            agent.wait(lambda: rules_of(agent).get("", 0) > ENOUGH_SAMPLES, "excluded samples")
            write()
            reload(agent)
            n = count(agent.samples("seltwo"))
            agent.wait_samples("seltwo", n + ENOUGH_SAMPLES)


def bad_rules_end_the_start(shop):
    """A bad rule is an error of one line that names the file and the line"""
    config = shop.path("bad.conf")
    with open(config, "w", encoding="utf-8") as f:
        f.write("# a comment\nselect = exclude uid=root\n")
    got = subprocess.run([cameo.CAMEO, "agent", "--config", config], capture_output=True, text=True, check=False,
                         timeout=cameo.DEADLINE_S)
    expect(got.returncode != 0 and len(got.stderr.splitlines()) == 1, got)
    expect(f"{config}:2: select \"exclude uid=root\": uid=root: expected a number" in got.stderr, got.stderr)
    got = subprocess.run([cameo.CAMEO, "agent", "--select", "keep comm=x"], capture_output=True, text=True,
                         check=False, timeout=cameo.DEADLINE_S)
    expect(got.returncode != 0 and "expected include or exclude" in got.stderr, got)


def off_cpu_can_be_switched_off(shop):
    """off-cpu=no of an include rule: its processes have CPU samples, but no waits"""
    waits = "while :; do sleep 0.1; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done"
    shell = shutil.which("dash") or shutil.which("bash")
    names = [shutil.copy(shell, shop.path(name)) for name in ("selwaits", "selrests")]
    programs = [cameo.spawn(name, "-c", waits) for name in names]

    def kinds(agent, comm):
        """Returns the number of CPU samples and the waiting time of a program."""
        samples = agent.samples(comm)
        return sum(s[2][0] for s in samples if "state" not in s[1]), sum(s[2][0] for s in samples if "state" in s[1])

    try:
        with Agent(shop, "-F", "99", "--window", "1s", "--off-cpu",
                   *flags_of("include comm=selwaits off-cpu=no", "include")) as agent:
            agent.wait(lambda: kinds(agent, "selwaits")[0] > ENOUGH_SAMPLES, "CPU samples")
            agent.wait(lambda: all(kinds(agent, "selrests")), "waits")
            got = kinds(agent, "selwaits")
    finally:
        cameo.end(*programs)
    expect(got[1] == 0, "waiting time of a process without off-cpu:", got)


def recordings_select(shop):
    """record --select: an excluded process has no samples, and they are counted"""
    with Running(shop, "selkept", "seldropped"):
        recording = cameo.record("-d", "2", "--select", "exclude comm=seldropped")
    expect(recording.of("selkept") and not recording.of("seldropped"), cameo.show(recording.stacks), recording.said)
    excluded = re.search(r"^cameo: (\d+) samples? w(?:as|ere) excluded by --select$", recording.said, re.MULTILINE)
    expect(excluded and int(excluded[1]), recording.said)
    for args, why in ((["--select", "exclude com=x"], 'unknown key "com"'),
                      (["--select", "exclude", "-p", "1"], "cannot be used with --pid or a command")):
        r = cameo.cameo("record", *args)
        expect(r.returncode == 2 and why in r.stderr and r.stderr.count("\n") == 1, r.stderr)


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in (by_comm, by_exe, by_uid, by_cgroup_and_unit, by_container, the_first_match_decides,
                     new_processes_are_decided, reload_changes_the_rules, bad_rules_end_the_start,
                     off_cpu_can_be_switched_off, recordings_select):
            tap.run(test.__doc__, test, shop)
    tap.done()


if __name__ == "__main__":
    main()
