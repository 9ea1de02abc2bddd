# SPDX-License-Identifier: Apache-2.0
"""burn.py DEPTH: a recursion, and work at its end, for ever."""
import json
import sys


def work():
    return len(json.dumps([{"n": n, "s": str(n)} for n in range(500)]))


def descend(n):
    return descend(n - 1) if n else work()


while True:
    descend(int(sys.argv[1]))
