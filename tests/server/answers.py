#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""answers.py CAMEO SERVER_MD LIST_FAILURES: the server's answers mean what they say."""
import base64
import http.client
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from serving import BASE_S, CPU, DATA, PAGE, QUERIER, RANGE, Server, check, finish, message, pprof, push, skip

OTLP = "/v1development/profiles"
EXPORT = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
NO_FRAME = b"\0" * 5  # the frame of an empty gRPC message


def check_empty_otlp(server):
    for kind, body, want in (("application/x-protobuf", b"", b""), ("application/json", b"{}", b"{}"),
                             ("application/x-protobuf", message((2, b"")), b"")):
        got = server.ask(OTLP, body, {"Content-Type": kind})
        check("an OTLP request of %r without profiles succeeds" % body, got == (200, kind, want), got)
    got = server.ask(EXPORT, NO_FRAME, {"Content-Type": "application/grpc"})
    check("so does one over gRPC", got == (200, "application/grpc", NO_FRAME), got)
    status, kind, got = server.ask(OTLP, b"[1]", {"Content-Type": "application/json"})
    check("OTLP in JSON is refused in JSON", (status, kind) == (400, "application/json") and
          json.loads(got)["message"], got)
    check("profiles without a dictionary are still refused",
          server.ask(OTLP, b"\x0a\x00", {"Content-Type": "application/x-protobuf"})[0] == 400)


def check_expressions(server):
    labels = {"service_name": "slow", "path": "a" * 200 + "d1"}
    check("a series with a long label is stored", push(server, labels, BASE_S, ["a 1"], "x")[0] == 200)
    for op in ("=~", "!~"):
        selector = '{service_name="slow",path%s"(a|aa)*(b|c)*d"}' % op
        for method in ("SelectMergeStacktraces", "SelectSeries", "SelectMergeProfile"):
            status, got = server.query(method, profileTypeID=CPU, labelSelector=selector, step=15)
            check("%s fails for an expression with %s beyond the limit of steps" % (method, op),
                  status == 400 and "too expensive" in got["message"], (status, got))
        status, got = server.query("Series", matchers=[selector], labelNames=[])
        check("so does Series with %s" % op, status == 400, (status, got))
    check("other expressions work", server.total('{service_name=~"s.*w"}') == 1)


def check_selectors(server):
    for method in ("SelectMergeStacktraces", "SelectMergeProfile"):
        for field in ("spanSelector", "traceIdSelector"):
            if (method, field) == ("SelectMergeProfile", "spanSelector"):
                continue  # this method has no such field
            status, got = server.query(method, profileTypeID=CPU, labelSelector="{}",
                                       **{field: ["0102030405060708", "0"]})
            check("%s refuses what is not an id in %s" % (method, field), status == 400 and
                  got["code"] == "invalid_argument" and field in got["message"], (status, got))
            status, got = server.query(method, profileTypeID=CPU, labelSelector="{}", **{field: []})
            check("%s accepts an empty %s" % (method, field), status == 200, (status, got))


def check_hangup(cameo, directory):
    path = os.path.join(directory, "stderr")
    with open(path, "w", encoding="ascii") as log:
        server = Server(cameo, os.path.join(directory, "data"), stderr=log)
    labels, time_s, folded = DATA[0]
    for signalled in (1, 2):
        server.process.send_signal(signal.SIGHUP)
        status = push(server, labels, time_s, folded, "x")[0]
        check("a push after SIGHUP %d succeeds" % signalled, status == 200, status)
    check("SIGTERM stops the server", server.stop() == 0)
    with open(path, encoding="utf-8") as log:
        text = log.read()
    check("SIGHUP is logged", "SIGHUP ignored" in text, text)


def check_document(path, list_failures):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    rows = subprocess.run([list_failures], check=True, capture_output=True, text=True).stdout
    missing = [r for r in rows.splitlines() if r + "\n" not in text]
    check("the table of the document is that of the program", rows and not missing, missing)


def request(server, path, body, kind):
    """Status, headers in lower case and body, over HTTP/1.1."""
    where = urllib.parse.urlparse(server.url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    connection.request("POST" if body is not None else "GET", path, body, {"Content-Type": kind})
    answer = connection.getresponse()
    got = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return got


OTLP_PROFILE = {"resourceProfiles": [{"scopeProfiles": [{"profiles": [{
    "sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "time_unix_nano": str(BASE_S * 10**9),
    "samples": [{"stackIndex": 1, "values": ["3"]}]}]}]}],
    "dictionary": {"stringTable": ["", "samples", "count", "main"], "mappingTable": [{}],
                   "locationTable": [{}, {"lines": [{"functionIndex": 1}]}], "linkTable": [{}],
                   "functionTable": [{}, {"nameStrindex": 3}], "attributeTable": [{}],
                   "stackTable": [{}, {"locationIndices": [1]}]}}


def pushes():
    """A push in each protocol: path, body, content type, and the column of its status."""
    labels = [{"name": "__name__", "value": "process_cpu"}, {"name": "service_name", "value": "p"}]
    series = {"labels": labels, "samples": [{"rawProfile": base64.b64encode(pprof(["a 1"], BASE_S)).decode()}]}
    return [("/ingest?name=x&from=%d&until=%d" % (BASE_S, BASE_S + 10), b"main;a 1\n", "text/plain", 0),
            ("/push.v1.PusherService/Push", json.dumps({"series": [series]}).encode(), "application/json", 0),
            (OTLP, json.dumps(OTLP_PROFILE).encode(), "application/json", 1)]


def check_retryable(name, server, http_status, otlp_status, bodies):
    for path, body, kind, column in bodies:
        status, headers, answer = request(server, path, body, kind)
        want = (http_status, otlp_status)[column]
        check("%s: %s is %d with Retry-After" % (name, path.split("?")[0], want), status == want and
              int(headers.get("retry-after", 0)) > 0, (status, headers, answer))
        said = json.loads(answer)
        check("%s: with the reason" % name, said["message"] and said["code"] in ("unavailable", 14), answer)


def first_free(pid):
    """The lowest number without a descriptor, once no connection is being closed any more."""
    used, before = os.listdir("/proc/%d/fd" % pid), None
    while used != before:
        time.sleep(0.2)
        before, used = used, os.listdir("/proc/%d/fd" % pid)
    return min(set(range(len(used) + 1)) - {int(f) for f in used})


def check_last_descriptor(server):
    """A connection that takes the server's last descriptor is kept although it says nothing at first."""
    where = urllib.parse.urlparse(server.url)
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
    connection.connect()
    closed, _, _ = select.select([connection.sock], [], [], 1)
    check("the connection with the last descriptor is kept", not closed)
    if not closed:
        connection.request("GET", "/ready")
        status = connection.getresponse().status
        check("and answered: without descriptors it is not ready", status == 503, status)
    connection.close()
    first_free(server.process.pid)


def check_failures_inside(cameo, directory):
    queries = [(QUERIER + "SelectMergeStacktraces", json.dumps(
        {**RANGE, "profileTypeID": CPU, "labelSelector": "{}"}).encode(), "application/json", 0),
        (PAGE + "Storage", b"{}", "application/json", 0)]
    data = os.path.join(directory, "inside")
    server = Server(cameo, data)
    check("a server that can store is ready", server.ask("/ready")[0] == 200)
    for path, body, kind, _ in pushes():
        got = request(server, path, body, kind)
        check("a push to %s succeeds" % path.split("?")[0], got[0] == 200, got)
    server.stop()
    # A file where the directory of the tenant was.
    os.rename(os.path.join(data, "anonymous"), os.path.join(data, "away"))
    open(os.path.join(data, "anonymous"), "w").close()
    server = Server(cameo, data)
    check_retryable("a directory that cannot be created", server, 503, 503, pushes())
    os.unlink(os.path.join(data, "anonymous"))
    os.rename(os.path.join(data, "away"), os.path.join(data, "anonymous"))
    for path, body, kind, _ in pushes():
        got = request(server, path, body, kind)
        check("a push to %s succeeds again" % path.split("?")[0], got[0] == 200, got)
    server.stop()
    # A limit below the descriptors that SQLite needs: there is one for the connection.
    server = Server(cameo, data)
    limit = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (first_free(server.process.pid) + 1, limit[1]))
    check_last_descriptor(server)
    check_retryable("without descriptors", server, 503, 503, pushes() + queries[:1])
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limit)
    check("with descriptors queries work", server.query(
        "SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}")[0] == 200)
    server.stop()


def check_full_disk(cameo, directory):
    room = os.path.join(directory, "small")
    os.mkdir(room)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "cameo-test", room],
                                      capture_output=True, check=False).returncode:
        skip("a full disk", "cannot mount a file system")
        return
    try:
        server = Server(cameo, room)
        status, headers, _ = request(server, "/ready", None, "")
        check("a server without disk space is not ready", status == 507 and "retry-after" in headers, status)
        with open(os.path.join(room, "rest"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError:
                pass
        check_retryable("a full disk", server, 507, 503, pushes())
        server.stop()
    finally:
        subprocess.run(["umount", "-l", room], check=True)


def check_partial(server):
    good = base64.b64encode(pprof(["a 5"], BASE_S)).decode()
    bad = base64.b64encode(b"no pprof").decode()
    labels = [{"name": "__name__", "value": "process_cpu"}, {"name": "service_name", "value": "partly"}]
    body = {"series": [{"labels": labels, "samples": [{"rawProfile": good, "ID": "1"}, {"rawProfile": bad}]},
                       {"labels": labels[1:], "samples": [{"rawProfile": good, "ID": "2"}]},
                       {"labels": labels, "samples": [{"rawProfile": good, "ID": "3"}]}]}
    status, got = server.rpc("/push.v1.PusherService/Push", body)
    check("a push with bad profiles names them", status == 400 and got["code"] == "invalid_argument" and
          "2 of 4 profiles refused" in got["message"] and "series 0" in got["message"], got)
    check("and stores the others", server.total('{service_name="partly"}') == 10,
          server.total('{service_name="partly"}'))
    broken = json.loads(json.dumps(OTLP_PROFILE))
    scope = broken["resourceProfiles"][0]["scopeProfiles"][0]
    scope["profiles"].append({**scope["profiles"][0], "samples": [{"stackIndex": 77, "values": ["3"]}]})
    scope["profiles"].append({**scope["profiles"][0], "time_unix_nano": str(2**62)})
    status, kind, got = server.ask(OTLP, json.dumps(broken).encode(), {"Content-Type": "application/json"})
    got = json.loads(got).get("partialSuccess", {})
    check("OTLP stores the good profiles of a request and counts the others",
          (status, kind, got.get("rejectedProfiles")) == (200, "application/json", "2") and got["errorMessage"], got)


def otlp(time_ns, duration_ns):
    """A profile of one sample, with its dictionary."""
    types = message((1, 1), (2, 2))
    profile = message((1, types), (2, message((1, 1), (2, [1]))), (3, time_ns), (4, duration_ns), (5, types), (6, 1))
    strings = [(5, s) for s in ("", "samples", "count", "main")]
    dictionary = message((1, ""), (2, ""), (2, message((3, message((1, 1))))), (3, ""), (3, message((1, 3))), (4, ""), *strings,
                         (6, ""), (7, ""), (7, message((1, [1]))))
    return message((1, message((2, message((2, profile))))), (2, dictionary))


def check_times(cameo, directory):
    server = Server(cameo, os.path.join(directory, "times"), "--keep-days", "30")
    now = int(time.time())
    for name, time_s, status in (("older than the retention", now - 31 * 86400, 400),
                                 ("within the retention", now - 29 * 86400, 200),
                                 ("11 minutes in the future", now + 660, 400),
                                 ("9 minutes in the future", now + 540, 200)):
        got = push(server, {"service_name": "t"}, time_s, ["a 1"], name)
        check("a profile %s is %d" % (name, status), got[0] == status, got)
    got = server.ask("/ingest?name=x&from=%d&until=%d" % (now, now - 10), b"a 1\n")
    check("a negative duration is refused", got[0] == 400, got)
    got = server.ask("/ingest?name=x&from=%d&until=%d" % (now - 86400, now + 100 * 366 * 86400), b"a 1\n")
    check("a duration of a century is refused", got[0] == 400, got)
    for name, duration, status in (("10 s", 10 * 10**9, 200), ("2^63 ns", 2**63, 400), ("2^64 - 1 ns", 2**64 - 1, 400)):
        got = server.ask("/v1development/profiles", otlp(now * 10**9, duration), {"Content-Type": "application/x-protobuf"})
        check("OTLP: a duration of %s is %d" % (name, status), got[0] == status, got)
    server.stop()


def check_empty(server):
    for kind, selector, want in ((CPU, '{service_name="nobody"}', "no-matching-profile"),
                                 ("nothing:a:b:c:d", "{}", "unknown-profile-type"), (CPU, "{}", None)):
        for method in ("SelectMergeStacktraces", "SelectMergeProfile", "SelectSeries"):
            body = {**RANGE, "profileTypeID": kind, "labelSelector": selector, "step": 15}
            status, headers, _ = request(server, QUERIER + method, json.dumps(body).encode(), "application/json")
            check("%s of %s%s: %s" % (method, kind.split(":")[0], selector, want),
                  (status, headers.get("x-cameo-empty")) == (200, want), headers)


def main():
    cameo = sys.argv[1]
    if len(sys.argv) > 3:
        check_document(*sys.argv[2:4])
    with tempfile.TemporaryDirectory() as directory:
        server = Server(cameo, os.path.join(directory, "answers"))
        check_empty_otlp(server)
        check_expressions(server)
        check_selectors(server)
        check_partial(server)
        check_empty(server)
        server.stop()
        check_times(cameo, directory)
        check_failures_inside(cameo, directory)
        check_full_disk(cameo, directory)
        check_hangup(cameo, directory)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
