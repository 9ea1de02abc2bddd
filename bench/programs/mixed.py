# SPDX-License-Identifier: Apache-2.0
"""Runs beginning(), which repeats the same kinds of work until killed; each kind of work is a function do_NAME."""
import functools
import json
import re


class Shape:
    def __init__(self, n):
        self.n = n

    def do_method(self, other):
        return (self.n * 31 + other.n) % 1009


def do_compare(a, b):
    return (a % 97) - (b % 97)


def do_sort():
    return sorted(range(400), key=functools.cmp_to_key(do_compare))


def do_text():
    return len(re.sub(r"[0-9]+", lambda m: str(int(m[0]) + 1), " ".join(map(str, range(400)))))


def do_objects():
    shapes = [Shape(n) for n in range(100)]
    return sum(a.do_method(b) for a in shapes for b in shapes[:10])


def do_numbers():
    x = 0
    for n in range(5000):
        x = (x * 31 + n) & 0xffff
    return x


def do_yield():
    for n in range(500):
        yield n * n


def do_generator():
    return sum(do_yield())


def do_json():
    return len(json.dumps(json.loads(json.dumps([{"n": n, "s": str(n)} for n in range(100)]))))


def do_deep(n):
    return do_deep(n - 1) if n else do_numbers()


def beginning():
    while True:
        for work in (do_sort, do_text, do_objects, do_numbers, do_generator, do_json):
            work()
        do_deep(50)


beginning()
