# SPDX-License-Identifier: Apache-2.0
"""An agent, a Cameo server that it pushes to, and its /metrics; for bench/agent and bench/soak."""
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
    """One reading of /metrics: values by name, and by the text of their labels."""

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
    """
    cameo agent, exporting to a cameo server or to a directory until the end of the block. PREFIX is a command
    that runs it, whose standard input is a pipe then.
    """

    def __init__(self, *flags, server=True, sink="pyroscope", prefix=()):
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
        self.process = subprocess.Popen([*prefix, common.CAMEO, "agent", *to, "--metrics", "127.0.0.1:0", *flags],
                                        stderr=self.log, stdin=subprocess.PIPE if prefix else None)
        self.metrics_url = self.wait_for(r"serving metrics at (http://[^\s\"]+)")

    def output(self):
        with open(self.log.name, encoding="utf-8") as f:
            return f.read()

    def wait_for(self, pattern):
        while True:
            m = re.search(pattern, self.output())
            if m:
                return m[1]
            if self.process.poll() is not None:
                sys.exit(f"cameo agent exited: {self.output()}")
            time.sleep(0.02)

    def read(self):
        with urllib.request.urlopen(self.metrics_url, timeout=30) as response:
            return Metrics(response.read().decode())

    def wait_windows(self, n):
        """Waits for N exported windows and returns the reading. Polling is slow, because a response costs 0.2 ms of CPU time."""
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
