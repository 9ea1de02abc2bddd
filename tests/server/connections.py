#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""connections.py CAMEO: thousands of connections without requests keep nobody out, with few and with many descriptors.

They come from one address, which is also that of the client that is answered: only what a connection does
distinguishes them.
"""
import http.client
import os
import re
import resource
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from frames import H2
from serving import DATA, Server, check, finish, push, skip

N_IDLE, N_SLOW, N_CHURNING, CHURNERS = 5000, 1000, 1000, 4
BYTE_S = 3
ROUNDS = 20
ANSWER_S = 10  # 0.2 to 0.7 s were measured; 12 to 35 s when accept() paused for a second without descriptors
FREE = 16  # of a reserve of 256, because connections are accepted faster than the threads close others
MEMORY = 256 << 20
SLOW = b"POST /ingest?name=slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"


def resident(server):
    with open("/proc/%d/status" % server.process.pid, encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1]) << 10


def descriptors(server):
    return len(os.listdir("/proc/%d/fd" % server.process.pid))


def where(server):
    host, port = server.url.split("/")[2].split(":")
    return host, int(port)


def connections(address, n, first=b""):
    made = []
    for _ in range(n):
        try:
            s = socket.create_connection(address, timeout=ANSWER_S)
            s.settimeout(0)
            s.sendall(first)
            made.append(s)
        except OSError:
            pass
    return made


def drip(sockets, stop):
    """A byte on each connection every BYTE_S."""
    while not stop.wait(BYTE_S):
        for s in sockets:
            try:
                s.send(b"x")
            except OSError:
                pass


def churn(address, stop):
    """Connects and disconnects, in turn without a byte, amid a request, and with a reset."""
    for i in range(N_CHURNING // CHURNERS):
        if stop.is_set():
            return
        try:
            with socket.create_connection(address, timeout=ANSWER_S) as s:
                if i % 3:
                    s.sendall(b"GET /ready HT")
                if i % 3 == 2:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        except OSError:
            pass


def worst(fn, n=ROUNDS):
    """
    The longest time until FN returned true, N times. A connection that has not sent its request yet may be
    the one that is closed for newer ones, so a client tries again.
    """
    longest = 0
    for _ in range(n):
        begun = time.monotonic()
        while not is_answered(fn) and time.monotonic() - begun < ANSWER_S:
            time.sleep(0.1)
        longest = max(longest, time.monotonic() - begun)
    return longest


def is_answered(fn):
    try:
        return fn()
    except (OSError, http.client.HTTPException):
        return False


def crowd(address, stop):
    """All kinds of connections without requests. Returns what has to be closed and joined."""
    sockets = connections(address, N_IDLE // 2) + connections(address, N_IDLE // 2, H2)
    slow = connections(address, N_SLOW, SLOW)
    threads = [threading.Thread(target=drip, args=(slow, stop))]
    threads += [threading.Thread(target=churn, args=(address, stop)) for _ in range(CHURNERS)]
    for t in threads:
        t.start()
    return sockets + slow, threads


def check_crowd(cameo, tmp, limit):
    server = Server(cameo, os.path.join(tmp, "n%d" % limit), "--memory", "%dM" % (MEMORY >> 20))
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
    push(server, *DATA[0], "before")
    begun = descriptors(server)
    stop = threading.Event()
    sockets, threads = crowd(where(server), stop)
    known = http.client.HTTPConnection(*where(server), timeout=60)

    def on_one():
        known.request("GET", "/ready")
        response = known.getresponse()
        response.read()
        return response.status == 200

    what = "%d connections, %d descriptors" % (N_IDLE + N_SLOW + N_CHURNING, limit)
    for name, fn in (("/ready on a new connection", lambda: server.ask("/ready")[0] == 200),
                     ("a query", lambda: server.total('{service_name="shop"}') == 11),
                     ("a push", lambda: push(server, *DATA[2], "meanwhile")[0] == 200),
                     ("requests on one connection", on_one)):
        took = worst(fn)
        print("# %s, %s: at most %.0f ms" % (what, name, took * 1e3))
        check("%s: %s is answered" % (what, name), took < ANSWER_S, took)
    check("%s: memory stays within its limit" % what, resident(server) < MEMORY, resident(server))
    check("%s: some descriptors stay free for files" % what, descriptors(server) < limit - FREE, descriptors(server))
    stop.set()
    for t in threads:
        t.join()
    for s in sockets:
        s.close()
    deadline = time.monotonic() + 60
    while descriptors(server) > begun + 16 and time.monotonic() < deadline:
        time.sleep(0.1)
    check("%s: afterwards all are closed" % what, descriptors(server) <= begun + 16, (begun, descriptors(server)))
    check("%s: what was pushed is there once" % what, server.total('{service_name="mail"}') == 9)
    check("%s: the server stops cleanly" % what, server.stop() == 0)


def check_tls(cameo, tmp):
    """Handshakes that nobody continues."""
    cert, key = os.path.join(tmp, "cert.pem"), os.path.join(tmp, "key.pem")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                           "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"], capture_output=True, check=False)
    if made.returncode:
        skip("handshakes that nobody continues", "openssl is missing")
        return
    server = Server(cameo, os.path.join(tmp, "tls"), "--tls-cert", cert, "--tls-key", key)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))
    held = connections(where(server), 1500) + connections(where(server), 1500, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    trusting = ssl.create_default_context(cafile=cert)

    def ask():
        c = http.client.HTTPSConnection("localhost", where(server)[1], timeout=60, context=trusting)
        c.request("GET", "/ready")
        status = c.getresponse().status
        c.close()
        return status == 200

    took = worst(ask)
    print("# with 3000 unfinished handshakes: at most %.0f ms" % (took * 1e3))
    check("with 3000 unfinished handshakes, others are answered", took < ANSWER_S, took)
    for s in held:
        s.close()
    check("and the server stops cleanly", server.stop() == 0)


def main():
    cameo = os.path.realpath(sys.argv[1])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    own = min(hard, 20000) if hard != resource.RLIM_INFINITY else 20000
    resource.setrlimit(resource.RLIMIT_NOFILE, (own, hard))
    with tempfile.TemporaryDirectory() as tmp:
        for limit in (1024, 20000):
            if own < N_IDLE + N_SLOW + 1000 or limit > own:
                skip("%d descriptors" % limit, "this process may have %d only" % own)
                continue
            check_crowd(cameo, tmp, limit)
        check_tls(cameo, tmp)
    return finish()


sys.exit(main())
