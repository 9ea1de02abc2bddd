#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""durability.py CAMEO [KILLS]: acknowledged profiles survive kills, full disks and damaged files.

The server is killed at random moments under load, KILLS (50) times; what was not
acknowledged is pushed again with its id, and in the end every profile counts once.
Full disks, damaged files and files of other programs follow. A thorough run has 200 kills,
which take minutes on a busy machine: `durability.py CAMEO 200`.
"""
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


def check_full_from_the_start(cameo, directory):
    server = Server(cameo, directory)
    room = os.path.join(directory, "room")
    f = os.open(room, os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(f, bytes(4096)):
            pass
    except OSError:
        pass
    os.close(f)
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
    server.stop()


def day_file(directory):
    return [os.path.join(d, f) for d, _, files in os.walk(directory) for f in files
            if f.endswith(".db")][0]


def check_damage(cameo):
    def cut(path):
        os.truncate(path, os.path.getsize(path) // 2)

    def scribble(path):
        with open(path, "r+b") as f:
            f.seek(4096)
            f.write(os.urandom(os.path.getsize(path) - 4096))

    def text(path):
        with open(path, "w") as f:
            f.write("not a database\n" * 1000)

    def foreign(path):
        os.unlink(path)
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE t(x)")
        db.commit()
        db.close()

    for name, damage in (("cut short", cut), ("scribbled over", scribble), ("a text", text),
                         ("another program's", foreign)):
        with tempfile.TemporaryDirectory() as directory:
            server = Server(cameo, directory)
            for number in range(30):
                push(server, body(number))
            server.stop()
            damage(day_file(directory))
            messages = os.path.join(directory, "stderr")
            with open(messages, "w") as err:
                server = Server(cameo, directory, stderr=err)
            again = push(server, body(1000))
            check("a file that is %s: the server keeps running" % name,
                  again == 200 and total(server) == 1001, (again, total(server)))
            server.stop()
            with open(messages) as f:
                said = f.read()
            check("a file that is %s is renamed with a message" % name,
                  "renamed to" in said and os.path.exists(day_file(directory) + ".damaged-1"),
                  said)


def main():
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    check_kills(sys.argv[1], kills)
    check_full_disk(sys.argv[1])
    check_damage(sys.argv[1])
    return finish()


if __name__ == "__main__":
    sys.exit(main())
