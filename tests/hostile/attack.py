# SPDX-License-Identifier: Apache-2.0
"""Shared by the hostile tests: runs hostile programs next to an honest one, and judges Cameo.

`cameo agent` and `cameo record` profile at the same time. The hostile programs and the honest one
run as two users without privileges. Whatever the hostile programs do, attack() expects that

- at least 99 % of the honest program's stacks are whole and symbolized, in both profiles,
- no sample of the recording is lost, and both commands succeed,
- all processes of each command together stay below a limit of memory at every moment (ledger.py),
- nothing that a Bait watches is opened,
- the agent answers /healthz within a second, and ends within five seconds of CPU and waiting after SIGTERM.

A test calls attack() with its commands, and then judges the samples of the hostile programs in the
returned Outcome.
"""
import ctypes
import os
import pty
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
import cameo  # noqa: E402
from agent_process import Agent  # noqa: E402
from pprof import Profile  # noqa: E402, F401
from ledger import Ledger, text as ledger_text  # noqa: E402
from cameo import ENOUGH, Recording, are_rare, expect, expect_kept, show, total  # noqa: E402

HOSTILE = 64001  # user ids that own nothing else
HONEST = 64002
MS = 800  # CPU time of the honest program
# The agent ends after five seconds at the latest (STOP_S of src/cli/agent.c). Then the kernel removes its programs,
# which waits for all CPUs and may take long on a busy machine.
ENDS_S = 10
HEALTH_S = 1
TRIES = 5  # other programs may have the CPUs for longer than that
KILLS = 10
# The default of the agent's --memory. It profiles the whole machine, so that other programs that start there count, too.
MEMORY_MIB = 128
RECORD_MIB = 256
HONEST_CHAIN = "_start __libc_start_main.* ... main outer middle hot"


# ---- files that nobody may open ------------------------------------------------

IN_ACCESS, IN_MODIFY, IN_OPEN = 0x1, 0x2, 0x20
IN_NONBLOCK = 0o4000
EVENT = struct.Struct("iIII")


class Baits:
    """Files that must not be opened, and a watch that reports who was.

    Opening with O_PATH is not reported, because it does not reach the file's driver or writer.
    """

    def __init__(self, shop):
        self.shop = shop
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.inotify = self.libc.inotify_init1(IN_NONBLOCK)
        expect(self.inotify >= 0, os.strerror(ctypes.get_errno()))
        self.watched = {}
        self.held = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in (self.inotify, *self.held):
            os.close(fd)

    def watch(self, path):
        """Reports that somebody opened PATH, which exists."""
        descriptor = self.libc.inotify_add_watch(self.inotify, path.encode(), IN_OPEN | IN_ACCESS | IN_MODIFY)
        expect(descriptor >= 0, path, os.strerror(ctypes.get_errno()))
        self.watched[descriptor] = path
        return path

    def fifo(self, name):
        """Makes a FIFO of the hostile user. It is held open, so that opening it neither blocks nor fails."""
        path = self.shop.path(name)
        os.mkfifo(path)
        os.chown(path, HOSTILE, HOSTILE)
        self.held.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        return self.watch(path)

    def device(self, name, major=1, minor=5):
        """Makes a character device (default: zero) with open permissions."""
        path = self.shop.path(name)
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        os.chmod(path, 0o666)
        return self.watch(path)

    def terminal(self):
        """Opens a pseudoterminal and returns the path of its other end."""
        ours, theirs = pty.openpty()
        self.held += [ours, theirs]
        return self.watch(os.ttyname(theirs))

    def opened(self):
        """Returns the paths that were opened since the last call."""
        found = set()
        while select.select([self.inotify], [], [], 0)[0]:
            data = os.read(self.inotify, 65536)
            at = 0
            while at < len(data):
                descriptor, _, _, length = EVENT.unpack_from(data, at)
                found.add(self.watched.get(descriptor, "queue overflow"))
                at += EVENT.size + length
        return found


# ---- processes -------------------------------------------------------------------


def as_user(uid, *command, setuid=False):
    """Returns a command that runs COMMAND as a user and group without privileges. SETUID: it may gain those of files."""
    flags = [] if setuid else ["--no-new-privs"]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *flags, *map(str, command)]


def user_dir(shop, name):
    """Makes a directory of the hostile user."""
    path = shop.path(name)
    os.mkdir(path)
    os.chown(path, HOSTILE, HOSTILE)
    return path


def storm(shop):
    """Returns a copy of storm.py that every user may execute."""
    return shutil.copy(os.path.join(TOP, "tests", "hostile", "storm.py"), shop.path("storm.py"))


def tree(pid):
    """Returns PID and its descendants."""
    found = [pid]
    for p in found:
        found += cameo.children_of(p)
    return found


def cpu_waits_s(pid):
    """Returns, for each thread of PID and its descendants, how long it was ready to run and another ran instead."""
    waits = {}
    for p in tree(pid):
        try:
            for task in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{task}/schedstat", encoding="ascii") as f:
                    waits[task] = int(f.read().split()[1]) / 1e9
        except (FileNotFoundError, ProcessLookupError):
            pass
    return waits


def end_agent(agent, said=None):
    """Sends SIGTERM; returns the seconds until the end, without those that other processes used the CPUs.

    SAID() is called until the end, and returns the messages; it is the agent's own by default. Threads end meanwhile, one after the other, so the waits of each are remembered.
    """
    pid = agent.process.pid
    before = cpu_waits_s(pid)
    waits = dict(before)
    begun = time.monotonic()
    agent.process.send_signal(signal.SIGTERM)
    while agent.process.poll() is None:
        waits.update(cpu_waits_s(pid))
        took = time.monotonic() - begun - sum(w - before.get(task, 0) for task, w in waits.items())
        text = (said or agent.said)()
        expect(took < cameo.DEADLINE_S, "the agent does not end:", text)
        time.sleep(0.02)
    return time.monotonic() - begun - sum(w - before.get(task, 0) for task, w in waits.items())


def fastest(ask):
    """Returns what ASK() returned last, and the seconds that the fastest of a few attempts took."""
    best = None
    for _ in range(TRIES):
        begun = time.monotonic()
        answer = ask()
        took = time.monotonic() - begun
        best = min(best, took) if best is not None else took
        if best < HEALTH_S:
            break
    return answer, best


# ---- an attack -----------------------------------------------------------------------


class Outcome:
    """Both profiles of an attack: recording (cameo.Recording), samples, metrics and log of the agent."""

    def __init__(self, recording, samples, metrics, log):
        self.recording, self.samples, self.metrics, self.log = recording, samples, metrics, log

    def agent_stacks(self, comm):
        """Returns the agent's stacks of a program, from the root, with their numbers of samples."""
        return [cameo.Stack(comm, names, values[0]) for names, labels, values in self.samples
                if labels.get("comm") == comm[:15]]

    def metric(self, name):
        return sum(float(m) for m in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", self.metrics, re.MULTILINE))


def is_honest(stack):
    """Returns whether a stack of the honest program is whole and symbolized."""
    return stack.frames and stack.frames[0] == "_start" and cameo.holds(stack, f"{HONEST_CHAIN} ...")


def judge_honest(name, stacks, said):
    """Expects at least 99 % of the stacks in the honest program's functions to be whole."""
    in_kernel_only = [s for s in stacks if cameo.is_whole(s) and not cameo.is_in(s, "_start|main|outer|middle|hot")]
    rest = [s for s in stacks if s not in in_kernel_only]
    starting = [s for s in rest if cameo.is_whole(s) and not cameo.is_in(s, "outer|middle|hot")]
    wrong = [s for s in rest if not is_honest(s) and s not in starting]
    expect(total(stacks) >= ENOUGH, f"{name}: only {total(stacks)} samples of the honest program", said)
    expect(are_rare(wrong, stacks), f"{name}: {total(wrong)} of {total(stacks)} honest stacks are not whole:",
           show(wrong), said)
    expect(are_rare(in_kernel_only + starting, stacks, 0.1), f"{name}: stacks outside of the loop:",
           show(in_kernel_only + starting))


def run_record(command, flags, limit_mib, wrapper=()):
    """Records COMMAND to its end and returns the Recording."""
    with tempfile.TemporaryDirectory(prefix="cameo-hostile.") as tmp:
        out = os.path.join(tmp, "out.folded")
        with open(os.path.join(tmp, "said"), "w+b") as said:
            process = subprocess.Popen([*wrapper, cameo.CAMEO, "record", "-F", "997", "-o", out, *flags, "--", *command],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
            memory = Ledger(process.pid)
            try:
                process.wait(cameo.DEADLINE_S)
            finally:
                process.kill()
                process.wait()
                most = memory.end()
                print("# record:", ledger_text(memory.most), flush=True)
            said.seek(0)
            text = said.read().decode(errors="replace")
        expect(process.returncode == 0 and os.path.exists(out), f"cameo record: status {process.returncode}", text)
        expect(most < limit_mib, f"cameo record: {most:.0f} MiB resident, limit {limit_mib}", text)
        with open(out, encoding="utf-8", errors="replace") as f:
            return Recording(cameo.parse_folded(f.read()), text, process.returncode)


def attack(shop, commands, *, baits=None, agent=(), record=(), memory_mib=MEMORY_MIB, record_mib=RECORD_MIB,
           during=None, wrapper=(), setuid=False, others=()):
    """Runs COMMANDS (lists) of the hostile user next to the honest program. Returns the Outcome.

    OTHERS are commands that become another user themselves. AGENT and RECORD are further options, WRAPPER a command that
    starts both, SETUID as for as_user(). DURING(agent) runs while both profile, from the moment when the agent serves
    metrics; a test in which it acts must end within the honest program's time.
    """
    honest = shop.link(shop.c("chain"), "honest")
    everyone = cameo.together([as_user(HONEST, honest, MS), *(as_user(HOSTILE, *c, setuid=setuid) for c in commands),
                               *others])
    with Agent(shop, "-F", "199", "--window", "1s", *agent, wrapper=wrapper) as watcher:
        memory = Ledger(watcher.process.pid)
        try:
            actor = threading.Thread(target=during, args=(watcher,)) if during else None
            if actor:
                actor.start()
            # the agent serves metrics before it samples
            watcher.wait_windows(1)
            recording = run_record(everyone, record, record_mib, wrapper)
            if actor:
                actor.join()
            watcher.wait_samples("honest", ENOUGH)
            (health, health_s), metrics = fastest(lambda: watcher.get("/healthz")), watcher.get("/metrics")[1]
            took = end_agent(watcher)
        finally:
            most = memory.end()
            print("# agent:", ledger_text(memory.most), flush=True)
        outcome = Outcome(recording, watcher.all_samples(), metrics, watcher.said())
    expect(health[0] == 200, "the agent's /healthz:", *health)
    expect(health_s < HEALTH_S, f"the agent answered /healthz after {health_s:.1f} s:", outcome.log)
    # a busy machine may leave no time to symbolize everything, which the agent reports
    expect(watcher.process.returncode == ("samples were not sent" in outcome.log),
           f"the agent's status is {watcher.process.returncode}:", outcome.log)
    expect(took < ENDS_S, f"the agent ended after {took:.1f} s:", outcome.log)
    expect(most < memory_mib, f"the agent: {most:.0f} MiB resident, limit {memory_mib}", outcome.log)
    expect_kept(recording.said)
    judge_honest("record", recording.of("honest"), recording.said)
    judge_honest("agent", outcome.agent_stacks("honest"), outcome.log)
    opened = baits.opened() if baits else set()
    expect(not opened, "files were opened that must not be:", *sorted(opened))
    return outcome


INVISIBLE = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe]")


def expect_clean(text):
    """Expects no control characters, invisible ones or those that change the direction of TEXT."""
    wrong = [c for c in text if ord(c) < 32 and c not in "\n\r" or 127 <= ord(c) < 160 or INVISIBLE.match(c)]
    expect(not wrong, f"characters {wrong}:", repr(text[:300]))


def no_control_characters(outcome):
    """Names with control characters reach no file, log or metric."""
    for text in (outcome.recording.said, outcome.log, outcome.metrics,
                 *(";".join((s.comm, *s.frames)) for s in outcome.recording.stacks),
                 *(text for names, labels, _ in outcome.samples for text in (*names, *map(str, labels.values())))):
        expect_clean(text)


# ---- children that are killed --------------------------------------------------------------


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def samples_of(path, comm):
    with open(path, "rb") as f:
        return [s for s in Profile(f.read()).samples if s[1].get("comm") == comm]


def windows_until_named(agent, comm, function):
    """Expects at most two windows from now on with samples of the program COMM, but without FUNCTION."""
    begun = len(agent.files())
    unnamed = []

    def is_named():
        windows = [samples_of(path, comm) for path in agent.files()[begun:]]
        named = [any(function in s[0] for s in samples) for samples in windows if samples]
        unnamed[:] = [n for n in named if not n]
        return any(named)

    agent.wait(is_named, "names after a kill")
    expect(len(unnamed) <= 2, f"{len(unnamed)} windows without names:", agent.said())


def kill_children(agent, comm, function):
    """Kills the agent's children ten times; each time, FUNCTION of the program COMM soon has its name again."""
    for _ in range(KILLS):
        agent.wait(lambda: cameo.children_of(agent.process.pid), "a child process of the agent")
        for pid in cameo.children_of(agent.process.pid):
            kill(pid)
        windows_until_named(agent, comm, function)


def need_root():
    """Skips the whole file where BPF programs cannot be loaded or users cannot be changed."""
    cameo.need_bpf()
    if os.geteuid() != 0:
        print("1..0 # SKIP only root can run programs as two other users")
        sys.exit(0)


def main(*tests):
    """Runs TESTS, each a function of a Workshop, under the first line of their documentation."""
    need_root()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in tests:
            tap.run(test.__doc__.splitlines()[0], test, shop)
    tap.done()
