# SPDX-License-Identifier: Apache-2.0
"""An agent with a server of ours to push to, and what its /metrics say; for bench/agent and bench/soak."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import common

LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class Metrics:
    """One reading: values by name, sums over labels, and one by its labels' text."""

    def __init__(self, text):
        self.at = time.monotonic()
        self.rows = [(m[1], m[2] or "", float(m[3])) for m in LINE.finditer(text)]

    def sum(self, name, having=""):
        return sum(v for n, labels, v in self.rows if n == name and having in labels)

    def labels(self, name):
        return {labels: v for n, labels, v in self.rows if n == name}

    def memory_mib(self):
        return (self.sum("cameo_resident_bytes") + self.sum("cameo_maps_bytes")) / (1 << 20)


class Agent:
    """cameo agent sending to a cameo server, or into a directory, until the end of the block."""

    def __init__(self, *flags, server=True, sink="pyroscope"):
        self.dir = tempfile.mkdtemp(prefix="cameo-bench.")
        self.server = None
        self.url = "http://127.0.0.1:1"
        if server:
            self.server = subprocess.Popen([common.CAMEO, "server", "--data", os.path.join(self.dir, "store"),
                                            "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
            self.url = re.search(r"http://\S+", self.server.stdout.readline())[0]
        self.log = open(os.path.join(self.dir, "log"), "w+", encoding="utf-8")
        self.launched = time.monotonic()
        to = {"pyroscope": ("--server", self.url), "otlp": ("--otlp", self.url.rstrip("/").replace("http", "grpc", 1)),
              "dir": ("--dir", os.path.join(self.dir, "windows"))}[sink]
        self.process = subprocess.Popen([common.CAMEO, "agent", *to, "--metrics", "127.0.0.1:0", *flags],
                                        stderr=self.log)
        self.metrics_url = self.wait_for(r"metrics are at (http://[^\s\"]+)")

    def said(self):
        with open(self.log.name, encoding="utf-8") as f:
            return f.read()

    def wait_for(self, pattern):
        while True:
            m = re.search(pattern, self.said())
            if m:
                return m[1]
            if self.process.poll() is not None:
                sys.exit(f"cameo agent has ended: {self.said()}")
            time.sleep(0.02)

    def read(self):
        with urllib.request.urlopen(self.metrics_url, timeout=30) as answer:
            return Metrics(answer.read().decode())

    def wait_windows(self, n):
        """Until so many windows were handed over; the reading then. An answer is 0.2 ms of the agent's CPU time."""
        while True:
            metrics = self.read()
            if metrics.sum("cameo_windows_total") >= n:
                return metrics
            time.sleep(2 if metrics.sum("cameo_windows_total") else 0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        if self.server:
            self.server.terminate()
            self.server.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)
