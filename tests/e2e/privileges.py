#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Running commands keep only the privileges that they need: /proc/PID/status of all their threads and children."""
import os
import re
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
OPENER = {"sys_ptrace", "dac_read_search", "checkpoint_restore"}
OTHER = 65534
SERVER = 2147357183  # src/cli/server_user.c


def mask(names):
    return sum(1 << CAPABILITIES[n] for n in names)


def status(path):
    with open(path, encoding="utf-8") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def children(pid):
    """Returns {pid: status} of the child processes that have not ended."""
    found = {}
    for child in cameo.children_of(pid):
        try:
            found[child] = status(f"/proc/{child}/status")
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def threads(pid):
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            found.append(status(f"/proc/{pid}/task/{tid}/status"))
        except (FileNotFoundError, ProcessLookupError):
            pass
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
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **kw}
        self.process = subprocess.Popen([cameo.CAMEO, *args], **options)

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
    """server becomes the owner of its directory, and may read the token of root"""
    data, token = shop.path("theirs-data"), shop.path("token")
    os.mkdir(data, 0o700)
    with open(token, "w", encoding="utf-8") as f:
        f.write("0123456789abcdef0123456789abcdef\n")
    os.chmod(token, 0o600)
    os.chown(data, OTHER, OTHER)
    with Command("server", "--data", data, "--listen", "127.0.0.1:0", "--auth-token-file", token) as p:
        deadline = time.monotonic() + cameo.DEADLINE_S
        while len(threads(p.pid)) < 2:
            expect(p.poll() is None and time.monotonic() < deadline, "the server does not start")
            time.sleep(0.02)
        expect_only(p.pid, {"dac_read_search"})
        expect(set(status(f"/proc/{p.pid}/status")["Uid"].split("\t")) == {str(OTHER)}, "a uid is still root")


def wait_server(process):
    """Waits for the server of `cameo up`, the child that has listened, and returns {pid: status}."""
    line = process.stdout.readline()
    expect(line.startswith("cameo server: http"), "up does not start:", line)
    those = children(process.pid)
    found = {p: s for p, s in those.items() if s["Name"] == "cameo" and
             int(s["CapEff"], 16) & mask(SAMPLING) in (0, mask({"dac_read_search"}))}
    expect(found, "up has no server among", those)
    return found


def owners(path):
    return {os.lstat(os.path.join(base, n)).st_uid for base, dirs, files in os.walk(path) for n in dirs + files} | \
        {os.lstat(path).st_uid}


def run_up(data, expected_uid, capabilities=frozenset()):
    """Runs `cameo up` until it has stored profiles, and expects its server to be of EXPECTED_UID."""
    with Command("up", "--data", data, "--listen", "127.0.0.1:0", "--window", "1s", stdout=subprocess.PIPE,
                 text=True) as p:
        servers = [c for c, s in wait_server(p).items() if s["Uid"].split("\t")[0] == str(expected_uid)]
        expect(len(servers) == 1, f"no server of uid {expected_uid}")
        expect_only(servers[0], capabilities)
        expect(set(status(f"/proc/{servers[0]}/status")["Uid"].split("\t")) == {str(expected_uid)}, "a uid is still root")
        expect(status(f"/proc/{servers[0]}/status")["Groups"].strip() == "", "it still has the groups of root")
        deadline = time.monotonic() + cameo.DEADLINE_S
        while not any(n.endswith(".db") for _, _, files in os.walk(data) for n in files):
            expect(time.monotonic() < deadline, "up stores nothing")
            time.sleep(0.02)


def up(shop):
    """up's server is not root's, and takes over the store that root had"""
    data = shop.path("of-root")
    os.chmod(os.path.dirname(data), 0o755)
    os.makedirs(data + "/anonymous")
    with open(data + "/anonymous/manifest", "wb"):
        pass
    run_up(data, SERVER)
    expect(owners(data) == {SERVER}, "owners of the store:", owners(data))
    run_up(data, SERVER)


def up_for_another(shop):
    """up's server becomes the owner of its directory"""
    data = shop.path("of-another")
    os.mkdir(data)
    os.chown(data, OTHER, OTHER)
    run_up(data, OTHER)
    expect(owners(data) == {OTHER}, "owners of the store:", owners(data))


def up_below(shop):
    """up's server may reach a directory that only root can"""
    above = shop.path("closed")
    os.mkdir(above, 0o700)
    run_up(above + "/data", SERVER, {"dac_read_search"})


def up_among_others(shop):
    """up leaves a directory with files of others to root, with a message"""
    data = shop.path("of-others")
    os.makedirs(data + "/others")
    with open(shop.path("said"), "w+", encoding="utf-8") as said:
        with Command("up", "--data", data, "--listen", "127.0.0.1:0", stdout=subprocess.PIPE, stderr=said,
                     text=True) as p:
            wait_server(p)
        said.seek(0)
        text = said.read()
    expect(re.search('the server runs as root: .* is not a store', text), "no reason:", text)
    expect(os.stat(data).st_uid == 0 and os.stat(data + "/others").st_uid == 0, "the owner has changed")


def unconfined(pid):
    """Returns those of the child processes that have more than their part needs."""
    return [s for s in children(pid).values()
            if s["Seccomp"] != "2" or int(s["CapEff"], 16) & ~(mask(OPENER) if s["Name"] == "cameo-opener" else 0)]


def agent(shop):
    """agent keeps the capabilities of sampling, and its readers have none, its openers three"""
    with Agent(shop, "--window", "1s", "-F", "99") as a:
        wait_confined(a.process)
        expect_only(a.process.pid, SAMPLING)
        a.wait_windows(1)
        # a reader that has just started confines itself an instant later
        cameo.until(lambda: not unconfined(a.process.pid), "confined children of the agent", 0.02)


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    if os.geteuid():
        tap.skip("what running commands may do", Skip("root has what they drop"))
        tap.done()
    with cameo.Workshop() as shop:
        for test in (record, record_command, record_for_another, top, server, server_for_another, up, up_for_another, up_below,
                     up_among_others, agent):
            tap.run(test.__doc__, test, shop)
    tap.done()


main()
