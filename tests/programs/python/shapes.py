# SPDX-License-Identifier: Apache-2.0
"""Known stacks of Python 3.6 and later: shapes.py SHAPE MILLISECONDS (of CPU time).

The process takes the shape's name, so that its samples can be distinguished. The
lines that end in `# at NAME` are those that a profile must show.
"""
import ctypes
import functools
import os
import sys
import threading
import time

try:
    import greenlet
except ImportError:
    greenlet = None


def hot(n=3000):
    x = 0
    for i in range(n):
        x += i * i  # at hot
    return x  # at hot


class Thing:
    def method(self):
        return (
            hot()  # at method
        )


def key(value):
    Thing().method()  # at key
    return value


def chain():
    sorted([3, 1, 2], key=key)  # at chain


def down(n):
    if n:
        down(n - 1)
    else:
        hot(100000)


def recursion():
    down(500)


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
LIBC = ctypes.CDLL(None)


def compare(a, b):
    hot()
    return a[0] - b[0]


def callback():
    numbers = (ctypes.c_int * 20)(*range(20, 0, -1))
    LIBC.qsort(numbers, 20, 4, COMPARE(compare))


def inner_generator():
    for _ in range(20):
        yield hot()


def generator():
    yield from inner_generator()


def generators():
    functools.partial(sum)(generator())


class Ready:
    def __await__(self):
        yield


async def waiter():
    await Ready()
    hot()


async def outer_waiter():
    await waiter()


def coroutine():
    c = outer_waiter()
    c.send(None)
    try:
        c.send(None)
    except StopIteration:
        pass


def spin(until):
    while time.thread_time() < until if hasattr(time, "thread_time") else time.process_time() < 2 * until:
        hot()


def worker_one(until):
    spin(until)


def worker_two(until):
    spin(until)


def threads(seconds):
    workers = [threading.Thread(target=w, args=(seconds / 2,)) for w in (worker_one, worker_two)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()


def green():
    greenlet.getcurrent().parent.switch()
    hot()


def greenlets():
    """A coroutine that another one started, whose stack is gone when it resumes."""
    inner = greenlet.greenlet(green)
    outer = greenlet.greenlet(inner.switch)
    outer.switch()
    inner.switch()
    outer.switch()


def switcher():
    me = greenlet.getcurrent()
    while True:
        me.parent.switch(me)


def dig(n):
    """Makes a stack that takes long to copy."""
    if n:
        sorted([n - 1], key=dig)
    else:
        switcher()


def switching(seconds):
    """Runs greenlets that only switch."""
    waiting = [greenlet.greenlet(dig).switch(30) for _ in range(2)]
    end = time.process_time() + seconds
    while time.process_time() < end:
        for green_one in waiting:
            green_one.switch()


def forked(seconds):
    pid = os.fork()
    if not pid:
        repeat(chain, seconds)
        os._exit(0)
    os.waitpid(pid, 0)


def repeat(shape, seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        shape()


def main():
    name, seconds = sys.argv[1], int(sys.argv[2]) / 1000
    sys.setrecursionlimit(2000)
    with open("/proc/self/comm", "w") as f:
        f.write(name)
    if name in ("threads", "forked", "switching"):
        globals()[name](seconds)
    else:
        repeat(globals()[name], seconds)
    os._exit(0)


main()
