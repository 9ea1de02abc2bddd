#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""answers.py CAMEO: the server's answers mean what they say."""
import json
import os
import signal
import sys
import tempfile

from serving import BASE_S, CPU, DATA, Server, check, finish, message, push

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
                                       **{field: ["0102030405060708"]})
            check("%s refuses %s" % (method, field), status == 501 and
                  got["code"] == "unimplemented" and field in got["message"], (status, got))
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


def main():
    with tempfile.TemporaryDirectory() as directory:
        server = Server(sys.argv[1], os.path.join(directory, "answers"))
        check_empty_otlp(server)
        check_expressions(server)
        check_selectors(server)
        server.stop()
        check_hangup(sys.argv[1], directory)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
