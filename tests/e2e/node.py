#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every Node that is found: known stacks with known lines.

What is inlined, and which of V8's own functions are, differs from moment to moment: those may
be missing. A function of the program never is.
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
