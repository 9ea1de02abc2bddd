#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ingest.py CAMEO [EXAMPLES]: profiles that a real server accepts and rejects.

/ingest in all its formats and OTLP over HTTP, written by hand; with a directory of
recorded examples these are replayed too.
"""
import base64
import gzip
import json
import os
import struct
import sys
import tempfile
import urllib.parse

from contract import same
from serving import BASE_S, QUERIER, Server, check, finish, leave_out, message, pprof, skip, varint

AT = "from=%d&until=%d" % (BASE_S + 60, BASE_S + 70)
WIDE = {"start": BASE_S * 1000, "end": (BASE_S + 300) * 1000}


def total(server, service, kind="process_cpu:cpu:nanoseconds:cpu:nanoseconds"):
    _, answer = server.rpc(QUERIER + "SelectMergeStacktraces", {
        **WIDE, "profileTypeID": kind, "labelSelector": '{service_name="%s"}' % service})
    return int(answer.get("flamegraph", {}).get("total", 0))


def names(server, service, kind="process_cpu:cpu:nanoseconds:cpu:nanoseconds"):
    _, answer = server.rpc(QUERIER + "SelectMergeStacktraces", {
        **WIDE, "profileTypeID": kind, "labelSelector": '{service_name="%s"}' % service})
    return sorted(answer.get("flamegraph", {}).get("names", []))


def ingest(server, name, body, args="", headers=None):
    return server.ask("/ingest?name=%s&%s%s" % (urllib.parse.quote(name), AT, args), body,
                      headers)[0]


def node(name, own, *children):
    """A node of a serialized trie or tree."""
    name = name.encode()
    return varint(len(name)) + name + varint(own) + varint(len(children)) + b"".join(children)


def form(**parts):
    out = b""
    for name, data in parts.items():
        out += (b'--XX\r\nContent-Disposition: form-data; name="%s"; filename="x"\r\n'
                b"Content-Type: application/octet-stream\r\n\r\n" % name.encode() + data + b"\r\n")
    return out + b"--XX--\r\n", {"Content-Type": "multipart/form-data; boundary=XX"}


def check_ingest(server):
    folded = b"main;a;b 3\nmain;a 2\nno count\n\n"
    check("folded", ingest(server, "f", folded) == 200 and total(server, "f") == 5 * 10**7)
    check("groups with a rate", ingest(server, "g.cpu", folded, "&format=groups&sampleRate=10") ==
          200 and total(server, "g") == 5 * 10**8)
    check("lines", ingest(server, "l", b"main;a\nmain;a\nmain;b", "&format=lines") == 200 and
          total(server, "l") == 3 * 10**7)
    check("units of time are converted", ingest(
        server, "u", b"a 7\n", "&units=microseconds") == 200 and total(server, "u") == 7000)
    check("bytes", ingest(server, "m.inuse_space", b"main 4096\n") == 200 and
          total(server, "m", "memory:inuse_space:bytes::") == 4096)
    check("contentions", ingest(server, "x.mutex_count", b"main 4\n") == 200 and
          total(server, "x", "mutex:contentions:count::") == 4)
    trie = node("", 0, node("main;", 0, node("a", 2, node(";deep", 1)), node("b", 4)))
    check("trie", ingest(server, "trie", trie, "&format=trie") == 200 and
          total(server, "trie") == 7 * 10**7 and
          names(server, "trie") == ["a", "b", "deep", "main", "total"], names(server, "trie"))
    tree = node("", 0, node("main", 1, node("a b", 2, node("deep", 1)), node("b", 4)))
    check("tree", ingest(server, "tree", tree, "&format=tree") == 200 and
          total(server, "tree") == 8 * 10**7 and
          names(server, "tree") == ["a b", "b", "deep", "main", "total"], names(server, "tree"))
    check("a truncated tree is 422", ingest(server, "bad", tree[:-1], "&format=tree") == 422)
    check("a tree with too large lengths is 422",
          ingest(server, "bad", node("", 0) [:-1] + varint(2**60), "&format=tree") == 422)
    speedscope = json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "main"}, {"name": "work"}]},
        "profiles": [{"type": "sampled", "name": "x", "unit": "milliseconds", "startValue": 0,
                      "endValue": 5, "samples": [[0, 1], [0]], "weights": [3, 2]}]}).encode()
    check("speedscope in time", ingest(server, "ss", speedscope, "&format=speedscope") == 200 and
          total(server, "ss") == 5 * 10**6, total(server, "ss"))
    body, headers = form(profile=gzip.compress(pprof(["main;a 3", "main;b 4"], BASE_S + 60)))
    check("multipart pprof", ingest(server, "mp", body, headers=headers) == 200 and
          total(server, "mp") == 7 * 10**7)
    body, headers = form(profile=pprof(["main;a 3"], 0), sample_type_config=json.dumps({
        "samples": {"display-name": "inuse_space"}, "cpu": {
            "units": "bytes", "display-name": "inuse_space", "sampled": True}}).encode())
    check("sample_type_config chooses the name only", ingest(server, "cfg", body, headers=headers) == 200 and
          total(server, "cfg", "memory:cpu:nanoseconds:cpu:nanoseconds") == 3 * 10**7)
    check("wall time has the period of CPU time", ingest(server, "w.wall", b"a 3\n") == 200 and
          total(server, "w", "wall:wall:nanoseconds:cpu:nanoseconds") == 3 * 10**7)
    body, headers = form(profile=pprof(["main;a 3"], 1))
    check("a pprof with a time in 1970 is one of the arguments' time", ingest(server, "early", body, headers=headers) == 200 and
          total(server, "early") == 3 * 10**7)
    body, headers = form(profile=pprof(["main;a 3"], 0), prev_profile=pprof(["main;a 1"], 0))
    check("cumulative profiles are 422", ingest(server, "bad", body, headers=headers) == 422)
    body, headers = form(other=b"x")
    check("a form without a profile is 422", ingest(server, "bad", body, headers=headers) == 422)
    check("a form that ends early is 422", ingest(server, "bad", body[:-9], headers=headers) == 422)
    check("now-1h is a time", server.ask("/ingest?name=ago&from=now-1h&until=now",
                                         b"a 1\n")[0] == 200)
    check("an unknown format is 400", ingest(server, "bad", b"x", "&format=nothing") == 400)
    check("nothing of the rejected data is stored", total(server, "bad") == 0)


# OTLP, by hand: strings, then what refers to them.
STRINGS = ["", "samples", "count", "cpu", "nanoseconds", "main", "work", "thread.name",
           "worker-1", "service.name", "by-reference", "off_cpu", "thread.id"]


def dictionary():
    return message(
        (1, b""), (2, b""), (2, message((3, message((1, 1))))), (2, message((3, message((1, 2))))),
        (3, b""), (3, message((1, 5))), (3, message((1, 6))), (4, b""),
        *[(5, s) for s in STRINGS],
        (6, b""), (6, message((1, 7), (2, message((1, "worker-1"))))),
        *[(6, message((1, 12), (2, message((3, tid))))) for tid in (7, 8)],
        (7, b""), (7, message((1, [2, 1]))), (7, message((1, [1]))))


def fixed64(key, *values):
    return varint(key << 3 | 1) + struct.pack("<Q", *values)


def attribute(key, text):
    return message((1, key), (2, message((1, text))))


def otlp(service, samples, kind=(1, 2), period=10**7, time_s=BASE_S + 60, ident=b""):
    body = b"".join(message((2, s)) for s in samples)
    profile = message((1, message((1, kind[0]), (2, kind[1])))) + body + \
        fixed64(3, time_s * 10**9) + message((4, 10**10))
    if period:
        profile += message((5, message((1, 3), (2, 4))), (6, period))
    if ident:
        profile += message((7, ident))
    resource = message((1, service if isinstance(service, bytes) else
                        attribute("service.name", service)),
                       (1, attribute("host.name", "n1")),
                       (1, message((1, "process.pid"), (2, message((3, 42))))))
    return message((1, message((1, resource), (2, message((2, profile))))), (2, dictionary()))


NEW = [message((1, 1), (2, [1]), (4, [3])), message((1, 2), (4, [2]))]
OLD = [message((1, 1), (2, [3]), (3, [1])), message((1, 2), (2, [2]))]


def export(server, body, kind="application/x-protobuf", **headers):
    headers = {k.replace("_", "-"): v for k, v in headers.items()}
    return server.ask("/v1development/profiles", body, {"Content-Type": kind, **headers})


def series(server, service):
    _, _, answer = server.ask(QUERIER + "Series", json.dumps({
        **WIDE, "matchers": ['{service_name="%s"}' % service], "labelNames": []}).encode(),
        {"Content-Type": "application/json", "Accept": "*/*; allow-utf8-labelnames=true"})
    return [{l["name"]: l["value"] for l in s["labels"]}
            for s in json.loads(answer).get("labelsSet", [])]


def check_otlp(server):
    status, kind, answer = export(server, otlp("new", NEW))
    check("OTLP in its current format", (status, kind, answer) == (200, "application/x-protobuf", b"") and
          total(server, "new") == 5 * 10**7, total(server, "new"))
    check("OTLP before 1.10", export(server, otlp("old", OLD))[0] == 200 and
          total(server, "old") == 5 * 10**7, total(server, "old"))
    check("compressed", export(server, gzip.compress(otlp("packed", NEW)), "application/protobuf",
                               Content_Encoding="gzip")[0] == 200 and
          total(server, "packed") == 5 * 10**7)
    by_reference = message((3, 9), (2, message((8, 10))))
    check("keys and values by reference", export(server, otlp(by_reference, NEW))[0] == 200 and
          total(server, "by-reference") == 5 * 10**7)
    times = [message((1, 1)) + varint(5 << 3 | 2) + varint(16) + struct.pack("<QQ", 1, 2)]
    check("times alone count one each", export(server, otlp("times", times))[0] == 200 and
          total(server, "times") == 2 * 10**7)
    off = [message((1, 1), (4, [5]))]
    check("off-CPU keeps its name", export(server, otlp("off", off, (11, 4), 0))[0] == 200 and
          total(server, "off", "off_cpu:off_cpu:nanoseconds::") == 5)
    for _ in range(2):
        export(server, otlp("twice", NEW, ident=bytes(range(16))))
    check("a profile sent twice counts once", total(server, "twice") == 5 * 10**7)
    many = otlp("one", NEW) + otlp("two", NEW)[:-len(message((2, dictionary())))]
    check("several resources", export(server, many)[0] == 200 and
          (total(server, "one"), total(server, "two")) == (5 * 10**7, 5 * 10**7))
    labels = {k: {s.get(k, "") for s in series(server, "new")}
              for k in ("host.name", "process.pid", "thread.name", "__otel__", "__name__")}
    check("attributes are labels", labels == {
        "host.name": {"n1"}, "process.pid": {"42"}, "thread.name": {"worker-1", ""},
        "__otel__": {"true"}, "__name__": {"process_cpu"}}, labels)
    nameless = message((1, "process.executable.name"), (2, message((1, "nginx"))))
    check("a service without a name has its program's", export(
        server, otlp(nameless, NEW))[0] == 200 and
        total(server, "unknown_service:nginx") == 5 * 10**7)
    as_json = {"resourceProfiles": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "json"}}]},
        "scopeProfiles": [{"profiles": [{
            "sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "periodType": {
                "typeStrindex": 3, "unitStrindex": 4}, "period": "10000000",
            "time_unix_nano": str((BASE_S + 60) * 10**9), "unknown": [1, {"x": None}],
            "profileId": "000102030405060708090a0b0c0d0e0f", "attributeIndices": [],
            "samples": [{"stackIndex": 1, "values": ["3"], "attributeIndices": [1]},
                        {"stack_index": 2, "values": [2]}]}]}]}],
        "dictionary": {"mappingTable": [{}], "locationTable": [{}, {"lines": [{
            "functionIndex": 1}]}, {"lines": [{"functionIndex": 2, "line": "7"}]}],
            "functionTable": [{}, {"nameStrindex": 5}, {"nameStrindex": 6}],
            "stringTable": STRINGS, "attributeTable": [{}, {"keyStrindex": 7, "value": {
                "stringValue": "worker-1"}}],
            "stackTable": [{}, {"locationIndices": [2, 1]}, {"locationIndices": [1]}]}}
    status, _, answer = export(server, json.dumps(as_json).encode(), "application/json")
    check("JSON", (status, answer) == (200, b"{}") and total(server, "json") == 5 * 10**7, answer)
    for name, body, kind, want in (
            ("rubbish", b"\xff\xff", "application/x-protobuf", 400),
            ("no dictionary", b"\x0a\x00", "application/x-protobuf", 400),
            ("JSON of something else", b"[1]", "application/json", 400),
            ("truncated JSON", b'{"resourceProfiles":[{', "application/json", 400),
            ("an unknown content type", otlp("bad", NEW), "text/plain", 415),
            ("a stack that does not exist", otlp("bad", [message((1, 9), (4, [1]))]),
             "application/x-protobuf", 400),
            ("a value times the period beyond 64 bits", otlp(
                "bad", [message((1, 1), (4, [2**62]))]), "application/x-protobuf", 422)):
        status, got, answer = export(server, body, kind)
        check("OTLP: %s is refused in the type of the request" % name, status == want and
              got.startswith(kind), (status, got, answer))
    bomb = gzip.compress(b"\0" * (300 << 20), 9)
    check("OTLP: a bomb is refused", export(server, bomb, Content_Encoding="gzip")[0] == 413)
    check("OTLP: not gzip is refused", export(server, b"x", Content_Encoding="gzip")[0] == 400)
    check("OTLP: GET is refused", server.ask("/v1development/profiles")[0] == 405)
    check("OTLP: an empty request is 200", export(server, b"")[0] == 200 and
          server.ask("/v1/profiles", b"")[0] == 404)
    check("rejected requests stored nothing", total(server, "bad") == 0)


# Recorded responses that Cameo does not copy.
NOT_COPIED = {
    "OTLP HTTP without dictionary": 400,
    "OTLP HTTP empty": 200,
}


def recorded_body(case, before):
    body = case["request"].get("body", "")
    if body == "same":
        return before
    if isinstance(body, str):
        return body.encode()
    if "hex" in body:
        return bytes.fromhex(body["hex"])
    if "base64" in body:
        return base64.b64decode(body["base64"])
    return json.dumps(body).encode()


def replay(server, examples, file):
    before = b""
    for case in json.load(open(os.path.join(examples, file))):
        rq = case.get("request", {})
        path, name = rq.get("path", ""), "%s: %s" % (file, case["name"])
        if path.startswith("Q/") or not path or rq.get("protocol"):
            continue
        body = recorded_body(case, before)
        headers = dict(rq.get("headers", {}))
        if "multipart" in headers.get("Content-Type", ""):
            leave_out(name, "the recorded body is not whole")
            continue
        if "/push.v1" in path:
            is_json = "base64" not in rq["body"]
            headers["Content-Type"] = "application/json" if is_json else "application/proto"
        elif path.startswith("/v1") and body[:1] == b"{":
            headers["Content-Type"] = "application/json"
        before = body
        want = NOT_COPIED.get(case["name"], case["response"]["status"])
        status, _, answer = server.ask(path, None if rq.get("method") == "GET" else body, headers)
        check(name, status == want, "%s: %s" % (status, answer))


def check_recorded(server, examples):
    for file in ("push.json", "ingest.json", "otlp.json"):
        replay(server, examples, file)
    check("recorded OTLP arrived", total(server, "otlp-app") == 5 * 10**7)
    check("recorded folded arrived", total(server, "ing-folded") == 5 * 10**7)
    check("recorded pushes arrived", total(server, "shop") == 21 * 10**7)
    flame = [c for c in json.load(open(os.path.join(examples, "ingest.json")))
             if c["request"]["path"].startswith("Q/Select")]
    for case in flame:
        _, answer = server.rpc(QUERIER + "SelectMergeStacktraces", case["request"]["body"])
        check(case["name"], same(case["response"]["body"], answer), answer)


def main():
    examples = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory() as directory:
        server = Server(sys.argv[1], directory)
        check_ingest(server)
        check_otlp(server)
        if os.path.isdir(examples):
            check_recorded(server, examples)
        else:
            skip("recorded examples", "this machine has no recorded examples")
        check("SIGTERM stops the server", server.stop() == 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
