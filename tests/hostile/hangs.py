#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that hang, on a file system whose server does not respond or because they are frozen: nobody else waits."""
import contextlib
import os
import shutil
import signal
import subprocess
import time

import attack
import cameo
from cameo import Skip, expect, is_whole, total

UNREAD = "[file not read: remote file system]"
LONG_MS = 10**6
WARM_S = 0.2
UNREAD_BYTES = 16 << 20
COPIED_BYTES = 4 << 20  # the agent copies files of that size
FROZEN = 8
COVERED = 3
FREEZE_AFTER_S = 0.1


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Fuse:
    """A FUSE file system with one file, PATH: a program, and much more that it does not read itself.

    After SIGUSR2, it answers no reads from offset HANG_FROM on.
    """

    def __init__(self, shop, name, size=UNREAD_BYTES, hang_from=0, program=None):
        self.dir = shop.path("mnt-" + name)
        program = shutil.copy(program or shop.c("chain"), shop.path("program-" + name))
        os.truncate(program, size)
        os.makedirs(self.dir, exist_ok=True)
        self.path = os.path.join(self.dir, "program")
        self.server = subprocess.Popen([shop.c("fuse_hang"), self.dir, program, str(hang_from)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
        if self.server.stdout.readline() != "ready\n":
            raise Skip("no FUSE here: " + self.server.communicate()[1].strip())

    def end(self):
        subprocess.run(["umount", "-l", self.dir], check=False, capture_output=True)
        self.server.kill()
        self.server.communicate()


@contextlib.contextmanager
def mounted(shop, name, **options):
    fuse = Fuse(shop, name, **options)
    try:
        yield fuse
    finally:
        fuse.end()


def responding(shop):
    """A program on FUSE is whole and symbolized"""
    with mounted(shop, "responding", size=COPIED_BYTES) as fuse:
        outcome = attack.attack(shop, [[fuse.path, attack.MS]])
        for stacks in (outcome.recording.of("program"), outcome.agent_stacks("program")):
            wrong = [s for s in stacks if not is_whole(s) or not cameo.holds(s, f"{attack.HONEST_CHAIN} ...")]
            expect(total(stacks) > 0 and cameo.are_rare(wrong, stacks, 0.1), attack.show(wrong))


def wait_until_it_runs(program):
    deadline = time.monotonic() + cameo.DEADLINE_S
    while cpu_s(program.pid) < WARM_S:
        expect(program.poll() is None and time.monotonic() < deadline, "the program does not run")
        time.sleep(0.02)


def hanging(shop, sig, name):
    with mounted(shop, name, size=COPIED_BYTES, hang_from=1) as fuse:
        program = cameo.spawn(*attack.as_user(attack.HOSTILE, fuse.path, LONG_MS))
        try:
            wait_until_it_runs(program)
            fuse.server.send_signal(sig)
            outcome = attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(program)
        stacks = outcome.agent_stacks("program")
        unread = [s for s in stacks if UNREAD in s.frames]
        expect(total(unread) > 0 and total(unread) >= 0.8 * total(stacks), attack.show(stacks))
        expect(outcome.metric("cameo_files_unread_total") > 0, outcome.metrics)
        expect(outcome.metric("cameo_openers_killed_total") > 0, outcome.metrics)


def hung(shop):
    """A program on FUSE whose server answers nothing any more"""
    hanging(shop, signal.SIGUSR1, "hung")


def unreadable(shop):
    """A program on FUSE whose server answers everything but reads"""
    hanging(shop, signal.SIGUSR2, "unreadable")


def without_length(shop):
    """A program on FUSE whose file has no length any more, and whose server answers no reads"""
    with mounted(shop, "empty", size=COPIED_BYTES) as fuse:
        program = cameo.spawn(*attack.as_user(attack.HOSTILE, fuse.path, LONG_MS))
        try:
            wait_until_it_runs(program)
            fuse.server.send_signal(signal.SIGURG)
            attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(program)


@contextlib.contextmanager
def layered_over(shop, lower):
    """Mounts an overlayfs over the directory LOWER; yields its directory."""
    parts = [shop.path(name) for name in ("layers", "layers/upper", "layers/work", "layers/merged")]
    for path in parts:
        os.mkdir(path)
    _, upper, work, merged = parts
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    r = subprocess.run(["mount", "-t", "overlay", "none", merged, "-o", options], check=False, capture_output=True, text=True)
    if r.returncode:
        raise Skip("no overlayfs here: " + r.stderr.strip())
    try:
        yield merged
    finally:
        subprocess.run(["umount", "-l", merged], check=False, capture_output=True)


def rooted(shop):
    """A program whose root directory is on FUSE whose server answers nothing any more"""
    static = shop.build("chain-static", "gcc", "chain.c", "-O2", "-static")
    with mounted(shop, "root", program=static) as fuse:
        user = f"{attack.HOSTILE}:{attack.HOSTILE}"
        program = cameo.spawn("chroot", f"--userspec={user}", fuse.dir, "/program", LONG_MS)
        try:
            wait_until_it_runs(program)
            fuse.server.send_signal(signal.SIGUSR1)
            attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(program)


def layered(shop):
    """A program on an overlayfs over FUSE whose server answers no reads"""
    with mounted(shop, "lower", size=COPIED_BYTES) as fuse, layered_over(shop, fuse.dir) as merged:
        program = cameo.spawn(*attack.as_user(attack.HOSTILE, os.path.join(merged, "program"), LONG_MS))
        try:
            wait_until_it_runs(program)
            fuse.server.send_signal(signal.SIGUSR2)
            attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(program)


def mounted_over(shop):
    """Programs over whose files, on the disk of all others, a FUSE that responds to nothing was mounted later"""
    folder, hostile = shop.path("mnt-over"), []
    os.mkdir(folder)
    try:
        for i in range(COVERED):
            path = shutil.copy(shop.c("chain"), f"{folder}/covered-{i}")
            hostile.append(cameo.spawn(*attack.as_user(attack.HOSTILE, path, LONG_MS)))
            wait_until_it_runs(hostile[-1])
        with mounted(shop, "over") as fuse:
            fuse.server.send_signal(signal.SIGUSR1)
            outcome = attack.attack(shop, [])
    finally:
        cameo.end(*hostile)
    expect(outcome.metric("cameo_openers_killed_total") > 0, outcome.metrics)


def locked(shop):
    """A program whose threads hold the lock of its address space while they wait for a file"""
    with mounted(shop, "locked") as fuse:
        fuse.server.send_signal(signal.SIGUSR2)
        program = shop.link(shop.c("hostile", "-pthread"), "locked")
        holder = cameo.spawn(*attack.as_user(attack.HOSTILE, program, LONG_MS, "lock", fuse.path))
        try:
            attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(holder)


def stack_in_file(shop):
    """A program whose stack pointer is in a file that nobody can read"""
    with mounted(shop, "stack") as fuse:
        fuse.server.send_signal(signal.SIGUSR2)
        program = shop.link(shop.c("hostile", "-pthread"), "stack-in-file")
        wanderer = cameo.spawn(*attack.as_user(attack.HOSTILE, program, LONG_MS, "sp-file", fuse.path))
        try:
            attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(wanderer)


@contextlib.contextmanager
def own_locks(shop):
    """Processes whose address space is locked while they write to a file whose server does not answer."""
    with mounted(shop, "own-lock") as fuse:
        program = shop.link(shop.c("hostile", "-pthread"), "own-lock")
        # more than there are openers, and threads that read environments
        holders = [cameo.spawn(*attack.as_user(attack.HOSTILE, program, LONG_MS, "own-lock", fuse.path))
                   for _ in range(FROZEN)]
        try:
            for holder in holders:
                wait_until_it_runs(holder)
            fuse.server.send_signal(signal.SIGUSR1)
            for holder in holders:
                holder.send_signal(signal.SIGUSR1)
            yield
        finally:
            fuse.end()
            cameo.end(*holders)


def own_lock(shop):
    """Programs whose address space is locked while they write to a file whose server does not answer"""
    with own_locks(shop):
        attack.attack(shop, [])


def own_lock_memory(shop):
    """The same, and their resident memory is recorded"""
    with own_locks(shop):
        honest = cameo.spawn(shop.c("chain"), LONG_MS)
        out = shop.path("memory.folded")
        try:
            r = subprocess.run([cameo.CAMEO, "record", "--memory", "-d", "1", "-o", out], capture_output=True, text=True,
                               timeout=cameo.DEADLINE_S, check=False)
        finally:
            cameo.end(honest)
    expect(r.returncode == 0 and "could not be read" in r.stderr, r.stderr)
    with open(out, encoding="utf-8") as f:
        expect("chain" in f.read(), r.stderr)


def flipped(shop):
    """Programs whose stack has a page that is now memory, now a file that nobody can read"""
    with mounted(shop, "flipped") as fuse:
        fuse.server.send_signal(signal.SIGUSR2)
        program = shop.link(shop.c("hostile", "-pthread"), "flip")
        hostile = cameo.spawn(*attack.as_user(attack.HOSTILE, program, LONG_MS, "flip", fuse.path))
        try:
            attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(hostile)


@contextlib.contextmanager
def cgroup(name):
    """A cgroup with a freezer; yields functions that add a process, and that freeze all of them."""
    path = f"/sys/fs/cgroup/{name}-{os.getpid()}"
    freezer = f"/sys/fs/cgroup/freezer/{name}-{os.getpid()}"
    try:
        os.mkdir(path if os.path.exists("/sys/fs/cgroup/cgroup.procs") else freezer)
    except OSError as e:
        raise Skip(f"no cgroup with a freezer: {e}") from e
    if os.path.exists(freezer):
        path, state, values = freezer, "freezer.state", ("THAWED", "FROZEN")
    else:
        state, values = "cgroup.freeze", ("0", "1")

    def write(file, text):
        with open(os.path.join(path, file), "w", encoding="ascii") as f:
            f.write(str(text))

    try:
        yield lambda pid: write("cgroup.procs", pid), lambda: write(state, values[1])
    finally:
        write(state, values[0])
        deadline = time.monotonic() + cameo.DEADLINE_S
        while os.path.exists(path):
            try:
                with open(os.path.join(path, "cgroup.procs"), encoding="ascii") as f:
                    for pid in f.read().split():
                        os.kill(int(pid), signal.SIGKILL)
                os.rmdir(path)
            except OSError:
                expect(time.monotonic() < deadline, "the cgroup cannot be removed")
                time.sleep(0.05)


def frozen(shop):
    """Programs that are frozen right after their start, and others that run when their cgroup is frozen"""
    with cgroup("cameo-frozen") as (add, freeze):
        program = shop.link(shop.c("chain"), "frozen")
        started = []

        def act(_):
            for _ in range(FROZEN):
                started.append(cameo.spawn(*attack.as_user(attack.HOSTILE, program, LONG_MS)))
                add(started[-1].pid)
                time.sleep(FREEZE_AFTER_S)
            freeze()

        try:
            attack.attack(shop, [], during=act)
        finally:
            for p in started:
                p.kill()


def stopped(shop):
    """Programs that are stopped right after their start"""
    program = shop.link(shop.c("chain"), "stopped")
    started = []

    def act(_):
        for i in range(FROZEN):
            started.append(cameo.spawn(*attack.as_user(attack.HOSTILE, program, LONG_MS)))
            time.sleep(FREEZE_AFTER_S * i / FROZEN)
            started[-1].send_signal(signal.SIGSTOP)

    try:
        attack.attack(shop, [], during=act)
    finally:
        for p in started:
            p.kill()


def in_memory(shop):
    """A false Python whose code is in a file on FUSE, mapped but not read, whose server does not answer"""
    program = shop.link(shop.c("false_python", "-rdynamic", "-Wl,--hash-style=both"), "py-hang")
    with mounted(shop, "memory") as fuse:
        fuse.server.send_signal(signal.SIGUSR2)
        hostile = cameo.spawn(*attack.as_user(attack.HOSTILE, program, LONG_MS, "hang", fuse.path))
        try:
            wait_until_it_runs(hostile)
            outcome = attack.attack(shop, [])
        finally:
            fuse.end()
            cameo.end(hostile)
        stacks = outcome.agent_stacks("py-hang")
        # where the walk could not read the function either, it has nothing to compare with later
        unread = [s for s in stacks if {"[unreadable function]", "[stale function]"} & set(s.frames)]
        expect(total(unread) > 0 and total(unread) >= 0.8 * total(stacks), attack.show(stacks))
        expect(outcome.metric("cameo_runtime_readers_lost_total") > 0, outcome.metrics)


def main():
    attack.need_root()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in (responding, hung, unreadable, without_length, rooted, layered, mounted_over, stack_in_file, locked, own_lock, own_lock_memory, flipped, frozen, stopped, in_memory):
            tap.run(test.__doc__, test, shop)
    tap.done()


if __name__ == "__main__":
    main()
