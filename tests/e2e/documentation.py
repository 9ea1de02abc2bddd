#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reader who types the commands of the documentation gets what it shows.

Every command in a console block of a page, and every example of --help, runs in a directory that
has the files it reads. The pids of the text become that of a running program, addresses and
directories become the test's own, and recordings are shorter. A command must succeed, and each line
of its documented output that does not depend on the machine must be there, with other numbers.
"""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import go_programs
from cameo import CAMEO, DEADLINE_S, PROGRAMS, TOP, Skip, Tap, Workshop, end, expect, need, need_bpf

PAGES = ["README.md", "docs/getting-started.md", "docs/recording.md", "docs/ci.md", "docs/mcp.md", "docs/languages.md",
         "docs/formats.md", "docs/server.md", "docs/sizing.md", "docs/agent.md", "docs/page.md", "docs/security.md",
         "docs/troubleshooting.md", "docs/comparison.md", "docs/waits.md", "CONTRIBUTING.md"]
COMPILED_PAGE = "docs/source.md"  # it needs compilers, and a Go that reads profiles
COMMANDS = ["record", "report", "top", "agent", "server", "up", "diff", "convert", "view", "symbols", "tasks",
            "unwind-info", "doctor", "debug", "store", "ci", "mcp"]

# These take long, change the machine or need what a test machine lacks. Suites and benchmarks are
# run by hand and by ./test; tests/packaging checks the image and the manifest.
NOT_RUN = re.compile(r"(\./test|git config|meson|sudo tests/|cd ui|gdb|bpftool|perf record|bench/|podman|sysctl|cat |"
                     r"echo 'kernel|export )")
RUNS = re.compile(r"(cameo|perf script|echo|printf|openssl|go build|clang)\b")
# They run until Ctrl-C; so does `cameo` without a command.
LASTING = re.compile(r"(?:perf script \| )?cameo (up|agent|view|server(?!.* --(hash-secret|store-info))|top(?!.* -n))\b")
# Documented output whose form is the same on every machine.
FIXED = re.compile(r"cameo: wrote|cameo: \d+ samples in|cameo: [\d.]+ MiB resident|cameo: [\d.]+ s off-CPU|cameo: own CPU|hot: cpu self|cameo: --hide-idle|"
                   r"cameo: folded|cameo server: |(?:cpu|off_cpu|resident|cpu-clock|page-faults): |\s+self +self%|self before|"
                   r"The walk reached|walk\.core: |level=info|data/|day  |all  |\d+ days?,|\d+ profiles |ann:|"
                   r"process \d+ \(tasks\)|Deadlock: |[\d,]+ goroutines · |"
                   r"ok +(?:kernel|BTF|capabilities|self-test)|symbolizer: ")
# Arguments of the programs that are called ./app, by the name of their recording.
ROUNDS = {"go.pb.gz": 30000000, "app.pb.gz": 40000}
# One function has nearly all of its time, so that no share differs between two recordings of it. go build refuses C
# files in its directory.
BUSY = """//go:build ignore

int main(void)
{
	for (volatile unsigned long i = 0; i < 300000000; i++)
		;
}
"""
# It mostly waits, as a shop does, because it runs for as long as the test.
SHOP = """
import json, os, time, zlib
def parse(text):
    return json.loads(text)
def archive(rows, out):
    for _ in range(100):
        zlib.compress(json.dumps(rows).encode())
    os.pwrite(out, b"x" * 100000, 0)
def serve(text, out):
    archive(parse(text), out)
def main():
    out = os.open("orders", os.O_CREAT | os.O_RDWR)
    text = json.dumps([{"id": i, "name": str(i)} for i in range(500)])
    while True:
        serve(text, out)
        time.sleep(0.3)
main()
"""


def blocks(text):
    """Each command of TEXT with the lines that the documentation shows below it."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^(?=[$#] )", block, flags=re.MULTILINE):
            m = re.match(r"[$#] ((?:.*\\\n)*.*)\n?", part)
            if m:
                yield m[1], part[m.end():].splitlines()


def examples(command):
    """The commands at the end of `cameo COMMAND --help`."""
    usage = subprocess.run([CAMEO, command, "--help"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^Examples:\n(.*)", usage, re.MULTILINE | re.DOTALL)[1]
    return [(line.strip(), []) for line in found.splitlines() if re.match(r"  (sudo )?(cameo|perf) ", line)]


def form(line):
    """A regular expression for LINE with other numbers, units, plurals, names of kernels and hashes."""
    line = line.split(" …")[0].rstrip()
    if line.startswith("ok "):
        line = " ".join(line.split()[:2])
    if line.startswith("ann:"):
        line = line.rsplit("$", 2)[0]
    text = re.escape(line).replace(r"\ ", " ").replace("/src/", r"\S*/")
    text = re.sub(r"\d(?:\d|,|\\[.-])*(?:[num]?s\b)?", lambda _: r"\d[\d.,-]*(?:[num]?s\b|min\b|h\b)?", text)
    text = re.sub(r"\\[+-](?=\\d)", "[+-]", text)
    # an unprivileged process may not make one in a chroot
    text = text.replace("own user namespace, ", "(?:own user namespace, )?")
    text = re.sub(r"\b(process|stack|sample|day)(?:es|s)?\b", r"\1(?:es|s)?", text)
    return "^" + re.sub(r" +", " +", re.sub(r"\b(?:less|more|noise)\b", "(?:less|more|noise)", text))


def store(request):
    """Pushes what the documentation queries; the reason for a refusal is in its body."""
    try:
        urllib.request.urlopen(request, timeout=DEADLINE_S).close()
    except urllib.error.HTTPError as e:
        expect(False, f"{request.full_url}: {e.code}: {e.read().decode()}")


class Reader:
    """Types the commands of one page, with a program to record and a server to query."""

    def __init__(self, shop, program, goroutines):
        self.goroutines = goroutines
        self.dir, self.program, self.lasting, self.url = shop.dir, program, [], None
        self.env = {**os.environ, "PATH": f"{shop.dir}/bin:{os.environ['PATH']}", "HOME": shop.dir}
        self.failed = []
        for backup in "monday", "tuesday":  # of an earlier page
            shutil.rmtree(shop.path(backup), ignore_errors=True)

    def adapted(self, command):
        """The command with this test's program, files, addresses and durations."""
        command = re.sub(r"^(?:sudo )?(?:\./run|build/cameo|cameo)(?= |$)", "cameo", command.split("  #")[0].strip())
        command = re.sub("^cameo$", "cameo up", command.replace("-- build/cameo", "-- cameo").replace(" --port 8000", ""))
        if not self.goroutines_of(command, []):
            command = re.sub(r"(?<= -p )\d+", str(self.program.pid), command)
        # what runs next to it can make a loop take longer
        command = re.sub(r"(?<= --fail-above )\d+%", "900%", command)
        command = re.sub(r"(?<= --watch )\d+", "0.1 --snapshots 2", command)
        command = re.sub(r"(?<= -d )\d+", "1", command)
        if command.startswith("cameo record ") and not re.search(" -d | -- |=heap ", command):
            command += " -d 1"
        for recording, rounds in ROUNDS.items():
            command = command.replace(f" -o {recording} -- ./app", f" -o {recording} -- ./app {rounds}")
        for path in "/etc/cameo/", "/backup/", "/srv/":
            command = command.replace(path, self.dir + "/")
        command = re.sub(r"/var/lib/cameo(-server)?(?= |$)", f"{self.dir}/data", command)
        command = command.replace("/var/lib/cameo-agent", f"{self.dir}/agent")
        if re.match(r"cameo (up|server)\b", command) and LASTING.match(command):
            command = re.sub(r"(?<= --listen )(\S*):\d+", r"\1:0", command)
            command += "" if " --listen " in command else " --listen 127.0.0.1:0"
            command += "" if re.search(" --data | --read-only ", command) else f" --data {self.dir}/up"
        elif re.match(r"cameo agent\b", command):
            command += " --metrics no"
        return re.sub(r"http://127\.0\.0\.1:4040", self.url, command) if self.url else command

    def configure(self, lines):
        """Writes the agent's configuration with this test's paths, and with a server that does not exist."""
        with open(self.dir + "/agent.conf", "w", encoding="ascii") as f:
            for line in lines:
                f.write(self.adapted(line).replace(":4040", ":1") + "\n")

    @staticmethod
    def goroutines_of(command, shown):
        """The mode of the Go program that a command is about, or None."""
        if re.match(r"(sudo )?cameo record .*--memory=heap ", command):
            return "heap"
        if not command.startswith("cameo tasks "):
            return None
        return "deadlock" if any(line.startswith("Deadlock") for line in shown) else "counts"

    def type(self, command, shown):
        mode = self.goroutines_of(command, shown)
        if mode and mode not in self.goroutines or "heap.pb.gz --limit" in command and not self.goroutines:
            return
        if mode:
            command = re.sub(r"(?<= -p )\d+", str(self.goroutines[mode].pid), command)
        typed = self.adapted(command)
        expect(RUNS.match(typed), f"{command}: it is neither in RUNS nor in NOT_RUN")
        if "perf script" in typed and not os.path.exists(self.dir + "/perf.data"):
            return
        if re.match(r"cameo (store (delete|compact|restore)|server|up)\b", typed):
            self.interrupt()
        if "http://127.0.0.1:4040" in typed:
            self.start(f"cameo server --data {self.dir}/up --listen 127.0.0.1:0", [])
            typed = self.adapted(command)
        if LASTING.match(typed):
            self.start(typed, shown)
            return
        run = subprocess.run(["sh", "-c", typed], cwd=self.dir, env=self.env, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=DEADLINE_S, check=False)
        if run.returncode and "doctor" not in typed:
            self.failed.append(f"{typed}: exit status {run.returncode}\n{run.stderr[-600:]}")
        self.compare(typed, shown, run.stderr + run.stdout)

    def start(self, typed, shown):
        """Starts a command that lasts, and waits for its first line."""
        process = subprocess.Popen(["sh", "-c", typed], cwd=self.dir, env=self.env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.lasting.append((typed, process))
        output = line = process.stdout.readline()
        while line and shown and not re.match(form(shown[0]), line):
            line = process.stdout.readline()
            output += line
        if not line:
            self.failed.append(f"{typed}: it ended too early, after\n{output}")
        found = re.match(r"cameo server: (http://\S+)", line)
        if found:
            self.url = found[1].replace("0.0.0.0", "127.0.0.1")
            # only the issuer's tokens may push to one, and nobody to the other
            if "--oidc" not in typed and "--read-only" not in typed:
                self.push()

    def push(self):
        """Stores what the documentation queries."""
        headers = {}
        if os.path.exists(self.dir + "/agent.token"):
            with open(self.dir + "/agent.token", encoding="ascii") as f:
                headers["Authorization"] = "Bearer " + f.read().strip()
                self.env["CAMEO_TOKEN"] = headers["Authorization"].split()[1]
        for name in "node", "shop", "api":
            store(urllib.request.Request(f"{self.url}/ingest?name={name}.cpu&from=now-10s",
                                         b"main;serve 12\nmain 3\n", headers))

    def compare(self, typed, shown, output):
        for line in shown:
            if FIXED.match(line) and not re.search(form(line), output, re.MULTILINE):
                self.failed.append(f"{typed}: the documentation shows\n{line}\nbut it printed\n{output[:1500]}")

    def interrupt(self):
        for typed, process in self.lasting:
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
            rest = process.communicate(timeout=DEADLINE_S)[0]
            if process.returncode not in (0, -signal.SIGINT):
                self.failed.append(f"{typed}: exit status {process.returncode}\n{rest[-600:]}")
        self.lasting, self.url = [], None


def prepare(shop):
    """Writes the files that the documentation assumes to exist."""
    os.mkdir(shop.path("bin"))
    os.symlink(CAMEO, shop.path("bin/cameo"))
    files = {"shop.py": SHOP, "Makefile": "all: busy\n\t./busy\n", "busy.c": BUSY,
             "bench.py": "for i in range(10000000):\n    pass\n",
             "stacks.folded": "main;serve;parse;malloc 40\nmain;serve;archive;deflate 60\nmain;vfs_write 20\n",
             "agent.conf": "server = http://127.0.0.1:1\nspool = %s/spool\n" % shop.dir}
    for name, text in files.items():
        with open(shop.path(name), "w", encoding="ascii") as f:
            f.write(text)
    shop.c("convoy", "-pthread", "-fno-optimize-sibling-calls")
    program = subprocess.Popen([sys.executable, "shop.py"], cwd=shop.dir)
    cpu = shop.path("cpu.pb.gz")
    subprocess.run([CAMEO, "record", "-p", str(program.pid), "-d", "2", "-o", cpu], capture_output=True, check=True)
    for name in "shop", "cameo", "before", "after", "main", "branch", "monday", "tuesday":
        shutil.copy(cpu, shop.path(name + ".pb.gz"))
    subprocess.run([CAMEO, "convert", shop.path("stacks.folded"), "--to", "pprof", shop.path("cpu.pprof")], check=True)
    subprocess.run(["make", "-s"], cwd=shop.dir, capture_output=True, check=True)
    subprocess.run([CAMEO, "record", "-o", shop.path("base.pb.gz"), "--", "make"], cwd=shop.dir, capture_output=True, check=True)
    if shutil.which("perf"):
        subprocess.run(["perf", "record", "-q", "-g", "-e", "cpu-clock", "-o", shop.path("perf.data"), "--", "sh", "-c",
                        "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"], capture_output=True, check=False)
    return program


def prepare_compiled(shop):
    """Writes the programs of COMPILED_PAGE: lines and app in C, and app in Go, in one directory."""
    need("go")
    need("clang")
    if go_release() < 21:
        raise Skip("this Go has no PGO")
    for name, source in ("lines.c", "lines.c"), ("lines.h", "lines.h"), ("app.c", "pgo.c"):
        with open(os.path.join(PROGRAMS, "native", source), encoding="utf-8") as f:
            text = f.read()
        with open(shop.path(name), "w", encoding="utf-8") as f:
            f.write("//go:build ignore\n\n" + text)  # as for BUSY
    shutil.copy(os.path.join(PROGRAMS, "go", "pgo", "main.go"), shop.path("main.go"))
    with open(shop.path("go.mod"), "w", encoding="ascii") as f:
        f.write("module app\n\ngo 1.21\n")
    subprocess.run(["cc", "-O2", "-g", "lines.c", "-o", "lines"], cwd=shop.dir, check=True)
    subprocess.run(["go", "build"], cwd=shop.dir, check=True)


def go_release():
    """The second number of the version of Go."""
    version = subprocess.run(["go", "version"], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"go1\.(\d+)", version)[1])


def follow_compiled(shop, program, commands):
    prepare_compiled(shop)
    follow(shop, program, {}, commands)
    expect(os.path.getsize(shop.path("default.pgo")) and os.path.getsize(shop.path("llvm.prof")), "no profile was written")


def commands_of(page):
    with open(os.path.join(TOP, page), encoding="utf-8") as f:
        return list(blocks(f.read()))


def start_goroutines(shop):
    """Starts the Go programs that commands read, by their mode; none without Go."""
    if not shutil.which("go"):
        return {}
    tasks, heap = [go_programs.build(shop, "go", name, "./" + name) for name in ("tasks", "heap")]
    programs = {"counts": [tasks, "counts"], "heap": [heap, "0"]}
    if go_programs.minor("go") >= go_programs.LOCK_RECORDED:
        programs["deadlock"] = [tasks, "deadlock"]
    out = {}
    for mode, argv in programs.items():
        out[mode] = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        out[mode].stdout.readline()
    return out


def follow(shop, program, goroutines, commands):
    reader = Reader(shop, program, goroutines)
    try:
        for command, shown in commands:
            if command == "cat /etc/cameo/agent.conf":
                reader.configure(shown)
            elif not NOT_RUN.match(command):
                reader.type(command, shown)
    finally:
        reader.interrupt()
    expect(not reader.failed, *reader.failed)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        program, goroutines = prepare(shop), {}
        try:
            goroutines = start_goroutines(shop)
            for page in PAGES:
                tap.run(f"the commands of {page} do what it shows", follow, shop, program, goroutines,
                        commands_of(page))
            tap.run(f"the commands of {COMPILED_PAGE} do what it shows", follow_compiled, shop, program,
                    commands_of(COMPILED_PAGE))
            for command in COMMANDS:
                tap.run(f"the examples of cameo {command} --help succeed", follow, shop, program, goroutines,
                        examples(command))
        finally:
            for process in (program, *goroutines.values()):
                end(process)
    tap.done()


main()
