#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""replica.py CAMEO: `cameo server --read-only` serves copies of a store and changes nothing in them."""
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from durability import EVERY, body, content, cut, merge, push, total, value
from serving import BASE_S, CPU, QUERIER, Replica, Server, check, finish, skip

OTHER_USER = 65534
DAYS = 3


def fill(cameo, directory, numbers, how=signal.SIGTERM):
    """Pushes profiles of several days and ends the server; SIGKILL leaves the log."""
    server = Server(cameo, directory)
    for n in numbers:
        status = push(server, body(n + n % DAYS * 86400))
        if status != 200:
            raise SystemExit("Bail out! a push got %s" % status)
    server.stop(how)


def sums(numbers):
    return value(n + n % DAYS * 86400 for n in numbers)


def state(directory):
    """All that anybody can see of a directory without reading it, and the content of its files."""
    found = {}
    for d, names, files in os.walk(directory):
        for path in [os.path.join(d, n) for n in names + files] + [d]:
            st = os.lstat(path)
            found[path] = (st.st_mode, st.st_ino, st.st_nlink, st.st_uid, st.st_gid, st.st_size, st.st_mtime_ns,
                           st.st_ctime_ns, None if os.path.isdir(path) else content(path))
    return found


QUESTIONS = [
    ("SelectMergeStacktraces", {"profileTypeID": CPU, "labelSelector": "{}"}),
    ("SelectMergeStacktraces", {"profileTypeID": CPU, "labelSelector": '{service_name="s3"}'}),
    ("SelectSeries", {"profileTypeID": CPU, "labelSelector": "{}", "step": 15, "groupBy": ["service_name"]}),
    ("LabelNames", {}),
    ("LabelValues", {"name": "service_name"}),
    ("ProfileTypes", {}),
    ("Series", {"labelNames": ["service_name"]}),
    ("GetProfileStats", {}),
]


def answers(server):
    wide = {**EVERY, "end": EVERY["end"] + DAYS * 86400000}
    return [server.rpc(QUERIER + method, {**wide, **more}) for method, more in QUESTIONS]


def wide_total(server):
    """Status, and the total of all days or the error's code."""
    status, got = server.rpc(QUERIER + "SelectMergeStacktraces", {
        **EVERY, "end": EVERY["end"] + DAYS * 86400000, "profileTypeID": CPU, "labelSelector": "{}"})
    return status, int(got["flamegraph"].get("total", 0)) // 10**7 if status == 200 else got.get("code")


def check_answers(cameo, tmp):
    data, copy = tmp + "/data", tmp + "/copy"
    fill(cameo, data, range(40))
    subprocess.run([cameo, "store", "backup", data, copy], check=True, capture_output=True)
    server = Server(cameo, data)
    expected = answers(server)
    server.stop()
    for name, directory in (("a backup", copy), ("a directory whose server has stopped", data)):
        before = state(directory)
        server = Replica(cameo, directory)
        got = answers(server)
        check("%s answers like the server" % name, got == expected and got[0][0] == 200, (got[0], expected[0]))
        check("%s is ready and has metrics" % name, server.ask("/ready")[0] == 200 and
              b"cameo_store_days %d" % DAYS in server.ask("/metrics")[2])
        check_refusals(server, name)
        check("%s ends well" % name, server.stop() == 0)
        check("%s is unchanged to the byte" % name, state(directory) == before)


def check_refusals(server, name):
    as_json = {"Content-Type": "application/json"}
    status, _, got = server.ask("/push.v1.PusherService/Push", body(1), {"Content-Type": "application/proto"})
    check("%s: a push is refused" % name, status == 403 and json.loads(got)["code"] == "permission_denied" and
          "read-only" in json.loads(got)["message"], (status, got))
    status, _, got = server.ask("/ingest?name=x&from=%d&until=%d" % (BASE_S, BASE_S + 10), b"main;a 1\n")
    check("%s: /ingest is refused" % name, status == 403 and b"read-only" in got, (status, got))
    status, _, got = server.ask("/v1development/profiles", b"{}", as_json)
    check("%s: OTLP is refused, and not to be repeated" % name, status == 403 and b"read-only" in got, (status, got))


def check_log(cameo, tmp):
    """A server that was killed leaves a log, and so does a snapshot of one that runs."""
    data = tmp + "/killed"
    fill(cameo, data, range(30), signal.SIGKILL)
    logs = [p for p in state(data) if p.endswith("-wal") and os.path.getsize(p)]
    check("a killed server leaves logs", len(logs) == DAYS, logs)
    for remove in (False, True):
        for path in list(state(data)):
            if remove and path.endswith("-shm"):
                os.unlink(path)
        before = state(data)
        server = Replica(cameo, data)
        got = [wide_total(server) for _ in range(3)]
        check("a log %s its index is read" % ("without" if remove else "with"), got == [(200, sums(range(30)))] * 3, got)
        server.stop()
        check("and unchanged", state(data) == before)


def check_permissions(cameo, tmp):
    data, binary = tmp + "/data", tmp + "/cameo"
    if os.getuid() != 0:
        skip("another user's directory", "needs root")
        return
    shutil.copy(cameo, binary)
    os.chmod(tmp, 0o755)
    for path in state(data):
        os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
    before = state(data)
    server = Replica(binary, data, user=OTHER_USER, group=OTHER_USER, extra_groups=[])
    check("another user reads root's directory", wide_total(server) == (200, sums(range(40))), wide_total(server))
    server.stop()
    check("and it is unchanged", state(data) == before)
    mounted = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && '
               '! touch "$0/written" 2>/dev/null && exec "$@"', data]
    server = Replica(cameo, data, before=mounted)
    if server.url:
        check("a read-only mount is served", wide_total(server) == (200, sums(range(40))), wide_total(server))
        check("and is ready", server.ask("/ready")[0] == 200)
    else:
        skip("a read-only mount", "cannot mount")
    server.stop()
    os.chown(data, OTHER_USER, OTHER_USER)
    before = state(data)
    server = Replica(cameo, data)
    check("root serves another user's directory", wide_total(server) == (200, sums(range(40))), wide_total(server))
    server.stop()
    check("whose owner stays", state(data) == before)
    server = Replica(binary, data, user=OTHER_USER, group=OTHER_USER, extra_groups=[])
    os.chmod(data + "/anonymous", 0o700)
    status, got = merge(server)
    check("a directory that cannot be read is an error", status == 503 and "Permission denied" in got["message"],
          (status, got))
    check("and the server is not ready", server.ask("/ready")[0] == 503)
    server.stop()
    code, err = refused(binary, "--read-only", data, user=OTHER_USER, group=OTHER_USER, extra_groups=[])
    check("and no server starts", code == 1 and "Permission denied" in err, (code, err))


def rename_over(source, target):
    """As rsync does: a new file under another name, which then replaces the old one."""
    shutil.copyfile(source, target + ".new")
    shutil.copystat(source, target + ".new")
    os.rename(target + ".new", target)


def write_over(source, target):
    """As rsync --inplace does, block by block."""
    data = content(source)
    fd = os.open(target, os.O_WRONLY | os.O_CREAT, 0o644)
    for at in range(0, len(data), 8192):
        os.pwrite(fd, data[at:at + 8192], at)
    os.ftruncate(fd, len(data))
    os.close(fd)
    shutil.copystat(source, target)


def update(source, target, how):
    os.makedirs(target + "/anonymous", exist_ok=True)
    names = sorted(os.listdir(source + "/anonymous"))
    for name in names:
        how(os.path.join(source, "anonymous", name), os.path.join(target, "anonymous", name))
    for name in set(os.listdir(target + "/anonymous")) - set(names):
        os.unlink(os.path.join(target, "anonymous", name))


def check_updates(cameo, tmp):
    """Files that are copied over a directory while it is served are noticed."""
    data, states, n = tmp + "/growing", [], 0
    for i, more in enumerate((30, 50, 20)):
        fill(cameo, data, range(n, n + more))
        n += more
        states.append((tmp + "/state%d" % i, sums(range(n))))
        subprocess.run([cameo, "store", "backup", data, states[-1][0]], check=True, capture_output=True)
    for name, how in (("replaced", rename_over), ("overwritten", write_over)):
        target = tmp + "/" + name
        update(states[0][0], target, how)
        server = Replica(cameo, target)
        check("files before they are %s" % name, wide_total(server) == (200, states[0][1]), wide_total(server))
        for source, expected in states[1:] + states[:1] + states:
            update(source, target, how)
            check("files that were %s are noticed at once" % name, wide_total(server) == (200, expected),
                  (wide_total(server), expected))
        check_while_changing(server, name, target, how, states)
        server.stop()


def check_while_changing(server, name, target, how, states):
    """A query is answered from one state of each file, or fails. A day has as many profiles as in one of the states."""
    stop, seen = threading.Event(), []

    def change():
        for source, _ in itertools.cycle(states):
            update(source, target, how)
            if stop.is_set():
                return

    thread = threading.Thread(target=change)
    thread.start()
    while len(seen) < 200 or (sum(s[0] == 200 for s in seen) < 20 and len(seen) < 20000):
        seen.append(wide_total(server))
    stop.set()
    thread.join()
    # The days are copied one after the other, so that a query may see one day of another state than the next.
    days = [[sum(k + d * 86400 + 1 for k in range(n) if k % DAYS == d) for n in (30, 80, 100)] for d in range(DAYS)]
    whole = {sum(c) for c in itertools.product(*days)}
    allowed = {(503, "unavailable"), (500, "data_loss")}
    wrong = [s for s in seen if not (s[0] == 200 and s[1] in whole) and s not in allowed]
    check("no result is made of a part of files that are being %s" % name,
          not wrong and any(s[0] == 200 for s in seen), wrong[:5])
    update(states[1][0], target, how)
    check("afterwards results are right", wide_total(server) == (200, states[1][1]), wide_total(server))


def check_restore(cameo, tmp):
    """The directory is emptied and restored, or replaced as a whole, while it is served."""
    target = tmp + "/restored"
    shutil.copytree(tmp + "/state0", target)
    server = Replica(cameo, target)
    first = wide_total(server)
    shutil.rmtree(target + "/anonymous")
    empty = wide_total(server)
    subprocess.run([cameo, "store", "restore", target, tmp + "/state2"], check=True, capture_output=True)
    check("a directory restored while it is served", (first, empty, wide_total(server)) ==
          ((200, sums(range(30))), (200, 0), (200, sums(range(100)))), (first, empty, wide_total(server)))
    os.rename(target, target + ".old")
    status, got = merge(server)
    check("a directory that is gone is an error", status == 503 and "No such file" in got["message"], (status, got))
    check("and the server is not ready", server.ask("/ready")[0] == 503)
    shutil.copytree(tmp + "/state1", target)
    check("another one in its place is served", wide_total(server) == (200, sums(range(80))), wide_total(server))
    os.mkdir(target + "/+incomplete")
    status, got = merge(server)
    check("a half restored one is an error", status == 503 and "incomplete" in got["message"], (status, got))
    os.rmdir(target + "/+incomplete")
    path = next(p for p in sorted(state(target)) if p.endswith(".db"))
    whole = content(path)
    cut(path)
    status, got = merge(server)
    check("a damaged file is an error", (status, got["code"]) == (500, "data_loss") and path in got["message"], got)
    os.unlink(path)
    status, got = merge(server)
    check("a lost file is an error", (status, got["code"]) == (500, "data_loss") and "was deleted" in got["message"], got)
    with open(path, "wb") as f:
        f.write(whole)
    check("put back, it is served", wide_total(server) == (200, sums(range(80))), wide_total(server))
    server.stop()


def refused(cameo, *args, **how):
    r = subprocess.run([cameo, "server", "--listen", "127.0.0.1:0", *args], capture_output=True, text=True, timeout=60,
                       **how)
    return r.returncode, r.stderr


def check_errors(cameo, tmp):
    data, notes = tmp + "/state0", tmp + "/notes"
    os.mkdir(notes)
    with open(notes + "/text", "w", encoding="ascii") as f:
        f.write("text")
    for name, args, part in (
            ("no directory", ("--read-only", tmp + "/none"), "No such file"),
            ("not a store", ("--read-only", notes), "is not a store of Cameo"),
            ("two directories", ("--read-only", data, "--data", data), "exactly one of"),
            ("a file", ("--read-only", notes + "/text"), "Not a directory")):
        code, err = refused(cameo, *args)
        check("refused: " + name, code != 0 and part in err, (code, err))
    writer = Server(cameo, tmp + "/used")
    push(writer, body(1))
    code, err = refused(cameo, "--read-only", tmp + "/used")
    check("a directory that a server writes is refused", code == 1 and "cameo store backup" in err, (code, err))
    writer.stop()
    server = Replica(cameo, tmp + "/used")
    check("afterwards it is served", total(server) == 2, total(server))
    writer = Server(cameo, tmp + "/used")
    check("and may be written again", push(writer, body(2)) == 200)
    status, got = merge(server)
    check("which is noticed", status == 503 and "in use" in got["message"], (status, got))
    writer.stop()
    check("until that ends", total(server) == 5, total(server))
    server.stop()


def main():
    cameo = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as tmp:
        check_answers(cameo, tmp)
        check_log(cameo, tmp)
        check_permissions(cameo, tmp)
        check_updates(cameo, tmp)
        check_restore(cameo, tmp)
        check_errors(cameo, tmp)
    finish()


main()
