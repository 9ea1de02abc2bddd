#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that exhaust what Cameo has, or make it wait, harm nobody else's stacks."""
import os
import pathlib
import shutil
import subprocess
import time

import attack
import cameo
from attack import HOSTILE, user_dir
from cameo import expect, total

FILES = 600
DESCRIPTORS = 1024
FEW = 128
SPARSE = 64 << 30


def many_files(shop):
    """600 mapped files of one user with a limit of 1024 open files"""
    folder = user_dir(shop, "many")
    paths = []
    for i in range(FILES):
        paths.append(os.path.join(folder, str(i)))
        with open(paths[-1], "wb") as f:
            f.write(i.to_bytes(4096, "little"))
        os.chown(paths[-1], HOSTILE, HOSTILE)
    outcome = attack.attack(shop, [[shop.c("mappings"), attack.MS, FILES, *paths]],
                            wrapper=["prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}"])
    expect(outcome.metric("cameo_files_refused_total") > 0, outcome.metrics)
    expect(total(outcome.recording.of("mappings")) >= cameo.ENOUGH, outcome.recording.said)


def few_descriptors(shop):
    """An agent with a limit of 128 open files, most of which its own need, serves metrics and writes profiles"""
    busy = cameo.spawn(shop.link(shop.c("chain", "-g"), "few"), 1000000)
    try:
        with attack.Agent(shop, "-F", "199", "--window", "1s", wrapper=["prlimit", f"--nofile={FEW}:{FEW}"]) as agent:
            agent.wait_samples("few", cameo.ENOUGH)
            expect(agent.get("/healthz")[0] == 200, agent.said())
    finally:
        cameo.end(busy)


def sparse_debug_file(shop, build_id="none"):
    """A debug link to a file of 64 GB without contents or build id"""
    folder = user_dir(shop, "sparse-" + build_id)
    program = os.path.join(folder, "linked")
    shutil.copy(shop.build("linked-" + build_id, "gcc", "chain.c", "-O2", f"-Wl,--build-id={build_id}"), program)
    debug = os.path.join(folder, "linked.debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], check=True)
    os.truncate(debug, SPARSE)
    os.chown(debug, HOSTILE, HOSTILE)
    ours = attack.attack(shop, [[program, attack.MS]]).recording.of("linked")
    expect(total(ours) >= cameo.ENOUGH, cameo.show(ours))


def sparse_debug_file_with_build_id(shop):
    """A debug link to a file of 64 GB with the right build id"""
    sparse_debug_file(shop, "sha1")


def killed_symbolizers(shop):
    """A symbolizer that is killed ten times is replaced, and names are back in two windows each time"""
    program = shop.link(shop.c("chain", "-g"), "killed")
    busy = cameo.spawn(program, 1000000)
    with attack.Agent(shop, "-F", "199", "--window", "1s") as agent:
        try:
            attack.kill_children(agent, "killed", "hot")
        finally:
            cameo.end(busy)


def comm_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def killed_openers(shop):
    """A program that starts while every opener is killed has its names afterwards"""
    program = shop.link(shop.c("chain", "-g"), "unopened")
    with attack.Agent(shop, "-F", "199", "--window", "1s") as agent:
        agent.wait(lambda: agent.files(), "a first window")
        busy = cameo.spawn(program, 1000000)
        try:
            killed, end = 0, time.monotonic() + 3
            while time.monotonic() < end:
                for pid in cameo.children_of(agent.process.pid):
                    if comm_of(pid) == "cameo-opener":
                        attack.kill(pid)
                        killed += 1
            expect(killed > 0, "no opener was killed")
            begun = len(agent.files())
            agent.wait(lambda: any("hot" in s[0] for path in agent.files()[begun:]
                                   for s in attack.samples_of(path, "unopened")), "names after the kills")
        finally:
            cameo.end(busy)


attack.main(many_files, few_descriptors, sparse_debug_file, sparse_debug_file_with_build_id, killed_symbolizers, killed_openers)
