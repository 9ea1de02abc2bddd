# SPDX-License-Identifier: Apache-2.0
"""Programs of tests/programs whose tasks `cameo tasks` reads, and its snapshots."""
import json
import os
import subprocess

import cameo
from cameo import expect


class TaskProgram:
    """A program that answers questions about its own tasks."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=dict(os.environ, **(env or {})))
        expect(self.process.stdout.readline() == "ready\n", "the program did not start")
        self.pid = self.process.pid

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def lines(self, question):
        """Returns the lines of an answer that ends with END."""
        out = [self.ask(question)]
        while out[-1] != "END":
            out.append(self.process.stdout.readline().rstrip("\n"))
        return out[:-1]

    def watch(self, act, find):
        """Watches the program by --watch, and calls ACT after the first snapshot, until FIND returns groups of one.

        Then the program ends, which is not an error. Returns the first snapshot and these groups."""
        with subprocess.Popen([cameo.CAMEO, "tasks", "-p", str(self.pid), "--watch", "0.2", "--json"],
                              stdout=subprocess.PIPE, text=True) as watch:
            first, found = json.loads(watch.stdout.readline()), []
            act()
            for line in watch.stdout:
                found = find(json.loads(line)["groups"])
                if found:
                    break
            self.process.kill()
            self.process.wait()
            watch.stdout.read()
            expect(watch.wait(cameo.DEADLINE_S) == 0)
        return first, found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def run(*args):
    return subprocess.run([cameo.CAMEO, "tasks", *args], capture_output=True, text=True, check=False,
                          timeout=cameo.DEADLINE_S)


def snapshot(pid, *args):
    r = run("-p", str(pid), "--json", *args)
    expect(r.returncode == 0, r.stderr)
    return json.loads(r.stdout)
