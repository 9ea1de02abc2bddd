#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""store.py CAMEO: `cameo store` checks, copies and changes the files of a server's directory."""
import os
import shutil
import subprocess
import sys
import tempfile

from durability import body, content, cut, filled, push
from serving import Server, check, finish


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
        # A store of an earlier version has a file of this name.
        shutil.rmtree(directory + "/lock")
        with open(directory + "/lock", "w", encoding="ascii"):
            pass
        server = Server(cameo, directory, "--tenants")
        status, _, answer = server.ask("/push.v1.PusherService/Push", body(1), {
            "Content-Type": "application/proto", "X-Scope-OrgID": "lock"})
        check("the lock of an earlier version is not in the way", status == 200, (status, answer))
        second = subprocess.run([cameo, "server", "--data", directory, "--listen", "127.0.0.1:0"],
                                capture_output=True, text=True, timeout=60)
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
                              text=True, timeout=60)
        check("--store-info prints the same", same.stdout == out, same)


def main():
    cameo = os.path.realpath(sys.argv[1])
    check_check(cameo)
    check_names_of_tenants(cameo)
    check_info(cameo)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
