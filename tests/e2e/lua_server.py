#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that contains Lua (Redis) has its own functions and those of its scripts in one stack."""
import os
import re
import socket
import threading
import time

from cameo import DEADLINE_S, Tap, Workshop, are_rare, end, expect, is_in, need, need_bpf, record_while_running, show, spawn, \
    total

SCRIPT = """
local function inner(n)
	local s = 0
	for i = 1, n do s = s + i % 7 end
	return s
end
local function outer(key)
	for _ = 1, 200 do redis.call("set", key, inner(500)) end
	local s = inner(100000)
	return s
end
local s = outer(KEYS[1])
return s
"""


def command(*words):
    """Encodes a command for Redis."""
    return f"*{len(words)}\r\n".encode() + b"".join(f"${len(w)}\r\n{w}\r\n".encode() for w in words)


class Load:
    """A client of the server at a socket that repeats a command until it is closed."""

    def __init__(self, path, words):
        self.socket = connect(path)
        self.thread = threading.Thread(target=self.run, args=(command(*words),), daemon=True)
        self.thread.start()

    def run(self, request):
        try:
            while True:
                self.socket.sendall(request)
                if not self.socket.recv(4096):
                    return
        except OSError:
            pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(DEADLINE_S)
        self.socket.close()


def connect(path):
    until = time.monotonic() + DEADLINE_S
    while True:
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
            return s
        except OSError:
            s.close()
            expect(time.monotonic() < until, f"no server at {path}")
            time.sleep(0.05)


def record_under_load(server, path, words):
    load = Load(path, words)
    try:
        return record_while_running("-p", str(server.pid), processes=[server])
    finally:
        load.close()


def scripts(server, path):
    """The functions of a script are below those of the server that called it."""
    recording = record_under_load(server, path, ("EVAL", SCRIPT, "1", "key"))
    ours = [s for s in recording.of("redis-server") if is_in(s, "inner")]
    chain = re.compile(r";main;aeMain;(.*;)?processCommand;(.*;)?evalGenericCommand;(.*;)?lua_pcall;(.*;)?"
                       r"<user_script>;outer;inner(;|$)")
    wrong = [s for s in ours if not chain.search(";".join(s.frames))]
    expect(total(ours) >= 20, f"{total(ours)} samples in the script", recording.said)
    expect(are_rare(wrong, ours), show(wrong))
    called = [s for s in recording.stacks if re.search(r";outer;call;\[", ";".join(s.frames))]
    expect(total(called) > 0, "no sample is in redis.call", show(recording.stacks))


def no_scripts(server, path):
    """A server that runs no scripts has neither functions of Lua nor a warning."""
    recording = record_under_load(server, path, ("SETRANGE", "key", "1000000", "x" * 60))
    expect(total(recording.of("redis-server")) > 0, recording.said)
    expect(not any(is_in(s, "<user_script.*") for s in recording.stacks), show(recording.stacks))
    expect("Lua" not in recording.said, recording.said)


def main():
    need_bpf()
    tap = Tap()
    try:
        need("redis-server")
    except Exception as e:  # pylint: disable=broad-exception-caught
        tap.skip("redis-server", str(e))
        tap.done()
        return
    with Workshop() as shop:
        path = shop.path("redis.sock")
        server = spawn("redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", os.path.dirname(path))
        try:
            connect(path).close()
            tap.run(no_scripts.__doc__, no_scripts, server, path)
            tap.run(scripts.__doc__, scripts, server, path)
        finally:
            end(server)
    tap.done()


main()
