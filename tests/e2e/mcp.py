#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo mcp: a client of the Model Context Protocol queries a recording and a server.

One client is written here from the protocol's schema; the other one is the package mcp of PyPI, which validates
every message.
"""
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

import our_server
from cameo import CAMEO, DEADLINE_S, Skip, Tap, Workshop, cameo, expect, need, need_bpf, need_here

TOOLS = {"list_services", "top_functions", "callers", "callees", "compare", "explain_incomplete"}
LINE_MAX = 8 * 32 * 1024

# Runs in a process of its own, because the package needs an event loop and may be missing.
ORACLE = """
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    async with stdio_client(StdioServerParameters(command=sys.argv[1], args=["mcp", sys.argv[2]])) as (r, w):
        async with ClientSession(r, w) as session:
            await session.initialize()
            await session.send_ping()
            tools = await session.list_tools()
            print(*sorted(t.name for t in tools.tools))
            for name, arguments in (("top_functions", {"limit": 5}), ("callers", {"function": "no such"}),
                                    ("explain_incomplete", {})):
                result = await session.call_tool(name, arguments)
                failed = result.is_error if hasattr(result, "is_error") else result.isError
                print(name, failed, result.content[0].type, repr(result.content[0].text))
asyncio.run(main())
"""


class Client:
    """Starts `cameo mcp SOURCES...` and exchanges messages with it."""

    def __init__(self, *sources):
        self.process = subprocess.Popen([CAMEO, "mcp", *sources], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.last = 0

    def __enter__(self):
        r = self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                        "clientInfo": {"name": "test", "version": "1"}})["result"]
        expect(r["protocolVersion"] == "2025-06-18" and "tools" in r["capabilities"] and
               set(r["serverInfo"]) >= {"name", "version"}, r)
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        status = self.process.wait(DEADLINE_S)
        said = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        expect(status == 0, f"exit status {status}", said)

    def send(self, message):
        self.process.stdin.write(message + b"\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline(LINE_MAX)
        expect(line.endswith(b"\n"), "no response, or one that is too long:", line[:200])
        r = json.loads(line)
        expect(r["jsonrpc"] == "2.0" and ("result" in r) != ("error" in r), r)
        return r

    def request(self, method, params):
        self.last += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode())
        r = self.receive()
        expect(r["id"] == self.last, r)
        return r

    def call(self, tool, failed=False, **arguments):
        r = self.request("tools/call", {"name": tool, "arguments": arguments})
        expect("result" in r, r)
        result = r["result"]
        expect(result["isError"] == failed and [c["type"] for c in result["content"]] == ["text"], result)
        return result["content"][0]["text"]


def recordings(shop):
    """Two recordings of the same program, of which the second runs three times as long."""
    before, after = shop.path("before.pb.gz"), shop.path("after.pb.gz")
    if not os.path.exists(after):
        for path, ms in (before, "300"), (after, "900"):
            r = cameo("record", "-F", "997", "-o", path, "--", shop.c("chain"), ms)
            expect(r.returncode == 0, r.stderr)
    return before, after


def tools_of_files(shop):
    before, after = recordings(shop)
    with Client(before, after) as c:
        tools = {t["name"]: t for t in c.request("tools/list", {})["result"]["tools"]}
        expect(set(tools) == TOOLS, tools)
        for t in tools.values():
            schema = t["inputSchema"]
            expect(schema["type"] == "object" and set(schema["required"]) <= set(schema["properties"]) and
                   t["description"] and t["annotations"]["readOnlyHint"], t)
        text = c.call("list_services")
        expect(re.search(r"^1\. before.pb.gz: .*cpu/nanoseconds", text, re.M) and " chain (" in text, text)
        text = c.call("top_functions", limit=3)
        expect(re.search(r"^cpu: .* total$", text, re.M) and re.search(r"%  hot  chain$", text, re.M), text)
        text = c.call("callers", function="hot")
        expect(re.search(r"%  hot .*\n.*%   middle .*\n.*%    outer .*\n.*%     main ", text), text)
        text = c.call("callees", function="outer")
        expect(re.search(r"%  outer .*\n.*%   middle .*\n.*%    hot ", text), text)
        text = c.call("compare", normalize="no")
        expect(re.search(r"^cpu: .* before, .* after \(\+\d+\.\d+%, more\)", text) and
               re.search(r" more +\+\d+\.\d+% more +hot", text), text)
        text = c.call("compare", normalize="yes", before="before.pb.gz", after="2")
        expect("compared as shares" in text and not re.search(r" more +hot", text), text)
        text = c.call("explain_incomplete")
        expect("complete" in text, text)
        expect("unknown source" in c.call("top_functions", failed=True, source="/etc/passwd"), "it read a file")


def tools_of_a_server(shop):
    need_here()
    with our_server.Server(shop.path("data")) as server:
        now = int(time.time())
        for name, value, ago in ("shop", 12, 3000), ("shop", 40, 20), ('a"b\\c', 3, 20):
            url = f"{server.url}/ingest?name={urllib.request.quote(name)}.cpu&from={now - ago}&until={now - ago + 10}"
            urllib.request.urlopen(urllib.request.Request(url, f"main;serve {value}\nmain 3\n".encode()),
                                   timeout=60).close()
        with Client(server.url) as c:
            listed = c.call("list_services")
            expect("\n  shop\n" in listed, listed)
            text = c.call("top_functions", service="shop", **{"from": "now-10m"})
            expect(re.search(r"%  serve$", text, re.M), text)
            expect(c.call("top_functions", service="none", failed=True).endswith("and time range"), "no error")
            expect("from must be before" in c.call("top_functions", failed=True, **{"from": "now", "until": "now-1h"}),
                   "no error")
            expect("expected a time" in c.call("top_functions", failed=True, **{"from": "yesterday"}), "no error")
            text = c.call("compare", service="shop", before_from="now-55m", before_until="now-40m",
                          after_from="now-10m", normalize="no")
            expect(re.search(r"before, .* after \(\+", text) and "serve" in text, text)
            for quoted in [line.strip() for line in listed.splitlines() if '"' in line]:
                expect("serve" in c.call("top_functions", service=quoted), quoted)
        expect(server.process.poll() is None, "the server ended")
    with Client(server.url) as c:
        expect("cannot" in c.call("top_functions", failed=True), "an unreachable server")
        expect(c.call("list_services", failed=True), "an unreachable server")


def hostile_messages(shop):
    before, _ = recordings(shop)
    with Client(before) as c:
        for message, code in ((b"nonsense", -32700), (b"[" * 100000, -32700), (b"x" * 5000000, -32700),
                              (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700), (b"\xff\xfe\0", -32700),
                              (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600), (b"[]", -32600),
                              (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                              (b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}', -32600),
                              (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600)):
            c.send(message)
            r = c.receive()
            expect(r["id"] is None and r["error"]["code"] == code, message[:60], r)
        expect(c.request("no/such", {})["error"]["code"] == -32601, "an unknown method")
        expect(c.request("tools/call", {"name": "no such"})["error"]["code"] == -32602, "an unknown tool")
        expect("limit" in c.call("top_functions", failed=True, limit=10**9), "a limit that is too great")
        expect(c.request("ping", {})["result"] == {}, "it still responds")


def oracle(shop):
    before, _ = recordings(shop)
    packages = shop.path("packages")
    try:
        pip = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", packages, "mcp<3"], capture_output=True,
                             text=True, timeout=DEADLINE_S, check=False)
    except subprocess.TimeoutExpired as e:
        raise Skip(f"the package mcp is not installed within {DEADLINE_S} s") from e
    if pip.returncode:
        raise Skip(f"the package mcp cannot be installed: {pip.stderr.strip().splitlines()[-1:]}")
    env = {**os.environ, "PYTHONPATH": packages}
    r = subprocess.run([sys.executable, "-c", ORACLE, CAMEO, before], env=env, capture_output=True, text=True,
                       timeout=DEADLINE_S, check=False)
    expect(r.returncode == 0, r.stdout, r.stderr[-1500:])
    lines = r.stdout.splitlines()
    expect(set(lines[0].split()) == TOOLS and lines[1].startswith("top_functions False text") and "hot" in lines[1] and
           lines[2].startswith("callers True text") and lines[3].startswith("explain_incomplete False text"), r.stdout)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        need("gcc")
        tap.run("the tools show two recordings", tools_of_files, shop)
        tap.run("the tools show the services of a server", tools_of_a_server, shop)
        tap.run("hostile messages have errors", hostile_messages, shop)
        tap.run("the client of the package mcp accepts every message", oracle, shop)
    tap.done()


main()
