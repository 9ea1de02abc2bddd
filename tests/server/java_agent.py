#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""java_agent.py CAMEO: Pyroscope's agent for Java pushes recordings, which arrive complete.

The agent comes from Maven's registry. The program that it profiles spends its time in known
methods, allocates known objects and waits for a known lock, under a label.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from serving import CPU, Server, check, finish, skip

AGENT = "io.pyroscope:agent:2.1.2"
ALLOCATED = "memory:alloc_in_new_tlab_bytes:bytes:space:bytes"
LOCKS = "mutex:delay:nanoseconds:mutex:count"
PROGRAM = """
import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope;
public class Shop {
    static volatile long sink;
    static long spin() { long x = 1; for (long i = 0; i < 3_000_000; i++) x = x * 31 + i; return x; }
    static void pay() { sink += spin(); }
    static void allocate() { for (int i = 0; i < 3000; i++) sink += new byte[1024].length; }
    static synchronized void locked() { long end = System.nanoTime() + 10_000_000; while (System.nanoTime() < end) sink++; }
    static void work() { for (int i = 0; i < 40; i++) { pay(); allocate(); locked(); } }
    public static void main(String[] args) throws Exception {
        while (System.in.available() == 0) {
            Thread other = new Thread(() -> { for (int i = 0; i < 40; i++) locked(); });
            other.start();
            Pyroscope.LabelsWrapper.run(new LabelsSet("route", "/pay"), Shop::work);
            other.join();
        }
    }
}
"""


def agent_jar(tmp):
    """The agent's path, or why there is none."""
    for tool in ("java", "javac", "mvn"):
        if not shutil.which(tool):
            return None, "there is no " + tool
    local = pathlib.Path(tmp, "repository")
    got = subprocess.run(["mvn", "-q", "-B", f"-Dmaven.repo.local={local}", "dependency:get", f"-Dartifact={AGENT}",
                          "-Dtransitive=false"], capture_output=True, text=True, check=False)
    jars = list(local.glob("io/pyroscope/agent/*/agent-*.jar"))
    return (jars[0], None) if jars else (None, "Maven cannot fetch it: " + (got.stdout + got.stderr)[:200])


def start_program(tmp, jar, server):
    source = pathlib.Path(tmp, "Shop.java")
    source.write_text(PROGRAM)
    subprocess.run(["javac", "-cp", jar, "-d", tmp, source], check=True)
    env = dict(os.environ, PYROSCOPE_APPLICATION_NAME="shop", PYROSCOPE_SERVER_ADDRESS=server.url, PYROSCOPE_FORMAT="jfr",
               PYROSCOPE_PROFILER_EVENT="itimer", PYROSCOPE_PROFILER_ALLOC="64k", PYROSCOPE_PROFILER_LOCK="1ms",
               PYROSCOPE_UPLOAD_INTERVAL="2s", PYROSCOPE_LABELS="env=test")
    return subprocess.Popen(["java", f"-javaagent:{jar}", "-cp", tmp, "Shop"], env=env, stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def functions(server, kind, selector):
    """{function: its share of the total}, and the total."""
    _, answer = server.query("SelectMergeStacktraces", profileTypeID=kind, labelSelector=selector,
                             start=int(time.time() - 3600) * 1000, end=int(time.time() + 3600) * 1000)
    graph = answer.get("flamegraph", {})
    total, out = int(graph.get("total", 0)), {}
    for level in graph.get("levels", []):
        values = [int(v) for v in level["values"]]
        for i in range(0, len(values), 4):
            name = graph["names"][values[i + 3]]
            out[name] = out.get(name, 0) + values[i + 1]
    return {name: value / total for name, value in out.items()} if total else {}, total


def wait_for(server, kind, selector, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, total = functions(server, kind, selector)
        if total:
            return found, total
        time.sleep(0.2)
    return {}, 0


def main():
    with tempfile.TemporaryDirectory() as tmp:
        jar, why = agent_jar(tmp)
        if not jar:
            skip("Pyroscope's agent for Java", why)
            return finish()
        server = Server(sys.argv[1], os.path.join(tmp, "data"))
        program = start_program(tmp, jar, server)
        try:
            shop = '{service_name="shop",env="test",jfr_event="itimer"}'
            found, total = wait_for(server, CPU, shop)
            check("samples of CPU time arrive", total > 0 and "Shop.main" in found, found)
            check("their values are times", total % 10**7 == 0, total)
            found, total = wait_for(server, CPU, '{route="/pay"}')
            check("labels of the program select its samples", found.get("Shop.work", 0) > 0.95, found)
            check("methods have their names", found.get("Shop.pay", 0) > 0.02, found)
            found, total = wait_for(server, ALLOCATED, '{service_name="shop"}')
            check("allocated bytes arrive", found.get("Shop.allocate", 0) > 0.5, found)
            found, total = wait_for(server, LOCKS, '{service_name="shop"}')
            check("time of waiting for locks arrives", found.get("Shop.locked", 0) > 0.5, found)
        finally:
            program.kill()
            program.wait()
            server.stop()
    return finish()


sys.exit(main())
