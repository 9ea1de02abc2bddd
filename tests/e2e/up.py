#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo up: its page shows running programs, and nothing is lost at its end."""
import os
import re
import signal
import socket
import subprocess
import urllib.request

import cameo
from cameo import expect
from our_server import OFF_CPU
from up_process import Up


def only(comm):
    """Excludes all other processes of the machine."""
    return ("--rule", f"comm!={comm} : drop-process")


def shows_what_runs(shop):
    """Running and waiting threads can be queried by the program's name, with its functions"""
    programs = [cameo.spawn(shop.link(shop.c("chain"), "upchain"), "100000"),
                cameo.spawn(shop.link(shop.c("waits", "-pthread"), "upwaits"), "0", stdin=subprocess.PIPE)]
    try:
        with Up(shop.path("shown"), "-F", "99", "--window", "1s", "--off-cpu", "--rule",
                "comm!~^up(chain|waits)$ : drop-process") as up:
            chain = {"_start", "main", "outer", "middle", "hot"}
            up.wait(lambda: chain <= up.names("upchain")[0], "the functions that run")
            up.wait(lambda: {"_start", "main", "wait_input"} <= up.names("upwaits", OFF_CPU)[0], "where it waits")
            _, total = up.names("upchain")
            page = urllib.request.urlopen(up.url, timeout=60).read()
            up.wait(up.agents, "the agent's report")
            tables = {by: cameo.cameo("top", up.url, "-n", "1", "--by", by) for by in ("function", "process", "thread")}
            up.wait(lambda: re.search(r"CPUs busy:.*\d+ % hot \(upchain\)", up.text()),
                    "the line of the hottest function")
            status = up.end()
    finally:
        cameo.end(*programs)
    expect(total > 0, total)
    for by, row in (("function", "hot"), ("process", "upchain"), ("thread", "upchain")):
        expect(re.search(rf"^ *\d+\.\d+% +\d+\.\d+%  {row}$", tables[by].stdout, re.M), by, tables[by])
    expect(b"<!doctype html>" in page.lower(), "no page")
    expect(status == 0, f"status {status}", up.text())


def shows_the_first_seconds(shop):
    """The page has data before the first of long windows could end"""
    program = cameo.spawn(shop.link(shop.c("chain"), "upfirst"), "100000")
    try:
        # at this frequency, the window does not become full in time
        with Up(shop.path("first"), "-F", "19", "--window", "1h", *only("upfirst")) as up:
            up.wait(lambda: {"_start", "main", "hot"} <= up.names("upfirst")[0], "the functions that run")
            expect(up.end() == 0, up.text())
    finally:
        cameo.end(program)


def keeps_the_last_window(shop):
    """The window that SIGTERM shortens is in the store afterwards"""
    program = cameo.spawn(shop.link(shop.c("chain"), "uplast"), "100000")
    data = shop.path("last")
    try:
        with Up(data, "-F", "199", "--window", "1h", *only("uplast")) as up:
            up.wait(up.samples, "perf events")
            # the first window ends early if it is full, which depends on what else runs
            before = cameo.until(lambda: up.settled("uplast", program), "a second without a window's end")[0]
            expect(up.end() == 0, up.text())
    finally:
        cameo.end(program)
    with Up(data, command="server") as server:
        names, total = server.names("uplast")
        # a machine that is busy for five seconds after SIGTERM leaves frames without symbols
        expect(any(re.fullmatch(r"hot|\[uplast\+0x[0-9a-f]+\]", name) for name in names) and total > before + 3e8,
               f"{total} ns, {before} ns before, of", names)


def server_without_privileges(shop):
    """The server process has no capabilities; when it exits, the agent ends and reports that"""
    with Up(shop.path("gone"), "--window", "1s") as up:
        pid = up.server()
        expect(pid, "every process has capabilities")
        os.kill(pid, signal.SIGKILL)
        status = up.process.wait(cameo.DEADLINE_S)
        expect(status == 1 and "the server was killed" in up.text(), f"status {status}:", up.text())


def refuses_mistakes(shop):
    """Errors of the agent and of the server are reported, and no process remains"""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = f"127.0.0.1:{taken.getsockname()[1]}"
        for flags, words in ((("--listen", port), "Address already in use"), (("--nosuch",), "--nosuch"),
                             (("--freq", "fast"), "samples per second"), (("--keep-days", "x"), "expected a whole number"),
                             (("--listen", "0.0.0.0:0"), "reachable from other machines")):
            r = cameo.cameo("up", "--data", shop.path("bad"), "--metrics", "no", "--listen", "127.0.0.1:0", *flags)
            expect(r.returncode in (1, 2) and words in r.stderr, f"{flags}: {r.returncode}, {r.stderr}")


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in (shows_what_runs, shows_the_first_seconds, keeps_the_last_window, server_without_privileges,
                     refuses_mistakes):
            tap.run(test.__doc__, test, shop)
    tap.done()


main()
