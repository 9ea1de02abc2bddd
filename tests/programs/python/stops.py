# SPDX-License-Identifier: Apache-2.0
"""Stops in many places, after writing its own stack as NAME:LINE, innermost first."""
import ctypes
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


# offset of the memory in a frame object (struct _frame._f_frame_data) by minor version
LINKS = {12: 48, 13: 64, 14: 72}


def word(address):
    return ctypes.c_void_p.from_address(address)


def relinked():
    """Stops while frames are linked without the shims between them, as greenlet links them."""
    undo = []
    frame = sys._getframe()
    while frame and sys.version_info[1] in LINKS:
        back = frame.f_back
        link = word(word(id(frame) + 24).value + 8)
        shown = word(id(back) + 24).value if back else None
        if link.value != shown:
            word(id(frame) + LINKS[sys.version_info[1]]).value = link.value
            undo.append((link, link.value))
            link.value = shown
        frame = back
    stop()
    for link, value in undo:
        link.value = value


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
    lambda: sorted([1], key=lambda _: sorted([2], key=lambda _: relinked() or 0)),
    lambda: type("Made", (), {"__init__": lambda self: stop() and None or None})(),
]


def main():
    sys.setrecursionlimit(3000)
    for shape in SHAPES:
        shape()


main()
