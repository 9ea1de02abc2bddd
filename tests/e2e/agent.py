#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo agent on real programs: the profiles it sends, their labels, its messages and its exit."""
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

import cameo
from agent_process import Agent, count
from cameo import expect
from our_server import OFF_CPU, Server
from pprof import Profile

IDLE_ENOUGH_S = 0.5
IDLE_WINDOWS = 30  # on a busy machine, this many windows of a second may pass before a CPU was idle for long enough
ENDS_S = 20  # the agent needs five; a busy machine needs longer


def sends_what_record_writes(shop):
    """A window's profile is the same that `cameo record` writes for the program"""
    # a build id of its own, because equal files count as one under the path of the first
    program = shop.build("agentchain", "gcc", "chain.c", "-O2", f"-Wl,--build-id=0x{os.urandom(20).hex()}")
    recorded = shop.path("recorded.pb.gz")

    def own_frames(s):
        return s[0], *s[s.index("main"):s.index("hot")]

    def is_whole(s):
        return s[0] and s[0][0] == "_start" and {"main", "outer", "middle", "hot"} <= set(s[0])

    with Agent(shop, "-F", "199", "--window", "1s") as agent:
        agent.wait_sampling()
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
    # libc's own frames have a name only if the first process that mapped this libc sees its debug file
    expect({own_frames(s) for s in whole} == {own_frames(s) for s in recorded_stacks if s[0] == "_start"},
           "stacks differ:", *sorted(map(str, stacks ^ recorded_stacks))[:10])
    expect(types == ours.types, f"sample types {types}, recorded {ours.types}")
    expect(period == ours.period, f"period {period}, recorded {ours.period}")
    expect(places == {place[:2] for place in ours.places("hot")}, f"mappings {places}, recorded {ours.places('hot')}")
    expect({"pid", "tid", "comm", "thread"} <= keys, f"labels {keys}")


def labels_processes(shop):
    """The environment names the service, and rules set and drop labels"""
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
            agent.wait(lambda: agent.metric("cameo_samples_excluded_total") > 0, "the dropped samples to be counted")
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
    """A container is recognized by its cgroup and named by the files of its runtime"""
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
        raise cameo.Skip(f"cannot create a cgroup: {e}")
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
    """Returns the idle time of a CPU since boot."""
    with open("/proc/stat", encoding="ascii") as f:
        line = next(line for line in f if line.startswith(f"cpu{cpu} "))
    return sum(map(int, line.split()[4:6])) / os.sysconf("SC_CLK_TCK")


def counts_idle_cpus(idle, samples):
    """--idle counts idle CPUs"""
    if idle < IDLE_ENOUGH_S and not samples:
        raise cameo.Skip(f"the CPU was idle for only {idle:.2f} s")
    expect(samples, f"the CPU was idle for {idle:.2f} s, without a sample")


def reports_its_state(shop, tap):
    """/metrics, /healthz and the log report the state of the agent"""
    program = cameo.spawn(shop.link(shop.c("chain"), "measured"), "100000")
    # The first CPU stays idle, because kernels of virtual machines may park the others with their
    # timers.
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(program.pid, {max(cpus)})
    try:
        with Agent(shop, "-F", "99", "--window", "1s", "--idle") as agent:
            agent.wait(lambda: agent.metric("cameo_windows_total") >= 1, "a window")
            before = idle_seconds(min(cpus))
            for windows in range(2, IDLE_WINDOWS):
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
        expect(re.fullmatch(r"# (HELP|TYPE) \w+ .*|\w+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? [0-9.e+-]+", line), "not a metric:", line)
    for name in ("cameo_samples_total", "cameo_bpf_nanoseconds_per_sample", "cameo_cpu_microseconds_per_sample",
                 "cameo_maps_bytes", "cameo_unwind_tables", "cameo_unwind_rules", "cameo_ring_read_gap_seconds"):
        m = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
        expect(m and float(m[1]) > 0, f"{name} is missing or 0", text)
    expect(re.search(r'^cameo_stacks_total\{language="native",complete="yes",reason=""\} [1-9]', text, re.MULTILINE), text)
    expect(re.search(r'^cameo_unwind_table_bytes\{exe="/', text, re.MULTILINE), text)
    expect(re.search(r"^level=info msg=agent samples=\d+ lost=0 .*sent=\d+", said, re.MULTILINE), said)
    tap.run(counts_idle_cpus.__doc__, counts_idle_cpus, idle, agent.idle_samples())
    expect(agent.ended_well() and took < ENDS_S, f"ended after {took:.1f} s: {agent.process.returncode}")


def reloads_its_configuration(shop):
    """On SIGHUP new rules and labels apply at once; errors and keys that cannot change are reported and change nothing"""
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
    expect(f'error="{config}:2: unknown key \\"widnow\\""' in agent.said(), agent.said())
    expect('keys="freq env"' in agent.said(), "the keys that cannot change are not reported:", agent.said())
    expect("env_HOME" not in last[0][1], last[:2])
    expect({s[1]["service_name"] for s in last} == {"second"}, last[:2])


def ends_despite_a_silent_server(shop):
    """On SIGTERM the agent ends soon despite a silent server, and reports unsent profiles"""
    program = cameo.spawn(shop.link(shop.c("chain"), "unsent"), "100000")
    try:
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(16)
            url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
            with Agent(shop, "--window", "1s", "--server", url, to_dir=False) as agent:
                agent.wait(lambda: agent.metric("cameo_profiles_total") >= 2, "two profiles")
                took = agent.end()
    finally:
        cameo.end(program)
    expect(re.search(r"127\.0\.0\.1:\d+: [1-9]\d* profiles were not sent", agent.said()), agent.said())
    expect(took < ENDS_S, f"the end took {took:.1f} s")


def thread_of(pid, name):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
            if f.read().strip() == name:
                return int(tid)
    raise cameo.Failure(f"there is no thread {name}")


def sends_the_last_window(shop):
    """Samples from before SIGTERM are sent even if the symbolizer thread gets hardly any CPU time"""
    cpu = min(os.sched_getaffinity(0))
    programs = [cameo.spawn(shop.link(shop.c("chain"), name), "100000") for name in ("lastseen", "inthew", "inthew")]
    try:
        with Agent(shop, "-F", "99", "--window", "1h", "--rule", "comm!=lastseen : drop-process") as agent:
            naming = thread_of(agent.process.pid, "cameo-symbolize")
            os.sched_setscheduler(naming, os.SCHED_IDLE, os.sched_param(0))
            for pid in (naming, programs[1].pid, programs[2].pid):
                os.sched_setaffinity(pid, {cpu})
            agent.wait_sampling()
            cameo.wait_cpu(programs[0], ms=500)
            agent.end()
            expect(count(agent.samples("lastseen")) > 10, "no last window:", agent.said())
            expect(agent.ended_well(), agent.said())
    finally:
        cameo.end(*programs)


def samples_by_chance(shop):
    """--probability samples in some intervals and pauses in others"""
    with Agent(shop, "--window", "1s", "--probability", "50", "--probability-interval", "1s", "--rule",
               "comm=~. : drop-process") as agent:
        for state in (1, 0, 1):
            agent.wait(lambda s=state: agent.metric("cameo_paused") == s, f"an interval with cameo_paused {state}")
        agent.wait(lambda: agent.metric("cameo_samples_total") > 0, "samples")
        expect(agent.end() < ENDS_S and agent.ended_well(), agent.said())


def excludes_itself(shop):
    """--exclude-self excludes the agent's own samples, and --cpus selects CPUs"""
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
    expect(not own, "samples of the agent itself:", *own[:3])
    expect({s[1].get("cpu") for s in samples} == {cpus[0]}, "samples of other CPUs:", {s[1].get("cpu") for s in samples})


def refuses_mistakes(shop):
    """Errors are reported and nothing is sampled"""
    config = shop.path("bad.conf")
    with open(config, "w", encoding="utf-8") as f:
        f.write("# fine\nfreq = fast\n")
    for flags, words, status in (
            ((), "no destination for profiles", 1), (("--nosuch",), "unknown option --nosuch", 2),
            (("--config", config), "bad.conf:2: freq \"fast\": expected a number of samples per second", 2),
            (("--dir", shop.path("d"), "--rule", "comm=~( : drop-process"), "missing closing parenthesis", 2),
            (("--dir", shop.path("d"), "--metrics", "0.0.0.0:0"), "expected a loopback address", 1),
            (("--dir", shop.path("d"), "--metrics", "no", "--cpus", "4000"), "none of the CPUs in --cpus is online", 1),
            (("--server", "gopher://x"), "http", 1)):
        r = cameo.cameo("agent", *flags)
        expect(r.returncode == status and words in r.stderr, f"{flags}: {r.returncode}, {r.stderr}")


SEVEN = sum(1 << n for n in (2, 14, 19, 34, 38, 39, 40))  # numbers of linux/capability.h


def status_of(pid):
    """Returns the fields of /proc/PID/status; None if the process has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    except (FileNotFoundError, ProcessLookupError):
        return None


def symbolizers(pid):
    """Returns {pid: status} of the children with a name and a second seccomp filter, the last step of their confinement."""
    found = {child: status_of(child) for child in cameo.children_of(pid)}
    return {child: s for child, s in found.items()
            if s and int(s["Seccomp_filters"]) > 1 and s["Name"].startswith("cameo-") and s["Name"] != "cameo-opener"}


def as_in_a_pod():
    """Returns a command that limits capabilities as packaging/kubernetes.yaml does; [] where that is too few."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) > 2 or not shutil.which("setpriv"):
            return []
    with open(os.path.join(cameo.TOP, "packaging", "kubernetes.yaml"), encoding="utf-8") as f:
        added = re.search(r"add: \[(.*)\]", f.read())[1]
    return ["setpriv", "--no-new-privs", "--bounding-set", ",".join(["-all", *("+" + c.strip().lower() for c in added.split(","))])]


def keeps_only_seven_capabilities(shop):
    """Seven capabilities suffice, all threads have a seccomp filter, and a killed symbolizer is restarted"""
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
        agent.wait(lambda: any("hot" in s[0] for s in agent.samples("agentagain")), "symbolized samples")
        agent.wait(lambda: set(symbolizers(pid)) - set(old), f"a symbolizer other than {list(old)}")
        expect(agent.metric("cameo_bpf_nanoseconds_per_sample") > 0, agent.get("/metrics")[1])


class Receiver:
    """Accepts any HTTP request; texts() are the OTLP requests as protoc prints them."""

    def __init__(self):
        self.bodies = []
        self.paths = []
        self.decoded = []
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
        for body in self.bodies[len(self.decoded):]:
            done = subprocess.run(["protoc", "--decode=otlp.Request", "-I", proto, os.path.join(proto, "otlp.proto")],
                                  input=body, capture_output=True, check=True)
            self.decoded.append(done.stdout.decode(errors="replace"))
        return self.decoded

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def htl_hash(path):
    with open(path, "rb") as f:
        data = f.read()
    return hashlib.sha256(data[:4096] + data[-4096:] + struct.pack(">Q", len(data))).hexdigest()[:32]


def sends_otlp(shop):
    """An OpenTelemetry receiver receives times, threads, kinds of frames and both build ids"""
    if not shutil.which("protoc"):
        raise cameo.Skip("protoc is not installed")
    program = shop.link(shop.c("chain"), "agentotlp")
    parts = ('"service.name"', '"process.executable.name"', '"process.pid"', '"host.name"', '"thread.name"', '"thread.id"',
             '"profile.frame.type"', '"process.executable.build_id.gnu"', '"process.executable.build_id.htlhash"',
             f'"{htl_hash(program)}"', '"native"', '"middle"', "timestamps_unix_nano:", "period: 5025125")

    def missing(server):
        own = "".join(t for t in server.texts() if 'string_value: "agentotlp"' in t)
        return [p for p in parts if p not in own] + ([] if any('"kernel"' in t for t in server.texts()) else ["kernel"])

    with Receiver() as server:
        # dd runs mostly in the kernel
        programs = [cameo.spawn(program, "100000"),
                    cameo.spawn("dd", "if=/dev/zero", "of=/dev/null", "bs=64k", stderr=subprocess.DEVNULL)]
        try:
            with Agent(shop, "-F", "199", "--window", "1s", "--otlp", server.url) as agent:
                agent.wait(lambda: not missing(server), "request with every part")
                agent.end()
        finally:
            cameo.end(*programs)
            print(f"# {len(server.bodies)} requests, missing: {missing(server)}")
        text = "".join(server.texts())
    expect(not re.search(r"^ *\d+[:{ ]", text, re.MULTILINE), "a request has fields that otlp.proto does not define")


def sends_to_our_server(shop):
    """Cameo's server receives samples and waits by push, OTLP over gRPC and over HTTP; only push carries the agent's status"""
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
                               f"stacks of waits at {server.url}")
                agent.wait(pushed.agents, "the agent's report")
                report = pushed.agents()[0]
                agent.wait(lambda: len(pyroscope.paths) > 2, "pushes to the other receiver")
                expect(agent.end() < ENDS_S and agent.ended_well(), agent.said())
            others = grpc.agents() + http.agents()
    finally:
        cameo.end(*programs)
    expect(report["agent"] == "here" and report["labels"]["version"], report)
    # without CPU time for the agent, some waits of all processes are lost
    expect(report["values"]["samples"] > 0 and "lost" in report["values"], report)
    expect(0 < report["values"]["completeness"] <= 1, report)
    expect(set(pyroscope.paths) == {"/push.v1.PusherService/Push"}, pyroscope.paths)
    expect(not others, "reports at servers that accept only profiles:", others)


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in (sends_what_record_writes, labels_processes, knows_containers, reports_its_state, reloads_its_configuration,
                     ends_despite_a_silent_server, sends_the_last_window, samples_by_chance, excludes_itself, keeps_only_seven_capabilities,
                     sends_otlp, sends_to_our_server, refuses_mistakes):
            tap.run(test.__doc__, test, *([shop, tap] if test is reports_its_state else [shop]))
    tap.done()


main()
