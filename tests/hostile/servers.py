#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Receivers of profiles that send what they like: the agent and its other receivers work on, within its memory."""
import gzip
import socket
import threading

import attack
import cameo
from agent_process import Agent
from cameo import expect
from ledger import Ledger, text as ledger_text

LIMIT_MIB = 128  # the default of --memory; a response that is kept as a whole would need gigabytes
AT_ONCE = 6
WINDOWS = 5
ENDS_S = 20
PIECE = 1 << 16
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\n"


def endless(s, piece):
    """Sends PIECE until the client ends the connection."""
    while True:
        s.sendall(piece)


def drip(s):
    """Sends a header, a byte at a time, that never ends."""
    for byte in iter(lambda: b"a", None):
        s.sendall(byte)
        threading.Event().wait(0.2)


def start(s, head):
    s.recv(PIECE)
    s.sendall(head)


def endless_headers(s):
    start(s, b"HTTP/1.1 200 OK\r\n")
    endless(s, b"X: " + b"y" * 1000 + b"\r\n")


def endless_header(s):
    start(s, b"HTTP/1.1 200 OK\r\nX: ")
    endless(s, b"y" * PIECE)


def endless_body(s):
    start(s, OK + b"\r\n")
    endless(s, bytes(PIECE))


def endless_chunks(s):
    start(s, OK + b"Transfer-Encoding: chunked\r\n\r\n")
    endless(s, b"1\r\na\r\n" * 10000)


def bomb(s):
    zeros = gzip.compress(bytes(1 << 28), 9) * 8
    start(s, OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(zeros))
    s.sendall(zeros)
    endless(s, b"")


def continues(s):
    start(s, b"")
    endless(s, b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


def slow(s):
    start(s, b"HTTP/1.1 200 OK\r\nX: ")
    drip(s)


def redirects(s):
    start(s, b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def files(s):
    start(s, b"HTTP/1.1 302 Found\r\nLocation: file:///etc/shadow\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def controls(s):
    text = b'{"message":"\\u001b[31m' + b"\x1b]0;title\x07" + b'\\n"}'
    start(s, b"HTTP/1.1 400 \x1b[31mRed\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
          % (len(text), text))


def waits_for_ever(s):
    start(s, b"HTTP/1.1 503 Later\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def http2(s):
    start(s, bytes(9) + b"\0\0\0\x04\0\0\0\0\0" * 10)
    endless(s, b"\0\0\x08\x06\0\0\0\0\0" + bytes(8))


KINDS = (endless_headers, endless_header, endless_body, endless_chunks, bomb, continues, slow, redirects, files, controls,
         waits_for_ever, http2)


class Receiver:
    """Answers each connection by a function."""

    def __init__(self, answer):
        self.n, self.answer = 0, answer
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                s, _ = self.socket.accept()
            except OSError:
                return
            self.n += 1
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        with s:
            try:
                self.answer(s)
            except OSError:
                pass


def together(shop, answers):
    """Six at once, each for as long as it likes"""
    receivers = [Receiver(answer) for answer in answers]
    servers = [flag for r in receivers for flag in ("--server", r.url)]
    try:
        with Agent(shop, *servers, "--spool", shop.path("spool-" + answers[0].__name__), "--window", "1s", "-F", "99",
                   "--timeout", "2s") as agent:
            memory = Ledger(agent.process.pid)
            try:
                agent.wait(lambda: all(r.n for r in receivers), "a request to each")
                agent.wait_windows(WINDOWS)
            finally:
                most = memory.end()
            expect(0 < most < LIMIT_MIB, ledger_text(memory.most))
            expect(agent.get("/healthz")[0] == 200, agent.said())
            expect(agent.end() < ENDS_S, "it takes too long to end")
            expect(agent.process.poll() is not None and agent.process.returncode >= 0, agent.said())
            expect("\x1b" not in agent.said() and "\x07" not in agent.said(), agent.said())
    finally:
        for r in receivers:
            r.socket.close()


def main():
    attack.need_root()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for answers in (KINDS[:AT_ONCE], KINDS[AT_ONCE:]):
            names = ", ".join(answer.__name__.replace("_", " ") for answer in answers)
            tap.run("Receivers of profiles: " + names, together, shop, answers)
    tap.done()


if __name__ == "__main__":
    main()
