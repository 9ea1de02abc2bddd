#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sdks.py CAMEO PAGE [--write] [CLIENT...]: what SDKs push is what the server's answers have.

A program in sdks/ for each SDK has two functions, of which one uses three times as much CPU time as the
other, and prints {function: its CPU time in nanoseconds}. Its SDK pushes to a front that keeps each request
and passes it to the server. The requests are decoded here, without code of Cameo's, and compared with the
server's answers: each sample type by its name as Pyroscope has it, and each stack by its value. The shares
of the two functions must be those that the program printed, within the error of sampling.

Clients are installed from their registries into $CAMEO_CACHE/clients and found there the next time; CAMEO_CACHE
is /var/cache/cameo by default, or ~/.cache/cameo for users without privileges. The table
of PAGE states what each client sends; --write updates it.
"""
import argparse
import collections
import concurrent.futures
import gzip
import http.server
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from serving import QUERIER, Server, check, finish, skip

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import pprof  # noqa: E402

CACHE = pathlib.Path(os.environ.get("CAMEO_CACHE") or
                     ("/var/cache/cameo" if os.geteuid() == 0 else pathlib.Path.home() / ".cache/cameo")) / "clients"
TABLE = re.compile(r"(<!-- clients -->\n)(.*?)(<!-- /clients -->)", re.DOTALL)
HEAD = "| client | version | sends | profile types | server |\n| --- | --- | --- | --- | --- |\n"
# Labels that Pyroscope keeps apart or does not store with a series.
NOT_SERIES = {"span_id", "trace_id", "profile_id"}
MOST_NODES = 1 << 20


class Front:
    """Keeps requests, passes them to the server, and keeps its statuses."""

    def __init__(self, server):
        self.requests = []
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.body()
                status, kind, answer = server.ask(self.path, body, {
                    k: v for k, v in self.headers.items() if k.lower() in ("content-type", "content-encoding", "connect-protocol-version")})
                front.requests.append((self.path, self.headers, body, status, answer))
                self.send_response(status)
                self.send_header("Content-Type", kind or "text/plain")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def body(self):
                if "Content-Length" in self.headers:
                    return self.rfile.read(int(self.headers["Content-Length"]))
                out = b""
                while size := int(self.rfile.readline(), 16):
                    out += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return out

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def parts(content_type, body):
    """The parts of a form by name."""
    boundary = b"--" + re.search(r'boundary="?([^";]+)', content_type)[1].encode()
    out = {}
    for part in body.split(boundary)[1:-1]:
        head, _, data = part.partition(b"\r\n\r\n")
        out[re.search(rb'name="([^"]*)"', head)[1].decode()] = data[:-2]
    return out


def ingested_name(types, config):
    """The name that Pyroscope gives to a pprof that comes without one."""
    default = {"samples": "cpu", "goroutine": "goroutines", "contentions": "mutex_count", "delay": "mutex_duration"}
    if "wall" in types:
        return "wall"
    for kind in types:
        shown = default.get(kind, kind) if config is None else config.get(kind, {}).get("display-name") or kind
        for part, name in (("cpu", "process_cpu"), ("alloc_", "memory"), ("inuse_", "memory"), ("mutex_", "mutex"),
                           ("block_", "block"), ("goroutines", "goroutines")):
            if part in shown or (name == "memory" and shown in ("space", "objects")):
                return name
    return types[-1]


def uploads(request):
    """Yields (name, labels, pprof) of the profiles of a request."""
    path, headers, body, _, _ = request
    url = urllib.parse.urlsplit(path)
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    if url.path.endswith("/Push"):
        for series in (v for n, v in pprof.fields(body) if n == 1):
            labels = {pprof.get(v, 1, b"").decode(): pprof.get(v, 2, b"").decode() for n, v in pprof.fields(series) if n == 1}
            for sample in (v for n, v in pprof.fields(series) if n == 2):
                yield labels.pop("__name__"), labels, pprof.Profile(pprof.get(sample, 1))
        return
    query = dict(urllib.parse.parse_qsl(url.query))
    config, form = None, {}
    if "multipart" in headers.get("Content-Type", ""):
        form = parts(headers["Content-Type"], body)
    app, _, rest = query["name"].partition("{")
    labels = {"service_name": app, **dict(pair.split("=", 1) for pair in rest.rstrip("}").split(",") if pair)}
    if "sample_type_config" in form:
        config = json.loads(form["sample_type_config"])
    profile = pprof.Profile(form.get("profile", body))
    yield ingested_name([kind for kind, _ in profile.types], config), labels, profile


def plain(stack):
    """Frames without a name, which the server shows by their addresses, are equal."""
    return tuple(re.sub(r"^(\[0x[0-9a-f]+\])?$", "?", frame) for frame in stack)


def sent(requests):
    """{profile type: {stack: value}}, and the names of labels."""
    out, labels = collections.defaultdict(collections.Counter), set()
    for name, series, profile in (upload for request in requests for upload in uploads(request)):
        labels |= {k for k in series if not k.startswith("__")}
        for stack, more, values in profile.samples:
            labels |= {k for k, v in more.items() if isinstance(v, str)} - NOT_SERIES
            for (kind, unit), value in zip(profile.types, values):
                if value:
                    out[":".join((name, kind, unit, *profile.period_type))][plain(stack)] += value
    return {kind: dict(stacks) for kind, stacks in out.items()}, labels


def stacks_of(graph):
    """{stack: own value} of a flame graph."""
    root = [int(v) for v in graph["levels"][0]["values"]]
    out, above = collections.Counter({(): root[2]} if root[2] else {}), [(0, root[1], ())]
    for level in graph["levels"][1:]:
        values, here, at = [int(v) for v in level.get("values", [])], [], 0
        for i in range(0, len(values), 4):
            begin, total, own = at + values[i], values[i + 1], values[i + 2]
            at = begin + total
            stack = next(s for b, t, s in above if b <= begin and at <= b + t) + (graph["names"][values[i + 3]],)
            here.append((begin, total, stack))
            if own:
                out[plain(stack)] += own
        above = here
    return out


def answered(server):
    now = int(time.time() * 1000)
    span = {"start": now - 3600000, "end": now + 600000}
    out = {}
    for kind in server.query("ProfileTypes", **span)[1].get("profileTypes", []):
        graph = server.query("SelectMergeStacktraces", profileTypeID=kind["ID"], labelSelector="{}", maxNodes=MOST_NODES, **span)[1]["flamegraph"]
        out[kind["ID"]] = dict(stacks_of(graph))
    _, _, answer = server.ask(QUERIER + "LabelNames", json.dumps({"matchers": ["{}"], **span}).encode(), {
        "Content-Type": "application/json", "Accept": "*/*; allow-utf8-labelnames=true"})
    names = json.loads(answer).get("names", [])
    return {kind: stacks for kind, stacks in out.items() if stacks}, set(names)


def sum_of(stacks, function):
    """The sum of the stacks with FUNCTION, whose name may have its file or line in it."""
    return sum(v for stack, v in stacks.items() if any(re.search(rf"(^|[.: ]){function}(:\d+)?$", f) for f in stack))


def check_shares(name, stacks, printed):
    """Compares CPU time in samples of 10 ms; the error is four standard deviations, and what a busy machine adds."""
    found = {f: sum_of(stacks, f.rpartition(".")[2]) for f in printed}
    n = sum(found.values()) / 10**7
    want = {f: ns / sum(printed.values()) for f, ns in printed.items()}
    got = {f: v / max(sum(found.values()), 1) for f, v in found.items()}
    most = 0.03 + 4 * math.sqrt(0.25 * 0.75 / max(n, 1))
    check(f"{name}: CPU time has the functions in the shares that the program measured",
          n >= 20 and all(abs(got[f] - want[f]) <= most for f in printed), (n, got, want, most, list(stacks)[:6]))


def first_difference(a, b):
    names = [{frame for stack in stacks for frame in stack} for stacks in (a, b)]
    for key in sorted(set(a) | set(b)):
        if a.get(key) != b.get(key):
            return f"sent {a.get(key)}, answered {b.get(key)}: {key[-3:]}; frames sent only {names[0] - names[1]}, answered only {names[1] - names[0]}"
    return ""


# ---- Clients ----------------------------------------------------------------------------------------

def run(*command, **how):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, timeout=900, **how)


BUILDING = collections.defaultdict(threading.Lock)


def prepared(client):
    """The directory of a client, built once for each version of its source; or why there is none."""
    sources = sorted(p for p in (HERE / "sdks" / client.source).rglob("*") if p.is_file())
    stamp = "\n".join(f"{p.name}\n{p.read_text()}" for p in sources)
    directory = CACHE / client.source
    with BUILDING[client.source]:
        if (directory / "stamp").exists() and (directory / "stamp").read_text() == stamp:
            return directory, ""
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(HERE / "sdks" / client.source, directory)
        why = client.build(directory)
        if not why:
            (directory / "stamp").write_text(stamp)
    return None if why else directory, why


def failed(made):
    return f"{' '.join(map(str, made.args))[:60]}: {(made.stdout + made.stderr).strip()[-300:]}" if made.returncode else ""


def build_go(directory):
    return failed(run("go", "build", "-mod=mod", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o", "shop", ".", cwd=directory))


def build_python(directory):
    return failed(run(sys.executable, "-m", "pip", "install", "-q", "--only-binary=:all:", "-t", directory / "site", "-r",
                      directory / "requirements.txt"))


def build_node(directory):
    return failed(run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", cwd=directory))


def build_rust(directory):
    made = failed(run("cargo", "build", "-q", cwd=directory))
    if not made:
        shutil.move(directory / "target/debug/shop", directory / "shop")
        shutil.rmtree(directory / "target")
    return made


def version(pattern, *path):
    return re.search(pattern, HERE.joinpath("sdks", *path).read_text())[1]


Client = collections.namedtuple("Client", "name version tool source build command sends")
CLIENTS = [
    Client("pyroscope-go", version(r"pyroscope-go (v\S+)", "go", "go.mod"), "go", "go", build_go, ["./shop", "sdk"],
           "pprof, forms to `/ingest`"),
    Client("pyroscope/api, Connect (Alloy, profilecli)", version(r"pyroscope/api (v\S+)", "go", "go.mod"), "go", "go", build_go,
           ["./shop", "connect"], "pprof, `push.v1`"),
    Client("pyroscope-io (Python)", version(r"pyroscope-io==(\S+)", "python", "requirements.txt"), "python3", "python", build_python,
           [sys.executable, "shop.py"], "pprof, `push.v1`, gzip"),
    Client("@pyroscope/nodejs", version(r'nodejs": "(\S+)"', "node", "package.json"), "npm", "node", build_node, ["node", "shop.mjs"],
           "pprof to `/ingest?format=pprof`"),
    Client("pyroscope-rs", version(r'version = "=(\S+)"', "rust", "Cargo.toml"), "cargo", "rust", build_rust, ["./shop"],
           "pprof, `push.v1`, gzip"),
]


def run_client(client, cameo, tmp):
    """Runs the client; returns it with its profile types and the result, or None if it cannot be installed."""
    directory, why = prepared(client) if shutil.which(client.tool) else (None, f"there is no {client.tool}")
    if not directory:
        skip(client.name, why)
        return None
    server = Server(cameo, os.path.join(tmp, re.sub(r"\W+", "-", client.name)))
    front = Front(server)
    done = run(*client.command, front.url, cwd=directory, env={**os.environ, "PYTHONPATH": str(directory / "site")})
    check(f"{client.name}: the program runs", done.returncode == 0, done.stderr[-1000:])
    refused = [(r[0], r[3], r[4]) for r in front.requests if r[3] != 200]
    check(f"{client.name}: all of {len(front.requests)} requests are accepted", front.requests and not refused, refused)
    pushed, labels = sent(front.requests)
    stored, names = answered(server)
    check(f"{client.name}: profile types", pushed and sorted(pushed) == sorted(stored), (sorted(pushed), sorted(stored)))
    for kind in sorted(pushed):
        check(f"{client.name}: {kind}: {len(pushed[kind])} stacks have their values", pushed[kind] == stored.get(kind),
              first_difference(pushed[kind], stored.get(kind, {})))
    check(f"{client.name}: labels", labels <= names, labels - names)
    cpu = next((k for k in stored if k.split(":")[1] == "cpu"), None)
    if done.returncode == 0 and cpu:
        check_shares(client.name, stored[cpu], json.loads(done.stdout))
    server.stop()
    equal = pushed and pushed == stored and not refused and labels <= names
    return client, set(stored), "equal" if equal else "differs"


def row_of(client, types, result):
    return f"| {client.name} | {client.version} | {client.sends} | {'<br>'.join(f'`{t}`' for t in sorted(types))} | {result} |"


def check_page(path, results, write):
    """Compares the table of the page with what was found, or updates it. Not each run has an event of each type."""
    text = path.read_text()
    table = TABLE.search(text)
    rows = {line.split(" | ")[0][2:]: line for line in table[2].splitlines()[2:]}
    for client, types, result in results:
        listed = set(re.findall(r"`([^`]*:[^`]*)`", rows.get(client.name, "")))
        row = row_of(client, types | listed, result)
        if write:
            rows[client.name] = row
        else:
            check(f"{path.name} has the row of {client.name}", rows.get(client.name) == row, f"{row}\nrun {' '.join(sys.argv)} --write")
    if write:
        ordered = [rows[c.name] for c in CLIENTS if c.name in rows]
        path.write_text(text[:table.start(2)] + HEAD + "\n".join(ordered) + "\n" + text[table.end(2):])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cameo", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("client", nargs="*", help="a folder of sdks/; default: all")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    chosen = [c for c in CLIENTS if c.source in (args.client or [c.source])]
    with tempfile.TemporaryDirectory() as tmp, concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda client: run_client(client, args.cameo.resolve(), tmp), chosen))
    check_page(args.page, [row for row in rows if row], args.write)
    return finish()


sys.exit(main())
