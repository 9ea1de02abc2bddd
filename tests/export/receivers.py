#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""receivers.py CAMEO EXPORT_TOOL: real receivers accept, refuse and delay exported profiles.

OTLP is received by gRPC's own server library and by an HTTP server, decoded by
protobuf's own library from tests/oracle/otlp.proto, and refused, delayed and
garbled in the ways of real back ends. The source is a profile made here.
"""
import collections
import gzip
import http.server
import json
import os
import queue
import shutil
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
from cameo import CAMEO, Failure, Skip, Tap  # noqa: E402
from our_server import Server  # noqa: E402

TOOL = os.path.abspath(sys.argv[2])
PROTO = os.path.join(os.path.dirname(HERE), "oracle", "otlp.proto")
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
FOR_EVER_S = 120
WORK = tempfile.mkdtemp()

try:
    import grpc
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields
except ImportError as e:
    print(f"1..0 # SKIP {e}: python3-grpcio and python3-protobuf are not installed")
    sys.exit(0)


def need(ok, why):
    if not ok:
        raise Failure(str(why))


def equal(got, want, what):
    need(got == want, f"{what}: {got!r} instead of {want!r}")


def until(condition):
    """Waits until CONDITION returns a true value."""
    end = time.monotonic() + FOR_EVER_S
    while not condition():
        need(time.monotonic() < end, "the expected event did not happen")
        time.sleep(0.01)


# ---- Messages -------------------------------------------------------------------


def load_proto():
    out = os.path.join(WORK, "otlp.pb")
    subprocess.run(["protoc", "-I", os.path.dirname(PROTO), "--descriptor_set_out", out, PROTO], check=True)
    files = descriptor_pb2.FileDescriptorSet()
    with open(out, "rb") as f:
        files.ParseFromString(f.read())
    pool = descriptor_pool.DescriptorPool()
    for f in files.file:
        pool.Add(f)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("otlp.Request"))


Request = load_proto()
STACKS = [["main", "work", "inlined"], ["main", "read", "vfs_read"], ["main", "interp", "module"]]
KINDS = {"vfs_read": "kernel", "module": "cpython"}
PERIOD_NS = 10000000
START_NS = 1795200000 * 10**9


class Builder:
    """Makes a request with a dictionary in the form that other senders use."""

    def __init__(self):
        self.request = Request()
        self.d = self.request.dictionary
        self.known = {}
        self.string("")
        for table in ("mapping", "location", "function", "link", "attribute", "stack"):
            getattr(self.d, table + "_table").add()

    def string(self, s):
        if s not in self.known:
            self.known[s] = len(self.d.string_table)
            self.d.string_table.append(s)
        return self.known[s]

    def attribute(self, key, value):
        a = self.d.attribute_table.add(key_strindex=self.string(key))
        if isinstance(value, int):
            a.value.int_value = value
        else:
            a.value.string_value = value
        return len(self.d.attribute_table) - 1

    def mapping(self, name, build_id):
        m = self.d.mapping_table.add(memory_start=0x400000, memory_limit=0x500000,
                                     filename_strindex=self.string(name))
        m.attribute_indices.append(self.attribute("process.executable.build_id.gnu", build_id))
        return len(self.d.mapping_table) - 1

    def location(self, name, mapping):
        f = self.d.function_table.add(name_strindex=self.string(name))
        f.filename_strindex = self.string(name + ".c")
        at = self.d.location_table.add(mapping_index=mapping, address=0x400000 + len(self.d.location_table))
        at.lines.add(function_index=len(self.d.function_table) - 1, line=7)
        at.attribute_indices.append(self.attribute("profile.frame.type", KINDS.get(name, "native")))
        return len(self.d.location_table) - 1

    def stack(self, locations):
        self.d.stack_table.add(location_indices=reversed(locations))
        return len(self.d.stack_table) - 1


def source(path, n_stacks=len(STACKS), depth=0):
    """A profile with times, threads and CPUs; @depth frames under each stack make it large."""
    b = Builder()
    scope = b.request.resource_profiles.add().scope_profiles.add()
    p = scope.profiles.add(time_unix_nano=START_NS, duration_nano=15 * 10**9, period=PERIOD_NS)
    p.sample_type.type_strindex, p.sample_type.unit_strindex = b.string("samples"), b.string("count")
    p.period_type.type_strindex, p.period_type.unit_strindex = b.string("cpu"), b.string("nanoseconds")
    mapping = b.mapping("/usr/bin/till", "c0ffee00")
    places = {n: b.location(n, mapping) for s in STACKS for n in s}
    below = [b.location("f%d" % i, mapping) for i in range(depth)]
    for i in range(n_stacks):
        s = STACKS[i % len(STACKS)]
        turned = (below[i % depth:] + below[:i % depth])[i // depth:] if depth else []
        sample = p.samples.add(stack_index=b.stack(turned + [places[n] for n in s]))
        sample.timestamps_unix_nano.extend(START_NS + k for k in range(i % 3 + 1))
        sample.attribute_indices.extend([b.attribute("thread", "worker"), b.attribute("tid", 200 + i % 3),
                                         b.attribute("cpu", i % 2), b.attribute("pid", 100),
                                         b.attribute("comm", "till")])
    with open(path, "wb") as f:
        f.write(b.request.SerializeToString())
    return path


SMALL = source(os.path.join(WORK, "small.otlp.pb"))
LARGE = source(os.path.join(WORK, "large.otlp.pb"), 12000, 400)


# ---- The exporter -----------------------------------------------------------------


class Exporter:
    def __init__(self, *options, profile=SMALL, wrapper=()):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*wrapper, TOOL, profile, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        need(line == "ready\n", self.log())

    def command(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        need(answer, "the exporter has exited: " + self.log())
        return answer

    def accounted(self):
        parts = ("queued_items", "spooled_items", "sent_items", "refused", "spool_full", "queue_full")
        return [sum(s[p] for p in parts) for s in json.loads(self.command("stats"))]

    def put(self, n=1):
        """Sends a window and waits until every sink has it, because a fourth one would replace another."""
        before = self.accounted()
        equal(self.command(f"put {n}"), "ok\n", "put")
        until(lambda: all(a > b for a, b in zip(self.accounted(), before)))

    def stats(self, i=0):
        return json.loads(self.command("stats"))[i]

    def stop(self, seconds=FOR_EVER_S):
        equal(self.command(f"stop {seconds}"), "ok\n", "stop")
        return self.stats()

    def log(self):
        self.errors.seek(0)
        return self.errors.read().decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
            self.process.wait(FOR_EVER_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.errors.close()


# ---- Receivers ----------------------------------------------------------------------

Taken = collections.namedtuple("Taken", "message metadata")


def take(taken):
    try:
        return taken.get(timeout=FOR_EVER_S)
    except queue.Empty:
        raise Failure("nothing arrives") from None


class GrpcReceiver(grpc.GenericRpcHandler):
    """Serves Export; each response is called with the context first, and the last one repeats."""

    def __init__(self, answers=(), credentials=None, options=()):
        self.taken = queue.Queue()
        self.answers = list(answers)
        self.n = 0
        self.lock = threading.Lock()
        import concurrent.futures
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[self], options=options)
        if credentials:
            self.port = self.server.add_secure_port("localhost:0", credentials)
        else:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def service(self, details):
        if details.method != METHOD:
            return None
        return grpc.unary_unary_rpc_method_handler(self.export)

    def export(self, message, context):
        with self.lock:
            answer = self.answers[min(self.n, len(self.answers) - 1)] if self.answers else None
            self.n += 1
        self.taken.put(Taken(message, dict(context.invocation_metadata())))
        return answer(context) or b"" if answer else b""

    def next(self):
        return take(self.taken)

    @property
    def url(self):
        return f"grpc://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.stop(None).wait()


class HttpReceiver:
    """Responds with (status, headers, body), one after the other; the last one repeats."""

    def __init__(self, answers=(), context=None, port=0):
        self.taken = queue.Queue()
        outer = self
        self.answers = list(answers) or [(200, {"Content-Type": "application/x-protobuf"}, b"")]
        self.n = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802 - the library's name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, headers, answer = outer.answers[min(outer.n, len(outer.answers) - 1)]
                outer.n += 1
                outer.taken.put((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(status)
                for k, v in headers.items():
                    self.send_header(k, v)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a killed exporter closes its connections
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if context else ''}://{'localhost' if context else '127.0.0.1'}:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self):
        return take(self.taken)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


# ---- What must have arrived -------------------------------------------------------------


def parse(data):
    r = Request()
    r.ParseFromString(data)
    need(not list(unknown_fields.UnknownFieldSet(r)) if hasattr(unknown_fields, "UnknownFieldSet") else True,
         "unknown fields")
    return r


def value_of(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def attributes(d, indices):
    out = {}
    for i in indices:
        need(0 < i < len(d.attribute_table), "attribute %d" % i)
        a = d.attribute_table[i]
        out[d.string_table[a.key_strindex]] = value_of(a.value)
    return out


def check_dictionary(d):
    equal(d.string_table[0], "", "string 0")
    for table in ("mapping", "location", "function", "attribute", "stack", "link"):
        rows = getattr(d, table + "_table")
        need(rows and not rows[0].ByteSize(), table + " 0 is not the empty entry")
    need(len(set(d.string_table)) == len(d.string_table), "strings occur twice")


def frames(d, sample):
    out = []
    for i in d.stack_table[sample.stack_index].location_indices:
        at = d.location_table[i]
        line = d.function_table[at.lines[0].function_index]
        out.append((d.string_table[line.name_strindex], attributes(d, at.attribute_indices)["profile.frame.type"]))
    return out


def check_profile(r, n_profiles):
    check_dictionary(r.dictionary)
    equal(len(r.resource_profiles), n_profiles, "resources")
    d, ids = r.dictionary, set()
    for i, rp in enumerate(r.resource_profiles):
        resource = {kv.key: value_of(kv.value) for kv in rp.resource.attributes}
        want = {"service.name": "shop", "process.pid": 100 + i, "process.executable.path": "/usr/bin/till",
                "process.executable.name": "till", "container.id": "c0ffee", "k8s.pod.name": "shop-1",
                "not utf8": "a\ufffd", "own": "label", "comm": "till", "host.name": "node-7", "os.type": "linux"}
        equal(resource, want, "resource")
        p, = rp.scope_profiles[0].profiles
        equal(rp.scope_profiles[0].scope.name, "cameo", "scope")
        names = [d.string_table[k] for k in (p.sample_type.type_strindex, p.sample_type.unit_strindex,
                                             p.period_type.type_strindex, p.period_type.unit_strindex)]
        equal(names, ["samples", "count", "cpu", "nanoseconds"], "types")
        equal((p.period, p.time_unix_nano, p.duration_nano), (PERIOD_NS, START_NS, 15 * 10**9), "times")
        equal(len(p.profile_id), 16, "id")
        ids.add(p.profile_id)
        equal(len(p.samples), len(STACKS), "samples")
        for sample in p.samples:
            got = frames(d, sample)
            k = [[n for n, _ in reversed(got)] == s for s in STACKS].index(True)
            equal([t for _, t in got], [KINDS.get(n, "native") for n, _ in got], "frame types")
            equal(list(sample.timestamps_unix_nano), [START_NS + t for t in range(k + 1)], "times of a sample")
            equal(list(sample.values), [], "values next to times")
            equal(attributes(d, sample.attribute_indices),
                  {"thread.name": "worker", "thread.id": 200 + k, "cpu.logical_number": k % 2}, "sample")
    equal(len(ids), n_profiles, "different ids")
    for m in d.mapping_table[1:]:
        equal(d.string_table[m.filename_strindex], "/usr/bin/till", "file")
        equal(attributes(d, m.attribute_indices), {"process.executable.build_id.gnu": "c0ffee00"}, "mapping")


# ---- Tests ------------------------------------------------------------------------------


def grpc_takes_it():
    with GrpcReceiver() as server, Exporter("otlp=" + server.url, "host=node-7", "tenant=team",
                                            "bearer=secret", "header=X-Own: yes") as e:
        e.put(20)
        s = e.stop()
        t = server.next()
        check_profile(parse(t.message), 20)
        equal((s["sent_items"], s["sent_profiles"]), (1, 20), "sent")
        equal((t.metadata["x-scope-orgid"], t.metadata["authorization"], t.metadata["x-own"]),
              ("team", "Bearer secret", "yes"), "metadata")


def grpc_uncompressed():
    with GrpcReceiver() as server, Exporter("otlp=" + server.url, "host=node-7", "no-gzip=1") as e:
        e.put()
        e.stop()
        check_profile(parse(server.next().message), 1)


def http_takes_it():
    for options, decode in ([], gzip.decompress), (["no-gzip=1"], bytes):
        with HttpReceiver() as server, Exporter("otlp=" + server.url, "host=node-7", *options) as e:
            e.put(3)
            equal(e.stop()["sent_items"], 1, "sent")
            path, headers, body = server.next()
            equal(path, "/v1development/profiles", "path")
            equal(headers["content-type"], "application/x-protobuf", "type")
            equal(headers.get("content-encoding"), None if options else "gzip", "encoding")
            check_profile(parse(decode(body)), 3)


def own_path():
    with HttpReceiver() as server, Exporter(f"otlp={server.url}/own/path?x=1") as e:
        e.put()
        e.stop()
        equal(server.next()[0], "/own/path?x=1", "path")


def large_is_cut():
    with GrpcReceiver() as server, Exporter("otlp=" + server.url, profile=LARGE) as e:
        e.put()
        s = e.stop()
        need(s["sent_items"] > 1 and s["refused"] == 0, s)
        n, ids = 0, set()
        for _ in range(s["sent_items"]):
            r = parse(server.next().message)
            check_dictionary(r.dictionary)
            for rp in r.resource_profiles:
                p = rp.scope_profiles[0].profiles[0]
                ids.add(p.profile_id)
                n += sum(len(x.timestamps_unix_nano) for x in p.samples)
        equal(n, sum(i % 3 + 1 for i in range(12000)), "samples of all pieces")
        equal(len(ids), s["sent_profiles"], "ids")


def abort(code, details="", trailers=()):
    def answer(context):
        context.set_trailing_metadata(trailers)
        context.abort(code, details)
    return answer


def unavailable_comes_again():
    answers = [abort(grpc.StatusCode.UNAVAILABLE, "later"), abort(grpc.StatusCode.ABORTED),
               abort(grpc.StatusCode.DEADLINE_EXCEEDED), abort(grpc.StatusCode.UNKNOWN, "panic"), None]
    answers[-1] = lambda context: b""
    with GrpcReceiver(answers) as server, Exporter("otlp=" + server.url, "retry-ms=1") as e:
        e.put()
        first = server.next().message
        for _ in answers[1:]:
            equal(server.next().message, first, "the same again")
        s = e.stop()
        equal((s["sent_items"], s["retries"], server.n), (1, 4, 5), "sent, retries, requests")


def message(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def retry_info_is_obeyed():
    retry = message(1, b"type.googleapis.com/google.rpc.RetryInfo") + message(2, message(1, b"\x10\xc0\x84\x3d"))
    status = b"\x08\x08" + message(2, b"slow down") + message(3, retry)
    answers = [abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "slow down", [("grpc-status-details-bin", status)])] * 12
    with GrpcReceiver(answers + [lambda context: b""]) as server, Exporter("otlp=" + server.url, "retry-ms=1") as e:
        e.put()
        for _ in range(13):
            server.next()
        s = e.stop()
        # without RetryInfo it would have been dropped after eight attempts
        equal((s["sent_items"], s["refused"]), (1, 0), "sent, refused")


def refusals_drop():
    codes = [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNIMPLEMENTED]
    answers = [abort(c, "no\nway %") for c in codes] + [lambda context: b""]
    with GrpcReceiver(answers) as server, Exporter("otlp=" + server.url, "retry-ms=1") as e:
        for _ in answers:
            e.put()
            server.next()
        s = e.stop()
        equal((s["sent_items"], s["refused"]), (1, 3), "sent, refused")
        equal(e.log().count("\n"), 1, "lines in the log: " + e.log())
        need("gRPC status 3: no?way %" in e.log(), e.log())


def partial_success():
    answer = message(1, b"\x08\x02" + message(2, b"too old"))
    with GrpcReceiver([lambda context: answer]) as server, Exporter("otlp=" + server.url) as e:
        e.put(5)
        s = e.stop()
        equal((s["sent_profiles"], s["rejected_profiles"], server.n), (3, 2, 1), "sent, rejected, requests")
        need("2 of 5 profiles rejected: too old" in e.log(), e.log())


def grpc_away_and_back():
    server = GrpcReceiver()
    port = server.port
    with Exporter("otlp=" + server.url, "retry-ms=1") as e:
        e.put()
        server.next()
        server.__exit__()
        e.put()
        while not e.stats()["failing"]:
            pass
        e.put()
        back = GrpcReceiver.__new__(GrpcReceiver)
        import concurrent.futures
        back.taken, back.answers, back.n, back.lock = queue.Queue(), [], 0, threading.Lock()
        back.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[back])
        equal(back.server.add_insecure_port(f"127.0.0.1:{port}"), port, "port")
        back.server.start()
        with back:
            back.next()
            back.next()
            equal(e.stop()["sent_items"], 3, "sent")


def http_says_wait():
    answers = [(503, {"Retry-After": "0"}, b""), (429, {}, b""), (502, {}, b"<html>"),
               (200, {"Content-Type": "text/html"}, b"<html>"), (200, {"Content-Type": "application/json"}, b"{}")]
    with HttpReceiver(answers) as server, Exporter("otlp=" + server.url, "retry-ms=1") as e:
        e.put()
        for _ in answers:
            server.next()
        s = e.stop()
        equal((s["sent_items"], s["retries"], server.n), (1, 4, 5), "sent, retries, requests")


def http_refuses():
    answers = [(400, {"Content-Type": "application/x-protobuf"}, b"\x08\x03" + message(2, b"bad thing")),
               (404, {"Content-Type": "text/plain"}, b"404 page not found\n"), (200, {}, b"")]
    with HttpReceiver(answers) as server, Exporter("otlp=" + server.url, "retry-ms=1") as e:
        for _ in answers:
            e.put()
            server.next()
        s = e.stop()
        equal((s["sent_items"], s["refused"]), (1, 2), "sent, refused")
        need("status 400: bad thing" in e.log(), e.log())


def rotated_token():
    answers = [(401, {}, b"no"), (403, {}, b"no"), (401, {}, b"no"), (200, {}, b"")]
    with HttpReceiver(answers) as server, Exporter("otlp=" + server.url, "retry-ms=1") as e:
        e.put()
        for _ in answers:
            server.next()
        s = e.stop()
        equal((s["sent_items"], s["refused"], s["retries"]), (1, 0, 3), "sent, refused, retries")
        equal(e.log().count("ERROR: the receiver refuses the credentials (status 401: no)"), 1, e.log())


def all_sinks_at_once():
    with GrpcReceiver() as a, HttpReceiver() as b, \
            HttpReceiver([(200, {"Content-Type": "application/proto"}, b"")]) as c, \
            Exporter("otlp=" + a.url, "otlp=" + b.url, "pyroscope=" + c.url, "pyroscope=http://127.0.0.1:1",
                     "host=node-7") as e:
        e.put(2)
        check_profile(parse(a.next().message), 2)
        check_profile(parse(gzip.decompress(b.next()[2])), 2)
        equal(c.next()[0], "/push.v1.PusherService/Push", "path")
        e.command("stop 120")
        equal([s["sent_items"] for s in json.loads(e.command("stats"))], [1, 1, 1, 0], "sent")
        equal(e.stats(3)["stopped"], 1, "dropped at the end")


# The queue on disk

PUSHED = {"Content-Type": "application/proto"}


def new_dir():
    return tempfile.mkdtemp(dir=WORK)


def items(directory):
    return sorted(n for n in os.listdir(directory) if n.endswith(".item"))


def away_then_killed_then_back():
    d = new_dir()
    with HttpReceiver([(503, {}, b"")]) as server, Exporter("pyroscope=" + server.url, "spool=" + d) as e:
        e.put()
        until(lambda: e.stats()["failing"])
        e.put()
        e.put()
        until(lambda: e.stats()["spooled_items"] == 3)
        need(e.stats()["queued_items"] == 0, e.stats())
        e.process.kill()
        port = server.port
    equal(len(items(d)), 3, "items on disk")
    with HttpReceiver([(200, PUSHED, b"")], port=port) as server, \
            Exporter("pyroscope=" + server.url, "spool=" + d) as e:
        until(lambda: e.stats()["sent_items"] == 3)
        s = e.stop()
        equal((s["sent_items"], s["spooled_items"], server.n), (3, 0, 3), "sent, on disk, requests")
        equal(len({server.next()[2] for _ in range(3)}), 3, "different requests")
    equal(items(d), [], "items on disk")


def the_end_comes_first():
    d = new_dir()
    with Exporter("pyroscope=http://127.0.0.1:1", "spool=" + d) as e:
        e.put()
        s = e.stop(5)
        equal((s["stopped"], s["spooled_items"]), (0, 1), "dropped, on disk")
    equal(len(items(d)), 1, "items on disk")


def what_was_sent_is_not_on_disk():
    d = new_dir()
    with HttpReceiver([(200, PUSHED, b"")]) as server, Exporter("pyroscope=" + server.url, "spool=" + d) as e:
        for _ in range(5):
            e.put()
        equal(e.stop()["sent_items"], 5, "sent")
    equal(items(d), [], "items on disk")


def damaged_on_disk():
    d = new_dir()
    with HttpReceiver([(503, {}, b"")]) as server:
        with Exporter("otlp=" + server.url, "spool=" + d) as e:
            e.put()
            until(lambda: e.stats()["failing"])
            e.put()
            until(lambda: e.stats()["spooled_items"] == 2)
        port = server.port
    with open(os.path.join(d, items(d)[0]), "r+b") as f:
        f.truncate(100)
    with HttpReceiver(port=port) as server, Exporter("otlp=" + server.url, "spool=" + d, "host=node-7") as e:
        until(lambda: e.stats()["sent_items"] == 1)
        s = e.stop()
        equal((s["damaged"], s["sent_items"], server.n), (1, 1, 1), "damaged, sent, requests")
    equal([n.endswith(".damaged") for n in os.listdir(d) if n != "lock"], [True], "the remaining files")


def disk_is_bounded():
    d = new_dir()
    with Exporter("pyroscope=http://127.0.0.1:1", "spool=" + d, "spool-bytes=5000") as e:
        e.put()
        until(lambda: e.stats()["failing"])
        for _ in range(20):
            e.put()
        until(lambda: e.stats()["spool_full"] > 10)
        until(lambda: e.stats()["spooled_bytes"] <= 5000)
    need(sum(os.path.getsize(os.path.join(d, n)) for n in items(d)) <= 5000, items(d))


def disk_is_full():
    d = new_dir()
    mount = ["unshare", "--mount", "--map-root-user", "sh", "-c",
             f"mount -t tmpfs -o size=16k,mode=700 none {d} && exec \"$@\"", "sh"]
    if subprocess.run([*mount, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("cannot mount a tmpfs")
    with HttpReceiver([(503, {}, b"")]) as server, \
            Exporter("pyroscope=" + server.url, "spool=" + d, "retry-ms=1", wrapper=mount) as e:
        e.put()
        until(lambda: e.stats()["failing"])
        for _ in range(12):
            e.put()
        until(lambda: e.stats()["spool_errors"] > 0)
        until(lambda: e.stats()["queued_items"] > 0)
        need("the spool's disk is full" in e.log() or "status 503" in e.log(), e.log())
        server.answers[:] = [(200, PUSHED, b"")]
        until(lambda: e.stats()["sent_items"] == 13)
        s = e.stop()
        equal((s["queue_full"], s["spool_full"], s["spooled_items"]), (0, 0, 0), "lost")


def files_of_a_directory():
    d = new_dir()
    with open(os.path.join(d, ".cameo-x.pb.gz.AbCdEf"), "wb"), open(os.path.join(d, "mine.pb.gz"), "wb"):
        pass
    with Exporter("dir=" + d, "dir-bytes=3000") as e:
        e.put(3)
        equal(e.stop()["sent_items"], 1, "written")
    name, = [n for n in os.listdir(d) if n.startswith("cameo-")]
    equal(name, "cameo-20261120T184000.000Z.pb.gz", "name")
    out = subprocess.run([CAMEO, "report", "--by", "label:service_name", "--json", os.path.join(d, name)],
                         check=True, capture_output=True, text=True).stdout
    need('"shop"' in out, out)
    out = subprocess.run([CAMEO, "convert", "--to", "folded", "-q", os.path.join(d, name), "-"], check=True,
                         capture_output=True, text=True).stdout
    stacks = [[n + "_[k]" * (KINDS.get(n) == "kernel") for n in s] for s in STACKS]
    equal(sorted(out.splitlines()), sorted(f"till;{';'.join(s)} {3 * (i + 1)}" for i, s in enumerate(stacks)),
          "stacks")
    with Exporter("dir=" + d, "dir-bytes=3000") as e:
        for _ in range(20):
            e.put()
        e.stop()
    files = [n for n in os.listdir(d) if n.startswith("cameo-")]
    need(1 <= len(files) < 20 and sum(os.path.getsize(os.path.join(d, n)) for n in files) <= 3000, files)
    need(sorted(set(os.listdir(d)) - set(files)) == ["mine.pb.gz"], os.listdir(d))


# TLS

def certificates():
    """Creates a CA and certificates of a server for localhost and of a client. Returns their paths."""
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    names = {n: os.path.join(WORK, n) for n in ("ca.pem", "ca.key", "server.pem", "server.key",
                                               "client.pem", "client.key")}
    if os.path.exists(names["client.pem"]):
        return names

    def run(*args):
        subprocess.run(["openssl", *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test CA",
        "-keyout", names["ca.key"], "-out", names["ca.pem"])
    ext = os.path.join(WORK, "ext")
    for who, san in ("server", "DNS:localhost"), ("client", "DNS:client"):
        csr = os.path.join(WORK, who + ".csr")
        with open(ext, "w", encoding="ascii") as f:
            f.write("subjectAltName=" + san)
        run("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + who, "-keyout", names[who + ".key"],
            "-out", csr)
        run("x509", "-req", "-days", "2", "-in", csr, "-CA", names["ca.pem"], "-CAkey", names["ca.key"],
            "-CAcreateserial", "-extfile", ext, "-out", names[who + ".pem"])
    return names


def read(path):
    with open(path, "rb") as f:
        return f.read()


def grpc_over_tls():
    c = certificates()
    own = grpc.ssl_server_credentials([(read(c["server.key"]), read(c["server.pem"]))], read(c["ca.pem"]), True)
    with GrpcReceiver(credentials=own) as server:
        url = f"otlp=grpcs://localhost:{server.port}"
        with Exporter(url, "ca=" + c["ca.pem"], "cert=" + c["client.pem"], "key=" + c["client.key"],
                      "host=node-7") as e:
            e.put()
            equal(e.stop()["sent_items"], 1, "sent with a certificate: " + e.log())
            check_profile(parse(server.next().message), 1)
        with Exporter(url, "ca=" + c["ca.pem"]) as e:
            e.put()
            equal(e.stop()["sent_items"], 0, "sent without one")
        equal(server.n, 1, "requests")


def https_checks_the_server():
    c = certificates()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(c["server.pem"], c["server.key"])
    with HttpReceiver(context=context) as server:
        with Exporter("otlp=" + server.url, "ca=" + c["ca.pem"]) as e:
            e.put()
            equal(e.stop()["sent_items"], 1, "sent: " + e.log())
        with Exporter("otlp=" + server.url) as e:
            e.put()
            s = e.stop()
            equal((s["sent_items"], s["stopped"]), (0, 1), "sent to a server without a trusted certificate")
            need("certificate" in s["last_error"], s["last_error"])


# Cameo's own server


def own_server():
    want = sorted(["total", *{n for s in STACKS for n in s}])
    around = START_NS // 10**6 - 60000, START_NS // 10**6 + 60000
    with Server(new_dir()) as server:
        with Exporter("pyroscope=" + server.url) as e:
            e.put(2)
            equal(e.stop()["sent_items"], 1, "sent: " + e.log())
        graph = server.graph(*around, '{service_name="shop",pid="101"}', "process_cpu:samples:count:cpu:nanoseconds")
        equal(sorted(graph["names"]), want, "functions")
        equal(int(graph["total"]), 6, "samples")
    with Server(new_dir()) as server:
        with Exporter("otlp=" + server.url) as e:
            e.put(2)
            equal(e.stop()["sent_items"], 1, "sent: " + e.log())
        graph = server.graph(*around, '{service_name="shop"}')
        equal(sorted(graph["names"]), want, "functions")
        equal(int(graph["total"]), 12 * PERIOD_NS, "time")


def main():
    tap = Tap()
    tap.run("OTLP over gRPC: resources, types, ids, times, threads, kinds of frames, one dictionary", grpc_takes_it)
    tap.run("OTLP over gRPC without compression", grpc_uncompressed)
    tap.run("OTLP over HTTP, compressed and not", http_takes_it)
    tap.run("a path in an OTLP URL is retained", own_path)
    tap.run("a profile too large for one message is split without loss", large_is_cut)
    tap.run("an item is sent again, once, to a gRPC server that was not ready", unavailable_comes_again)
    tap.run("a quota with a retry time is not a rejection", retry_info_is_obeyed)
    tap.run("an item refused by a gRPC server is dropped, with one line in the log", refusals_drop)
    tap.run("a partially accepted request is not sent again", partial_success)
    tap.run("a gRPC server stops and starts again", grpc_away_and_back)
    tap.run("a request to a busy HTTP receiver, or to none, is retried", http_says_wait)
    tap.run("an item refused by an HTTP receiver is dropped", http_refuses)
    tap.run("refused credentials do not drop an item", rotated_token)
    tap.run("several receivers at once, one of which is unreachable", all_sinks_at_once)
    tap.run("a receiver stops, the agent is killed, and both start again", away_then_killed_then_back)
    tap.run("unsent items are on disk at the end", the_end_comes_first)
    tap.run("accepted requests are not on disk", what_was_sent_is_not_on_disk)
    tap.run("a damaged file is set aside, the next is sent", damaged_on_disk)
    tap.run("the spool stays below its limit", disk_is_bounded)
    tap.run("a full disk loses no items that fit in memory", disk_is_full)
    tap.run("files in a directory are complete, readable and limited", files_of_a_directory)
    tap.run("gRPC over TLS with certificates on both sides", grpc_over_tls)
    tap.run("a server's certificate is checked", https_checks_the_server)
    tap.run("Cameo's own server returns the pushed profiles", own_server)
    shutil.rmtree(WORK)
    tap.done()


main()
