#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fields.py CAMEO: each field of each request changes the answer or is refused; no field is ignored in silence.

The tables follow Pyroscope's querier.proto and push.proto. Each case is sent as JSON and as protobuf.
"""
import json
import os
import struct
import sys
import tempfile
import urllib.error
import urllib.request

from serving import BASE_S, CPU, DATA, PAGE, QUERIER, RANGE, Server, check, finish, message, pprof, push, varint

START, END = RANGE["start"], RANGE["end"]
MIDDLE = BASE_S * 1000 + 7000
SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"
SHOP = '{service_name="shop"}'
SAME, CHANGES = "the same", "another"

# A nested message: its JSON and its protobuf.
SITE = ({"callSite": [{"name": "main"}, {"name": "gc"}]}, message((1, message((1, "main"))), (1, message((1, "gc")))))
PGO = ({"goPgo": {"keepLocations": 5, "aggregateCallees": True}}, message((2, message((1, 5), (2, 1)))))
ASYNC = ({"type": "ASYNC_QUERY_TYPE_FORCE"}, message((2, 1)))
ASYNC_ID = ({"requestId": "a"}, message((1, "a")))
NOT_ASYNC = ({"type": 0}, b"")
LEFT = {1: CPU, 2: SHOP, 3: START, 4: END}


def query_fields(first=3):
    return {1: ("profileTypeID", [(CPU, SAME), (SAMPLES, CHANGES), ("a", 400), ("", 400)]),
            2: ("labelSelector", [('{service_name="mail"}', CHANGES), ("{", 400)]),
            **range_fields(first)}


def range_fields(first):
    return {first: ("start", [(MIDDLE, CHANGES), (END + 1, 400), (-5, 400)]),
            first + 1: ("end", [(MIDDLE, CHANGES), (START - 1, 400)])}


MAX_NODES = ("maxNodes", [(2, CHANGES), (-1, 400), (1 << 21, 400)])
FORMATS = ("format", [(1, SAME), (2, CHANGES), (4, CHANGES), (3, 501), (5, 501), (-1, 501)])
SPANS = ("spanSelector", [(["0102030405060708"], CHANGES), (["01"], 400), (["0102030405060708"] * 1025, 400)])
TRACES = ("traceIdSelector", [(["0102030405060708090a0b0c0d0e0f10"], CHANGES), (["0102030405060708"], 400)])
IDS = ("profileIdSelector", [(["id-0"], CHANGES), (["x"] * 1025, 400)])
SELECTOR = ("stackTraceSelector", [(SITE, CHANGES), (PGO, 501)])
EXEMPLARS = ("exemplarType", [(1, SAME), (2, 501), (3, 501)])
GROUP = ("groupBy", [(["instance"], CHANGES), (["x"] * 65, 400)])
LIMIT = ("limit", [(1, CHANGES), (-1, 400)])

STACKS = {**query_fields(), 5: MAX_NODES, 6: FORMATS, 7: SELECTOR, 8: IDS,
          9: ("async", [(ASYNC, 501), (ASYNC_ID, 501), (NOT_ASYNC, SAME)]), 10: TRACES, 11: SPANS,
          100: ("groupBy", [(["instance"], 400)])}

# Method: the request that is changed, by field numbers; and its fields.
REQUESTS = {
    "ProfileTypes": ({1: START, 2: END}, {1: ("start", [(END - 1, CHANGES), (END + 1, 400)]), 2: ("end", [(START + 1, CHANGES)])}),
    "LabelNames": ({2: START, 3: END}, {1: ("matchers", [(['{rack="1"}'], CHANGES), (["{"], 400), (["{}"] * 65, 400)]),
                                        2: ("start", [(END - 1, CHANGES), (END + 1, 400)]), 3: ("end", [(START + 1, CHANGES)])}),
    "LabelValues": ({1: "instance", 3: START, 4: END},
                    {1: ("name", [("region", CHANGES), ("", 400)]),
                     2: ("matchers", [(['{instance="a"}'], CHANGES), (["{"], 400)]), **range_fields(3)}),
    "Series": ({3: START, 4: END}, {1: ("matchers", [(['{instance="a"}'], CHANGES), (["{"], 400)]),
                                    2: ("labelNames", [(["instance"], CHANGES), (["x"] * 65, 400)]), **range_fields(3)}),
    "SelectMergeStacktraces": ({1: CPU, 2: SHOP, 3: START, 4: END}, STACKS),
    "SelectMergeSpanProfile": ({1: CPU, 2: SHOP, 4: START, 5: END},
                               {**query_fields(4), 3: SPANS, 6: MAX_NODES,
                                7: ("format", [(1, SAME), (2, CHANGES), (3, 501), (4, 501)])}),
    "SelectMergeProfile": ({1: CPU, 2: SHOP, 3: START, 4: END},
                           # a pprof is never cut, so a limit has nothing to change
                           {**query_fields(), 5: ("maxNodes", [(2, SAME), (-1, 400)]), 6: SELECTOR, 7: IDS, 8: TRACES,
                            100: ("groupBy", [(["instance"], CHANGES), (["a", "b"], 400)])}),
    "SelectSeries": ({1: CPU, 2: SHOP, 3: START, 4: END, 5: ["region"], 6: 45.0},
                     {**query_fields(), 5: GROUP, 6: ("step", [(15.0, CHANGES), (0.0, 400), (-1.0, 400)]),
                      7: ("aggregation", [(1, CHANGES), (2, 400), (-1, 400)]), 8: SELECTOR, 9: LIMIT, 10: EXEMPLARS}),
    "SelectHeatmap": ({1: CPU, 2: SHOP, 3: START, 4: END, 5: 15.0, 6: ["region"]},
                      {**query_fields(), 5: ("step", [(30.0, CHANGES), (0.0, 400)]), 6: GROUP,
                       7: ("queryType", [(1, SAME), (2, 501), (3, 400), (-1, 400)]), 8: EXEMPLARS, 9: LIMIT}),
}


def encode(fields):
    """The protobuf of {number: value}."""
    out = b""
    for number, v in sorted(fields.items()):
        if isinstance(v, float):
            out += varint(number << 3 | 1) + struct.pack("<d", v)
            continue
        if isinstance(v, tuple):
            v = v[1]
        out += message(*[(number, x) for x in (v if isinstance(v, list) else [v])])
    return out


def named(fields, table):
    """The JSON object of {number: value}."""
    return {table[n][0]: v[0] if isinstance(v, tuple) else v for n, v in fields.items()}


def ask(server, path, body, kind):
    """Status, body, and the fields that the server reports as ignored."""
    rq = urllib.request.Request(server.url + path, data=body, headers={"Content-Type": "application/" + kind})
    try:
        with urllib.request.urlopen(rq, timeout=30) as rs:
            return rs.status, rs.read(), rs.headers.get("X-Cameo-Ignored")
    except urllib.error.HTTPError as e:
        return e.code, e.read(), e.headers.get("X-Cameo-Ignored")


def both(server, method, fields, table):
    return {"json": ask(server, QUERIER + method, json.dumps(named(fields, table)).encode(), "json"),
            "proto": ask(server, QUERIER + method, encode(fields), "proto")}


def is_expected(want, got, normal):
    if isinstance(want, int):
        return got[0] == want
    return got[0] == 200 and not got[2] and (got[1] == normal[1]) == (want == SAME)


def check_method(server, method, base, table):
    normal = both(server, method, base, table)
    check("%s: the request without further fields" % method,
          all(n[0] == 200 and n[1] not in (b"", b"{}") and not n[2] for n in normal.values()), normal)
    for number, (name, cases) in table.items():
        for value, want in cases:
            got = both(server, method, {**base, number: value}, table)
            what = str(value[0] if isinstance(value, tuple) else value)[:40]
            check("%s, %s %s: %s" % (method, name, what, "%s answer" % want if isinstance(want, str) else "status %d" % want),
                  all(is_expected(want, got[kind], normal[kind]) for kind in got), got)


def check_diff(server):
    """Both sides have the fields of SelectMergeStacktraces, but the answer is always a flame graph."""
    def diff(side, fields):
        sides = {k: {**LEFT, **(fields if k == side else {})} for k in ("left", "right")}
        return {"json": ask(server, QUERIER + "Diff", json.dumps({k: named(v, STACKS) for k, v in sides.items()}).encode(),
                            "json"),
                "proto": ask(server, QUERIER + "Diff", message((1, encode(sides["left"])), (2, encode(sides["right"]))), "proto")}

    normal = diff("left", {})
    for side in ("left", "right"):
        for number, (name, cases) in STACKS.items():
            for value, want in cases:
                # types must be equal, so one side's alone cannot change
                want = 400 if (number, want) == (1, CHANGES) else 501 if (number, want) == (6, CHANGES) else want
                got = diff(side, {number: value})
                what = str(value[0] if isinstance(value, tuple) else value)[:40]
                check("Diff, %s of %s %s: %s" % (name, side, what, want),
                      all(is_expected(want, got[kind], normal[kind]) for kind in got), got)


def check_unknown(server):
    for method, (base, table) in REQUESTS.items():
        got = ask(server, QUERIER + method, json.dumps({**named(base, table), "nosuchField": 1, "b\r\nX: y": [{}]}).encode(), "json")
        check("%s reports unknown fields" % method, got[0] == 200 and got[2] == "nosuchField,b__X__y", got)
        got = ask(server, QUERIER + method, encode(base) + message((77, 1), (77, 2), (78, "x")), "proto")
        check("and unknown numbers", got[0] == 200 and got[2] == "77,78", got)
    many = {"field%d" % i: 1 for i in range(1000)}
    got = ask(server, QUERIER + "GetProfileStats", json.dumps(many).encode(), "json")
    check("a thousand of them are reported in part", got[0] == 200 and got[2].endswith(",...") and len(got[2]) < 128, got)
    got = ask(server, QUERIER + "GetProfileStats", json.dumps({"x" * 5000: 1, "": 2}).encode(), "json")
    check("so are long ones", got[0] == 200 and got[2] == "...", got)


def page_query(*more):
    return {"profileTypeID": [(SAMPLES, CHANGES), ("a", 400)], "labelSelector": [('{service_name="mail"}', CHANGES), ("{", 400)],
            "start": [(END + 1, 400), (-5, 400)], "end": [(START - 1, 400)], **dict(more)}


LEFT_QUERY = {"profileTypeID": CPU, "labelSelector": SHOP, "start": START, "end": END}
EARLIER = {**LEFT_QUERY, "end": MIDDLE}
PAGE_LIMIT = ("limit", [(1, CHANGES), (-1, 400), (100001, 400)])
PAGE_NODES = ("maxNodes", [(2, CHANGES), (-1, 400), (1 << 21, 400)])
ONE_SIDE = [(EARLIER, CHANGES), ({**LEFT_QUERY, "callSite": ["main"]}, 400), ({**LEFT_QUERY, "limit": 1}, 400), ({}, 400)]
PAIR = {"left": ONE_SIDE, "right": ONE_SIDE}
SAME_PAIR = {"left": LEFT_QUERY, "right": LEFT_QUERY}
# Profiles without sample times: a thread's number changes nothing, so only its check shows that it is read.
THREAD = [("pid", [(-1, 400)]), ("tid", [(-1, 400)])]

# Method of the page: the request that is changed, and its fields; it refuses those of all others.
PAGE_REQUESTS = {
    "Tree": (LEFT_QUERY, page_query(("callSite", [(["main", "gc"], CHANGES)]), ("label", [("region", CHANGES)]), PAGE_NODES)),
    "Diff": (SAME_PAIR, {**PAIR, **dict([PAGE_NODES])}),
    "Functions": (LEFT_QUERY, page_query(("sort", [("total", CHANGES), ("name", 400)]), ("search", [("lock", CHANGES)]), PAGE_LIMIT)),
    "Sandwich": ({**LEFT_QUERY, "function": {"name": "serve"}},
                 # no function of mail has the name
                 {**page_query(("function", [({"name": "main"}, CHANGES), ({"name": "serve", "file": "x"}, 400)]), PAGE_NODES),
                  "labelSelector": [('{service_name="mail"}', 404), ("{", 400)]}),
    "Movers": ({"left": EARLIER, "right": LEFT_QUERY},
               {**PAIR, "left": [(LEFT_QUERY, CHANGES)], "right": [(EARLIER, CHANGES)],
                "normalize": [(True, CHANGES)], **dict([PAGE_LIMIT])}),
    "Groups": ({**LEFT_QUERY, "label": "instance"},
               page_query(("label", [("region", CHANGES), ("", 400)]), PAGE_LIMIT, ("step", [(15, CHANGES), (-1, 400)]))),
    # all functions are of one binary, so a limit has nothing to change
    "Executables": (LEFT_QUERY, page_query(("limit", [(-1, 400)]))),
    "Cells": (LEFT_QUERY, page_query(("cellMs", [(1000, CHANGES), (-1, 400)]))),
    "Threads": (LEFT_QUERY, {**page_query(*THREAD, ("limit", [(-1, 400)])), "profileTypeID": [("a", 400)],
                             "labelSelector": [("{", 400)]}),
    "Thread": (LEFT_QUERY, {**page_query(*THREAD), "labelSelector": [("{", 400)]}),
    "Targets": ({k: LEFT_QUERY[k] for k in ("labelSelector", "start", "end")},
                {**page_query(("by", [(["region"], CHANGES)])), "profileTypeID": [("a", 400)]}),
    "Storage": ({}, {}),
}


def check_page(server):
    """The page's methods have strict tables: a field of another method, or of none, is refused."""
    names = {name for _, table in PAGE_REQUESTS.values() for name in table} | {"nosuchField", "file", "groupBy", ""}
    for method, (base, table) in PAGE_REQUESTS.items():
        normal = ask(server, PAGE + method, json.dumps(base).encode(), "json")
        check("%s: the request without further fields" % method, normal[0] == 200, normal)
        for name, cases in table.items():
            for value, want in cases:
                got = ask(server, PAGE + method, json.dumps({**base, name: value}).encode(), "json")
                check("%s, %s %s: %s" % (method, name, str(value)[:60], want), is_expected(want, got, normal), got)
        for name in sorted(names - table.keys() - base.keys()):
            got = ask(server, PAGE + method, json.dumps({**base, name: None}).encode(), "json")
            check("%s refuses \"%s\"" % (method, name), got[0] == 400 and b"unknown field" in got[1], got)


def check_push(server):
    labels = [message((1, k), (2, v)) for k, v in (("__name__", "process_cpu"), ("service_name", "annotated"))]
    body = message((1, message(*[(1, x) for x in labels], (2, message((1, pprof(["a 1"], BASE_S)), (2, "annotated"))),
                               (3, message((1, "k"), (2, "v"))))))
    got = ask(server, "/push.v1.PusherService/Push", body, "proto")
    check("a push with annotations is stored, and the answer says that they are not", got == (200, b"", "3") and
          server.total('{service_name="annotated"}') == 1, got)


def check_render(server):
    """Arguments of the older API."""
    path = "/pyroscope/render?query=%s%%7B%%7D&from=%d&until=%d" % (CPU, START, END)
    normal = server.ask(path)
    check("render answers", normal[0] == 200, normal)
    for arguments, want in (("aggregation=sum", 200), ("aggregation=avg", 200), ("aggregation=median", 400), ("format=json", 200),
                            ("format=dot", 501), ("maxNodes=2", 200), ("maxNodes=x", 400), ("maxNodes=-1", 400)):
        status = server.ask(path + "&" + arguments)[0]
        check("render, %s: status %d" % (arguments, want), status == want, status)
    for name in ("from", "until"):
        for text, want in (("now", 200), ("", 200), ("now-1y", 400), ("now%2B5h", 400), ("yesterday", 400), ("-5", 400), ("%00", 400)):
            status = server.ask("/pyroscope/render?query=%s%%7B%%7D&%s=%s" % (CPU, name, text))[0]
            check("render, %s=%s: status %d" % (name, text, want), status == want, status)


def check_ingest(server):
    """Nothing is stored at a time that the client did not mean."""
    before = server.total('{service_name="late"}')
    for arguments, want in (("from=yesterday", 400), ("from=-5", 400), ("until=1795200000x", 400), ("from=now-1y", 400),
                            ("sampleRate=many", 400), ("sampleRate=-1", 400), ("units=parsecs", 400),
                            ("aggregationType=median", 400), ("format=morse", 400), ("from=1&from=2", 400)):
        status, _, said = server.ask("/ingest?name=late&%s" % arguments, b"a 1")
        check("/ingest, %s: status %d with the argument's name" % (arguments, want),
              status == want and arguments.split("=")[0].encode() in said, (status, said))
    rq = urllib.request.Request(server.url + "/ingest?name=late&from=%d&color=red&%%0d%%0aX:1=2" % BASE_S, data=b"a 1")
    with urllib.request.urlopen(rq, timeout=30) as rs:
        check("/ingest names unknown arguments", rs.headers.get("X-Cameo-Ignored") == "color,__X_1", rs.headers.items())
    check("and stores only the profile that it accepted", server.total('{service_name="late"}') == before + 1,
          server.total('{service_name="late"}'))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(os.path.realpath(sys.argv[1]), os.path.join(tmp, "a"))
        for i, (labels, time_s, folded) in enumerate(DATA):
            push(server, labels, time_s, folded, "id-%d" % i)
        push(server, {"service_name": "shop", "region": "eu", "rack": "1"}, BASE_S + 20, ["main;gc 3"], "id-3")
        for method, (base, table) in REQUESTS.items():
            check_method(server, method, base, table)
        check_diff(server)
        check_unknown(server)
        check_page(server)
        check_push(server)
        check_render(server)
        check_ingest(server)
        server.stop()
    return finish()


sys.exit(main())
