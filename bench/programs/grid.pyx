# cython: language_level=3
# SPDX-License-Identifier: Apache-2.0
"""Typed loops, calls of Python functions, and exceptions, compiled by Cython."""


cdef double cell(double x, double y) except -1:
    cdef double a = 0, b = 0, t
    cdef int n = 0

    while n < 60 and a * a + b * b < 4:
        t = a * a - b * b + x
        b = 2 * a * b + y
        a = t
        n += 1
    return n


def row(double y, weigh):
    return weigh([cell(-2 + 3 * i / 200.0, y) for i in range(200)])


class Grid:
    def __init__(self, weigh):
        self.weigh = weigh

    def total(self):
        return sum(row(-1 + j / 50.0, self.weigh) for j in range(100))
