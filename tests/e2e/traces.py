#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A context that a thread publishes labels the samples of exactly the work in that context."""
import json
import os
import subprocess

from cameo import PROGRAMS, Tap, Workshop, cameo, expect, need, need_bpf

MS = 700
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
PAY = "53995c3f42cd8ad8"
HOSTILE = ("invalid", "nowhere", "edge", "cut", "spans", "racing", "forged")


def rows(path, *args):
    """Returns the values of a report by row; none if no sample matches."""
    r = cameo("report", "--json", "--sample-type", "samples", *args, path)
    if r.returncode and "no sample has" in r.stderr:
        return {}
    expect(r.returncode == 0, r.stderr)
    return {row["name"]: row["total"] for row in json.loads(r.stdout)["rows"]}


def judge(path, selection, inside, outside):
    """Expects all samples of INSIDE, and none of OUTSIDE, to be among the selected ones.

    The first samples of a process precede the detection of its file, and have no labels.
    """
    whole, chosen = rows(path), rows(path, *selection)
    expect(whole.get(inside, 0) > 100, whole)
    expect(chosen.get(inside, 0) >= 0.8 * whole[inside], selection, chosen, whole)
    for function in outside:
        expect(whole.get(function, 0) > 100 and not chosen.get(function), selection, chosen, whole)


def run(shop, name, *command):
    out = shop.path(name + ".pb.gz")
    r = cameo("record", "-F", "997", "-o", out, "--", *command)
    expect(r.returncode == 0 and os.path.exists(out), r.stderr)
    return out, r.stderr


def golang(shop):
    need("go")
    program = shop.path("go-labels")
    env = {**os.environ, "GOENV": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    for name, flags, more in (("plain", [], {"CGO_ENABLED": "0"}), ("stripped", ["-ldflags=-s -w"], {"CGO_ENABLED": "0"}),
                              ("external", ["-buildmode=pie", "-ldflags=-linkmode=external"], {"CGO_ENABLED": "1"})):
        r = subprocess.run(["go", "build", *flags, "-o", program, "./labels"], cwd=os.path.join(PROGRAMS, "go"),
                           env={**env, **more}, capture_output=True, text=True, check=False)
        expect(r.returncode == 0, name, r.stderr)
        path, _ = run(shop, "go", program, str(MS))
        judge(path, ["--span", SPAN], "main.cartHot", ["main.payHot", "main.unlabelledHot"])
        judge(path, ["--span", TRACE], "main.cartHot", ["main.payHot"])
        judge(path, ["--span", PAY], "main.payHot", ["main.cartHot", "main.unlabelledHot"])
        judge(path, ["--label", "span_name=POST /pay"], "main.payHot", ["main.cartHot"])
        names = rows(path, "--by", "label:span_name")
        expect({"GET /cart", "POST /pay"} <= names.keys(), names)


def models(shop):
    """The thread-local variable is in the program, or in a library by each model of addressing it."""
    beside = shop.build("beside", "gcc", "traced.c", "-O2", "-DBESIDE", "-ldl", "-pthread")
    program = shop.c("traced", "-rdynamic", "-ldl", "-pthread")
    commands = {"program": [program, str(MS), "span"]}
    for name, *flags in (("descriptor", "-mtls-dialect=gnu2"), ("index",), ("offset", "-ftls-model=initial-exec")):
        library = shop.build(name + ".so", "gcc", "traced.c", "-O2", "-fPIC", "-shared", "-DLIBRARY", *flags)
        commands[name] = [beside, str(MS), "span", library]
    for name, command in commands.items():
        path, _ = run(shop, name, *command)
        judge(path, ["--span", SPAN], "traced_hot", ["untraced_hot"])
        judge(path, ["--span", TRACE], "traced_hot", ["untraced_hot"])
        judge(path, ["--label", "http.route=/cart"], "traced_hot", ["untraced_hot"])
        judge(path, ["--label", "userid=alice"], "traced_hot", ["untraced_hot"])


def waits(shop):
    """A wait has the labels of the moment when it began."""
    program = shop.c("traced", "-rdynamic", "-ldl", "-pthread")
    out = shop.path("wall.pb.gz")
    r = cameo("record", "--wall", "-F", "997", "-o", out, "--", program, str(MS), "span")
    expect(r.returncode == 0, r.stderr)
    chosen = rows(out, "--span", SPAN)
    expect(chosen.get("traced_hot", 0) > 100 and not chosen.get("untraced_hot"), chosen)


def hostile(shop):
    program = shop.c("traced", "-rdynamic", "-ldl", "-pthread")
    for mode in HOSTILE:
        path, said = run(shop, mode, program, str(MS), mode)
        whole, chosen = rows(path), rows(path, "--span", SPAN)
        expect(whole.get("traced_hot", 0) > 50, mode, whole, said)
        expect(not chosen.get("untraced_hot"), mode, chosen)
        if mode in ("invalid", "nowhere", "spans"):
            expect(not chosen, mode, chosen)
        else:
            expect(chosen.get("traced_hot", 0) > 15, mode, chosen)
    labels = rows(shop.path("spans.pb.gz"), "--by", "label:span_id")
    expect(len(labels) > 100, "each turn has a span of its own", labels)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        tap.run("labels of goroutines", golang, shop)
        tap.run("OpenTelemetry's thread context, in all TLS models", models, shop)
        tap.run("waits have the labels of their beginning", waits, shop)
        tap.run("records that lie or change, or whose address is invalid", hostile, shop)
    tap.done()


main()
