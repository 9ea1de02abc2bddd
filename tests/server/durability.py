#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""durability.py CAMEO [KILLS]: acknowledged profiles survive kills, full disks and damaged files.

The server is killed at random moments under load, KILLS (50) times; what was not
acknowledged is pushed again with its id, and in the end every profile counts once.
Full disks, damaged files and files of other programs follow. A thorough run has 200 kills,
which take minutes on a busy machine: `durability.py CAMEO 200`.
"""
import collections
import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import serving
from serving import BASE_S, CPU, QUERIER, Server, check, finish, message, pprof, skip

CLIENTS = 4
EVERY = {"start": (BASE_S - 100) * 1000, "end": (BASE_S + 10**5) * 1000}


def total(server, selector="{}"):
    _, answer = server.rpc(QUERIER + "SelectMergeStacktraces",
                           {**EVERY, "profileTypeID": CPU, "labelSelector": selector})
    return int(answer.get("flamegraph", {}).get("total", 0)) // 10**7


def body(number, size=20):
    """A profile of number + 1 samples, with stacks of its own and shared ones."""
    folded = ["main;serve;f%d 1" % (number % 97), "main;work%d;x %d" % (number, number)]
    folded += ["main;bulk%d;y%d 0" % (number, i) for i in range(size)]
    labels = {"__name__": "process_cpu", "service_name": "s%d" % (number % 5)}
    return message((1, message(*[(1, message((1, k), (2, v))) for k, v in labels.items()],
                               (2, message((1, pprof(folded, BASE_S + number)),
                                           (2, "id-%d" % number))))))


def push(server, data):
    """The status; None if the connection broke, so that the outcome is unknown."""
    rq = urllib.request.Request(server.url + "/push.v1.PusherService/Push", data=data,
                                headers={"Content-Type": "application/proto"})
    try:
        with urllib.request.urlopen(rq, timeout=60) as rs:
            return rs.status
    except urllib.error.HTTPError as e:
        return e.code
    except OSError:
        return None
    except Exception as e:  # http.client's own, when the answer ends early
        return None if "http.client" in type(e).__module__ else repr(e)


class Load:
    """Pushes until the server is gone and repeats what was not acknowledged."""

    def __init__(self):
        self.lock = threading.Lock()
        self.next, self.open, self.acknowledged, self.wrong = 0, [], [], []

    def take(self):
        with self.lock:
            if self.open:
                return self.open.pop(0)
            self.next += 1
            return self.next - 1

    def client(self, server):
        while True:
            number = self.take()
            status = push(server, body(number))
            with self.lock:
                if status == 200:
                    self.acknowledged.append(number)
                    continue
                self.open.append(number)
                if status is not None:
                    self.wrong.append(status)
            return

    def run(self, server, seconds):
        threads = [threading.Thread(target=self.client, args=(server,)) for _ in range(CLIENTS)]
        for t in threads:
            t.start()
        time.sleep(seconds)
        server.stop(signal.SIGKILL)
        for t in threads:
            t.join()


def value(numbers):
    return sum(n + 1 for n in numbers)


def check_kills(cameo, kills):
    rng, load, lost, late = random.Random(7), Load(), [], 0
    with tempfile.TemporaryDirectory() as directory:
        for i in range(kills):
            begun = time.monotonic()
            server = Server(cameo, directory)
            late = max(late, time.monotonic() - begun)
            have, sure = total(server), value(load.acknowledged)
            if not sure <= have <= sure + value(load.open):
                lost.append((i, sure, have))
            load.run(server, rng.uniform(0.005, 0.4))
        check("after each of %d kills all %d acknowledged profiles are stored" %
              (kills, len(load.acknowledged)), not lost and load.acknowledged, lost[:3])
        check("no push failed", not load.wrong, load.wrong[:3])
        server = Server(cameo, directory)
        for number in load.open + load.acknowledged[-50:]:
            push(server, body(number))
        check("repeated pushes count once",
              total(server) == value(range(load.next)), (total(server), value(range(load.next))))
        check("nothing was renamed", not [f for _, _, files in os.walk(directory)
                                            for f in files if "damaged" in f])
        print("# opened within %.2f s" % late)
        server.stop()


def check_full_disk(cameo):
    with tempfile.TemporaryDirectory() as directory:
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "cameo-test",
                                           directory], capture_output=True).returncode:
            skip("a full disk", "cannot mount a file system")
            return
        try:
            check_full_from_the_start(cameo, directory)
            fill_disk(cameo, directory)
        finally:
            subprocess.run(["umount", "-l", directory], check=True)


def fill(path):
    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        while os.write(f, bytes(4096)):
            pass
    except OSError:
        pass
    os.close(f)


def check_full_from_the_start(cameo, directory):
    server = Server(cameo, directory)
    room = os.path.join(directory, "room")
    fill(room)
    status = push(server, body(1))
    check("no space for a new day is 507", status == 507, status)
    os.unlink(room)
    status = push(server, body(1))
    check("with space the day is created", status == 200 and total(server) == 2, status)
    server.stop()
    for d, _, files in os.walk(directory):
        for f in files:
            os.unlink(os.path.join(d, f))


def fill_disk(cameo, directory):
    server = Server(cameo, directory)
    stored, number, status = [], 0, 200
    while status == 200 and number < 2000:
        status = push(server, body(number, 400))
        stored += [number] if status == 200 else []
        number += 1
    check("a full disk is 507", status == 507, (status, number))
    check("queries still work", total(server) == value(stored),
          (total(server), value(stored)))
    check("pushes are refused", push(server, body(number, 400)) == 507)
    status, _, answer = server.ask("/push.v1.PusherService/Push", body(number, 400),
                                   {"Content-Type": "application/proto"})
    check("the error's code is unavailable", json.loads(answer)["code"] == "unavailable", answer)
    subprocess.run(["mount", "-o", "remount,size=64m", directory], check=True)
    for n in range(number - 1, number + 20):
        status = push(server, body(n, 400))
        stored.append(n)
        if status != 200:
            break
    check("with space pushes work again", status == 200, status)
    check("nothing is missing or counted twice", total(server) == value(stored),
          (total(server), value(stored)))
    server.stop(signal.SIGKILL)
    server = Server(cameo, directory)
    check("the same after a kill", total(server) == value(stored), (total(server), value(stored)))
    for how in (signal.SIGTERM, signal.SIGKILL):
        fill(os.path.join(directory, "room"))
        server.stop(how)
        server = Server(cameo, directory)
        check("a full disk is read after a restart", total(server) == value(stored), merge(server))
    server.stop()


def day_file(directory):
    return [os.path.join(d, f) for d, _, files in os.walk(directory) for f in files
            if f.endswith(".db")][0]


def merge(server):
    return server.rpc(QUERIER + "SelectMergeStacktraces", {**EVERY, "profileTypeID": CPU, "labelSelector": "{}"})


def content(path):
    with open(path, "rb") as f:
        return f.read()


def cut(path):
    os.truncate(path, os.path.getsize(path) // 2)


def scribble(path):
    with open(path, "r+b") as f:
        f.seek(4096)
        f.write(os.urandom(os.path.getsize(path) - 4096))


def text(path):
    with open(path, "w", encoding="ascii") as f:
        f.write("not a database\n" * 1000)


def foreign(path):
    os.unlink(path)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t(x)")
    db.commit()
    db.close()


def newer(path):
    foreign(path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id=0x43614d65")
    db.execute("PRAGMA user_version=99")
    db.close()


def fewer(path):
    """SQLite's own tools know nothing of the checksums of pages."""
    db = sqlite3.connect(path)
    db.execute("DELETE FROM windows WHERE block % 3 = 0")
    db.execute("DELETE FROM arrivals WHERE id % 3 = 0")
    db.commit()
    db.close()


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << at % 8]))


def filled(cameo, directory):
    """Pushes 30 profiles; the totals, and the path of the file."""
    server = Server(cameo, directory)
    for number in range(30):
        push(server, body(number))
    server.stop()
    return day_file(directory)


def check_damage(cameo):
    for name, damage in (("cut short", cut), ("scribbled over", scribble), ("a text", text),
                         ("another program's", foreign), ("of a newer version", newer),
                         ("without some windows", fewer)):
        with tempfile.TemporaryDirectory() as directory:
            path = filled(cameo, directory)
            whole = content(path)
            damage(path)
            damaged = content(path)
            messages = os.path.join(directory, "stderr")
            with open(messages, "w", encoding="ascii") as err:
                server = Server(cameo, directory, stderr=err)
            status, got = merge(server)
            check("a file that is %s: a query fails" % name, (status, got["code"]) == (500, "data_loss"), got)
            status = push(server, body(1000))
            check("a file that is %s: a push can be repeated" % name, status == 503, status)
            status, got = server.rpc("/cameo.v1.PageService/Storage", {})
            check("a file that is %s: Storage names it" % name, status == 200 and got["days"][0]["damage"], got)
            server.stop()
            check("a file that is %s is left unchanged" % name, content(path) == damaged)
            with open(messages, encoding="utf-8") as f:
                said = f.read()
            check("a file that is %s is reported once" % name, said.count("left unchanged") == 1, said)
            with open(path, "wb") as f:
                f.write(whole)
            server = Server(cameo, directory)
            check("a file that was %s is used when it is restored" % name, push(server, body(1000)) == 200 and
                  total(server) == value(range(30)) + 1001, total(server))
            server.stop()


def check_flips(cameo):
    """Single bits of each part of a day's file change no answer: it is the same, or an error."""
    rng = random.Random(9)
    with tempfile.TemporaryDirectory() as directory:
        path = filled(cameo, directory)
        places = list(range(0, 100, 7)) + [rng.randrange(os.path.getsize(path)) for _ in range(25)]
        answers = collections.Counter()
        for at in places:
            flip(path, at)
            server = Server(cameo, directory)
            status, got = merge(server)
            if status == 500 and got["code"] == "data_loss":
                answers["reported"] += 1
            elif status == 200 and total(server) == value(range(30)):
                answers["not read"] += 1
            else:
                answers["wrong"] += 1
                print("byte %d: %d %s" % (at, status, got), flush=True)
            server.stop()
            flip(path, at)
        check("a flipped bit is reported, or was not read (%s)" % dict(answers),
              not answers["wrong"] and answers["reported"] >= 10, answers)


def check_loss(cameo):
    with tempfile.TemporaryDirectory() as directory:
        path = filled(cameo, directory)
        server = Server(cameo, directory)
        check("before the loss all is there", total(server) == value(range(30)))
        os.rename(path, path + ".away")
        for moment in ("while it is open", "after a restart", "after another restart"):
            status, got = merge(server)
            check("a deleted file fails queries %s" % moment, (status, got["code"]) == (500, "data_loss"), got)
            server.stop()
            server = Server(cameo, directory)
        check("pushes begin a new file", push(server, body(1000)) == 200)
        status, got = merge(server)
        check("and queries fail all the same", status == 500 and "replaced" in got["message"], got)
        status = server.rpc(QUERIER + "SelectMergeStacktraces", {
            "start": (BASE_S - 10**6) * 1000, "end": (BASE_S - 5 * 10**5) * 1000, "profileTypeID": CPU,
            "labelSelector": "{}"})[0]
        check("those of other days do not", status == 200, status)
        server.stop()
        os.rename(path, path + ".new")
        os.rename(path + ".away", path)
        with open(os.path.join(os.path.dirname(path), "manifest"), "r+", encoding="ascii") as f:
            kept = [line for line in f if " 1 " not in line]
            f.seek(0)
            f.writelines(kept)
            f.truncate()
        server = Server(cameo, directory)
        check("an accepted loss is over", total(server) == value(range(30)), merge(server)[1])
        server.stop()
    with tempfile.TemporaryDirectory() as directory:
        path = filled(cameo, directory)
        old = content(path)
        server = Server(cameo, directory)
        push(server, body(1000))
        server.stop()
        with open(path, "wb") as f:
            f.write(old)
        server = Server(cameo, directory)
        status, got = merge(server)
        check("an older copy of the file fails queries", status == 500 and "older copy" in got["message"], got)
        server.stop()


INDEX_ROUNDS = 6


class Counted:
    """Clients that push and query until they are stopped; a query must not miss what was acknowledged before it."""

    def __init__(self, server):
        self.server, self.acknowledged, self.stopping, self.lock = server, 0, False, threading.Lock()
        self.statuses, self.missing, self.failed = set(), [], []
        self.threads = [threading.Thread(target=self.repeat, args=(fn, k))
                        for k, fn in enumerate([self.push] * 2 + [self.query] * 2)]
        for t in self.threads:
            t.start()

    def repeat(self, fn, k):
        n = 0
        while not self.stopping:
            n += 1
            try:
                fn(k, n)
            except OSError as e:  # the server is gone
                self.failed.append(e)
                return

    def push(self, k, n):
        status = serving.push(self.server, {"service_name": "a"}, BASE_S + n % 20, ["main;f%d 1" % (n % 50)],
                              "%d-%d" % (k, n))[0]
        with self.lock:
            self.statuses.add(status)
            self.acknowledged += status == 200

    def query(self, k, n):
        before = self.acknowledged
        status, answer = self.server.query("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}",
                                           maxNodes=1000 + 10 * n + k)
        self.statuses.add(status)
        if status == 200 and int(answer.get("flamegraph", {}).get("total", 0)) < before * 10000000:
            self.missing.append((before, answer))

    def stop(self):
        self.stopping = True
        for t in self.threads:
            t.join()


def check_index(cameo):
    """SQLite maps the index of the log (-shm) into memory. Here it is truncated again and again while it is in use."""
    with tempfile.TemporaryDirectory() as directory:
        server = Server(cameo, directory, "--profile-rate", "1000000", "--shared-profile-rate", "1000000")
        clients = Counted(server)
        for _ in range(INDEX_ROUNDS):
            enough = clients.acknowledged + 20
            while clients.acknowledged < enough and not clients.failed:
                time.sleep(0.01)
            os.truncate(day_file(directory) + "-shm", 0)
        enough = clients.acknowledged + 20
        while clients.acknowledged < enough and not clients.failed:
            time.sleep(0.01)
        clients.stop()
        check("a server whose index is truncated continues", server.process.poll() is None and not clients.failed, clients.failed)
        if clients.failed:
            return
        check("requests fail so that they can be repeated", clients.statuses <= {200, 503}, clients.statuses)
        check("no answer lacks what was acknowledged before", not clients.missing, clients.missing)
        check("all is there", server.total("{}") == clients.acknowledged, (server.total("{}"), clients.acknowledged))
        server.stop()
        server = Server(cameo, directory)
        check("also after a restart", server.total("{}") == clients.acknowledged, (server.total("{}"), clients.acknowledged))
        server.stop()


def check_two_days(cameo):
    first, second = (message((1, message((1, message((1, "__name__"), (2, "process_cpu"))), (2, message(
        (1, pprof(["main 7"], BASE_S + s)))))))  for s in (0, 86400))
    with tempfile.TemporaryDirectory() as directory:
        server = Server(cameo, directory)
        check("a push of the second day succeeds", push(server, second) == 200)
        server.stop()
        path = day_file(directory)
        whole = content(path)
        text(path)
        server = Server(cameo, directory)
        check("a push of two days fails with one of them", push(server, first + second) == 503)
        server.stop()
        with open(path, "wb") as f:
            f.write(whole)
        server = Server(cameo, directory)
        check("it has left nothing", total(server) == 7, total(server))
        for _ in range(2):
            check("repeated, it succeeds", push(server, first + second) == 200)
        check("and counts once", total(server) == 21, total(server))
        server.stop()


def check_names(cameo):
    names = ["n%07d%s" % (i, "x" * 10**5) for i in range(150)]
    with tempfile.TemporaryDirectory() as directory:
        server = Server(cameo, directory)
        for n in range(5):
            profile = pprof(["%d%s 1" % (n, name) for name in names], BASE_S)
            status = push(server, message((1, message((1, message((1, "__name__"), (2, "process_cpu"))),
                                                      (2, message((1, profile)))))))
            check("a profile with 15 MB of names is stored", status == 200, status)
        large = gzip.compress(pprof(["%s%d 1" % ("x" * 6 * 10**6, n) for n in range(10)], BASE_S), 1)
        labels = (1, message((1, "__name__"), (2, "process_cpu")))
        status = push(server, message((1, message(labels, *[(2, message((1, large)))] * 2))))
        check("one with 60 MB is not", status == 422, status)
        server.stop()
        server = Server(cameo, directory)
        check("and the day can be read after a restart", total(server) == 5 * len(names), merge(server)[0])
        server.stop()


def main():
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    check_kills(sys.argv[1], kills)
    check_full_disk(sys.argv[1])
    check_damage(sys.argv[1])
    check_flips(sys.argv[1])
    check_loss(sys.argv[1])
    check_index(sys.argv[1])
    check_two_days(sys.argv[1])
    check_names(sys.argv[1])
    return finish()


if __name__ == "__main__":
    sys.exit(main())
