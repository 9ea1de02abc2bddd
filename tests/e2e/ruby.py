#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every Ruby that is found: known stacks with known lines."""
from interpreted import MAIN, main

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
}, callers=("act", "made", "mixed"), leaf="Object#hot")
