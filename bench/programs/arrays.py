# SPDX-License-Identifier: Apache-2.0
"""numpy: arithmetic, sorting, linear algebra and functions of Python that call it."""
import sys
import time

import numpy


def smooth(a):
    return (a[:-2] + a[1:-1] + a[2:]) / 3


def rank(a):
    return numpy.argsort(a).argsort()


def solve(n, rng):
    return numpy.linalg.solve(rng.random((n, n)), rng.random(n)).sum()


def main(seconds):
    rng = numpy.random.default_rng(1)
    end = time.monotonic() + seconds
    total = 0.0
    while time.monotonic() < end:
        a = rng.random(100000)
        total += smooth(a).sum() + rank(a)[0] + solve(80, rng)
    print(total)


main(float(sys.argv[1]))
