#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only processes without privileges connect to debuginfod servers and the kubelet, never a command itself.

The server finds out which process has the other end of a connection, and reads its status. strace shows that no other
process of the command creates a socket of the network.
"""
import glob
import json
import os
import re
import subprocess

import cameo
from agent_process import Agent
from cameo import Skip, expect
from web_server import WebServer, respond

EXPORTER = 2147357184  # src/roles/sandbox.c
CHAIN = ("outer", "middle", "hot")
UID, CONTAINER = "4b6a1f3e-9c1d-4b6e-8f00-0123456789ab", "feedc0de" * 8


def inode_of(port):
    """The inode of the local socket with PORT, from /proc/net/tcp."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        for line in f.readlines()[1:]:
            fields = line.split()
            if int(fields[1].split(":")[1], 16) == port:
                return fields[9]
    return None


def owner_of(port):
    """The status of the process that has the socket with PORT."""
    inode = inode_of(port)
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(link) == f"socket:[{inode}]":
                with open(f"/proc/{link.split('/')[2]}/status", encoding="ascii") as f:
                    return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        except OSError:  # it has ended, or is not ours to look into
            pass
    return {}


class Server(WebServer):
    """Responds with the contents of FILES, a dict by path, and remembers its clients."""

    def __init__(self, files):
        super().__init__()
        self.clients, self.files = [], files

    def get(self, request):
        self.clients.append({"path": request.path, "auth": request.headers["Authorization"],
                             **owner_of(request.client_address[1])})
        body = self.files.get(request.path)
        respond(request, 404 if body is None else 200, body or b"")

    def expect_confined_clients(self):
        expect(self.clients, "nobody has connected")
        for c in self.clients:
            expect(c.get("Name") == "cameo-exporter", "a connection of", c)
            expect(set(c["Uid"].split("\t")) == {str(EXPORTER)} and not c["Groups"].strip(), "uid", c["Uid"])
            for field in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                expect(int(c[field], 16) == 0, field, c[field])
            expect(c["Seccomp"] == "2" and c["NoNewPrivs"] == "1", "not confined:", c)


class Stripped:
    """The program chain without its symbols, which only a debuginfod server has."""

    def __init__(self, shop, name):
        whole = shop.c("chain", "-g", "-Wl,--build-id=sha1")
        self.path, debug = shop.path(name), shop.path(f"{name}.debug")
        subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", whole, self.path], check=True)
        notes = subprocess.run(["readelf", "-n", whole], capture_output=True, text=True, check=True).stdout
        with open(debug, "rb") as f:
            self.files = {f"/buildid/{re.search('Build ID: ([0-9a-f]+)', notes)[1]}/debuginfo": f.read()}


def strace(traced):
    """A command line that ends with cameo, which dies with strace."""
    cameo.need("strace", "setpriv")
    return ["strace", "-ff", "-qq", "-e", "trace=socket,connect", "-o", traced, "setpriv", "--pdeathsig", "KILL"]


def expect_no_other_sockets(traced, server):
    """No process but those that the server saw has called socket() or connect() for the network."""
    seen = {c["Pid"] for c in server.clients}
    callers = set()
    for path in glob.glob(f"{traced}.*"):
        with open(path, encoding="ascii", errors="replace") as f:
            if re.search(r"AF_INET|AF_NETLINK", f.read()):
                callers.add(path.rsplit(".", 1)[1])
    expect(callers, "strace shows no connection")
    expect(callers <= seen, "sockets of the network in", callers - seen, "besides", seen)


def record(shop):
    """record: debuginfod's files are downloaded by a process without privileges"""
    program, traced = Stripped(shop, "bare-record"), shop.path("calls-record")
    out = shop.path("record.folded")
    env = dict(os.environ, HOME=shop.dir, XDG_CACHE_HOME=shop.path("cache"))
    with Server(program.files) as server:
        subprocess.run([*strace(traced), cameo.CAMEO, "record", "--debuginfod", server.url, "-o", out, "--", program.path,
                        "1000"], check=True, env=env, capture_output=True, timeout=cameo.DEADLINE_S)
        server.expect_confined_clients()
        expect_no_other_sockets(traced, server)
    with open(out, encoding="utf-8") as f:
        stacks = [s for s in cameo.parse_folded(f.read()) if s.comm == "bare-record"]
    expect(any(set(CHAIN) <= set(s.frames) for s in stacks), cameo.show(stacks))
    cached = glob.glob(shop.path("cache") + "/cameo/debuginfod/*.debug")
    expect(len(cached) == 1 and os.stat(cached[0]).st_uid == os.geteuid(), "the cache has", cached)


def symbols(shop):
    """symbols: the same"""
    program, traced = Stripped(shop, "bare-symbols"), shop.path("calls-symbols")
    address, = (hex(start) for start, _, name in cameo.functions(shop.path("chain")) if name == "hot")
    with Server(program.files) as server:
        said = subprocess.run([*strace(traced), cameo.CAMEO, "symbols", "--debuginfod", server.url, program.path, address],
                              capture_output=True, text=True, check=False, timeout=cameo.DEADLINE_S)
        expect("\nhot\n" in said.stdout, said.stdout, said.stderr)
        server.expect_confined_clients()
        expect_no_other_sockets(traced, server)


class Pod:
    """A cgroup as the kubelet names those of a pod's containers, until the end of the block."""

    def __enter__(self):
        top = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "/sys/fs/cgroup/systemd"
        self.made, path = [], top
        for name in ("kubepods", f"pod{UID}", CONTAINER):
            path = os.path.join(path, name)
            try:
                os.mkdir(path)
            except OSError as e:
                self.__exit__()
                raise Skip(f"cannot create a cgroup: {e}") from e
            self.made.append(path)
        return self

    def __exit__(self, *_):
        for path in reversed(self.made):
            os.rmdir(path)

    def add(self, pid):
        with open(f"{self.made[-1]}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(pid))


def pods():
    """The response of a kubelet that runs Pod."""
    container = {"name": "nginx", "containerID": f"containerd://{CONTAINER}"}
    return json.dumps({"items": [{"metadata": {"name": "web-0", "namespace": "prod", "uid": UID},
                                  "status": {"containerStatuses": [container]}}]}).encode()


def agent(shop):
    """agent: the kubelet is queried in the same way, with a token that only root can read"""
    program, traced, token = Stripped(shop, "bare-agent"), shop.path("calls-agent"), shop.path("token")
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("s3cret\n")
    with Pod() as pod, Server({**program.files, "/pods": pods()}) as server:
        running = cameo.spawn(program.path, "1000000")
        try:
            pod.add(running.pid)
            with Agent(shop, "-F", "99", "--window", "1s", "--debuginfod", server.url, "--kubelet", server.url,
                       "--kubelet-token-file", token, wrapper=strace(traced)) as a:
                a.wait(lambda: any(s[1].get("container") == "nginx" and s[1].get("pod") == "web-0" and
                                   set(CHAIN) <= set(s[0]) for s in a.samples("bare-agent")), "names from both servers")
                child, = cameo.children_of(a.process.pid)
                with open(f"/proc/{child}/status", encoding="ascii") as f:
                    expect("\nSeccomp_filters:\t2\n" in f.read(), "the agent has no filter against the network")
                os.kill(child, 15)
                expect(a.process.wait(cameo.DEADLINE_S) == 0, a.said())
        finally:
            cameo.end(running)
        server.expect_confined_clients()
        expect({c["auth"] for c in server.clients if c["path"] == "/pods"} == {"Bearer s3cret"}, server.clients)
        expect(all(c["auth"] is None for c in server.clients if c["path"] != "/pods"), server.clients)
        # the socket of /metrics is the only one of the agent itself, from before it forbids others
        expect_listens_only(traced, child)
        expect_no_other_sockets(traced, server)


def expect_listens_only(traced, pid):
    """The agent itself has created one socket of the network, to listen, and has connected nowhere. Removes its list."""
    with open(f"{traced}.{pid}", encoding="ascii", errors="replace") as f:
        calls = [line for line in f if "AF_INET" in line or "AF_NETLINK" in line]
    expect(sum("socket(" in line for line in calls) <= 1 and not any("connect(" in line for line in calls), *calls)
    os.unlink(f"{traced}.{pid}")


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    if os.geteuid():
        tap.skip("who downloads files", Skip("needs root"))
        tap.done()
    with cameo.Workshop() as shop:
        for test in (record, symbols, agent):
            tap.run(test.__doc__, test, shop)
    tap.done()


main()
