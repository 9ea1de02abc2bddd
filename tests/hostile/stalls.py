#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that keep those who examine them waiting: with pages that never come, slow files, stops and mounts."""
import os
import shutil
import signal
import subprocess

import attack
import cameo
from attack import HOSTILE, as_user, user_dir
from cameo import expect, show, total
from hangs import COPIED_BYTES, LONG_MS, mounted, wait_until_it_runs

MS = 500
SWAP_MS = 10**6
DEPTH = 300
USERS = 8
FIRST_USER = 64100
HUNG_AT_LEAST = USERS
HUNG_AT_MOST = 12  # the others are kept for root
WAIT_FOR_MORE_WINDOWS = 5
RUNTIMES = 12
LOST_READERS = 2
SCRIPT = "def later_function(n):\n    return sum(i * i for i in range(n))\nwhile True: later_function(1000)\n"


def stalls(shop, name, *args):
    return [shop.link(shop.c("stalls", "-pthread"), name), *args]


def missing_pages(shop):
    """A program with code and a stack in pages that userfaultfd never provides"""
    program = cameo.spawn(*stalls(shop, "fault", LONG_MS, "fault"))
    try:
        wait_until_it_runs(program)
        attack.attack(shop, [])
    finally:
        cameo.end(program)


def slow_files(shop):
    """A program on FUSE whose server takes a second for each answer"""
    with mounted(shop, "slow", size=COPIED_BYTES) as fuse:
        program = cameo.spawn(*as_user(HOSTILE, fuse.path, LONG_MS))
        try:
            wait_until_it_runs(program)
            fuse.server.send_signal(signal.SIGHUP)
            attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(program)


def stopped(shop):
    """Programs whose children a tracer stops, and one that may not call anything nor be traced"""
    outcome = attack.attack(shop, [stalls(shop, "traced", MS, "traced"), stalls(shop, "filtered", MS, "filtered")])
    for name in ("traced", "filtered"):
        outcome.recording.judge(name, "_start ... main ... hot", leaf="hot", most_elsewhere=0.5)


# Mounts of a user's own, each below the one before, the program at the end of them.
IN_MOUNTS = """
at=$1
mount -t tmpfs none "$at" || exit 99
for i in $(seq "$3"); do
    mkdir "$at/d" && mount -t tmpfs none "$at/d" || exit 99
    at=$at/d
done
cp "$2" "$at/deep" || exit 99
exec "$at/deep" "$4"
"""


def deep_mounts(shop):
    """A program below 300 file systems, mounted over each other in a namespace of the user's own"""
    check = as_user(HOSTILE, "unshare", "--user", "--map-root-user", "--mount", "true")
    if subprocess.run(check, check=False, capture_output=True).returncode != 0:
        raise cameo.Skip("users may not make namespaces here")
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_MOUNTS, "sh", user_dir(shop, "deep"),
               shop.c("chain"), str(DEPTH), str(MS)]
    outcome = attack.attack(shop, [command])
    expect(total(outcome.recording.of("deep")) >= cameo.ENOUGH, show(outcome.recording.stacks))


def swapped_debug_file(shop):
    """A debug file that is a link, now to a FIFO, now to the right file"""
    folder = user_dir(shop, "swapped")
    program = shop.build("swapped-program", "gcc", "chain.c", "-O2", "-g", "-Wl,--build-id=none")
    debug, link = shop.path("right.debug"), os.path.join(folder, "swapped.debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    shutil.copy(debug, link)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={link}", program], check=True)
    program = shutil.copy(program, os.path.join(folder, "linked"))
    os.unlink(link)
    os.symlink(debug, link)
    os.lchown(link, HOSTILE, HOSTILE)
    with attack.Baits(shop) as baits:
        swapper = cameo.spawn(*as_user(HOSTILE, *stalls(shop, "swap", SWAP_MS, "swap", link, baits.fifo("swapped.fifo"), debug)))
        try:
            wait_until_it_runs(swapper)
            attack.attack(shop, [[program, MS]], baits=baits)
            expect(swapper.poll() is None, "the links are not swapped")
        finally:
            cameo.end(swapper)


def many_users(shop):
    """Eight users whose programs hang on FUSE, and files of others that are opened after that"""
    path = shutil.copy(shop.c("chain"), shop.path("later"))
    hostile, later = [], None
    with mounted(shop, "users") as fuse:
        try:
            for i in range(USERS):
                hostile.append(cameo.spawn(*as_user(FIRST_USER + i, fuse.path, LONG_MS)))
            for p in hostile:
                wait_until_it_runs(p)
            fuse.server.send_signal(signal.SIGUSR1)
            with attack.Agent(shop, "-F", "199", "--window", "1s") as agent:
                agent.wait(lambda: agent.metric("cameo_openers_abandoned") >= HUNG_AT_LEAST, "openers that hang")
                agent.wait_windows(WAIT_FOR_MORE_WINDOWS)
                n_hung = agent.metric("cameo_openers_abandoned")
                expect(n_hung <= HUNG_AT_MOST, f"{n_hung:.0f} openers hang")
                for p in hostile:  # leaves the CPUs to the others
                    p.send_signal(signal.SIGSTOP)
                # another file than those that were opened before
                os.truncate(path, os.path.getsize(path) + 1)
                later = cameo.spawn(*as_user(attack.HONEST, path, LONG_MS))
                attack.windows_until_named(agent, "later", "hot")
                (status, _), health_s = attack.fastest(lambda: agent.get("/healthz"))
                expect(status == 200 and health_s < attack.HEALTH_S, f"/healthz: {status} after {health_s:.1f} s")
                took = attack.end_agent(agent)
                expect(took < attack.ENDS_S, f"the agent ended after {took:.1f} s:", agent.said())
        finally:
            fuse.end()
            cameo.end(*hostile, *([later] if later else []))


def many_runtimes(shop):
    """Programs of one user that imitate CPython with code that nobody can read, and a script of another user after that"""
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        raise cameo.Skip("no python3")
    program = shop.link(shop.c("false_python", "-rdynamic", "-Wl,--hash-style=both"), "py-hang")
    script, hostile, later = shop.path("later.py"), [], None
    with open(script, "w", encoding="ascii") as f:
        f.write(SCRIPT)
    with mounted(shop, "runtimes") as fuse:
        fuse.server.send_signal(signal.SIGUSR2)
        try:
            for _ in range(RUNTIMES):
                hostile.append(cameo.spawn(*as_user(HOSTILE, program, LONG_MS, "hang", fuse.path)))
            with attack.Agent(shop, "-F", "199", "--window", "1s") as agent:
                agent.wait(lambda: agent.metric("cameo_runtime_readers_lost_total") >= LOST_READERS, "a reader that hangs")
                agent.wait_windows(WAIT_FOR_MORE_WINDOWS)
                later = cameo.spawn(*as_user(attack.HONEST, python, script))
                agent.wait(lambda: any("later_function" in names for names, _, _ in agent.all_samples()),
                           "names of a script that started later")
                expect(attack.end_agent(agent) < attack.ENDS_S, "the agent does not end:", agent.said())
        finally:
            fuse.end()
            cameo.end(*hostile, *([later] if later else []))


if __name__ == "__main__":
    attack.main(missing_pages, slow_files, stopped, deep_mounts, swapped_debug_file, many_users, many_runtimes)
