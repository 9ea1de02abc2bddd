#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile programs against `cameo up` and `cameo top`: what attack.py expects of the agent holds for what is stored and shown."""
import os
import pty
import select
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import attack
import cameo
import crafted
from attack import ENDS_S, HEALTH_S, HONEST, HOSTILE, MS, as_user
from cameo import ENOUGH, expect, total
from ledger import MIB, Ledger, text
from our_server import CPU
from pprof import Profile
from up_process import Up

HZ = 199
AGENT_MIB = 128  # the default of --memory
SERVER_MIB = 512  # that of `cameo server`
HOSTILE_MS = 400
CRAFTED_MS = 300
TABLES = 4
LINE = "\r\x1b[K"  # of up, which begins the line of the hottest functions
KINDS = {
    "tricks": ("names", "deep", "wild-stack", "wild-frames", "punched-stack", "leader-gone", "threads", "moved", "zombies"),
    "hostile": ("fp-cycle", "sp-wild", "exit-main", "renames", "fork"),
    "abuses": ("layout", "anon-name", "memfd", "churn", "growing"),
}
RUNTIMES = ("ruby", "php", "lua", "jvm")


def kinds(shop):
    for source, names in KINDS.items():
        program = shop.c(source, "-pthread")
        for name in names:
            yield [shop.link(program, f"{source}-{name}"), HOSTILE_MS, name]
    for name in RUNTIMES:
        false = shop.c("false_runtime", "-rdynamic", "-Wl,--hash-style=both", f"-DFALSE_{name}")
        yield [shop.link(false, f"false-{name}"), HOSTILE_MS, "circles"]


class Live:
    """`cameo top` in a terminal of its own until the end of the block."""

    def __init__(self, *flags):
        self.shown = b""
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen([cameo.CAMEO, "top", "-i", "1s", *flags], stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)

    def __enter__(self):
        return self

    def read(self):
        while select.select([self.terminal], [], [], 0)[0]:
            try:
                self.shown += os.read(self.terminal, 65536)
            except OSError:
                return

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.read()
        os.close(self.terminal)


def fetch(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def until_now():
    now = int(time.time() * 1000)
    return {"start": now - 3600000, "end": now + 60000}


def honest_stacks(up):
    """Returns what is stored of the honest program, in samples."""
    now = until_now()
    query = urllib.parse.urlencode({"type": CPU, "query": '{comm="honest"}', "from": now["start"], "until": now["end"]})
    samples = Profile(fetch(f"{up.url}/api/v1/profile?{query}")).samples
    return [cameo.Stack("honest", names, round(values[0] * HZ / 1e9)) for names, _, values in samples]


def stored(up):
    try:
        return total(honest_stacks(up))
    except urllib.error.HTTPError:
        return 0


def texts(value):
    """Returns all strings in parsed JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for k, v in value.items():
            yield k
            yield from texts(v)
    elif isinstance(value, list):
        for v in value:
            yield from texts(v)


def answers(up):
    """Returns what the server answers to the queries of the page and of Grafana, as text."""
    range_, all_ = until_now(), {"profileTypeID": CPU, "labelSelector": "{}"}
    names = up.ask("/querier.v1.QuerierService/LabelNames", range_)["names"]
    found = [names, up.agents(), up.ask("/querier.v1.QuerierService/Series", {**range_, "matchers": [], "labelNames": []})]
    found += [up.ask("/querier.v1.QuerierService/LabelValues", {**range_, "name": n}) for n in names]
    found.append(up.ask("/querier.v1.QuerierService/SelectMergeStacktraces", {**range_, **all_}))
    found.append(up.ask("/cameo.v1.PageService/Tree", {**range_, **all_, "maxNodes": 100000}))
    found.append(up.ask("/cameo.v1.PageService/Functions", {**range_, **all_, "sort": "total", "limit": 10000}))
    return found


def judge_texts(up, metrics, tables, live):
    strings = list(texts(answers(up)))
    expect(len(strings) > 100, strings)
    for s in (*strings, *metrics, up.text().replace(LINE, ""), *tables):
        attack.expect_clean(s)
    expect(crafted.TITLE not in live and b"\x1b[2J" + crafted.TITLE[:2] not in live and b"\xff\xfe" not in live, repr(live[-500:]))
    live.decode()


def judge_memory(agent, server):
    print("# agent:", text(agent.most), "server:", text(server.most), flush=True)
    expect(agent.most["sum"] < AGENT_MIB * MIB, "over the limit:", text(agent.most))
    expect(server.most["sum"] < SERVER_MIB * MIB, "over the limit:", text(server.most))


def attack_up(shop, name, commands, others=(), flags=()):
    """Runs COMMANDS and OTHERS next to the honest program, as attack.attack(), under `cameo up` and two of `cameo top`."""
    honest = shop.link(shop.c("chain"), "honest")
    everyone = cameo.together([as_user(HONEST, honest, MS), *(as_user(HOSTILE, *c) for c in commands), *others])
    with Up(shop.path("data-" + name), "-F", str(HZ), "--window", "1s", "--metrics", "127.0.0.1:0", *flags) as up:
        up.wait(up.samples, "perf events")
        server = up.server()
        ledgers = Ledger(up.process.pid, without=(server,)), Ledger(server)
        try:
            table = subprocess.Popen([cameo.CAMEO, "top", "-n", str(TABLES), "-i", "1s", "--by", "thread", "-l", "1000"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            with Live() as live:
                programs = cameo.spawn(*everyone)
                while programs.poll() is None:
                    live.read()
                    up.text()
                    time.sleep(0.1)
            tables = [t.decode() for t in table.communicate(timeout=cameo.DEADLINE_S)]
            up.wait(lambda: stored(up) >= ENOUGH, "samples of the honest program")
            _, ready_s = attack.fastest(lambda: fetch(up.url + "/ready"))
            stacks = honest_stacks(up)
            tables += [cameo.cameo("top", up.url, "-n", "1", "--by", by, "-l", "1000").stdout
                       for by in ("function", "process", "thread", "binary")]
            judge_texts(up, [fetch(up.url + "/metrics").decode()], tables, live.shown)
            took = attack.end_agent(up, up.text)
        finally:
            for ledger in ledgers:
                ledger.end()
        said = up.text()
    expect(table.returncode == 0 and "honest" in tables[0], f"cameo top: status {table.returncode}", *tables[:2])
    expect(up.process.returncode == ("samples were not sent" in said), f"status {up.process.returncode}:", said)
    expect(ready_s < HEALTH_S, f"/ready took {ready_s:.1f} s:", said)
    expect(took < ENDS_S, f"it ended after {took:.1f} s:", said)
    judge_memory(*ledgers)
    attack.judge_honest("up", stacks, said)


def programs_at_once(shop):
    """Programs of odd shapes, files and runtimes at once"""
    attack_up(shop, "stored-kinds", list(kinds(shop)))


def crafted_names(shop):
    """Crafted names of files, functions, threads, units, cgroups, containers and services"""
    with crafted.Groups() as groups:
        attack_up(shop, "stored-crafted", [[shop.link(shop.c("tricks", "-pthread"), "odd-threads"), CRAFTED_MS, "names"]],
                  others=crafted.commands(shop, groups, CRAFTED_MS), flags=["--root", crafted.container_root(shop)])


attack.main(programs_at_once, crafted_names)
