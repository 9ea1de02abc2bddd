# SPDX-License-Identifier: Apache-2.0
"""Stops in many places, after writing its own stack as NAME:LINE, innermost first."""
import functools
import os
import re
import signal
import sys


def text(frame):
    lines = []
    while frame:
        code = frame.f_code
        lines.append("%s:%d\n" % (getattr(code, "co_qualname", code.co_name), frame.f_lineno))
        frame = frame.f_back
    return "".join(lines) + "\n"


def stop(*_):
    return os.write(1, text(sys._getframe()).encode()) and os.kill(os.getpid(), signal.SIGSTOP) or 0


def down(n):
    return down(n - 1) if n else stop()


def generate():
    yield from (stop() for _ in range(1))


class Thing:
    def __lt__(self, other):
        return bool(stop())

    @property
    def value(self):
        return (stop(),
                1)

    def __getattr__(self, name):
        return stop()

    async def wait(self):
        stop()

    async def outer(self):
        await self.wait()


def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        pass


def closed():
    return sorted([2], key=lambda _:
                  stop())


SHAPES = [
    stop, functools.partial(down, 40), lambda: list(generate()), lambda: sorted([Thing(), Thing()]),
    lambda: Thing().value, lambda: Thing().other, lambda: run(Thing().outer()), closed,
    lambda: re.sub("a", lambda m: str(stop()), "a"), lambda: [stop() for _ in "x"],
    lambda: exec("def \u00e9t\u00e9():\n    stop()\n\n\u00e9t\u00e9()", {"stop": stop}),
    lambda: functools.reduce(stop, map(functools.partial(stop, 1), [1, 2])),
    lambda: type("Made", (), {"__init__": lambda self: stop() and None or None})(),
]


def main():
    sys.setrecursionlimit(3000)
    for shape in SHAPES:
        shape()


main()
