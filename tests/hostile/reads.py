#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No process with capabilities maps a file of another program, or reads more of one than two pieces of 4 KiB.

The pieces, the beginning and the end of a mapped file, are hashed to recognize it. strace lists the reads and mappings of
each process: those of the agent, the recording and their openers are judged; those of the readers show that there is
something to read.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import time

import attack
import cameo
from agent_process import Agent
from cameo import expect

CALLS = "execve,mmap,read,readv,pread64,preadv,preadv2,sendfile,splice,copy_file_range"
PIECE = 4096
# A thread that does not execute one of these roles belongs to the command itself or to an opener.
UNPRIVILEGED = re.compile(r'execve\("/proc/self/exe", \["cameo-(?!opener)')
LONG_MS = 10**6
FUNCTION = {"plain": "hot", "python": "spin", "perf-map": "mapped_function", "jitdump": "dumped_function"}
SCRIPT = "def spin(n):\n    while True:\n        n += sum(range(100))\n\n\nspin(0)\n"


class Strangers:
    """Programs of another user and all their files, in a directory of their own, until the end of the block."""

    def __init__(self, shop):
        self.dir = attack.user_dir(shop, "strangers")
        plain, generated = shop.c("chain", "-g"), shop.c("generated")
        script = self.file("script.py")
        with open(script, "w", encoding="ascii") as f:
            f.write(SCRIPT)
        commands = [[shutil.copy(plain, self.file("plain")), LONG_MS],
                    [shutil.copy(generated, self.file("perf-map")), LONG_MS, "map"],
                    [shutil.copy(generated, self.file("jitdump")), LONG_MS, "dump"]]
        if shutil.which("/usr/bin/python3"):
            commands.append([shutil.copy("/usr/bin/python3", self.file("python")), script])
        self.running = [cameo.spawn(*attack.as_user(attack.HOSTILE, *c), cwd=self.dir) for c in commands]
        self.names = [os.path.basename(c[0]) for c in commands]

    def file(self, name):
        return os.path.join(self.dir, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        cameo.end(*self.running)
        for p in self.running:
            for path in (f"/tmp/perf-{p.pid}.map", f"/tmp/jit-{p.pid}.dump"):
                if os.path.exists(path):
                    os.unlink(path)

    def is_theirs(self, path):
        return path.startswith(self.dir) or any(re.search(rf"/(perf|jit)-{p.pid}\.(map|dump)", path) for p in self.running)


class Trace:
    """Returns the files that strace writes, one for each thread."""

    def __init__(self, shop, name):
        cameo.need("strace", "setpriv")
        self.prefix = shop.path(f"calls-{name}")
        self.wrapper = ["strace", "-ff", "-y", "-qq", "-s", "32", "-e", f"trace={CALLS}", "-o", self.prefix,
                        "setpriv", "--pdeathsig", "KILL"]

    def touches(self, strangers):
        """Yields each call with a file of these programs, and whether a thread with capabilities made it."""
        for path in glob.glob(f"{self.prefix}.*"):
            with open(path, encoding="utf-8", errors="replace") as f:
                lines = f.read().splitlines()
            privileged = not any(UNPRIVILEGED.match(line) for line in lines)
            for line in lines:
                if any(strangers.is_theirs(p) for p in re.findall(r"\d<([^>]*)>", line)):
                    yield line.strip(), privileged

    def judge(self, strangers):
        touches = list(self.touches(strangers))
        ours = [line for line, privileged in touches if privileged]
        theirs = [line for line, privileged in touches if not privileged]
        expect(any(line.startswith("mmap(") for line in theirs), "no reader has mapped a file:", *theirs[:5])
        wrong = [line for line in ours if not is_piece(line)]
        expect(not wrong, "files of others in a process with capabilities:", *wrong[:20])


def is_piece(line):
    m = re.match(r"pread64\(.*, (\d+), \d+\) += ", line)
    return m and int(m[1]) <= PIECE


def expect_names(names, stacks):
    for name in names:
        mine = [s for s in stacks if s.comm == name]
        expect(any(FUNCTION[name] in f for s in mine for f in s.frames), f"{name} has no names:", cameo.show(mine))


def record(shop):
    """record"""
    trace, out = Trace(shop, "record"), shop.path("reads.folded")
    with Strangers(shop) as strangers:
        process = subprocess.Popen([*trace.wrapper, cameo.CAMEO, "record", "-F", "199", "-d", "1h", "-o", out],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + cameo.DEADLINE_S
            # their tables are made when they have been sampled
            while all(privileged for _, privileged in trace.touches(strangers)):
                expect(time.monotonic() < deadline, "no reader has touched a file")
                time.sleep(0.05)
            begun = [cameo.cpu_ticks(p.pid) for p in strangers.running]
            # all of them have run for a while since
            while not all(cameo.cpu_ticks(p.pid) - b > 100 for p, b in zip(strangers.running, begun)):
                expect(time.monotonic() < deadline, "the programs do not run")
                time.sleep(0.05)
            child, = cameo.children_of(process.pid)
            os.kill(child, signal.SIGINT)
            while process.poll() is None:
                expect(time.monotonic() < deadline, "the recording does not end")
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
        with open(out, encoding="utf-8") as f:
            expect_names(strangers.names, cameo.parse_folded(f.read()))
        trace.judge(strangers)


def agent(shop):
    """agent"""
    trace = Trace(shop, "agent")
    shutil.rmtree(shop.path("strangers"), ignore_errors=True)
    with Strangers(shop) as strangers:
        with Agent(shop, "-F", "199", "--window", "1s", wrapper=trace.wrapper) as a:
            def are_named():
                return all(any(FUNCTION[n] in f for s in a.samples(n) for f in s[0]) for n in strangers.names)

            a.wait(are_named, "names")
            child, = cameo.children_of(a.process.pid)
            os.kill(child, signal.SIGTERM)
            a.process.wait(cameo.DEADLINE_S)
        trace.judge(strangers)


if __name__ == "__main__":
    attack.main(record, agent)
