#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PHP's FastCGI server has known stacks while a worker serves a request."""
import glob
import os
import signal
import socket
import struct

import cameo
from cameo import PROGRAMS, Recorder, Tap, Workshop, children_of, expect, need_bpf, spawn, until
from interpreted import MAIN

BEGIN, PARAMS, STDIN, STDOUT = 1, 4, 5, 6
RESPONDER = struct.pack(">HB5x", 1, 0)
MS = 700


def packet(kind, content):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def answer(path, **params):
    """Returns the response of the FastCGI server at a socket to one request."""
    pairs = b"".join(bytes([len(k), len(v)]) + k.encode() + v.encode() for k, v in params.items())
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(cameo.DEADLINE_S)
        s.connect(path)
        s.sendall(packet(BEGIN, RESPONDER) + packet(PARAMS, pairs) + packet(PARAMS, b"") + packet(STDIN, b""))
        with s.makefile("rb") as f:
            data = f.read()
    out = b""
    while data:
        _, kind, _, length, padding = struct.unpack(">BBHHBx", data[:8])
        if kind == STDOUT:
            out += data[8:8 + length]
        data = data[8 + length + padding:]
    return out


def serves(shop, fpm):
    where, conf = shop.path("fpm.sock"), shop.path("fpm.conf")
    with open(conf, "w", encoding="ascii") as f:
        f.write(f"[global]\nerror_log = /dev/null\ndaemonize = no\n[www]\nuser = root\ngroup = root\nlisten = {where}\n"
                "pm = static\npm.max_children = 1\n")
    server = spawn(fpm, "-n", "-R", "-y", conf)
    try:
        worker = until(lambda: server.poll() is not None or os.path.exists(where) and children_of(server.pid),
                       "the server comes", 0.01)
        expect(server.returncode is None, "the server has ended")
        with Recorder("-p", *map(str, worker)) as recorder:
            recorder.wait_attached()
            said = answer(where, SCRIPT_FILENAME=os.path.join(PROGRAMS, "php", "serve.php"), REQUEST_METHOD="GET",
                          QUERY_STRING=f"ms={MS}")
            recording = recorder.finish(signal.SIGINT)
    finally:
        server.terminate()  # SIGTERM lets the server end its workers, which share our standard output
        server.wait(cameo.DEADLINE_S)
    expect(said.endswith(b"served"), said)
    recording.judge(os.path.basename(fpm), MAIN + r"<serve\.php> handle hot ...")


def main():
    need_bpf()
    tap = Tap()
    found = sorted(glob.glob("/usr/sbin/php-fpm[78].[0-9]"))
    if not found:
        tap.skip("php-fpm", "it is not installed")
    with Workshop() as shop:
        for fpm in found:
            tap.run(f"{os.path.basename(fpm)}: a request", serves, shop, fpm)
    tap.done()


main()
