#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sums.py CAMEO: a sum that does not fit into 64 bits is refused, never returned as another number."""
import os
import sys
import tempfile

from serving import BASE_S, CPU, PAGE, QUERIER, RANGE, Server, check, finish, message, push

LIMIT = 2**63 - 1  # the least value that is refused
ALL = {"profileTypeID": CPU, **RANGE}
WITH_SUMS = {
    QUERIER + "SelectMergeStacktraces": {},
    QUERIER + "SelectMergeProfile": {},
    QUERIER + "SelectSeries": {"step": 60},
    QUERIER + "SelectHeatmap": {"step": 60},
    PAGE + "Tree": {},
    PAGE + "Functions": {},
    PAGE + "Groups": {"label": "part"},
    PAGE + "Cells": {},
}

OF_STACKS = (QUERIER + "SelectMergeStacktraces", QUERIER + "SelectMergeProfile", PAGE + "Tree", PAGE + "Functions")


def profile(values):
    """A pprof whose only type has these values, in a frame each."""
    strings = ["", "cpu", "nanoseconds"] + ["f%d" % i for i in range(len(values))]
    body = message((1, message((1, 1), (2, 2))), (11, message((1, 1), (2, 2))), (12, 1), (9, BASE_S * 10**9), (10, 10**9))
    for i, v in enumerate(values):
        body += message((2, message((1, [i + 1]), (2, [v]))), (4, message((1, i + 1), (4, message((1, i + 1))))),
                        (5, message((1, i + 1), (2, 3 + i))))
    return body + b"".join(message((6, s)) for s in strings)


def store(server, service, part, values):
    labels = [(1, message((1, k), (2, v))) for k, v in (("__name__", "process_cpu"), ("service_name", service), ("part", part))]
    return server.ask("/push.v1.PusherService/Push", message((1, message(*labels, (2, message((1, profile(values))))))),
                      {"Content-Type": "application/proto"})[0]


def statuses(server, service):
    asked = {"labelSelector": '{service_name="%s"}' % service}
    return {path: server.rpc(path, {**ALL, **asked, **more})[0] for path, more in WITH_SUMS.items()}


def main():
    with tempfile.TemporaryDirectory() as tmp:
        server = Server(os.path.realpath(sys.argv[1]), os.path.join(tmp, "sums"))
        for values in ([LIMIT], [LIMIT - 1, 1], [-2**63], [LIMIT - 1, -1], [LIMIT, LIMIT]):
            status = store(server, "refused", "a", values)
            check("a profile with the values %s is refused" % values, status == 422, status)
        check("one that is just below the limit is stored", store(server, "below", "a", [LIMIT - 2, -1]) == 200)
        check("and so is a large one", store(server, "one", "a", [9 * 10**18, -1]) == 200)
        got = server.query("SelectMergeProfile", profileTypeID=CPU, labelSelector='{service_name="one"}')
        check("which is returned exactly", str(9 * 10**18) in str(got), got)
        for name, parts in (("large", [2**62, 2**62, 2**62]), ("mixed", [2**62, 2**62, 2**62, 2**62, -2**62])):
            for i, value in enumerate(parts):
                check("a profile of %d is stored" % value, store(server, name, str(i), [value]) == 200)
            got = statuses(server, name)
            check("sums of %s values that do not fit are refused" % name, set(got.values()) == {422}, got)
        for i in range(3):  # the values of each profile cancel out, and those of each frame do not
            values = [LIMIT // 2, -(LIMIT // 2)]
            check("a profile of %s is stored" % values, store(server, "cancelling", str(i), values) == 200)
        got = {path: status for path, status in statuses(server, "cancelling").items() if path in OF_STACKS}
        check("sums of stacks that do not fit are refused", set(got.values()) == {422}, got)
        push(server, {"service_name": "small"}, BASE_S, ["a 3"], "s")
        check("and others are returned", server.total('{service_name="small"}') == 3)
        check("the server stops", server.stop() == 0)
    return finish()


sys.exit(main())
