#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every installed PHP has known stacks with known lines."""
from interpreted import MAIN, main

TOP = MAIN + r"<shapes\.php> repeat "
main("php[78].[0-9]", "php/shapes.php", {
    "chain": [TOP + "chain array_map key_of Thing::made Thing::method hot ..."],
    "recursion": [TOP + "recursion " + "down " * 501 + "hot ..."],
    "callback": [TOP + r"callback usort \{closure.* hot ..."],
    "generators": [TOP + "generators generator inner_generator innermost_generator hot ..."],
    "fibers": ["... down down down down hot ..."],
    "included": [TOP + r"included <part\.php> hot ..."],
}, callers=("chain", "key_of", "made", "method"), leaf="hot", slack=1,
    variants={"with its JIT": ["-d", "opcache.enable_cli=1", "-d", "opcache.jit=tracing",
                               "-d", "opcache.jit_buffer_size=64M"]})
