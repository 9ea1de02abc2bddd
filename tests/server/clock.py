#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clock.py CAMEO SHIM: the system's time is set forward and back while the server works.

After a day, retention, reading changed credentials and refilling rates must continue, and acknowledged profiles must stay. After years,
retention must not empty the store. SHIM is clock_shim.c.
"""
import os
import signal
import struct
import sys
import tempfile
import time

from serving import CPU, Server, check, finish, push

DAY_S = 86400
KEEP_DAYS = 3
MOST_PUSHES = 500  # the first ten seconds of the rate may come at once
LIMIT_S = 90  # retention runs every 30 s, files of credentials are read again every second


class Clock:
    """The server's offset from this process's clock."""
    def __init__(self, path):
        self.path = path
        self.set(0)

    def set(self, days):
        """In place, since the server has mapped the file."""
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as f:
            f.write(struct.pack("=q", days * DAY_S * 10**9))
        self.days = days

    def now_s(self):
        return int(time.time()) + self.days * DAY_S


def until(condition):
    deadline = time.monotonic() + LIMIT_S
    while not (ok := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return ok


class Client:
    """Pushes and queries with a token, as seen by the server's clock."""
    def __init__(self, server, clock):
        self.server, self.clock, self.n = server, clock, 0
        self.ask_without = server.ask
        server.ask = self.ask
        self.token = "first-of-the-secrets"

    def ask(self, path, body=None, headers=None, method=None):
        return self.ask_without(path, body, {**(headers or {}), "Authorization": "Bearer " + self.token}, method)

    def push(self, time_s, service):
        self.n += 1
        return push(self.server, {"service_name": service}, time_s, ["main;work 1"], "p%d" % self.n)[0]

    def total(self, service, around_s):
        body = {"profileTypeID": CPU, "labelSelector": '{service_name="%s"}' % service,
                "start": (around_s - 600) * 1000, "end": (around_s + 600) * 1000}
        status, answer = self.server.query("SelectMergeStacktraces", **body)
        return int(answer.get("flamegraph", {}).get("total", 0)) // 10000000 if status == 200 else status


def write_tokens(path, *tokens):
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write("".join(t + "\n" for t in tokens))
    os.rename(path + ".new", path)


def check_rotation(client, tokens, days):
    """A changed file of credentials is read again, whatever the time is."""
    fresh = "secret-of-day-%d" % days
    write_tokens(tokens, fresh)
    old, client.token = client.token, fresh
    check("day %+d: a new token is accepted" % days, until(lambda: client.server.ask("/api/v1/agents")[0] == 200))
    client.token = old
    check("day %+d: the old one is not" % days, until(lambda: client.server.ask("/api/v1/agents")[0] == 401))
    client.token = fresh


def check_rate(client, days):
    """A tenant that has used up its profiles a second gets new ones, whatever the time is."""
    service = "rate%d" % days
    statuses = set()
    for _ in range(MOST_PUSHES):
        statuses.add(client.push(client.clock.now_s(), service))
        if 429 in statuses:
            break
    check("day %+d: pushes beyond the rate are refused" % days, 429 in statuses and statuses <= {200, 429}, statuses)
    check("day %+d: and accepted again" % days, until(lambda: client.push(client.clock.now_s(), service) == 200))


def check_day(client, tokens, days, pushed):
    client.clock.set(days)
    now = client.clock.now_s()
    check_rotation(client, tokens, days)
    check("day %+d: /ready" % days, client.server.ask("/ready")[0] == 200)
    service = "step%d" % len(pushed)
    check("day %+d: a push of that day is stored" % days, until(lambda: client.push(now, service) == 200))
    pushed[service] = now
    check("day %+d: one of the day after is refused with a reason" % days, until(lambda: client.push(now + DAY_S, "late") == 400))
    for service, at_s in pushed.items():
        check("day %+d: %s is there" % (days, service), client.total(service, at_s) == 1, client.total(service, at_s))
    check_rate(client, days)


def check_leap(client, log, pushed):
    """A wrong time, such as that of a machine without a battery, does not make profiles too old all at once."""
    def rounds():
        with open(log, encoding="utf-8") as f:
            return f.read().count("one is deleted per hour")
    client.clock.set(4000)
    check("day +4000: retention reports that days are too old, and waits", until(lambda: rounds() == 1))
    for service, at_s in pushed.items():
        check("day +4000: %s is there" % service, client.total(service, at_s) == 1, client.total(service, at_s))
    client.clock.set(2)
    check("day +2 again: a push is stored", client.push(client.clock.now_s(), "after") == 200)


def main():
    cameo, shim = (os.path.realpath(a) for a in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as tmp:
        clock, tokens = Clock(os.path.join(tmp, "clock")), os.path.join(tmp, "tokens")
        write_tokens(tokens, "first-of-the-secrets")
        os.environ.update({"CAMEO_TEST_CLOCK": clock.path, "LD_PRELOAD": shim})
        log = os.path.join(tmp, "log")
        with open(log, "w", encoding="utf-8") as f:
            server = Server(cameo, os.path.join(tmp, "data"), "--keep-days", str(KEEP_DAYS), "--auth-token-file", tokens,
                            "--profile-rate", "3", "--shared-profile-rate", "0", stderr=f)
        del os.environ["LD_PRELOAD"]
        client = Client(server, clock)
        oldest = clock.now_s() - (KEEP_DAYS - 1) * DAY_S
        check("a profile of two days ago is stored", client.push(oldest, "oldest") == 200)
        pushed = {"oldest": oldest}
        for days in (0, -1, 0):
            check_day(client, tokens, days, pushed)
        del pushed["oldest"]
        # two steps of a day, after which the oldest profile is older than the retention
        clock.set(1)
        clock.set(2)
        check("day +2: retention deletes what is too old", until(lambda: client.total("oldest", oldest) == 0))
        check_day(client, tokens, 2, pushed)
        check_leap(client, log, pushed)
        clock.set(-1)
        begun = time.monotonic()
        check("after a last jump back the server stops cleanly", server.stop(signal.SIGTERM) == 0)
        check("and at once", time.monotonic() - begun < LIMIT_S, time.monotonic() - begun)
    return finish()


sys.exit(main())
