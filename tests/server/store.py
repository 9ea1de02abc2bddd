#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""store.py CAMEO: `cameo store` checks, copies and changes the files of a server's directory."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from durability import body, content, cut, filled, merge, push, total, value
from serving import BASE_S, Server, check, finish, skip


def run(cameo, *args):
    """Exit status, standard output and standard error."""
    r = subprocess.run([cameo, "store", *args], capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout, r.stderr


def check_failed(name, got, part, status=1):
    """The command printed one line of error, and its exit status is @status."""
    code, out, err = got
    check(name, code == status and err.count("\n") == 1 and err.startswith("cameo store: ") and part in err,
          (code, out, err))


def check_check(cameo):
    with tempfile.TemporaryDirectory() as directory:
        path = filled(cameo, directory)
        code, out, err = run(cameo, "check", directory)
        check("a whole store is ok", (code, out, err) == (0, path + ": ok, 30 profiles\n", ""), (code, out, err))
        server = Server(cameo, directory)
        push(server, body(1000))
        code, out, _ = run(cameo, "check", directory)
        check("it is checked while the server runs", code == 0 and "31 profiles" in out, out)
        server.stop()
        whole = content(path)
        cut(path)
        code, out, _ = run(cameo, "check", directory)
        check("a file that is cut short is found", code == 1 and "damaged" in out, out)
        with open(path, "wb") as f:
            f.write(whole)
        check("afterwards it is whole again", run(cameo, "check", directory)[0] == 0)
        os.unlink(path)
        code, out, _ = run(cameo, "check", directory)
        check("a lost file is found", code == 1 and path + ": damaged: " in out and "was deleted" in out, out)
    with tempfile.TemporaryDirectory() as directory:
        check("an empty directory is a store", run(cameo, "check", directory) == (0, "", ""))
        check_failed("no directory", run(cameo, "check", directory + "/none"), "No such file")
        with open(directory + "/notes", "w", encoding="ascii") as f:
            f.write("text")
        check_failed("not a store", run(cameo, "check", directory), "is not a store of Cameo")


def check_names_of_tenants(cameo):
    """No name of a tenant is one of the store's own files."""
    names = ["lock", "manifest", "manifest.new", "2026-11-20.db", "audit", "deletions", "...a", "-", "_"]
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(2):
            server = Server(cameo, directory, "--tenants")
            for name in names:
                status, _, answer = server.ask("/push.v1.PusherService/Push", body(1), {
                    "Content-Type": "application/proto", "X-Scope-OrgID": name})
                check("a tenant may be called %s" % name, status == 200, (status, answer))
            server.stop()
        code, out, _ = run(cameo, "check", directory)
        check("each has its own file", code == 0 and out.count("\n") == len(names) and
              all("/%s/" % name in out for name in names), out)
        with tempfile.TemporaryDirectory() as target:
            code, out, err = run(cameo, "backup", directory, target)
            check("and is in a backup", code == 0 and all("/%s/" % name in out for name in names), (out, err))
        # A store of an earlier version has a file of this name.
        shutil.rmtree(directory + "/lock")
        with open(directory + "/lock", "w", encoding="ascii"):
            pass
        server = Server(cameo, directory, "--tenants")
        status, _, answer = server.ask("/push.v1.PusherService/Push", body(1), {
            "Content-Type": "application/proto", "X-Scope-OrgID": "lock"})
        check("the lock of an earlier version is not in the way", status == 200, (status, answer))
        second = subprocess.run([cameo, "server", "--data", directory, "--listen", "127.0.0.1:0"],
                                capture_output=True, text=True, timeout=120)
        check("one server at a time", second.returncode == 1 and "in use" in second.stderr, second)
        server.stop()


def check_info(cameo):
    with tempfile.TemporaryDirectory() as directory:
        filled(cameo, directory)
        code, out, _ = run(cameo, "info", directory)
        rows = [line.split() for line in out.splitlines()]
        check("info has a line per day and sums", code == 0 and len(rows) == 4 and rows[2][0] == "all" and
              rows[1][3:5] == rows[2][2:4] == ["5", "30"], out)
        same = subprocess.run([cameo, "server", "--data", directory, "--store-info"], capture_output=True,
                              text=True, timeout=120)
        check("--store-info prints the same", same.stdout == out, same)


def entries(directory):
    """Each path below the directory with its content, except the indexes of logs."""
    return {os.path.relpath(os.path.join(d, f), directory): content(os.path.join(d, f))
            for d, _, files in os.walk(directory) for f in files if not f.endswith("-shm")}


def check_backup(cameo, tmp):
    data, copy, again = (os.path.join(tmp, n) for n in ("data", "copy", "again"))
    path = filled(cameo, data)
    server = Server(cameo, data)
    threads = [threading.Thread(target=lambda n=n: [push(server, body(n + i)) for i in range(20)])
               for n in (100, 200, 300)]
    for t in threads:
        t.start()
    code, out, err = run(cameo, "backup", data, copy)
    for t in threads:
        t.join()
    check("a backup while the server stores profiles", code == 0 and out.startswith(path + ": "), (out, err))
    server.stop()
    code, out, _ = run(cameo, "check", copy)
    check("the backup is a whole store", code == 0, out)
    server = Server(cameo, copy)
    all_of_it = value(range(30)) + sum(value(range(n, n + 20)) for n in (100, 200, 300))
    check("with profiles of one moment", value(range(30)) <= total(server) <= all_of_it, total(server))
    server.stop()
    code, out, err = run(cameo, "restore", again, data)
    server = Server(cameo, again)
    check("restored, it answers as before", code == 0 and total(server) == all_of_it, (out, err))
    check_failed("a server's directory is not overwritten", run(cameo, "restore", again, copy), "is not empty")
    check("and profiles are accepted", push(server, body(1000)) == 200)
    server.stop()
    before = entries(again)
    for name, args in (("restore", (again, copy)), ("backup", (copy, again))):
        check_failed(name + " refuses a directory with files", run(cameo, name, *args), "is not empty")
    check("which stay", entries(again) == before)
    check_failed("a backup of nothing", run(cameo, "backup", tmp + "/none", tmp + "/new"), "No such file")
    cut(path)
    check_failed("no backup of a damaged file", run(cameo, "backup", data, tmp + "/new"), "2026-11-20.db")
    os.unlink(path)
    check_failed("nor without a lost file", run(cameo, "backup", data, tmp + "/new"), "was deleted")
    check("nothing remains of it", not os.path.exists(tmp + "/new"))
    os.mkdir(again + "/+incomplete")
    r = subprocess.run([cameo, "server", "--data", again, "--listen", "127.0.0.1:0"], capture_output=True,
                       text=True, timeout=120)
    check("a server does not open an interrupted copy", r.returncode == 1 and "is incomplete" in r.stderr, r)


def check_full_target(cameo, tmp):
    small = os.path.join(tmp, "small")
    os.mkdir(small)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "cameo-test", small],
                                      capture_output=True).returncode:
        skip("a full target", "cannot mount a file system")
        return
    try:
        path = filled(cameo, os.path.join(tmp, "data2"))
        check_failed("a backup to a full disk", run(cameo, "backup", os.path.dirname(os.path.dirname(path)), small),
                     "full")
        check("leaves nothing", os.listdir(small) == [], os.listdir(small))
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def check_delete(cameo, tmp):
    data = os.path.join(tmp, "data")
    path = filled(cameo, data)
    kept = [n for n in range(30) if n % 5 != 2]
    for args, part in (((), "requires --tenant"), (("-t", "anonymous"), "requires --tenant"),
                       (("-t", "..", "--from", "0"), "not a name"), (("-t", "a", "-s", "{"), "--selector"),
                       (("-t", "a", "--from", "yesterday"), "--from")):
        check_failed("delete with %s" % (args,), run(cameo, "delete", data, *args), part, 2)
    server = Server(cameo, data)
    check_failed("not while a server runs", run(cameo, "delete", data, "-t", "anonymous", "--from", "0"), "in use")
    server.stop()
    before = content(path)
    code, out, _ = run(cameo, "delete", data, "-t", "anonymous", "-s", '{service_name="none"}')
    check("what selects nothing changes nothing", (code, out) == (0, "0 profiles deleted\n") and
          content(path) == before, out)
    code, out, err = run(cameo, "delete", data, "-t", "anonymous", "-s", '{service_name="s2"}')
    check("profiles of a service are deleted", code == 0 and "deleted 6 profiles, 24 remain" in out, (out, err))
    code, out, _ = run(cameo, "check", data)
    check("that is not reported as damage", code == 0 and "24 profiles" in out, out)
    server = Server(cameo, data)
    check("the others are there", total(server) == value(kept) and total(server, '{service_name="s2"}') == 0,
          total(server))
    check("new ones are added", push(server, body(1000)) == 200 and total(server) == value(kept) + 1001)
    server.stop()
    code, out, _ = run(cameo, "delete", data, "-t", "anonymous", "--from", str(BASE_S + 10), "--until", str(BASE_S + 20))
    kept = [n for n in kept if not 10 <= n < 20]
    server = Server(cameo, data)
    check("profiles of a range are deleted", code == 0 and total(server) == value(kept) + 1001, (out, total(server)))
    server.stop()
    with open(os.path.join(os.path.dirname(path), "deletions"), encoding="ascii") as f:
        lines = f.read().splitlines()
    check("each deletion is recorded", len(lines) == 2 and 'profiles=6 selector={service_name="s2"}' in lines[0], lines)
    cut(path)
    check_failed("a damaged file is not changed", run(cameo, "delete", data, "-t", "anonymous", "--from", str(BASE_S)),
                 "cannot rewrite")
    code, out, _ = run(cameo, "delete", data, "-t", "anonymous", "--from", "0")
    check("but removed with its day", code == 0 and not os.path.exists(path), out)
    check("and nothing is lost", run(cameo, "check", data)[:2] == (0, ""))
    server = Server(cameo, data)
    check("queries and pushes work", merge(server)[0] == 200 and push(server, body(1)) == 200)
    server.stop()


def check_compact(cameo, tmp):
    data = os.path.join(tmp, "data")
    path = filled(cameo, data)
    server = Server(cameo, data)
    for n in range(30, 60):
        push(server, body(n, 400))
    server.stop(signal.SIGKILL)
    code, out, err = run(cameo, "compact", data)
    check("compact rewrites each file", code == 0 and path in out, (out, err))
    check("without its log", sorted(os.listdir(os.path.dirname(path))) == [os.path.basename(path), "manifest"],
          os.listdir(os.path.dirname(path)))
    server = Server(cameo, data)
    check("and loses nothing", total(server) == value(range(60)), total(server))
    check("profiles count once as before", push(server, body(59, 400)) == 200 and total(server) == value(range(60)))
    check_failed("not while a server runs", run(cameo, "compact", data), "in use")
    server.stop()
    cut(path)
    damaged = content(path)
    check_failed("a damaged file", run(cameo, "compact", data), "cannot rewrite")
    check("is unchanged", content(path) == damaged)


def main():
    cameo = os.path.realpath(sys.argv[1])
    check_check(cameo)
    check_names_of_tenants(cameo)
    check_info(cameo)
    for part in (check_backup, check_full_target, check_delete, check_compact):
        with tempfile.TemporaryDirectory() as tmp:
            part(cameo, tmp)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
