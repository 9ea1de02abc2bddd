# SPDX-License-Identifier: Apache-2.0
"""A running `cameo agent` that writes windows into a directory, for tests."""
import collections
import os
import re
import signal
import subprocess
import time
import urllib.request

import cameo
from cameo import expect
from pprof import Profile


class Agent:
    """An agent that writes windows into a directory of the workshop until the end of the block."""

    def __init__(self, shop, *flags, to_dir=True, wrapper=()):
        self.dir = shop.path(f"windows-{time.monotonic_ns()}")
        self.log = shop.path(f"log-{time.monotonic_ns()}")
        self.read = {}  # samples by file; a window's file is complete once it has its name
        argv = [*wrapper, cameo.CAMEO, "agent", "--metrics", "127.0.0.1:0", *flags]
        if to_dir:
            argv += ["--dir", self.dir]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(argv, stderr=log, stdin=subprocess.DEVNULL)

    def __enter__(self):
        self.wait(lambda: "serving metrics at" in self.said(), "its metrics")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait(self, condition, what):
        deadline = time.monotonic() + cameo.DEADLINE_S
        while not condition():
            expect(self.process.poll() is None, "the agent has ended:", self.said())
            expect(time.monotonic() < deadline, f"no {what} in time:", self.said())
            time.sleep(0.05)

    def wait_sampling(self):
        """Waits until it samples; it serves metrics before that."""
        self.wait(lambda: self.metric("cameo_samples_total") > 0, "samples")

    def wait_samples(self, comm, enough):
        """Waits until a program has ENOUGH samples. On failure reports how many each program has."""
        try:
            self.wait(lambda: count(self.samples(comm)) >= enough, f"{enough} samples of {comm}")
        except cameo.Failure as e:
            counts = collections.Counter()
            for _, labels, values in self.all_samples():
                counts[labels.get("comm", "?")] += values[0]
            raise cameo.Failure(f"{e}\nsamples by program: {dict(counts)}") from e

    def files(self):
        try:
            names = sorted(n for n in os.listdir(self.dir) if n.endswith(".pb.gz"))
        except FileNotFoundError:
            return []
        return [os.path.join(self.dir, n) for n in names]

    def wait_windows(self, more):
        n = len(self.files())
        self.wait(lambda: len(self.files()) >= n + more, f"{more} windows")

    def samples(self, comm):
        """Returns the samples of a program in all windows."""
        return [s for s in self.all_samples() if s[1].get("comm") == comm[:15]]

    def all_samples(self):
        paths = self.files()
        for path in paths:
            if path not in self.read:
                with open(path, "rb") as f:
                    self.read[path] = Profile(f.read()).samples
        return [s for path in paths for s in self.read[path]]

    def idle_samples(self):
        return [s for s in self.all_samples() if s[1].get("comm", "").startswith("swapper/")]

    def get(self, path):
        url = re.search(r"http://[^/\s\"]+", self.said())[0]
        try:
            with urllib.request.urlopen(url + path, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def metric(self, name):
        return sum(float(m) for m in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", self.get("/metrics")[1], re.MULTILINE))

    def ended_well(self):
        """Returns whether it ended with 0, or reported that a busy machine left no time to symbolize everything."""
        return self.process.returncode == ("samples were not sent" in self.said())

    def end(self, send=signal.SIGTERM):
        """Seconds it took."""
        begun = time.monotonic()
        self.process.send_signal(send)
        self.process.wait(cameo.DEADLINE_S)
        return time.monotonic() - begun


def count(samples):
    return sum(values[0] for _, _, values in samples)
