# SPDX-License-Identifier: Apache-2.0
# vanishing.py MS: compiles functions, runs them once and drops them, for that many ms of CPU; then
# the process is gone at once. Both functions of a round have its number in their name.
import os
import sys
import time

SOURCE = """
def inner_{0}(n):
    out = []
    for k in range(n):
        out.append("<li>%d</li>" % k)
    return "".join(out)

def outer_{0}(n):
    return "<ul>" + inner_{0}(n) + "</ul>"

outer_{0}(2000)
"""
end = time.process_time() + int(sys.argv[1]) / 1000
i = 0
while time.process_time() < end:
    exec(compile(SOURCE.format(i), f"page_{i}.html", "exec"), {})
    i += 1
os._exit(0)
