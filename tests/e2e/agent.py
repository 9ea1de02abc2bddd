#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo agent on real programs: what it sends, how it is labelled, what it says, how it ends."""
import gzip
import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.request

import cameo
from cameo import expect
from our_server import OFF_CPU, Server
from pprof import Profile

IDLE_ENOUGH_S = 0.5
ENDS_S = 20  # it takes five; what the machine has to do beside it comes on top


class Agent:
    """An agent that writes windows into a directory of the workshop's, until the end of the block."""

    def __init__(self, shop, *flags, to_dir=True, wrapper=()):
        self.dir = shop.path(f"windows-{time.monotonic_ns()}")
        self.log = shop.path(f"log-{time.monotonic_ns()}")
        self.read = {}  # the samples of each window's file: it is whole when it gets its name
        argv = [*wrapper, cameo.CAMEO, "agent", "--metrics", "127.0.0.1:0", *flags]
        if to_dir:
            argv += ["--dir", self.dir]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(argv, stderr=log, stdin=subprocess.DEVNULL)

    def __enter__(self):
        self.wait(lambda: "metrics are at" in self.said(), "its metrics")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait(self, condition, what):
        deadline = time.monotonic() + cameo.DEADLINE_S
        while not condition():
            expect(self.process.poll() is None, "the agent has ended:", self.said())
            expect(time.monotonic() < deadline, f"waited for {what} in vain:", self.said())
            time.sleep(0.05)

    def files(self):
        try:
            names = sorted(n for n in os.listdir(self.dir) if n.endswith(".pb.gz"))
        except FileNotFoundError:
            return []
        return [os.path.join(self.dir, n) for n in names]

    def wait_windows(self, more):
        n = len(self.files())
        self.wait(lambda: len(self.files()) >= n + more, f"{more} windows")

    def samples(self, comm):
        """The samples of a program in all windows."""
        return [s for s in self.all_samples() if s[1].get("comm") == comm[:15]]

    def all_samples(self):
        paths = self.files()
        for path in paths:
            if path not in self.read:
                with open(path, "rb") as f:
                    self.read[path] = Profile(f.read()).samples
        return [s for path in paths for s in self.read[path]]

    def idle_samples(self):
        return [s for s in self.all_samples() if s[1].get("comm", "").startswith("swapper/")]

    def get(self, path):
        url = re.search(r"http://[^/\s\"]+", self.said())[0]
        try:
            with urllib.request.urlopen(url + path, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def metric(self, name):
        return sum(float(m) for m in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", self.get("/metrics")[1], re.MULTILINE))

    def end(self, send=signal.SIGTERM):
        """Seconds it took."""
        begun = time.monotonic()
        self.process.send_signal(send)
        self.process.wait(cameo.DEADLINE_S)
        return time.monotonic() - begun


def count(samples):
    return sum(values[0] for _, _, values in samples)


def sends_what_record_writes(shop):
    """A window's profile is what `cameo record` writes of the same program"""
    # a build id of its own: equal files are one, by the path of the first
    program = shop.build("agentchain", "gcc", "chain.c", "-O2", f"-Wl,--build-id=0x{os.urandom(20).hex()}")
    recorded = shop.path("recorded.pb.gz")

    def is_whole(s):
        return s[0] and s[0][0] == "_start" and {"main", "outer", "middle", "hot"} <= set(s[0])

    with Agent(shop, "-F", "199", "--window", "1s") as agent:
        cameo.cameo("record", "-F", "199", "-o", recorded, "--", program, "1500")
        agent.wait(lambda: any(map(is_whole, agent.samples("agentchain"))), "whole stacks")
    with open(recorded, "rb") as f:
        ours = Profile(f.read())
    stacks, places, types, period, keys = set(), set(), None, None, set()
    for path in agent.files():
        with open(path, "rb") as f:
            p = Profile(f.read())
        mine = [s for s in p.samples if s[1].get("comm") == "agentchain" and "hot" in s[0]]
        if not mine:
            continue
        stacks |= {s[0] for s in mine}
        places |= {place[:2] for place in p.places("hot") if place[0] == program}
        types, period = p.types, p.period
        keys |= set(mine[0][1])
    recorded_stacks = {s[0] for s in ours.samples if "hot" in s[0]}
    whole = [s for s in stacks if is_whole((s,))]
    expect({s[:s.index("hot")] for s in whole} == {s[:s.index("hot")] for s in recorded_stacks if s[0] == "_start"},
           "stacks differ:", *sorted(map(str, stacks ^ recorded_stacks))[:10])
    expect(types == ours.types, f"sample types {types}, recorded {ours.types}")
    expect(period == ours.period, f"period {period}, recorded {ours.period}")
    expect(places == {place[:2] for place in ours.places("hot")}, f"mappings {places}, recorded {ours.places('hot')}")
    expect({"pid", "tid", "comm", "thread"} <= keys, f"labels {keys}")


def labels_processes(shop):
    """Labels: the environment names the service, rules set and drop"""
    program = shop.c("chain")
    env = {**os.environ, "OTEL_SERVICE_NAME": "shop", "TEAM": "red"}
    programs = [cameo.spawn(shop.link(program, "withenv"), "100000", env=env),
                cameo.spawn(shop.link(program, "ruled"), "100000"),
                cameo.spawn(shop.link(program, "dropped"), "100000"),
                cameo.spawn(shop.link(program, "plain"), "100000")]
    try:
        with Agent(shop, "-F", "99", "--window", "1s", "--env", "TEAM", "--labels", "pid,comm,exe,cpu", "--host", "here",
                   "--rule", "comm=ruled : set service_name by-rule, set tier \"a b\", drop exe",
                   "--rule", "exe=~/dropped$ : drop-process") as agent:
            agent.wait(lambda: all(count(agent.samples(c)) > 20 for c in ("withenv", "ruled", "plain")), "samples")
            agent.wait(lambda: agent.metric("cameo_samples_left_out_total") > 0, "the dropped samples to be counted")
            got = {c: agent.samples(c) for c in ("withenv", "ruled", "dropped", "plain")}
            idle = agent.idle_samples()
    finally:
        cameo.end(*programs)
    labels = {c: samples[0][1] for c, samples in got.items() if samples}
    expect(labels["withenv"].get("service_name") == "shop" and labels["withenv"].get("env_TEAM") == "red", labels["withenv"])
    expect(labels["ruled"].get("service_name") == "by-rule" and labels["ruled"].get("tier") == "a b", labels["ruled"])
    expect("exe" not in labels["ruled"], labels["ruled"])
    expect(labels["plain"].get("service_name") == "plain" and labels["plain"].get("exe", "").endswith("/plain"), labels["plain"])
    expect("host" not in labels["plain"], labels["plain"])
    expect({s[1].get("cpu") for s in got["plain"]} <= set(range(os.cpu_count())), "cpus", *got["plain"][:3])
    expect(not got["dropped"], "samples of a process that a rule drops", *got["dropped"][:3])
    expect(not idle, "samples of idle CPUs:", *idle[:3])


def knows_containers(shop):
    """A container is known by its cgroup, and named by the files of its runtime"""
    top = "/sys/fs/cgroup" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "/sys/fs/cgroup/systemd"
    ident = "feedc0de" * 8
    group = f"{top}/docker-{ident}.scope"
    root = shop.path("root")
    os.makedirs(f"{root}/var/lib/docker/containers/{ident}")
    with open(f"{root}/var/lib/docker/containers/{ident}/config.v2.json", "w", encoding="utf-8") as f:
        json.dump({"Name": "/web", "Config": {"Labels": {"io.kubernetes.pod.name": "web-0", "io.kubernetes.pod.namespace": "prod"}}}, f)
    try:
        os.mkdir(group)
    except OSError as e:
        raise cameo.Skip(f"no cgroup can be made: {e}")
    program = cameo.spawn(shop.link(shop.c("chain"), "contained"), "100000")
    try:
        with open(f"{group}/cgroup.procs", "w", encoding="utf-8") as f:
            f.write(str(program.pid))
        with Agent(shop, "-F", "99", "--window", "1s", "--root", root) as agent:
            agent.wait(lambda: count(agent.samples("contained")) > 10, "samples")
            labels = agent.samples("contained")[0][1]
    finally:
        cameo.end(program)
        os.rmdir(group)
    expect(labels.get("container_id") == ident and labels.get("container") == "web", labels)
    expect(labels.get("service_name") == "prod/web" and labels.get("pod") == "web-0", labels)


def idle_seconds(cpu):
    """Since the machine runs."""
    with open("/proc/stat", encoding="ascii") as f:
        line = next(line for line in f if line.startswith(f"cpu{cpu} "))
    return sum(map(int, line.split()[4:6])) / os.sysconf("SC_CLK_TCK")


def counts_idle_cpus(idle, samples):
    """--idle: CPUs with nothing to do are counted"""
    if idle < IDLE_ENOUGH_S and not samples:
        raise cameo.Skip(f"no CPU had nothing to do for long: {idle:.2f} s")
    expect(samples, f"{idle:.2f} s of nothing to do, and none of it was sampled")


def tells_what_it_does(shop, tap):
    """/metrics and /healthz; a line a minute and at the end"""
    program = cameo.spawn(shop.link(shop.c("chain"), "measured"), "100000")
    # The first is for nobody: kernels of virtual machines may park the others, and their timers.
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(program.pid, {max(cpus)})
    try:
        with Agent(shop, "-F", "99", "--window", "1s", "--idle") as agent:
            agent.wait(lambda: agent.metric("cameo_windows_total") >= 1, "a window")
            before = idle_seconds(min(cpus))
            for windows in range(2, 6):
                agent.wait(lambda n=windows: agent.metric("cameo_windows_total") >= n, f"{windows} windows")
                idle = idle_seconds(min(cpus)) - before
                if idle >= IDLE_ENOUGH_S:
                    break
            status, health = agent.get("/healthz")
            text = agent.get("/metrics")[1]
            missing = agent.get("/other")[0]
            took = agent.end()
            said = agent.said()
    finally:
        cameo.end(program)
    expect((status, health) == (200, "ok\n"), status, health)
    expect(missing == 404, missing)
    for line in text.splitlines():
        expect(re.fullmatch(r"# (HELP|TYPE) \w+ .*|\w+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? [0-9.e+-]+", line), "no metric:", line)
    for name in ("cameo_samples_total", "cameo_bpf_nanoseconds_per_sample", "cameo_cpu_microseconds_per_sample",
                 "cameo_maps_bytes", "cameo_unwind_tables", "cameo_ring_read_gap_seconds"):
        m = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
        expect(m and float(m[1]) > 0, f"{name} is missing or 0", text)
    expect(re.search(r'^cameo_stacks_total\{language="native",complete="yes",reason=""\} [1-9]', text, re.MULTILINE), text)
    expect(re.search(r'^cameo_unwind_table_bytes\{exe="/', text, re.MULTILINE), text)
    expect(re.search(r"^level=info msg=agent samples=\d+ lost=0 .*sent=\d+", said, re.MULTILINE), said)
    tap.run(counts_idle_cpus.__doc__, counts_idle_cpus, idle, agent.idle_samples())
    # on a busy machine there may be no time to name it all, which it says
    expect(agent.process.returncode == ("samples are not sent" in said) and took < ENDS_S, f"ended after {took:.1f} s: {agent.process.returncode}")


def takes_another_config(shop):
    """SIGHUP: a new rule and label hold at once; a mistake is told and changes nothing; what can't change is told"""
    config = shop.path("agent.conf")
    program = cameo.spawn(shop.link(shop.c("chain"), "reloaded"), "100000")

    def write(text):
        with open(config, "w", encoding="utf-8") as f:
            f.write(text)

    def service():
        return {s[1]["service_name"] for s in agent.samples("reloaded")}

    write("freq = 99\nwindow = 1s\n")
    try:
        with Agent(shop, "--config", config) as agent:
            agent.wait(lambda: "reloaded" in service(), "samples")
            write("freq = 19\nwindow = 1s\nenv = HOME\nrule = comm=reloaded : set service_name second\n"
                  "labels = comm,cpu\n")
            agent.process.send_signal(signal.SIGHUP)
            agent.wait(lambda: "second" in service(), "the new name")
            agent.wait(lambda: any("cpu" in s[1] for s in agent.samples("reloaded")), "its CPUs")
            write("freq = 99\nwidnow = 1s\n")
            agent.process.send_signal(signal.SIGHUP)
            agent.wait(lambda: "widnow" in agent.said(), "the complaint")
            n = len(agent.samples("reloaded"))
            agent.wait(lambda: len(agent.samples("reloaded")) > n, "another window")
            last = agent.samples("reloaded")[n:]
    finally:
        cameo.end(program)
    expect(f'error="{config}:2: there is no key \\"widnow\\""' in agent.said(), agent.said())
    expect('keys="freq env"' in agent.said(), "nothing of what can't change:", agent.said())
    expect("env_HOME" not in last[0][1], last[:2])
    expect({s[1]["service_name"] for s in last} == {"second"}, last[:2])


def ends_while_nobody_answers(shop):
    """SIGTERM ends it soon though a server accepts and never answers, and it says what is not sent"""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(16)
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with Agent(shop, "--window", "1s", "--server", url, to_dir=False) as agent:
            agent.wait(lambda: agent.metric("cameo_windows_total") >= 2, "two windows")
            took = agent.end()
    expect(re.search(r"127\.0\.0\.1:\d+: [1-9]\d* profiles are not sent", agent.said()), agent.said())
    expect(took < ENDS_S, f"it took {took:.1f} s")


def thread_of(pid, name):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
            if f.read().strip() == name:
                return int(tid)
    raise cameo.Failure(f"there is no thread {name}")


def sends_the_last_window(shop):
    """What was seen when SIGTERM comes is sent, though the thread that names gets no CPU"""
    cpu = min(os.sched_getaffinity(0))
    programs = [cameo.spawn(shop.link(shop.c("chain"), name), "100000") for name in ("lastseen", "inthew", "inthew")]
    try:
        with Agent(shop, "-F", "99", "--window", "1h", "--rule", "comm!=lastseen : drop-process") as agent:
            naming = thread_of(agent.process.pid, "cameo-names")
            os.sched_setscheduler(naming, os.SCHED_IDLE, os.sched_param(0))
            for pid in (naming, programs[1].pid, programs[2].pid):
                os.sched_setaffinity(pid, {cpu})
            cameo.wait_cpu(programs[0], ms=500)
            agent.end()
            expect(count(agent.samples("lastseen")) > 10, "no last window:", agent.said())
            expect(agent.process.returncode == 0, agent.said())
    finally:
        cameo.end(*programs)


def samples_by_chance(shop):
    """--probability: some intervals are sampled, others are not, and it says which"""
    with Agent(shop, "--window", "1s", "--probability", "50", "--probability-interval", "1s", "--rule",
               "comm=~. : drop-process") as agent:
        for state in (1, 0, 1):
            agent.wait(lambda s=state: agent.metric("cameo_paused") == s, f"an interval with cameo_paused {state}")
        agent.wait(lambda: agent.metric("cameo_samples_total") > 0, "samples")
        expect(agent.end() < ENDS_S and agent.process.returncode == 0, agent.said())


def leaves_itself_out(shop):
    """--exclude-self: none of its samples; --cpus: only of those"""
    cpus = sorted(os.sched_getaffinity(0))
    programs = [cameo.spawn(shop.link(shop.c("chain"), f"oncpu{cpu}"), "100000") for cpu in cpus[:2]]
    for cpu, program in zip(cpus, programs):
        os.sched_setaffinity(program.pid, {cpu})
    try:
        with Agent(shop, "-F", "999", "--window", "1s", "--exclude-self", "--cpus", str(cpus[0]), "--labels",
                   "cpu,comm") as agent:
            agent.wait_windows(3)
            agent.wait(lambda: agent.samples(f"oncpu{cpus[0]}"), "samples of that CPU")
    finally:
        cameo.end(*programs)
    samples = agent.all_samples()
    expect(samples, "nothing was sampled", agent.said())
    own = [s for s in samples if s[1].get("pid") == agent.process.pid]
    expect(not own, "its own samples:", *own[:3])
    expect({s[1].get("cpu") for s in samples} == {cpus[0]}, "of other CPUs:", {s[1].get("cpu") for s in samples})


def refuses_mistakes(shop):
    """Mistakes are told and nothing is sampled"""
    config = shop.path("bad.conf")
    with open(config, "w", encoding="utf-8") as f:
        f.write("# fine\nfreq = fast\n")
    for flags, words, status in (
            ((), "where profiles go", 1), (("--nosuch",), "no flag --nosuch", 2),
            (("--config", config), "bad.conf:2: freq takes a whole number", 2),
            (("--dir", shop.path("d"), "--rule", "comm=~( : drop-process"), "missing closing parenthesis", 1),
            (("--dir", shop.path("d"), "--metrics", "0.0.0.0:0"), "not this machine alone", 1),
            (("--server", "gopher://x"), "http", 1)):
        r = cameo.cameo("agent", *flags)
        expect(r.returncode == status and words in r.stderr, f"{flags}: {r.returncode}, {r.stderr}")


SEVEN = sum(1 << n for n in (2, 14, 19, 34, 38, 39, 40))  # of linux/capability.h


def status_of(pid):
    """None when it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    except (FileNotFoundError, ProcessLookupError):
        return None


def symbolizers(pid):
    """{pid: status} of the children with a filter beside the agent's: the last thing they do to confine themselves."""
    found = {child: status_of(child) for child in cameo.children_of(pid)}
    return {child: s for child, s in found.items() if s and int(s["Seccomp_filters"]) > 1}


def as_in_a_pod():
    """What packaging/kubernetes.yaml lets it have from the start; [] where the machine asks for more."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) > 2 or not shutil.which("setpriv"):
            return []
    with open(os.path.join(cameo.TOP, "packaging", "kubernetes.yaml"), encoding="utf-8") as f:
        added = re.search(r"add: \[(.*)\]", f.read())[1]
    return ["setpriv", "--no-new-privs", "--bounding-set", ",".join(["-all", *("+" + c.strip().lower() for c in added.split(","))])]


def keeps_what_it_needs(shop):
    """It starts with and keeps seven capabilities, all its threads a filter; its symbolizer comes back when it is killed"""
    program = shop.link(shop.c("chain"), "agentkept")
    with Agent(shop, "-F", "199", "--window", "1s", wrapper=as_in_a_pod()) as agent:
        pid = agent.process.pid
        for s in filter(None, (status_of(f"{pid}/task/{tid}") for tid in os.listdir(f"/proc/{pid}/task"))):
            expect(int(s["CapPrm"], 16) & ~SEVEN == 0 and int(s["CapBnd"], 16) & ~SEVEN == 0, f"capabilities: {s}")
            expect(s["NoNewPrivs"] == "1" and s["Seccomp"] == "2", f"filter: {s}")
        subprocess.run([program, "300"], check=True)
        agent.wait(lambda: symbolizers(pid), "its symbolizer")
        old = symbolizers(pid)
        for child, s in old.items():
            expect(int(s["CapPrm"], 16) == 0 and s["Seccomp"] == "2", f"the symbolizer's: {s}")
            os.kill(child, signal.SIGKILL)
        subprocess.run([shop.link(shop.c("chain"), "agentagain"), "1000"], check=True)
        agent.wait(lambda: any("hot" in s[0] for s in agent.samples("agentagain")), "named samples")
        agent.wait(lambda: set(symbolizers(pid)) - set(old), f"a symbolizer other than {list(old)}")
        expect(agent.metric("cameo_bpf_nanoseconds_per_sample") > 0, agent.get("/metrics")[1])


class Receiver:
    """Takes whatever comes by HTTP; texts() are the requests as protoc prints them, if they are OTLP."""

    def __init__(self):
        self.bodies = []
        self.paths = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802 - the library's name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
                outer.paths.append(self.path)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def texts(self):
        proto = os.path.join(cameo.TOP, "tests", "oracle")
        for body in list(self.bodies):
            yield subprocess.run(["protoc", "--decode=otlp.Request", "-I", proto, os.path.join(proto, "otlp.proto")],
                                 input=body, capture_output=True, check=True).stdout.decode(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def htl_hash(path):
    with open(path, "rb") as f:
        data = f.read()
    return hashlib.sha256(data[:4096] + data[-4096:] + struct.pack(">Q", len(data))).hexdigest()[:32]


def speaks_otlp(shop):
    """An OpenTelemetry receiver gets times, threads, kinds of frames and both build ids"""
    if not shutil.which("protoc"):
        raise cameo.Skip("protoc is not here")
    program = shop.link(shop.c("chain"), "agentotlp")
    with Receiver() as server:
        with Agent(shop, "-F", "199", "--window", "1s", "--otlp", server.url) as agent:
            subprocess.run([program, "500"], check=True)
            # hardly ever in its own code
            subprocess.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=100000"], check=True, capture_output=True)
            agent.wait_windows(2)
            agent.end()
        everything = list(server.texts())
        texts = [t for t in everything if 'string_value: "agentotlp"' in t]
    expect(texts, f"{len(server.bodies)} requests, and none of them has the program")
    text = "".join(texts)
    for part in ('"service.name"', '"process.executable.name"', '"process.pid"', '"host.name"', '"thread.name"',
                 '"thread.id"', '"profile.frame.type"', '"process.executable.build_id.gnu"',
                 '"process.executable.build_id.htlhash"', f'"{htl_hash(program)}"', '"native"', '"middle"',
                 "timestamps_unix_nano:", "period: 5025125"):
        expect(part in text, f"no {part}:", text[:2000])
    expect(any('"kernel"' in t for t in everything), "no kernel frame:", text[:2000])
    expect(not re.search(r"^ *\d+[:{ ]", text, re.MULTILINE), "fields that the layout does not have")


def speaks_to_our_server(shop):
    """Cameo's server gets the same by push, OTLP over gRPC and over HTTP, waits too; how the agent is it alone is told, by push"""
    programs = [cameo.spawn(shop.link(shop.c("chain"), "agentours"), "100000"),
                cameo.spawn(shop.link(shop.c("waits", "-pthread"), "agentwaits"), "0", stdin=subprocess.PIPE)]
    try:
        with Server(shop.path("pushed")) as pushed, Server(shop.path("grpc")) as grpc, Server(shop.path("http")) as http, \
                Receiver() as pyroscope:
            with Agent(shop, "-F", "99", "--window", "1s", "--off-cpu", "--host", "here",
                       "--rule", "comm!~^agent(ours|waits)$ : drop-process",
                       "--server", pushed.url, "--server", pyroscope.url, "--otlp", grpc.url.replace("http", "grpc"), "--otlp", http.url,
                       to_dir=False) as agent:
                for server in (pushed, grpc, http):
                    agent.wait(lambda s=server: {"_start", "main", "outer", "middle", "hot"} <= s.names("agentours")[0],
                               f"whole stacks at {server.url}")
                    agent.wait(lambda s=server: {"_start", "main", "wait_input"} <= s.names("agentwaits", OFF_CPU)[0],
                               f"where it waits at {server.url}")
                agent.wait(pushed.agents, "the agent's report")
                report = pushed.agents()[0]
                agent.wait(lambda: len(pyroscope.paths) > 2, "pushes to the other")
                expect(agent.end() < ENDS_S and agent.process.returncode == 0, agent.said())
            others = grpc.agents() + http.agents()
    finally:
        cameo.end(*programs)
    expect(report["agent"] == "here" and report["labels"]["version"], report)
    # a machine that leaves the agent no CPU loses some of the waits of all that runs there
    expect(report["values"]["samples"] > 0 and "lost" in report["values"], report)
    expect(0 < report["values"]["completeness"] <= 1, report)
    expect(set(pyroscope.paths) == {"/push.v1.PusherService/Push"}, pyroscope.paths)
    expect(not others, "reports where only profiles go:", others)


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in (sends_what_record_writes, labels_processes, knows_containers, tells_what_it_does, takes_another_config,
                     ends_while_nobody_answers, sends_the_last_window, samples_by_chance, leaves_itself_out, keeps_what_it_needs,
                     speaks_otlp, speaks_to_our_server, refuses_mistakes):
            tap.run(test.__doc__, test, *([shop, tap] if test is tells_what_it_does else [shop]))
    tap.done()


main()
