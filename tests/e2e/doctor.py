#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo doctor on this machine, without privileges, and in a PID namespace."""
import json
import shutil
import subprocess

import cameo
from cameo import Skip, expect


def doctor(*flags, wrapper=()):
    p = subprocess.run([*wrapper, cameo.CAMEO, "doctor", *flags], capture_output=True, text=True, check=False,
                       timeout=cameo.DEADLINE_S)
    return p.returncode, p.stdout, p.stderr


def finds_its_own_stack(_):
    """The self-test records a known stack, and the exit status is 0"""
    status, out, err = doctor()
    last = out.splitlines()[-1]
    expect(status == 0, f"status {status}:", out, err)
    expect(last.startswith("ok ") and "self-test" in last, "the last line:", last)
    for line in out.splitlines():
        expect(line.split()[0] in ("ok", "degraded", "missing"), line)


def finds_it_when_stripped(shop):
    """A stripped cameo still recognizes its own stack"""
    stripped = shop.path("stripped")
    if not shutil.which("strip"):
        raise Skip("strip is not installed")
    subprocess.run(["strip", "-o", stripped, cameo.CAMEO], check=True)
    p = subprocess.run([stripped, "doctor"], capture_output=True, text=True, check=False, timeout=cameo.DEADLINE_S)
    expect(p.returncode == 0 and p.stdout.splitlines()[-1].startswith("ok "), p.stdout, p.stderr)


def says_it_as_json(_):
    """--json prints the same results as one object"""
    status, out, _ = doctor("--json", "--quick")
    answer = json.loads(out)
    expect(status == (answer["status"] == "missing"), f"status {status}", out)
    _, text, _ = doctor("--quick")
    names = [c["name"] for c in answer["checks"]]
    expect(len(names) == len(text.splitlines()) > 10, out, text)
    expect(all(c["status"] in ("ok", "degraded", "missing") and c["text"] for c in answer["checks"]), out)


def says_what_is_missing(_):
    """Without privileges doctor lists the missing ones and fails"""
    status, out, _ = doctor(wrapper=["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"])
    expect(status == 1, f"status {status}:", out)
    lines = {line[10:26].strip(): line for line in out.splitlines()}
    expect(lines["capabilities"].startswith("missing") and "CAP_PERFMON" in lines["capabilities"], out)
    expect(lines["self-test"].startswith("missing") and "no permission" in lines["self-test"], out)


def knows_a_namespace(_):
    """In a separate PID namespace doctor explains how to leave it"""
    status, out, _ = doctor("--quick", wrapper=["unshare", "--pid", "--fork", "--mount-proc"])
    expect(status == 1 and "--pid=host" in out, f"status {status}:", out)


def main():
    cameo.need_bpf()
    tap = cameo.Tap()
    with cameo.Workshop() as shop:
        for test in (finds_its_own_stack, finds_it_when_stripped, says_it_as_json, says_what_is_missing,
                     knows_a_namespace):
            tap.run(test.__doc__, test, shop)
    tap.done()


main()
