#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symbolize.py CAMEO: frames without symbols are symbolized from the files of this machine."""
import functools
import http.server
import os
import subprocess
import sys
import tempfile
import threading

from ingest import attribute, fixed64
from serving import BASE_S, CPU, QUERIER, Server, check, finish, message, skip

SOURCE = """
__attribute__((noinline)) int outer_function(int a) { return a * 3 + 1; }
int main(int argc, char **argv) { return outer_function(argc); }
"""
START = 0x7f0000400000


def build(directory):
    """The path of a program, its build id, and the file offset of outer_function."""
    source, program = os.path.join(directory, "p.c"), os.path.join(directory, "program")
    with open(source, "w") as f:
        f.write(SOURCE)
    cc = os.environ.get("CC", "cc").split()
    subprocess.run([*cc, "-g", "-O1", "-Wl,--build-id=sha1", source, "-o", program], check=True)
    notes = subprocess.run(["readelf", "-nW", program], check=True, capture_output=True, text=True)
    ident = notes.stdout.split("Build ID:")[1].split()[0]
    symbols = subprocess.run(["readelf", "-sW", program], check=True, capture_output=True, text=True)
    vaddr = next(int(line.split()[1], 16) for line in symbols.stdout.splitlines()
                 if line.endswith(" outer_function"))
    headers = subprocess.run(["readelf", "-lW", program], check=True, capture_output=True, text=True)
    for line in headers.stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"]:
            offset, start, size = (int(w, 16) for w in (words[1], words[2], words[4]))
            if start <= vaddr < start + size:
                return program, ident, vaddr - start + offset
    raise ValueError("no segment")


def unnamed(path, ident, offset):
    """A pprof with one location, whose mapping begins at the file's first page."""
    strings = ["", "samples", "count", "cpu", "nanoseconds", path, ident]
    return message(
        (1, message((1, 3), (2, 4))), (2, message((1, [1]), (2, [10**7]))),
        (3, message((1, 1), (2, START), (3, START + (1 << 20)), (5, 5), (6, 6))),
        (4, message((1, 1), (2, 1), (3, START + offset + 1))), *[(6, s) for s in strings],
        (9, BASE_S * 10**9), (11, message((1, 3), (2, 4))), (12, 10**7))


def push(server, service, raw):
    labels = {"__name__": "process_cpu", "service_name": service}
    return server.ask("/push.v1.PusherService/Push", message((1, message(
        *[(1, message((1, k), (2, v))) for k, v in labels.items()], (2, message((1, raw)))))),
        {"Content-Type": "application/proto"})[0]


def otlp(path, ident, offset):
    """A request with the same location in the form of OpenTelemetry's profiler."""
    strings = ["", "samples", "count", "cpu", "nanoseconds", path,
               "process.executable.build_id.gnu", "profile.frame.type", "native"]
    dictionary = message(
        (1, b""), (1, message((1, START), (2, START + (1 << 20)), (4, 5), (5, [1]))),
        (2, b""), (2, message((1, 1), (2, START + offset + 1), (4, [2]))), (3, b""), (4, b""),
        *[(5, s) for s in strings], (6, b""), (6, message((1, 6), (2, message((1, ident))))),
        (6, message((1, 7), (2, message((1, "native"))))), (7, b""), (7, message((1, [1]))))
    profile = message((1, message((1, 1), (2, 2))), (2, message((1, 1), (4, [1])))) + \
        fixed64(3, BASE_S * 10**9) + message((5, message((1, 3), (2, 4))), (6, 10**7))
    resource = message((1, attribute("service.name", "otlp")))
    return message((1, message((1, resource), (2, message((2, profile))))), (2, dictionary))


def names(server, service):
    _, answer = server.query("SelectMergeStacktraces", profileTypeID=CPU,
                             labelSelector='{service_name="%s"}' % service)
    return answer["flamegraph"]["names"]


def check_debuginfod(cameo, directory, path, ident, offset):
    """The program is gone, but a debuginfod server has its debug file."""
    place = os.path.join(directory, "www", "buildid", ident)
    os.makedirs(place)
    subprocess.run(["objcopy", "--only-keep-debug", path, os.path.join(place, "debuginfo")],
                   check=True)
    os.unlink(path)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                                directory=os.path.join(directory, "www"))
    handler.log_message = lambda *args: None
    www = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=www.serve_forever, daemon=True).start()
    server = Server(cameo, os.path.join(directory, "fetched"), "--debuginfod",
                    "http://127.0.0.1:%d" % www.server_port)
    push(server, "fetched", unnamed(path, ident, offset))
    check("a debug file from debuginfod symbolizes a missing program",
          "outer_function" in names(server, "fetched"), names(server, "fetched"))
    server.stop()
    www.shutdown()


def main():
    with tempfile.TemporaryDirectory() as directory:
        try:
            path, ident, offset = build(directory)
        except (OSError, subprocess.CalledProcessError) as e:
            skip("places are named", e)
            return finish()
        server = Server(sys.argv[1], os.path.join(directory, "data"))
        push(server, "pprof", unnamed(path, ident, offset))
        check("a location of a pprof is symbolized", "outer_function" in names(server, "pprof"),
              names(server, "pprof"))
        status = server.ask("/v1development/profiles", otlp(path, ident, offset),
                            {"Content-Type": "application/x-protobuf"})[0]
        check("so is one of OTLP", status == 200 and "outer_function" in names(server, "otlp"),
              names(server, "otlp"))
        push(server, "other", unnamed(path, "00" * 20, offset))
        check("a file with another build id is not used",
              names(server, "other") == ["total", "[program+0x%x]" % (offset + 1)],
              names(server, "other"))
        for bad in ("", "zz", "00", "ab" * 80):
            push(server, "bad", unnamed(path, bad, offset))
        push(server, "bad", unnamed("../../etc/passwd", ident[::-1], offset))
        check("malformed build ids do no harm", len(names(server, "bad")) >= 2)
        server.stop()
        check_debuginfod(sys.argv[1], directory, path, ident, offset)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
