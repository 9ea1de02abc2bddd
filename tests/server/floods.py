#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""floods.py CAMEO: clients that send without a pause, or occupy what each connection may occupy.

While two processes send as fast as they can, others are answered as while two processes only compute. The memory of
connections stays within the server's limit, and at the limit the server still answers.
"""
import collections
import contextlib
import http.client
import multiprocessing
import os
import re
import resource
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from frames import DATA, END_HEADERS, H2, H2_NO_WINDOW, HEADERS, PING, SETTINGS, WINDOW_UPDATE, h2_fields, h2_frame
from serving import DATA as PROFILES, Server, check, finish, peak_mib, push, skip

MEMORY_MIB = 128
N_ATTACKERS = 2
ROUNDS = 30
LATE_S = 0.2  # later than the control
HANDSHAKES = 200  # that an attacker keeps open
LATE_HANDSHAKES_S = 1, 10  # of a known client, and of a new one, which needs two turns of 5 ms of computing each
ANSWER_S = 20
UNKNOWN, PRIORITY = 200, 2
HOST = b"Host: localhost\r\n"
PUSH = b"/push.v1.PusherService/Push"
MANY = 50000  # frames in a piece: more than arrive while the server handles a part of them


def opened_stream(path=PUSH):
    return H2 + h2_frame(HEADERS, END_HEADERS, 1, h2_fields(path))


def expanding_headers():
    """Headers of 30 KB in each of 128 streams, of which no answer may be sent: they refer to a field of 3.9 kB."""
    own = h2_fields(PUSH)
    field = b"\x40\x01x\x7f" + bytes([(3900 - 127) % 128 | 128, (3900 - 127) // 128]) + b"v" * 3900
    first = h2_frame(HEADERS, END_HEADERS, 1, own + field + b"\xbe" * 6)
    return H2_NO_WINDOW + first + b"".join(
        h2_frame(HEADERS, END_HEADERS, 2 * i + 1, own + b"\xbe" * 7) for i in range(1, 128))


CHUNKS = b"POST /ready HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
FLOODS = {  # what is sent first, and then again and again
    "frames of an unknown kind without contents": (H2, h2_frame(UNKNOWN, 0, 0, b"") * MANY),
    "large frames of an unknown kind": (H2, h2_frame(UNKNOWN, 0, 0, b"x" * 16000) * 100),
    "PRIORITY": (H2, b"".join(h2_frame(PRIORITY, 0, 2 * i + 1, b"\0\0\0\0\x10") for i in range(MANY))),
    "windows that are opened by a byte": (opened_stream(), h2_frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\x01") * MANY),
    "empty DATA": (opened_stream(), h2_frame(DATA, 0, 1, b"") * MANY),
    "DATA of a byte": (opened_stream(b"/ready"), h2_frame(DATA, 0, 1, b"x") * MANY),
    "PING": (H2, h2_frame(PING, 0, 0, bytes(8)) * MANY),
    "SETTINGS": (H2, h2_frame(SETTINGS, 0, 0, b"\0\x03\0\0\0\x64") * MANY),
    "headers that expand, in new connections": (expanding_headers(), H2),
    "HTTP/1: chunks of a byte": (CHUNKS, b"1\r\nx\r\n" * MANY),
    "HTTP/1: chunks with long extensions": (CHUNKS, (b"1;" + b"a" * 1000 + b"\r\nx\r\n") * 1000),
    "HTTP/1: requests without a pause": (b"", (b"GET /ready HTTP/1.1\r\n" + HOST + b"\r\n") * MANY),
}


def where(server):
    host, port = server.url.split("/")[2].split(":")
    return host, int(port)


def connect(address, trusting, is_h2=False):
    s = socket.create_connection(address, timeout=ANSWER_S)
    if trusting:
        trusting.set_alpn_protocols(["h2" if is_h2 else "http/1.1"])
        s = trusting.wrap_socket(s, server_hostname="localhost")
    return s


def flood(begun, address, trusting, first, piece):
    """Sends without a pause, and connects again when the server closes the connection. Releases BEGUN at first."""
    while True:
        with contextlib.suppress(OSError), connect(address, trusting, first.startswith(b"PRI")) as s:
            s.sendall(first)
            s.settimeout(0.05)
            begun.release()
            while True:
                with contextlib.suppress(socket.timeout, ssl.SSLWantReadError):
                    s.sendall(piece)
                    continue
                with contextlib.suppress(socket.timeout, ssl.SSLWantReadError):
                    s.recv(1 << 20)


def compute(begun):
    begun.release()
    while True:
        pass


@contextlib.contextmanager
def attackers(fn, *args):
    begun = multiprocessing.Semaphore(0)
    all_of_them = [multiprocessing.Process(target=fn, args=(begun, *args), daemon=True) for _ in range(N_ATTACKERS)]
    for p in all_of_them:
        p.start()
    for _ in all_of_them:
        begun.acquire(timeout=ANSWER_S)
    try:
        yield
    finally:
        for p in all_of_them:
            p.kill()
            p.join()


def is_ready(address, trusting):
    with connect(address, trusting) as s:
        s.sendall(b"GET /ready HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        return s.recv(4096).startswith(b"HTTP/1.1 200")


def slowest(ask):
    """The time within which nine of ten questions are answered."""
    times = []
    for i in range(ROUNDS):
        begun = time.monotonic()
        try:
            answered, why = ask(), "another answer"
        except OSError as e:
            answered, why = False, repr(e)
        times.append(time.monotonic() - begun if answered else ANSWER_S)
        if not answered:
            print("# question %d of %d failed after %.3f s: %s" % (i + 1, ROUNDS, time.monotonic() - begun, why))
        if times.count(ANSWER_S) > ROUNDS // 10:
            return ANSWER_S
    return sorted(times)[ROUNDS * 9 // 10 - 1]


def check_floods(server, trusting, kinds):
    over = " over TLS" if trusting else ""

    def ask():
        return is_ready(where(server), trusting)

    with attackers(compute):
        control = slowest(ask)
    for name in kinds:
        with attackers(flood, where(server), trusting, *FLOODS[name]):
            took = slowest(ask)
        print("# %s%s: 90 %% of answers within %.1f ms, in the control %.1f ms" % (name, over, took * 1e3, control * 1e3))
        check("a flood of %s%s delays no other client" % (name, over), took < control + LATE_S, (control, took))


def resident_mib(server):
    with open("/proc/%d/status" % server.process.pid, encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1]) >> 10


def many(address, n, first):
    """Opens N connections and sends FIRST on each; the server may close some of them meanwhile."""
    made = []
    for _ in range(n):
        with contextlib.suppress(OSError):
            s = socket.create_connection(address, timeout=ANSWER_S)
            made.append(s)
            s.setblocking(False)
            s.send(first)
    return made


def half_a_handshake():
    """Most of a message whose length is that of a chain of certificates."""
    message = b"\x01" + (65000).to_bytes(3, "big") + b"\x03\x03" + bytes(60000)
    parts = [message[i:i + 16000] for i in range(0, len(message), 16000)]
    return b"".join(b"\x16\x03\x01" + len(p).to_bytes(2, "big") + p for p in parts)


def check_memory(cameo, tmp, tls):
    plain = {"requests whose headers expand": (200, expanding_headers()),
             "half a request": (8000, b"GET /ready HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 30000)}
    for i, (name, (n, first)) in enumerate({"half a handshake": (4000, half_a_handshake())}.items() if tls else plain.items()):
        server = Server(cameo, os.path.join(tmp, "m%d%d" % (i, bool(tls))), "--memory", "%dM" % MEMORY_MIB, *(tls or []))
        held = many(where(server), n, first)
        trusting = ssl.create_default_context(cafile=tls[1]) if tls else None
        answered = slowest(lambda t=trusting, s=server: is_ready(where(s), t))
        print("# %d times %s: %d MiB at most, /ready within %.1f ms" % (n, name, peak_mib(server), answered * 1e3))
        check("%d times %s stay within the memory" % (n, name), peak_mib(server) < MEMORY_MIB * 3 // 4, peak_mib(server))
        check("and others are answered meanwhile", answered < ANSWER_S, answered)
        if not tls:
            check("and can push", push(server, *PROFILES[0], "1")[0] == 200)
            check("which is there", server.total('{service_name="shop"}') == 11)
        for s in held:
            s.close()
        check("and the server stops cleanly", server.stop() == 0)


def client_hello():
    """The first message of a client. A server answers each copy of it, for which it has to compute a signature."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def begin_handshakes(begun, address, hello):
    """Begins handshakes, from an address of its own, and reads no answer."""
    waiting = collections.deque()
    while True:
        with contextlib.suppress(OSError):
            s = socket.create_connection(address, timeout=ANSWER_S, source_address=("127.0.0.2", 0))
            s.sendall(hello)
            waiting.append(s)
        if len(waiting) == HANDSHAKES:
            begun.release()
        if len(waiting) >= HANDSHAKES:
            waiting.popleft().close()


def check_handshakes(cameo, tmp):
    """RSA with 4096 bits: a signature takes 5 ms."""
    tls = certificate(tmp, "rsa:4096")
    server = Server(cameo, os.path.join(tmp, "handshakes"), *tls)
    trusting = ssl.create_default_context(cafile=tls[1])
    known = http.client.HTTPSConnection("localhost", where(server)[1], timeout=ANSWER_S, context=trusting)

    def on_one():
        known.request("GET", "/ready")
        return known.getresponse().read() and True

    asks = {"a client that is connected": (on_one, LATE_HANDSHAKES_S[0]),
            "a new client": (lambda: is_ready(where(server), trusting), LATE_HANDSHAKES_S[1])}
    with attackers(compute):
        control = {name: slowest(ask) for name, (ask, _) in asks.items()}
    with attackers(begin_handshakes, where(server), client_hello()):
        for name, (ask, late_s) in asks.items():
            took = slowest(ask)
            print("# handshakes without a pause: 90 %% of answers to %s within %.1f ms, in the control %.1f ms" %
                  (name, took * 1e3, control[name] * 1e3))
            check("handshakes without a pause do not delay %s of another address" % name, took < control[name] + late_s,
                  (control[name], took))
    check("and the server stops cleanly", server.stop() == 0)


def certificate(tmp, kind="ec"):
    """The options for TLS, or None without openssl."""
    key, cert = os.path.join(tmp, kind + ".key"), os.path.join(tmp, kind + ".cert")
    curve = ["-pkeyopt", "ec_paramgen_curve:prime256v1"] if kind == "ec" else []
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", kind, *curve, "-nodes",
                           "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"], capture_output=True, check=False)
    return None if made.returncode else ["--tls-cert", cert, "--tls-key", key]


def main():
    cameo = os.path.realpath(sys.argv[1])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000) if hard != resource.RLIM_INFINITY else 20000, hard))
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(cameo, os.path.join(tmp, "plain"))
        check_floods(server, None, FLOODS)
        check("after all that the server stops cleanly", server.stop() == 0)
        check_memory(cameo, tmp, None)
        tls = certificate(tmp)
        if not tls:
            skip("the same over TLS", "openssl is missing")
            return finish()
        server = Server(cameo, os.path.join(tmp, "tls"), *tls)
        check_floods(server, ssl.create_default_context(cafile=tls[1]),
                     [n for n in FLOODS if "without contents" in n or "large" in n or "HTTP/1" in n])
        check("after all that the server with TLS stops cleanly", server.stop() == 0)
        check_memory(cameo, tmp, tls)
        check_handshakes(cameo, tmp)
    return finish()


sys.exit(main())
