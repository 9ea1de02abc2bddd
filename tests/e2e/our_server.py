# SPDX-License-Identifier: Apache-2.0
"""A `cameo server`, and requests to a server that was started in any way."""
import json
import re
import subprocess
import time
import urllib.request

import cameo
from cameo import expect

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
OFF_CPU = "off_cpu:off_cpu:nanoseconds::"


class Asked:
    """A server whose URL the caller sets."""

    url = None

    def ask(self, path, question=None):
        rq = urllib.request.Request(self.url + path, question and json.dumps(question).encode(),
                                    {"Content-Type": "application/json"})
        with urllib.request.urlopen(rq, timeout=60) as answer:
            return json.load(answer)

    def agents(self):
        return self.ask("/api/v1/agents")["agents"]

    def graph(self, start_ms, end_ms, selector, what=CPU):
        question = {"profileTypeID": what, "start": start_ms, "end": end_ms, "labelSelector": selector}
        return self.ask("/querier.v1.QuerierService/SelectMergeStacktraces", question).get("flamegraph", {})

    def names(self, service, what=CPU):
        """Returns the frame names of a service in the last hour, and the sum of its values."""
        now = int(time.time() * 1000)
        graph = self.graph(now - 3600000, now + 60000, f'{{service_name="{service}"}}', what)
        return set(graph.get("names", [])), int(graph.get("total", 0))


def listening(line):
    """Returns the URL in the first message of a server."""
    found = re.search(r"http://\S+", line)
    expect(found, "no URL:", line)
    return found[0].rstrip("/")


class Server(Asked):
    """cameo server on a free port with its data in a directory until the end of the block."""

    def __init__(self, data):
        self.process = subprocess.Popen([cameo.CAMEO, "server", "--data", data, "--listen", "127.0.0.1:0"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = listening(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
