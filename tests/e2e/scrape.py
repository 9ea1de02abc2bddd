#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cameo agent --scrape`: what a real Go program returns arrives exactly, and targets that misbehave harm nobody."""
import base64
import contextlib
import gzip
import json
import os
import re
import signal
import ssl
import subprocess
import time
import urllib.request

import cameo
import go_programs
from agent_process import Agent
from cameo import expect, need
from our_server import Asked, Server, listening
from pprof import Profile
from web_server import WebServer, respond

ALLOCATED = "memory:alloc_objects:count:space:bytes"
PARKED = "goroutine:goroutine:count:goroutine:count"
CONTENDED = "mutex:contentions:count:contentions:count"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
N_PARKED = 37  # tests/programs/go/scraped
BOMB = gzip.compress(bytes(100 << 20))  # of zeros


class Scraped:
    """The test program until the end of the block."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        self.url = "http://" + self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read()


    def allocated(self):
        """Returns the numbers of objects and bytes that the program itself says it allocated in allocateKnown.

        It is slightly more than the function allocates, since the runtime allocates on its stack too."""
        return [sum(column) for column in zip((0, 0), *(
            values[:2] for names, _, values in Profile(self.get("/debug/pprof/allocs")).samples
            if "main.allocateKnown" in names))]


def program(shop):
    need("go")
    return go_programs.build(shop, "go", "scraped", "./scraped")


def self_of(server, service, what, function):
    """Returns the sum of the values of stacks that contain FUNCTION, and the one of all stacks."""
    now = int(time.time() * 1000)
    graph = server.graph(now - 3600000, now + 60000, f'{{service_name="{service}"}}', what)
    names, n = graph.get("names", []), 0
    for level in graph.get("levels", []):
        v = [int(x) for x in level["values"]]
        n += sum(v[i + 1] for i in range(0, len(v), 4) if names[v[i + 3]] == function)
    return n, int(graph.get("total", 0))


def scraping(shop, server, *options):
    return Agent(shop, "--server", server.url, "--window", "1h", "--scrape-interval", "3s", *options, to_dir=False)


def rounds(agent, more):
    n = agent.metric("cameo_scrape_intervals_total")
    agent.wait(lambda: agent.metric("cameo_scrape_intervals_total") >= n + more, f"{more} intervals")


def arrives_exactly(shop):
    """Allocations and contentions since the previous interval are exact, goroutines are counted, CPU time is there"""
    with Scraped(program(shop)) as p, Server(shop.path("store-1")) as server:
        p.get("/allocate?n=500")  # before the first profile, so no part of an interval
        check_arrival(shop, server, p)


def check_arrival(shop, server, p):
    with scraping(shop, server, "--scrape", f"{p.url} service_name=shop env=prod") as agent:
        agent.wait(lambda: agent.metric("cameo_scrape_first_total") >= 3, "the first cumulative profiles")
        before = p.allocated()
        expect(before[0] >= 500, before)
        for n in (1000, 234):
            p.get(f"/allocate?n={n}")
            p.get("/contend?n=5")
            rounds(agent, 2)
        agent.wait(lambda: self_of(server, "shop", ALLOCATED, "main.allocateKnown")[0] >= 1234, "the allocations")
        rounds(agent, 2)
        for i, what in enumerate((ALLOCATED, "memory:alloc_space:bytes:space:bytes")):
            got, wanted = self_of(server, "shop", what, "main.allocateKnown")[0], p.allocated()[i] - before[i]
            expect(got == wanted >= 1234, f"{what}: {got} instead of {wanted}")
        parked, everything = self_of(server, "shop", PARKED, "main.park")
        expect(parked and parked % N_PARKED == 0 and parked < everything, f"{parked} goroutines of {everything}")
        burnt, everything = self_of(server, "shop", CPU, "main.burn")
        expect(burnt > everything // 2, f"{burnt} of {everything} ns in burn")
        contended = self_of(server, "shop", CONTENDED, "main.contendKnown.func1")[0]
        expect(0 < contended <= 10, f"{contended} contentions")
        now = int(time.time() * 1000)
        question = {"name": "env", "start": now - 3600000, "end": now + 60000}
        labels = server.ask("/querier.v1.QuerierService/LabelValues", question)["names"]
        expect(labels == ["prod"], labels)
        expect(agent.metric("cameo_scrape_up") == 1, agent.get("/metrics")[1])


def a_restart_begins_again(shop):
    """After a restart of the program its counts begin again, and those of the earlier process stay"""
    exe, path = program(shop), shop.path("targets.json")
    with Server(shop.path("store-2")) as server, Scraped(exe) as first, Scraped(exe) as second, Relay(first.url) as relay:
        with open(path, "w", encoding="utf-8") as f:
            json.dump([{"targets": [relay.address], "labels": {"service_name": "again", "__meta_x": "1"}}], f)
        with scraping(shop, server, "--scrape-file", path, "--scrape-types", "memory") as agent:
            agent.wait(lambda: agent.metric("cameo_scrape_first_total") >= 1, "a first profile")
            first.get("/allocate?n=3000")
            wait_allocated(agent, server, first.allocated()[0])
            second.get("/allocate?n=77")
            relay.to = second.url
            wait_allocated(agent, server, first.allocated()[0] + second.allocated()[0])
            rounds(agent, 2)
            wait_allocated(agent, server, first.allocated()[0] + second.allocated()[0])


def wait_allocated(agent, server, n):
    def arrived():
        return self_of(server, "again", ALLOCATED, "main.allocateKnown")[0]
    try:
        agent.wait(lambda: arrived() == n, f"{n} allocations")
    except cameo.Failure as e:
        raise cameo.Failure(f"{arrived()} instead of {n} allocations") from e


class Relay(WebServer):
    """Passes requests on to the URL self.to."""

    def __init__(self, to):
        super().__init__()
        self.to = to
        self.address = self.url.split("//")[1]

    def get(self, request):
        try:
            with urllib.request.urlopen(self.to + request.path, timeout=60) as answer:
                status, body = 200, answer.read()
        except OSError:
            status, body = 502, b""
        respond(request, status, body)


class Misbehaving(WebServer):
    """Responds to every request in a wrong way."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def get(self, request):
        try:
            if self.kind == "silent":
                time.sleep(1000)
            elif self.kind == "endless":
                request.send_response(200)
                request.end_headers()
                while True:
                    request.wfile.write(b"x" * 65536)
            body = {"text": b"<html>\x1b[31mno profile</html>", "bomb": BOMB, "empty": b"", "error": b"no"}[self.kind]
            respond(request, 500 if self.kind == "error" else 200, body, ("Content-Type", "application/octet-stream"))
        except OSError:
            pass


def others_are_not_harmed(shop):
    """Targets that are silent, endless, wrong or a bomb are counted, and the honest one arrives in each interval"""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Misbehaving(kind))
                   for kind in ("silent", "endless", "text", "bomb", "empty", "error")]
        options = [word for s in servers for word in ("--scrape", s.url)]
        p = stack.enter_context(Scraped(program(shop)))
        server = stack.enter_context(Server(shop.path("store-3")))
        agent = stack.enter_context(scraping(shop, server, *options, "--scrape", f"{p.url} service_name=honest",
                                             "--scrape-types", "goroutine,memory"))
        rounds(agent, 5)
        parked = self_of(server, "honest", PARKED, "main.park")[0]
        expect(parked >= 3 * N_PARKED, f"{parked} goroutines")
        metrics = agent.get("/metrics")[1]
        for result, least in (("timeout", 1), ("too_large", 1), ("invalid", 1), ("status", 1), ("ok", 3)):
            found = re.search(rf'^cameo_scrape_requests_total{{result="{result}"}} (\d+)$', metrics, re.MULTILINE)
            expect(int(found[1]) >= least, f"{result}:", metrics)
        held = agent.metric("cameo_memory_most_bytes")
        expect(0 < held <= 128 << 20, f"{held} bytes")
        expect(metrics.count("cameo_scrape_up{") == 7 and agent.metric("cameo_scrape_up") == 1, metrics)
        expect("\x1b" not in agent.said(), agent.said())
        expect(agent.said().count("cannot scrape") == len(servers), agent.said())
        expect(agent.end(signal.SIGTERM) < 20 and agent.ended_well(), agent.said())


def up_names_profiles(shop):
    """cameo up scrapes as well, and distinguishes contention from blocking although OTLP does not"""
    with Scraped(program(shop)) as p:
        up = subprocess.Popen([cameo.CAMEO, "up", "--data", shop.path("store-5"), "--listen", "127.0.0.1:0",
                               "--metrics", "no", "--scrape-interval", "3s", "--scrape", f"{p.url} service_name=shop"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            server = Asked()
            server.url = listening(up.stdout.readline())
            p.get("/contend?n=3")
            now = int(time.time() * 1000)
            question = {"start": now - 600000, "end": now + 600000}

            def names():
                types = server.ask("/querier.v1.QuerierService/ProfileTypes", question).get("profileTypes", [])
                return {t["ID"] for t in types}
            wanted = {CONTENDED, PARKED, ALLOCATED, "block:contentions:count:contentions:count"}
            cameo.until(lambda: wanted <= names(), f"profiles of the types {wanted}", pause_s=0.2)
        finally:
            cameo.end(up)
            up.stdout.close()


def targets_change(shop):
    """Targets of a file follow its content; rules change their labels, and drop some"""
    path = shop.path("targets.json")

    def write(*groups):
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump([{"targets": [t], "labels": labels} for t, labels in groups], f)
        subprocess.run(["mv", path + ".new", path], check=True)

    with Scraped(program(shop)) as p, Server(shop.path("store-4")) as server:
        address = p.url.split("//")[1]
        write((address, {"service_name": "one", "team": "x"}))
        with scraping(shop, server, "--scrape-file", path, "--scrape-types", "goroutine",
                      "--rule", "service_name=one : set service_name uno", "--rule", "team=secret : drop-process") as agent:
            agent.wait(lambda: self_of(server, "uno", PARKED, "main.park")[0], "the first target")
            write((address, {"service_name": "two"}), ("127.0.0.1:1", {"team": "secret"}))
            agent.wait(lambda: self_of(server, "two", PARKED, "main.park")[0], "the second target")
            expect(agent.metric("cameo_scrape_targets") == 1, agent.get("/metrics")[1])
            expect(not self_of(server, "one", PARKED, "main.park")[1], "a rule was not applied")
            with open(path, "w", encoding="utf-8") as f:
                f.write("[{")
            agent.wait(lambda: "targets.json: invalid JSON" in agent.said(), "a message")


def wrong_options_are_errors(shop):
    """Wrong URLs, labels, types and files are errors with one line"""
    bad = shop.path("bad.json")
    with open(bad, "w", encoding="utf-8") as f:
        f.write('{"targets": []}')
    for option, value, message in (
            ("--scrape", "ftp://x", "expected http://HOST:PORT or https://HOST:PORT"),
            ("--scrape", "http://x/?a=b", "expected http://HOST:PORT or https://HOST:PORT"),
            ("--scrape", "http://x label", "expected LABEL=VALUE"),
            ("--scrape", "http://me:hunter2@x", "use scrape-auth with basic-file=FILE"),
            ("--scrape-auth", "http://x hunter2", "expected bearer-file=FILE"),
            ("--scrape-auth", "x bearer-file=/x", "expected http://HOST:PORT or https://HOST:PORT"),
            ("--scrape", "http://x a-b=c", "invalid label name"),
            ("--scrape-types", "cpu,heap", 'unknown type "heap"'),
            ("--scrape-file", "/nonexistent", "/nonexistent"),
            ("--scrape-file", bad, "invalid JSON at byte 0"),
            ("--scrape-pods", "yes", "requires kubelet, the URL"),
            ("--scrape-interval", "1s", "scrape-interval")):
        r = cameo.cameo("agent", "--dir", shop.path("out"), f"{option}={value}")
        lines = [line for line in r.stderr.splitlines() if not line.startswith("level=info")]
        expect(r.returncode != 0 and len(lines) == 1 and message in lines[0], option, value, r.stderr)
        expect("hunter2" not in r.stderr, r.stderr)


class Kubelet(WebServer):
    """A kubelet whose list of pods the caller sets; None: it does not respond."""

    def __init__(self):
        super().__init__()
        self.pods = []

    def get(self, request):
        if self.pods is None:
            request.close_connection = True
            return
        respond(request, 200, json.dumps({"kind": "PodList", "items": self.pods}).encode())


def pod(name, port, scrape="true"):
    prefix = "profiles.grafana.com/goroutine."
    return {"metadata": {"name": name, "namespace": "shop", "uid": name,
                         "annotations": {prefix + "scrape": scrape, prefix + "port_name": "pprof"}},
            "spec": {"containers": [{"name": "web", "ports": [{"name": "pprof", "containerPort": port}]}]},
            "status": {"podIP": "127.0.0.1"}}


def pods_are_targets(shop):
    """Pods with annotations are scraped; while the kubelet does not respond, the last ones are"""
    with Scraped(program(shop)) as p, Server(shop.path("store-6")) as server, Kubelet() as kubelet:
        port = int(p.url.rsplit(":", 1)[1])
        kubelet.pods = [pod("web-1", port), pod("web-2", 1, scrape="false")]
        with scraping(shop, server, "--scrape-pods=yes", "--kubelet", kubelet.url) as agent:
            agent.wait(lambda: self_of(server, "shop/web", PARKED, "main.park")[0], "the pod")
            expect(agent.metric("cameo_scrape_targets") == 1, agent.get("/metrics")[1])
            kubelet.pods = None
            agent.wait(lambda: "cannot list the pods to scrape" in agent.said(), "a message")
            rounds(agent, 2)
            expect(agent.metric("cameo_scrape_up") == 1, agent.get("/metrics")[1])
            kubelet.pods = []
            agent.wait(lambda: agent.metric("cameo_scrape_targets") == 0, "the end of the pod")


class Guarded(WebServer):
    """Passes requests with the header self.wanted on to the URL TO, and records what each request carried."""

    def __init__(self, to, wanted):
        super().__init__()
        self.to, self.wanted, self.carried = to, wanted, []
        self.address = self.url.split("//")[1]

    def get(self, request):
        got = request.headers["Authorization"]
        self.carried.append(got)
        if got != self.wanted:
            respond(request, 401, b"")
            return
        with urllib.request.urlopen(self.to + request.path, timeout=60) as answer:
            respond(request, 200, answer.read())


class Redirecting(Guarded):
    """Sends every client to the URL TO."""

    def get(self, request):
        self.carried.append(request.headers["Authorization"])
        respond(request, 302, b"", ("Location", self.to + request.path))


def write_secret(shop, name, text, mode=0o600):
    path = shop.path(name)
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path + ".new", mode)
    os.replace(path + ".new", path)
    return path


def is_up(agent, server):
    found = re.search(rf'^cameo_scrape_up{{target="{server.address}"}} (\d)$', agent.get("/metrics")[1], re.MULTILINE)
    return found and found[1] == "1"


def requests_by_result(agent, result):
    found = re.search(rf'^cameo_scrape_requests_total{{result="{result}"}} (\d+)$', agent.get("/metrics")[1], re.MULTILINE)
    return int(found[1])


def memory_of(pid):
    """Returns the writable memory of a process."""
    parts = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            span, access = line.split()[:2]
            start, end = (int(x, 16) for x in span.split("-"))
            if access.startswith("rw") and end - start < 64 << 20:
                with contextlib.suppress(OSError):
                    mem.seek(start)
                    parts.append(mem.read(end - start))
    return b"".join(parts)


def processes_below(pid):
    """Returns the processes that PID started, and those that they did."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as f:
            for child in f.read().split():
                found += [int(child), *processes_below(child)]
    return found


def expect_separate(agent, secrets):
    """Each secret is in the memory of a process that downloads, and none but the agent has two of them."""
    found = set()
    for pid in processes_below(agent.process.pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            memory = memory_of(pid)
            held = [secret for secret in secrets if secret.encode() in memory]
            expect(len(held) <= 1, f"process {pid} has {held}")
            found.update(held)
    expect(found == set(secrets), f"only {found} are used")


def credentials_go_to_their_server_only(shop):
    """Each server gets its own credentials, also renewed ones; others get none, and nothing shows them"""
    encoded = base64.b64encode(b"me:hunter2-basic").decode()
    token, basic = write_secret(shop, "token", "hunter2-one\n"), write_secret(shop, "basic", "me:hunter2-basic\n")
    with contextlib.ExitStack() as stack:
        p = stack.enter_context(Scraped(program(shop)))
        bearer = stack.enter_context(Guarded(p.url, "Bearer hunter2-one"))
        user = stack.enter_context(Guarded(p.url, "Basic " + encoded))
        plain, thief = stack.enter_context(Guarded(p.url, None)), stack.enter_context(Guarded(p.url, None))
        redirecting = stack.enter_context(Redirecting(thief.url, None))
        targets = (bearer, user, plain, redirecting)
        store = stack.enter_context(Server(shop.path("store-7")))
        agent = stack.enter_context(scraping(
            shop, store, "--scrape-types", "goroutine", *(word for t in targets for word in ("--scrape", t.url)),
            "--scrape-auth", f"{user.url} basic-file={basic}", "--scrape-auth", f"{bearer.url} bearer-file={token}",
            "--scrape-auth", f"{redirecting.url} bearer-file={token}"))
        agent.wait(lambda: all(is_up(agent, t) for t in (bearer, user, plain)), "profiles of all targets")
        check_renewal(shop, agent, bearer, token)
        rounds(agent, 1)
        expect(redirecting.carried[-1] == "Bearer hunter2-two" and not thief.carried, redirecting.carried, thief.carried)
        expect(set(plain.carried) == {None}, plain.carried)
        expect_separate(agent, ("hunter2-two", encoded))
        with open(f"/proc/{agent.process.pid}/environ", "rb") as f:
            shown = agent.said() + agent.get("/metrics")[1] + f.read().decode(errors="replace")
        expect("hunter2" not in shown and encoded not in shown, shown)


def check_renewal(shop, agent, server, token):
    server.wanted = "Bearer hunter2-two"
    agent.wait(lambda: f"cannot scrape {server.address}/debug/pprof/goroutine: the response has an error status: 401"
               in agent.said(), "a message that names the target")
    agent.wait(lambda: not is_up(agent, server), "the end of the interval")
    expect(requests_by_result(agent, "status") >= 1, agent.get("/metrics")[1])
    write_secret(shop, "token", "hunter2-two\n")
    agent.wait(lambda: is_up(agent, server), "a profile with the new token")
    os.chmod(token, 0o644)
    agent.wait(lambda: requests_by_result(agent, "credentials") >= 1, "a refusal of the file")
    agent.wait(lambda: "other users may access it" in agent.said(), "a message that names the reason")
    os.chmod(token, 0o600)
    agent.wait(lambda: is_up(agent, server), "a profile after the file was closed to others")


def bad_files_of_credentials_are_errors(shop):
    """A file of credentials that others may read, a named pipe and a file of two lines are errors"""
    fifo = shop.path("fifo")
    os.mkfifo(fifo, 0o600)
    for path, message in ((write_secret(shop, "open", "hunter2", 0o644), "other users may access it"),
                          (write_secret(shop, "two-lines", "hunter2\nx"), "must contain exactly one line"),
                          (fifo, "not a regular file"), ("/nonexistent", "No such file")):
        r = cameo.cameo("agent", "--dir", shop.path("out"), "--scrape=http://x", f"--scrape-auth=http://x bearer-file={path}")
        lines = [line for line in r.stderr.splitlines() if not line.startswith("level=info")]
        expect(r.returncode != 0 and len(lines) == 1 and message in lines[0] and path in lines[0], path, r.stderr)
        expect("hunter2" not in r.stderr, r.stderr)


class Encrypted(Relay):
    """A relay that requires a client certificate of the files CA, and has the certificate and key PAIR."""

    def __init__(self, to, pair, ca):
        super().__init__(to)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
        context.load_verify_locations(ca)
        context.verify_mode = ssl.CERT_REQUIRED
        # the handshake takes place in the thread of the connection
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.handle_error = lambda *_: None


def certificate(shop, name):
    """Returns the files of a certificate, which is its own authority, and of its key."""
    need("openssl")
    pair = shop.path(name + ".pem"), shop.path(name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                    "-out", pair[0], "-keyout", pair[1]], capture_output=True, check=True)
    return pair


def tls_with_client_certificates(shop):
    """A server's own authority and a client certificate are used for the server that they are for"""
    ours, theirs = certificate(shop, "client"), certificate(shop, "server")
    with Scraped(program(shop)) as p, Server(shop.path("store-8")) as store, Encrypted(p.url, theirs, ours[0]) as server:
        port = server.address.split(":")[1]
        with scraping(shop, store, "--scrape-types", "goroutine", "--scrape", f"https://{server.address} service_name=tls",
                      "--scrape", f"https://localhost:{port}", "--scrape-auth",
                      f"https://127.*:{port} ca-file={theirs[0]} cert-file={ours[0]} key-file={ours[1]}") as agent:
            agent.wait(lambda: self_of(store, "tls", PARKED, "main.park")[0], "a profile")
            expect(is_up(agent, server), agent.said())
            agent.wait(lambda: f"cannot scrape localhost:{port}" in agent.said(), "a refusal of the certificate")
            expect(requests_by_result(agent, "refused") >= 1, agent.get("/metrics")[1])


def main():
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in (wrong_options_are_errors, arrives_exactly, a_restart_begins_again,
                     others_are_not_harmed, up_names_profiles, targets_change,
                     pods_are_targets, credentials_go_to_their_server_only, bad_files_of_credentials_are_errors,
                     tls_with_client_certificates):
            tap.run(test.__doc__, test, shop)
    tap.done()


main()
