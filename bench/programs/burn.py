# SPDX-License-Identifier: Apache-2.0
"""burn.py DEPTH: recurses, and works at the innermost level, until killed."""
import json
import sys


def work():
    return len(json.dumps([{"n": n, "s": str(n)} for n in range(500)]))


def descend(n):
    return descend(n - 1) if n else work()


while True:
    descend(int(sys.argv[1]))
