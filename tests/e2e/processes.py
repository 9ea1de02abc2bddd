#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes: their start, exec and end; the processes that options select; kernel frames."""
import collections
import glob
import math
import os
import shutil
import signal
import subprocess
import sys

from cameo import ENOUGH, SPARE, Recorder, Skip, Tap, Workshop, are_rare, end, expect, \
    holds, is_in, is_whole, need, need_bpf, record, record_while_running, show, spawn, together, \
    total, until, user_frames, wait_cpu

MS = 400
MAIN = "_start __libc_start_main.* ... main "
CHAIN = MAIN + "outer middle hot"
SHORT_RUNS = 50


# ---- kernel frames --------------------------------------------------------------


def system_calls():
    """Expects user frames below kernel frames, in this order."""
    dd = spawn("dd", "if=/dev/zero", "of=/dev/null", "bs=64k", stderr=subprocess.DEVNULL)
    try:
        recording = record_while_running("-p", str(dd.pid), processes=[dd])
    finally:
        end(dd)
    ours = recording.of("dd")
    reading = [s for s in ours if "vfs_read_[k]" in s.frames]
    expect(total(ours) >= ENOUGH and total(reading) >= 0.2 * total(ours), show(ours))

    def is_called(s):
        above = s.frames[:s.frames.index("vfs_read_[k]")]
        return any(f in ("read", "__read", "__libc_read") or "libc" in f for f in above)

    bad = [s for s in reading if not is_whole(s) or not is_called(s)]
    expect(are_rare(bad, reading), "not called by libc's read:", show(bad))
    bad = [s for s in ours if not is_whole(s) or
           not all(f.endswith("_[k]") for f in s.frames[len(user_frames(s)):])]
    expect(are_rare(bad, ours), "not user frames, then kernel frames:", show(bad))


def halves(shop):
    """--no-kernel and --no-user."""
    chain = shop.c("chain")
    user = record("--no-kernel", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=200k")
    expect(total(user.stacks) >= ENOUGH, user.said)
    expect(not any(f.endswith("_[k]") for s in user.stacks for f in s.frames), show(user.stacks))
    kernel = record("--no-user", "--", *together([[chain, 50], ["dd", "if=/dev/zero", "bs=64k",
                                                                "of=/dev/null", "count=200k"]]))
    expect(total(kernel.stacks) >= ENOUGH, kernel.said)
    expect(all(f.endswith("_[k]") for s in kernel.stacks for f in s.frames), show(kernel.stacks))


TRIES = 40
WRITER = """
import os, sys
while True:
    with open(sys.argv[1], "wb") as f:
        for _ in range(64):
            f.write(os.urandom(1 << 17))
            f.flush()
            os.fsync(f.fileno())
"""


def whole_machine(shop):
    """Expects -a to record all processes, and kernel threads."""
    name = f"all-{os.getpid()}"  # others may run a program of any other name
    chain = spawn(shop.link(shop.c("chain"), name), 60000)
    # synchronous writes to a disk keep kernel threads busy
    writer = spawn(sys.executable, "-c", WRITER, shop.path("written"))
    try:
        # whether a kernel thread is sampled is chance, so there are several attempts
        for _ in range(TRIES):
            recording = record_while_running("-a", processes=[chain])
            if any(not user_frames(s) for s in recording.stacks):
                break
    finally:
        end(chain, writer)
    recording.judge(name, CHAIN)
    expect(any(not user_frames(s) for s in recording.stacks), "no kernel thread was seen")


# ---- threads --------------------------------------------------------------------


def shares(shop):
    """Expects the shares of two threads to be one to three."""
    recording = record("--", shop.c("threads", "-pthread"), str(MS))
    recording.judge("threads", "... once one hot", "... thrice three hot")
    ours = recording.of("threads")
    one = total([s for s in ours if is_in(s, "once")])
    n = one + total([s for s in ours if is_in(s, "thrice")])
    # five sigma of the binomial distribution, plus the resolution of the clocks
    allowed = 5 * math.sqrt(n * 0.25 * 0.75) + 0.02 * n
    expect(abs(one - n / 4) <= allowed, f"{one} of {n}, not {n / 4:.0f} +- {allowed:.0f}")


def without_main(shop):
    recording = record("--", shop.c("threads", "-pthread"), str(MS), "alone")
    recording.judge("threads", "... once one hot", "... thrice three hot")


def attach_without_main(shop):
    """Expects whole stacks of a process whose main thread had ended before the recording began."""
    program = spawn(shop.c("threads", "-pthread"), 60000, "alone")
    try:
        until(lambda: is_zombie(program.pid), "a main thread that has ended", 0.01)
        recording = record_while_running("-p", str(program.pid), processes=[program])
    finally:
        end(program)
    recording.judge("threads", "... once one hot", "... thrice three hot")


def is_zombie(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rpartition(")")[2].split()[0] == "Z"


# ---- exec, fork, exit ------------------------------------------------------------


def exec_again(shop):
    """Records three programs that run in turn under one pid."""
    chain = shop.c("chain")
    callback = shop.c("callback")
    other = shop.build("other", "gcc", "chain.c", "-O0", "-static")
    recording = record("--", chain, str(MS), other, str(2 * MS), callback, str(3 * MS))
    recording.judge("chain", CHAIN)
    recording.judge("other", "_start ... main outer middle hot")
    recording.judge("callback", MAIN + "outer ... .*compare hot")


def clone_and_vfork(shop):
    recording = record("--", shop.c("children"), str(MS), shop.c("chain"), str(MS))
    recording.judge("children", "... cloned hot", start=".*")
    recording.judge("chain", CHAIN)


RENAMED = """
import ctypes, time
for name in b"first", b"", b"third":
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
"""


def renamed():
    """Expects each sample of a process that renames itself to have the name of its time, if that is valid."""
    names = {s.comm for s in record("--", sys.executable, "-c", RENAMED).stacks}
    expect({"first", "[no name]", "third"} <= names and "_start" not in names, sorted(names))


def short_command(shop):
    """Expects samples of a command that takes 30 ms."""
    recording = record("--", shop.c("chain"), "30")
    recording.judge("chain", CHAIN, enough=10, most_elsewhere=0.5)
    expect(recording.status == 0, recording.status)


def short_programs(shop):
    """Expects complete samples of programs that take 20 ms."""
    chain = shop.c("chain")
    names = [f"short-{i}" for i in range(SHORT_RUNS)]
    for name in names:
        shop.link(chain, name)
    recording = record("--", "sh", "-c", ";".join(f"{shop.path(n)} 20" for n in names))
    # a busy host may suspend the whole virtual machine for that long
    missing = [n for n in names if not any(is_in(s, "hot") for s in recording.of(n))]
    expect(len(missing) <= SPARE, f"never seen: {missing}", recording.said)
    ours = [s for n in names for s in recording.of(n)]
    bad = [s for s in ours if not is_whole(s) or is_in(s, "hot") and not holds(s, CHAIN)]
    expect(are_rare(bad, ours), "not whole:", show(bad), recording.said)


# ---- -p -------------------------------------------------------------------------


def follow_children(shop):
    """Expects -p to include children that start later, and no other processes."""
    chain = shop.c("chain")
    gate = shop.path("gate")
    os.mkfifo(gate)
    stranger = spawn(shop.link(chain, "stranger"), 60000)
    parent = spawn("sh", "-c", f"read line <{gate}; {chain} {MS} & {chain} {MS}; wait")
    try:
        with Recorder("-p", str(parent.pid)) as recorder:
            recorder.wait_attached()
            with open(gate, "w", encoding="ascii") as f:
                f.write("go\n")
            recording = recorder.finish()
    finally:
        end(parent, stranger)
    recording.judge("chain", CHAIN)
    expect(not recording.of("stranger"), "samples of other processes:", show(recording.of("stranger")))
    expect(recording.status == 0, recording.status)


def follow_descendants(shop):
    """Expects -p to include children that are there, and their children; --no-inherit excludes them."""
    chain = shop.c("chain")
    child, grandchild = shop.link(chain, "child"), shop.link(chain, "grandchild")
    master = spawn("sh", "-c", f"{child} 60000 & sh -c '{grandchild} 60000 & wait' & wait", start_new_session=True)
    try:
        until(lambda: {"child", "grandchild"} <= pids_of_session(master.pid).keys(), "its descendants")
        busy = [Running(pids_of_session(master.pid)[name]) for name in ("child", "grandchild")]
        recording = record_while_running("-p", str(master.pid), processes=busy)
        alone = record_while_running("-p", str(master.pid), "--no-inherit", processes=busy)
    finally:
        os.killpg(master.pid, signal.SIGKILL)
        master.wait()
    for name in "child", "grandchild":
        recording.judge(name, CHAIN)
        expect(not alone.of(name), "samples of children:", show(alone.of(name)))


Running = collections.namedtuple("Running", "pid")  # a process that is not our child


def pids_of_session(leader):
    """Returns {name: pid} of the processes in the session of LEADER."""
    pids = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if int(rest.split()[3]) == leader:
            pids[name] = int(path.split("/")[2])
    return pids


def without_children(shop):
    """Expects --no-inherit to record the command without its children."""
    chain = shop.c("chain")
    script = f"{shop.link(chain, 'started')} {MS}; n=0; while [ $n -lt 400000 ]; do n=$((n + 1)); done"
    recording = record("--no-inherit", "--", "sh", "-c", script)
    expect(total(recording.of("sh")) >= 10, recording.said, show(recording.stacks))
    expect(not recording.of("started"), "samples of children:", show(recording.of("started")))


def list_of_processes(shop):
    """Expects -p A,B -p C to record these three until the last one has ended."""
    chain = shop.c("chain")
    names = ["first", "second", "third", "stranger"]
    programs = [shop.link(chain, n) for n in names]
    running = [spawn(p, 60000) for p in programs]
    a, b, c, _ = (str(p.pid) for p in running)
    try:
        with Recorder("-p", f"{a},{b}", "-p", c) as recorder:
            recorder.wait_attached()
            wait_cpu(*running[:3])
            end(*running[:3])
            recording = recorder.finish()
    finally:
        end(*running)
    for name in names[:3]:
        recording.judge(name, CHAIN)
    expect(not recording.of("stranger"), "samples of other processes:", show(recording.of("stranger")))


def new_cgroup():
    """Creates a cgroup for the test. Returns its directory."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        mounts = [line.split()[1] for line in f if line.split()[2] == "cgroup2"]
    if not mounts:
        raise Skip("no unified cgroup hierarchy here")
    path = os.path.join(mounts[0], f"cameo-e2e-{os.getpid()}")
    try:
        os.mkdir(path)
    except OSError as e:
        raise Skip(f"cannot create a cgroup: {e.strerror}") from e
    return path


def members_of_cgroup(shop):
    """Expects --cgroup to record the members of the cgroup only."""
    cgroup = new_cgroup()
    chain = shop.c("chain")
    stranger = spawn(shop.link(chain, "stranger"), 60000)
    member = spawn("sh", "-c", f"echo $$ >{cgroup}/cgroup.procs && "
                               f"exec {shop.link(chain, 'member')} 60000")
    try:
        wait_running(member, shop.path("member"))
        recording = record_while_running("--cgroup", os.path.basename(cgroup),
                                         processes=[member, stranger])
    finally:
        end(member, stranger)
        os.rmdir(cgroup)
    recording.judge("member", CHAIN)
    expect(not recording.of("stranger"), "samples of other processes:", show(recording.of("stranger")))


# ---- deleted, replaced and hidden files ---------------------------------------------


def wait_running(process, program):
    """Waits until the process has executed PROGRAM."""
    until(lambda: os.readlink(f"/proc/{process.pid}/exe") == program, f"{program} starts", 0.001)


def file_gone(shop, change):
    """Records a program whose file was removed or replaced while it ran."""
    chain = shop.c("chain")
    program = shutil.copy(chain, shop.path("changed"))
    process = spawn(program, 60000)
    try:
        wait_running(process, program)
        change(program)
        recording = record_while_running("-p", str(process.pid), processes=[process])
    finally:
        end(process)
    recording.judge("changed", CHAIN)


def deleted(shop):
    file_gone(shop, os.unlink)


def replaced(shop):
    """Replaces the file by another program, whose names must not appear."""
    other = shop.build("other", "gcc", "callback.c", "-O0", "-static")
    file_gone(shop, lambda path: os.rename(other, path))


def from_memory(shop):
    recording = record("--", shop.c("memfd"), "in-memory", shop.c("chain"), str(MS))
    recording.judge(next((s.comm for s in recording.stacks if is_in(s, "hot")), "none"), CHAIN)


def namespaces(shop):
    """Records a program in separate mount and pid namespaces, at a path that exists only there."""
    need("unshare")
    chain, inner = shop.c("chain"), shop.path("inner")
    os.mkdir(inner)
    script = (f"mount -t tmpfs none {inner} && cp {chain} {inner}/contained && "
              f"{inner}/contained {MS}")
    recording = record("--", "unshare", "-m", "-p", "-f", "sh", "-c", script)
    recording.judge("contained", CHAIN)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        tap.run("system calls: user frames beneath kernel frames", system_calls)
        tap.run("--no-kernel and --no-user each exclude a part of the stack", halves, shop)
        tap.run("-a records all programs and kernel threads", whole_machine, shop)
        tap.run("two threads have their true shares", shares, shop)
        tap.run("threads outlive the main thread", without_main, shop)
        tap.run("the same, attached after its end", attach_without_main, shop)
        tap.run("three programs under one pid", exec_again, shop)
        tap.run("clone with a separate stack, vfork and exec", clone_and_vfork, shop)
        tap.run("a command of 30 ms appears", short_command, shop)
        tap.run("a process that renames itself", renamed)
        tap.run("programs of 20 ms appear with complete stacks", short_programs, shop)
        tap.run("-p follows children that start later", follow_children, shop)
        tap.run("-p includes descendants that are there", follow_descendants, shop)
        tap.run("--no-inherit excludes children", without_children, shop)
        tap.run("-p takes lists, and ends with the last process", list_of_processes, shop)
        tap.run("--cgroup selects the members of a cgroup", members_of_cgroup, shop)
        tap.run("a deleted program", deleted, shop)
        tap.run("a replaced program", replaced, shop)
        tap.run("a program run from a memfd", from_memory, shop)
        tap.run("a program in other mount and pid namespaces", namespaces, shop)
    tap.done()


main()
