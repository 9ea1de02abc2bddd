# SPDX-License-Identifier: Apache-2.0
"""grid.py DIRECTORY SECONDS: runs the Cython module in DIRECTORY, which calls back into Python."""
import sys
import time

sys.path.insert(0, sys.argv[1])
import grid_c  # noqa: E402  pylint: disable=wrong-import-position,import-error


def weigh(values):
    return sum(v * v for v in values)


end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    grid_c.Grid(weigh).total()
