#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""grpc_client.py CAMEO: the server as a real gRPC library sees it.

grpcio comes from PyPI into a virtual environment below ~/.cache/cameo, once; without
it the test is skipped.
"""
import gzip
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.request

VENV = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
                    "cameo", "grpc", "venv")
PYTHON = os.path.join(VENV, "bin", "python")


def has_grpc():
    """Re-executes in an interpreter that has grpcio if this one lacks it."""
    try:
        import grpc  # pylint: disable=import-outside-toplevel,unused-import
        return True
    except ImportError:
        pass
    if os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        return False
    try:
        if not os.path.exists(PYTHON):
            subprocess.run([sys.executable, "-m", "venv", VENV], check=True, capture_output=True)
        if subprocess.run([PYTHON, "-c", "import grpc"], capture_output=True).returncode:
            subprocess.run([PYTHON, "-m", "pip", "-q", "install", "grpcio"], check=True,
                           capture_output=True, timeout=120)
    except (OSError, subprocess.SubprocessError):
        return False
    os.execv(PYTHON, [PYTHON] + sys.argv)


if not has_grpc():
    print("1..0 # SKIP grpcio is not available")
    sys.exit(0)

import grpc  # noqa: E402
from serving import (BASE_S, CPU, QUERIER, Replica, Server, check, finish,  # noqa: E402
                     message, pprof)
from ingest import NEW, OLD, otlp, total  # noqa: E402

EXPORT = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
PUSH = "/push.v1.PusherService/Push"


def call(channel, path, body, **how):
    """The bytes of the response, or the name and message of the status."""
    try:
        return channel.unary_unary(path)(body, timeout=30, **how)
    except grpc.RpcError as e:
        return e.code().name, e.details()


def push_body(service, folded, ident):
    labels = {"__name__": "process_cpu", "service_name": service}
    return message((1, message(*[(1, message((1, k), (2, v))) for k, v in labels.items()],
                               (2, message((1, gzip.compress(pprof(folded, BASE_S + 60))),
                                           (2, ident))))))


def check_calls(server, channel):
    check("Export", call(channel, EXPORT, otlp("grpc", NEW)) == b"" and
          total(server, "grpc") == 5 * 10**7)
    check("Export of the format before 1.10", call(channel, EXPORT, otlp("grpc-old", OLD)) == b"" and
          total(server, "grpc-old") == 5 * 10**7)
    check("a compressed Export", call(channel, EXPORT, otlp("grpc-gz", NEW),
                             compression=grpc.Compression.Gzip) == b"" and
          total(server, "grpc-gz") == 5 * 10**7)
    check("Push", call(channel, PUSH, push_body("grpc-push", ["main;a 7"], "x")) == b"" and
          total(server, "grpc-push") == 7 * 10**7)
    query = message((1, CPU), (2, '{service_name="grpc-push"}'), (3, BASE_S * 1000),
                    (4, (BASE_S + 300) * 1000))
    check("a query by gRPC", b"main" in call(channel, QUERIER + "SelectMergeStacktraces", query))


def check_refusals(server, channel):
    check("a request without dictionary is INVALID_ARGUMENT",
          call(channel, EXPORT, b"\x0a\x00")[0] == "INVALID_ARGUMENT")
    check("a malformed pprof is INVALID_ARGUMENT", call(channel, PUSH, message((1, message(
        (1, message((1, "__name__"), (2, "x"))), (2, message((1, b"no pprof")))))))[0] ==
          "INVALID_ARGUMENT")
    check("an invalid selector is INVALID_ARGUMENT", call(
        channel, QUERIER + "SelectMergeStacktraces",
        message((1, CPU), (2, "{x="), (3, 1), (4, 2)))[0] == "INVALID_ARGUMENT")
    check("an unknown method is UNIMPLEMENTED",
          call(channel, QUERIER + "Nothing", b"")[0] == "UNIMPLEMENTED")
    check("an unknown service is UNIMPLEMENTED",
          call(channel, "/nothing.Here/At", b"")[0] == "UNIMPLEMENTED")
    check("a gzip bomb is RESOURCE_EXHAUSTED", call(
        channel, EXPORT, bytes(200 << 20), compression=grpc.Compression.Gzip)[0] ==
          "RESOURCE_EXHAUSTED")
    code, text = call(channel, EXPORT, bytes(65 << 20))
    check("a message too large is RESOURCE_EXHAUSTED", code == "RESOURCE_EXHAUSTED", text)
    check("the connection still works", call(channel, EXPORT, otlp("after", NEW)) == b"" and
          total(server, "after") == 5 * 10**7)


RETRY_INFO = message((1, "type.googleapis.com/google.rpc.RetryInfo"), (2, message((1, message((1, 5))))))


def check_failure_inside(cameo, directory):
    """A file takes the place of the tenant's directory; the details are google.rpc.Status."""
    server = Server(cameo, directory)
    with open(os.path.join(directory, "anonymous"), "wb"):
        pass
    with grpc.insecure_channel(server.url.removeprefix("http://")) as channel:
        for path, body in ((EXPORT, otlp("inside", NEW)), (PUSH, push_body("inside", ["main;a 7"], "y"))):
            try:
                code, details = "OK", channel.unary_unary(path)(body, timeout=30)
            except grpc.RpcError as e:
                code, details = e.code().name, dict(e.trailing_metadata())["grpc-status-details-bin"]
                reason = message((1, 14), (2, e.details()), (3, RETRY_INFO))
            check("%s that fails inside is UNAVAILABLE with RetryInfo" % path.rsplit("/", 1)[1],
                  code == "UNAVAILABLE" and details == reason, (code, details))
    server.stop()


def check_read_only(cameo, directory):
    """PERMISSION_DENIED is a status that clients do not repeat."""
    Server(cameo, directory).stop()
    server = Replica(cameo, directory)
    with grpc.insecure_channel(server.url.removeprefix("http://")) as channel:
        for path, body in ((EXPORT, otlp("inside", NEW)), (PUSH, push_body("inside", ["main;a 7"], "y"))):
            got = call(channel, path, body)
            check("%s to a server that only reads is PERMISSION_DENIED" % path.rsplit("/", 1)[1],
                  got[0] == "PERMISSION_DENIED" and "read-only" in got[1], got)
    server.stop()


def check_many(server, target):
    """64 concurrent calls on one connection and 16 connections, each with a profile of its own."""
    wrong = []

    def client(i):
        with grpc.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            calls = [channel.unary_unary(EXPORT).future(
                otlp("many", NEW, ident=bytes([i, k + 1]) + bytes(14))) for k in range(64)]
            wrong.extend(c.code() for c in calls if c.exception() or c.result() != b"")

    threads = [threading.Thread(target=client, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check("many concurrent calls", not wrong and total(server, "many") == 1024 * 5 * 10**7, wrong)


def check_tls(cameo, directory):
    """With TLS: gRPC and HTTPS on one port, and no plain text."""
    key, cert = os.path.join(directory, "key.pem"), os.path.join(directory, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    server = Server(cameo, os.path.join(directory, "tls"), "--tls-cert", cert, "--tls-key", key)
    target = server.url.removeprefix("https://")
    with open(cert, "rb") as f:
        credentials = grpc.ssl_channel_credentials(f.read())
    with grpc.secure_channel(target, credentials) as channel:
        check("Export by TLS", call(channel, EXPORT, otlp("tls", NEW)) == b"")
        calls = [channel.unary_unary(EXPORT).future(otlp("tls", NEW, ident=bytes([i + 1]) * 16))
                 for i in range(64)]
        check("many calls by TLS", all(c.result() == b"" for c in calls))
        query = message((1, CPU), (2, '{service_name="tls"}'), (3, BASE_S * 1000),
                        (4, (BASE_S + 300) * 1000))
        check("the data is stored", b"main" in call(
            channel, QUERIER + "SelectMergeStacktraces", query))
    with urllib.request.urlopen(server.url + "/ready", timeout=30,
                                context=ssl.create_default_context(cafile=cert)) as rs:
        check("HTTPS on the same port", rs.read() == b"ready")
    with grpc.insecure_channel(target) as channel:
        try:
            channel.unary_unary(EXPORT)(otlp("clear", NEW), timeout=3)
            check("plain text is refused", False)
        except grpc.RpcError as e:
            check("plain text is refused", e.code().name in (
                "UNAVAILABLE", "DEADLINE_EXCEEDED"), e.code())
    server.stop()


def main():
    limits = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    with tempfile.TemporaryDirectory() as directory:
        server = Server(sys.argv[1], directory, "--otlp-listen", "127.0.0.1:0")
        own_port = server.process.stdout.readline().split()[-1].removeprefix("http://")
        target = server.url.removeprefix("http://")
        with grpc.insecure_channel(target, limits) as channel:
            check_calls(server, channel)
            check_refusals(server, channel)
        with grpc.insecure_channel(own_port, limits) as channel:
            check("the separate OTLP port", call(channel, EXPORT, otlp("own", NEW)) == b"" and
                  total(server, "own") == 5 * 10**7)
        check_many(server, target)
        with tempfile.TemporaryDirectory() as inside:
            check_failure_inside(sys.argv[1], inside)
        with tempfile.TemporaryDirectory() as copy:
            check_read_only(sys.argv[1], copy)
        check("SIGTERM stops the server", server.stop() == 0)
        check_tls(sys.argv[1], directory)
    return finish()


sys.exit(main())
