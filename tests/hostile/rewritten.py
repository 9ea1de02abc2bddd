#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of eight runtimes whose memory another program changes all the time: pointers lead to circles and nowhere."""
import os
import shutil
import subprocess

import attack
import cameo
from cameo import expect, show, total

SECONDS = 3
HERE = os.path.dirname(os.path.abspath(__file__))
# Each runs nested functions, in text that its interpreter takes after an option.
PROGRAMS = {
    "python3": ("-c", "def inner(n):\n x = 0\n for i in range(n):\n  x += i\n return x\ndef outer():\n while True:\n  inner(100000)\nouter()"),
    "lua5.4": ("-e", "local function inner(n) local x = 0 for i = 1, n do x = x + i end return x end "
                     "local function outer() while true do inner(100000) end end outer()"),
    "luajit": ("-joff", "-e", "local function inner(n) local x = 0 for i = 1, n do x = x + i % 7 end return x end "
                              "local function outer() while true do inner(100000) end end outer()"),
    "ruby": ("-e", "def inner(n) = n.times { |i| i + 1 }\ndef outer\n loop { inner(100000) }\nend\nouter"),
    "php": ("-r", "function inner($n) { $x = 0; for ($i = 0; $i < $n; $i++) $x += $i; return $x; } "
                  "function outer() { while (true) inner(100000); } outer();"),
    "perl": ("-e", "sub inner { my $x = 0; $x += $_ for 1 .. $_[0]; $x } sub outer { inner(100000) while 1 } outer()"),
    "node": ("-e", "function inner(n) { let x = 0; for (let i = 0; i < n; i++) x += i % 7; return x }\n"
                   "function outer() { for (;;) inner(100000) }\nouter()"),
}


def build_go(shop):
    r = subprocess.run(["go", "build", "-o", shop.path("go-chain"), "./chain"], check=False, capture_output=True, text=True,
                       cwd=os.path.join(cameo.PROGRAMS, "go"),
                       env={**os.environ, "GOENV": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOPROXY": "off"})
    expect(r.returncode == 0, r.stderr)
    return shop.path("go-chain")


def rewritten(shop):
    """Structures of eight runtimes that change while they are walked and read"""
    rewriter = os.path.join(HERE, "rewriter.py")
    found = [[shutil.which(name), *args] for name, args in PROGRAMS.items() if shutil.which(name)]
    if shutil.which("go"):
        found.append([build_go(shop), "60", "2"])
    expect(len(found) > 1, "no runtimes")
    outcome = attack.attack(shop, [[rewriter, SECONDS, *c] for c in found])
    attack.no_control_characters(outcome)
    theirs = [s for s in outcome.recording.stacks if s.comm not in ("honest", "rewriter.py")]
    expect(total([s for s in theirs if cameo.is_in(s, "inner|main.inner|hot|main.hot")]), show(theirs))
    for names, labels, _ in outcome.samples:
        expect(labels.get("comm") != "honest" or not any("inner" in n for n in names), names)


attack.main(rewritten)
