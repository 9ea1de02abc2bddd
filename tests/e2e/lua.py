#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every installed Lua 5.1 to 5.5 has known stacks with known lines."""
from interpreted import main

TOP = r"(_start|\[.*|__libc_start.*) ... <shapes\.lua> repeat_shape "
main("lua5.[1-5]", "lua/shapes.lua", {
    "chain": [TOP + r"<shapes\.lua:\d+> gsub (key_of|<shapes\.lua:\d+>) method hot ..."],
    "recursion": [TOP + r"<shapes\.lua:\d+> " + "down " * 151 + "hot ..."],
    "callback": [TOP + r"<shapes\.lua:\d+> sort <shapes\.lua:\d+> hot ..."],
    "protected": [TOP + r"<shapes\.lua:\d+> pcall (hot|<shapes\.lua:\d+>) ...",
                  TOP + r"<shapes\.lua:\d+> pcall <shapes\.lua:\d+> (hot|<shapes\.lua:\d+>) ..."],
    "coroutines": [TOP + r"<shapes\.lua:\d+> resume (producer|<shapes\.lua:\d+>) hot ...",
                   TOP + r"<shapes\.lua:\d+> outer <shapes\.lua:\d+> inner <shapes\.lua:\d+> "
                         "producer hot ..."],
}, callers=("method",), leaf=r"hot|<shapes\.lua:5>",
    start=r"_start|\[.*")
