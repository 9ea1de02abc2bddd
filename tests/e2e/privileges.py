#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What running commands may still do: /proc/PID/status of all their threads and children, after their start."""
import os
import subprocess
import time

import cameo
from agent_process import Agent
from cameo import Skip, expect
from our_server import Server

CAPABILITIES = {"chown": 0, "dac_override": 1, "dac_read_search": 2, "kill": 5, "net_bind_service": 10,
                "ipc_lock": 14, "sys_ptrace": 19, "sys_admin": 21, "syslog": 34, "perfmon": 38, "bpf": 39,
                "checkpoint_restore": 40}
SAMPLING = {"bpf", "perfmon", "sys_ptrace", "dac_read_search", "syslog", "checkpoint_restore", "ipc_lock"}
OTHER = 65534


def mask(names):
    return sum(1 << CAPABILITIES[n] for n in names)


def status(path):
    with open(path, encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def threads(pid):
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            found.append(status(f"/proc/{pid}/task/{tid}/status"))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def children(pid):
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/children", encoding="utf-8") as f:
            found += [int(p) for p in f.read().split()]
    return found


def wait_confined(process):
    """Waits until the process has installed its filter, the last step."""
    deadline = time.monotonic() + cameo.DEADLINE_S
    while status(f"/proc/{process.pid}/status")["Seccomp"] != "2":
        expect(process.poll() is None, "the command has ended")
        expect(time.monotonic() < deadline, "no system call filter in time")
        time.sleep(0.02)


def expect_only(pid, names):
    """Expects of every thread that it has no capability but those NAMES, and cannot regain any."""
    of_kernel = 0
    if "perfmon" in names and int(status("/proc/self/status")["CapEff"], 16) & mask({"sys_admin"}):
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as f:
            of_kernel = mask({"sys_admin"}) if int(f.read()) > 2 else 0
    allowed = mask(names) | of_kernel
    for thread in threads(pid):
        for field in ("CapEff", "CapPrm", "CapBnd"):
            have = int(thread[field], 16)
            expect(not have & ~allowed, f"{field} {have:x} of {thread['Name']}, allowed {allowed:x}")
        expect(int(thread["CapEff"], 16) & mask(names) == mask(names), f"{thread['CapEff']} lacks some of {names}")
        for field in ("CapInh", "CapAmb"):
            expect(int(thread[field], 16) == 0, f"{field} {thread[field]}")
        expect(thread["NoNewPrivs"] == "1", "no no_new_privs")
        expect(thread["Seccomp"] == "2", "no system call filter")


class Command:
    """A command of cameo that is running until the end of the block."""

    def __init__(self, *args, **kw):
        self.process = subprocess.Popen([cameo.CAMEO, *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, **kw)

    def __enter__(self):
        try:
            wait_confined(self.process)
        except Exception:
            self.process.kill()
            raise
        return self.process

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(cameo.DEADLINE_S)


def record(shop):
    """record keeps the capabilities of sampling"""
    with Command("record", "-d", "1h", "-o", shop.path("a.folded")) as p:
        expect_only(p.pid, SAMPLING)


def record_command(shop):
    """record -- COMMAND keeps one more, and the command loses nothing"""
    out = shop.path("status")
    script = f"cat /proc/self/status > {out}.new; mv {out}.new {out}; exec sleep 1000"
    with Command("record", "-o", shop.path("b.folded"), "--", "sh", "-c", script) as p:
        expect_only(p.pid, SAMPLING | {"kill"})
        deadline = time.monotonic() + cameo.DEADLINE_S
        while not os.path.exists(out):
            expect(time.monotonic() < deadline, "the command does not run")
            time.sleep(0.02)
        theirs, ours = status(out), status("/proc/self/status")
        for field in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp"):
            expect(theirs[field] == ours[field], f"{field}: {theirs[field]}, not {ours[field]}")


def record_for_another(shop):
    """record writes into the directory of another user, and owns no more than that takes"""
    directory = shop.path("theirs")
    os.mkdir(directory)
    os.chown(directory, OTHER, OTHER)
    out = os.path.join(directory, "c.folded")
    env = dict(os.environ, SUDO_UID=str(OTHER), SUDO_GID=str(OTHER))
    command = Command("record", "-d", "1h", "-o", out, env=env)
    with command as p:
        expect_only(p.pid, SAMPLING | {"dac_override"})
    expect(command.process.returncode == 0, f"status {command.process.returncode}")
    expect(os.stat(out).st_uid == OTHER, "the file belongs to somebody else")


def top(_):
    """top keeps the capabilities of sampling"""
    with Command("top", "-i", "1s") as p:
        expect_only(p.pid, SAMPLING)


def server(shop):
    """server keeps none"""
    with Server(shop.path("data")) as s:
        wait_confined(s.process)
        expect_only(s.process.pid, set())
        expect(s.ask("/api/v1/agents")["agents"] == [], "it does not answer")


def server_for_another(shop):
    """server with the directory and the token of another user works, with two capabilities"""
    data, token = shop.path("theirs-data"), shop.path("token")
    os.mkdir(data, 0o700)
    with open(token, "w", encoding="utf-8") as f:
        f.write("0123456789abcdef0123456789abcdef\n")
    os.chmod(token, 0o600)
    for path in (data, token):
        os.chown(path, OTHER, OTHER)
    with Command("server", "--data", data, "--listen", "127.0.0.1:0", "--auth-token-file", token) as p:
        deadline = time.monotonic() + cameo.DEADLINE_S
        while len(threads(p.pid)) < 2:
            expect(p.poll() is None and time.monotonic() < deadline, "the server does not start")
            time.sleep(0.02)
        expect_only(p.pid, {"dac_override", "dac_read_search"})


def agent(shop):
    """agent keeps the capabilities of sampling, and its readers have none"""
    with Agent(shop, "--window", "1s", "-F", "99") as a:
        wait_confined(a.process)
        expect_only(a.process.pid, SAMPLING)
        a.wait_windows(1)
        for pid in children(a.process.pid):
            try:
                child = status(f"/proc/{pid}/status")
            except (FileNotFoundError, ProcessLookupError):
                continue
            expect(child["Seccomp"] == "2" and int(child["CapEff"], 16) == 0, f"{child['Name']} has {child['CapEff']}")


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    if os.geteuid():
        tap.skip("what running commands may do", Skip("root has what they drop"))
        tap.done()
    with cameo.Workshop() as shop:
        for test in (record, record_command, record_for_another, top, server, server_for_another, agent):
            tap.run(test.__doc__, test, shop)
    tap.done()


main()
