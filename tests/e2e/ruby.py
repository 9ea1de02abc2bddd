#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every installed Ruby has known stacks with known lines."""
import subprocess

from interpreted import MAIN, main


def has_yjit(runtime, more):
    r = subprocess.run([*runtime.command, *more, "-v"], capture_output=True, text=True,
                       check=False)
    return "+YJIT" in r.stdout


TOP = MAIN + r"<main> Object#repeat Integer#times block.in.Object#repeat "
THREAD = r"... block.in.Object#threads "
main("ruby[23].[0-9]", "ruby/shapes.rb", {
    "chain": [TOP + r"Object#chain Enumerable#sort_by Array#each block.in.Object#chain Thing\.made "
              "Thing#act Mixed#mixed Object#hot ..."],
    "recursion": [TOP + "Object#recursion " + "Object#down " * 501 + "Object#hot ..."],
    "blocks": [TOP + r"Object#blocks Integer#times block.in.Object#blocks Array#each "
               r"block.\(2.levels\).in.Object#blocks Object#hot ..."],
    "lambdas": [TOP + "Object#lambdas block.in.Object#lambdas block.in.Object#lambdas "
                "Object#hot ..."],
    "fibers": ["... block.in.Object#fibers Object#down Object#down Object#down Object#down "
               "Object#hot ..."],
    "failing": [TOP + "Object#failing rescue.in.Object#failing Object#hot ..."],
    "threads": [THREAD + "Object#worker_one Object#spin Object#hot ...",
                THREAD + "Object#worker_two Object#spin Object#hot ..."],
}, callers=("act", "made", "mixed"), leaf="Object#hot",
    variants={"with YJIT": ["--yjit", "--yjit-exec-mem-size=16"]}, has=has_yjit)
