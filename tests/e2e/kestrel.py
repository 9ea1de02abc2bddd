#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A web server on .NET (Kestrel) under load has whole stacks of named methods.

The server is a program with several thousand methods that the runtime of .NET 9 of scripts/runtimes came with.
"""
import http.client
import os
import signal
import socket
import threading

import cameo
from cameo import Recorder, Skip, Tap, Workshop, are_rare, end, expect, is_in, is_whole, show, spawn, total, until, user_frames
from dotnet_runtimes import ROOT, runtimes

CLIENTS = 4
CPU_MS = 1500
REQUESTS_MAX = 50000
BOTTOM = ("_start", "clone3", "[thread start]")  # libc has no name for it without debugging symbols


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


class Load:
    """Clients that send requests, each on one connection, until the block ends."""

    def __init__(self, port):
        self.port = port
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(CLIENTS)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for t in self.threads:
            t.join()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=cameo.DEADLINE_S)
        for _ in range(REQUESTS_MAX // CLIENTS):
            if self.is_over.is_set():
                break
            connection.request("GET", "/")
            connection.getresponse().read()
        connection.close()


def judge(shop):
    program, port = os.path.join(ROOT, "9", "azmcp"), free_port()
    if not os.path.exists(program):
        raise Skip("scripts/runtimes has not unpacked the server")
    server = spawn("env", f"HOME={shop.dir}", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1", program, "server", "start",
                   "--transport", "sse", "--port", port, stderr=None)
    try:
        until(lambda: answers(port), "a server that accepts connections", 0.05)
        with Recorder("-p", str(server.pid)) as recorder, Load(port):
            recorder.wait_attached()
            cameo.wait_cpu(server, ms=CPU_MS)
            recording = recorder.finish(signal.SIGINT)
    finally:
        end(server)
    check(recording)


def check(recording):
    stacks = recording.stacks
    expect(total(stacks) >= cameo.ENOUGH, recording.said)
    not_whole = [s for s in stacks if not is_whole(s) or user_frames(s)[0] not in BOTTOM]
    expect(are_rare(not_whole, stacks), "stacks that are not whole:", show(not_whole), recording.said)
    unnamed = [s for s in stacks if is_in(s, r"\[(anonymous code|stale function|unreadable function)\]")]
    expect(are_rare(unnamed, stacks), "stacks without names:", show(unnamed))
    requests = [s for s in stacks if is_in(s, r"Microsoft\.AspNetCore\.Server\.Kestrel\.Core\..*HttpProtocol\.ProcessRequests")]
    # a stack of a request begins in a thread of the pool
    odd = [s for s in requests if not is_in(s, r"System\.Threading\.PortableThreadPool\.WorkerThread\.WorkerThreadStart")]
    expect(total(requests) >= cameo.ENOUGH, f"{total(requests)} samples of requests", show(stacks))
    expect(are_rare(odd, requests), "requests outside of the thread pool:", show(odd))
    print(f"# {total(stacks)} samples, {total(not_whole)} not whole, {total(unnamed)} without a name, {total(requests)} of requests")


def main():
    cameo.need_bpf()
    tap = Tap()
    with Workshop() as shop:
        try:
            runtimes()
            tap.run("Kestrel under load", judge, shop)
        except Skip as e:
            tap.skip("Kestrel under load", e)
    tap.done()


main()
