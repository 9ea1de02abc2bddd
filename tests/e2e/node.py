#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every installed Node has known stacks with known lines.

Inlined functions and those of V8 itself change over time and may be missing. The functions of the
program must be complete.
"""
from interpreted import MAIN, main

TOP = MAIN + r"\(anonymous.shapes\.js:\d+\) repeat "
WORKER = r"... \(anonymous.shapes\.js:\d+\) "
main("node", "node/shapes.js", {
    "chain": [TOP + r"chain ... \(anonymous.shapes\.js:\d+\) Thing\.made Thing\.act Mixed\.mixed hot ..."],
    "recursion": [TOP + "recursion " + "down " * 501 + "hot ..."],
    "arrays": [TOP + "arrays ... mapped ... each hot ..."],
    "natives": [TOP + "natives ... toJSON ... replaced hot ..."],
    "accessed": [TOP + "accessed ... applied ... trapped hot ..."],
    "constructed": [TOP + "constructed ... Maker hot ..."],
    "generators": [TOP + "generators ... generated hot ..."],
    "failing": [TOP + "failing hot ..."],
    "contexts": [TOP + "contexts elsewhere hot ..."],
    "inlined": [TOP + "inlined medium hot ..."],
    "async": [r"(_start|\[libc.*|__libc_start.*) ... later hot ..."],
    "threads": [WORKER + "workerOne spin hot ...", WORKER + "workerTwo spin hot ..."],
}, callers=("act", "made", "mixed"), leaf="hot", ms=500, unknown=True)
