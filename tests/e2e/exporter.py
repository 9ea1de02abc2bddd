#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The processes of `cameo agent` that use the network: what they may do, and what their death costs."""
import http.server
import os
import signal
import time

import cameo
from agent_process import Agent
from cameo import Skip, expect

EXPORTER = 2147357184  # src/roles/sandbox.c
ENDS_S = 20  # the agent needs five; a busy machine needs longer
DEATHS = 10


class Server:
    """Accepts every push of profiles and remembers the credentials; a silent one never answers."""

    def __init__(self, silent=False):
        self.auth, self.n, outer = [], 0, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802 - the library's name
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.auth.append(self.headers["Authorization"])
                if silent:
                    time.sleep(1000)
                outer.n += 1
                self.send_response(200)
                self.send_header("Content-Type", "application/proto")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server, self.url = cameo.serve(Handler)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def exporters(agent):
    """Returns the pids of the launcher, and of the processes that it has started."""
    for child in cameo.children_of(agent.process.pid):
        try:
            if status(child)["Name"] == "cameo-exporter":
                return child, cameo.children_of(child)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return None, []


def has_only_the_network(shop):
    """An exporter has the network, but no capability, no program, and a user of its own; the agent has no network"""
    server = Server()
    try:
        with Agent(shop, "--server", server.url, "--window", "1s", "-F", "99", to_dir=False) as agent:
            agent.wait(lambda: server.n, "profiles")
            launcher, copies = exporters(agent)
            expect(launcher and copies, "no exporter")
            for pid in (launcher, *copies):
                s = status(pid)
                expect(int(s["CapPrm"], 16) == 0 and int(s["CapEff"], 16) == 0, f"capabilities of {pid}:", s["CapPrm"])
                expect(s["Seccomp"] == "2" and s["NoNewPrivs"] == "1", f"{pid} is not confined")
                expect(set(s["Uid"].split("\t")) == {str(EXPORTER)} and not s["Groups"].strip(), f"uid {s['Uid']}")
            ours = status(agent.process.pid)
            expect(int(ours["Seccomp_filters"]) == 2, "the agent has no filter against the network")
            expect(agent.metric("cameo_export_sent_profiles_total") > 0, agent.get("/metrics")[1])
    finally:
        server.close()


def survives_deaths(shop):
    """Ten dead exporters cost no profile"""
    server = Server()
    try:
        with Agent(shop, "--server", server.url, "--window", "1s", "-F", "99", to_dir=False) as agent:
            agent.wait(lambda: server.n, "profiles")
            for deaths in range(1, DEATHS + 1):
                copies = cameo.until(lambda: exporters(agent)[1], "an exporter", 0.05)
                sent = agent.metric("cameo_export_sent_total")
                os.kill(copies[0], signal.SIGKILL)
                agent.wait(lambda n=sent: agent.metric("cameo_export_sent_total") > n, "requests after a death")
                agent.wait(lambda n=deaths: agent.metric("cameo_exporter_deaths_total") >= n, f"{deaths} deaths")
            agent.wait(lambda: agent.metric("cameo_export_queued") == 0, "empty queue")
            dropped = agent.metric("cameo_export_dropped_total")
            expect(dropped == 0, f"{dropped} requests were dropped")
            expect(agent.end() < ENDS_S, "it takes too long to end")
            expect(agent.ended_well(), agent.said())
    finally:
        server.close()


def follows_a_token(shop):
    """A token that only root can read is sent, and the next one when it is renewed"""
    server, token = Server(), shop.path("token")
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("first\n")
    try:
        with Agent(shop, "--server", server.url, "--bearer-file", token, "--window", "1s", to_dir=False) as agent:
            agent.wait(lambda: "Bearer first" in server.auth, "request with the first token")
            with open(token, "w", encoding="ascii") as f:
                f.write("second\n")
            agent.wait(lambda: "Bearer second" in server.auth, "request with the second token")
    finally:
        server.close()


def ends_without_an_answer(shop):
    """A server that does not answer holds up the end of neither the agent nor its exporters, and the profiles are on disk"""
    server, spool = Server(silent=True), shop.path("spool")
    try:
        with Agent(shop, "--server", server.url, "--spool", spool, "--window", "1s", "-F", "99", to_dir=False) as agent:
            agent.wait(lambda: server.auth, "a request")
            launcher, copies = exporters(agent)
            expect(agent.end() < ENDS_S, "it takes too long to end")
            expect(agent.ended_well(), agent.said())
            deadline = time.monotonic() + ENDS_S
            while any(os.path.exists(f"/proc/{pid}/exe") for pid in (launcher, *copies)):
                expect(time.monotonic() < deadline, "an exporter still runs")
                time.sleep(0.05)
        expect(any(os.scandir(spool)), "nothing is in the spool")
    finally:
        server.close()


def ends_without_its_launcher(shop):
    """Without the process that starts exporters the agent ends with an error, and the profiles are on disk"""
    server, spool = Server(silent=True), shop.path("spool-2")
    try:
        with Agent(shop, "--server", server.url, "--spool", spool, "--window", "1s", "-F", "99", to_dir=False) as agent:
            agent.wait(lambda: server.auth, "a request")
            os.kill(exporters(agent)[0], signal.SIGKILL)
            expect(agent.process.wait(cameo.DEADLINE_S) == 1, agent.said())
            expect("the launcher of exporter processes was killed" in agent.said(), agent.said())
        expect(any(os.scandir(spool)), "nothing is in the spool")
    finally:
        server.close()


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    if os.geteuid():
        tap.skip("exporters of an agent of root", Skip("needs root"))
        tap.done()
    with cameo.Workshop() as shop:
        for test in (has_only_the_network, survives_deaths, follows_a_token, ends_without_an_answer,
                     ends_without_its_launcher):
            tap.run(test.__doc__, test, shop)
    tap.done()


main()
