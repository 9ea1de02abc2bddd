# SPDX-License-Identifier: Apache-2.0
"""tasks.py MODE: asyncio tasks in known places. It prints "ready" and answers questions of one line about its own tasks.

counts    known numbers of tasks in known places
deadlock  two tasks that wait for each other
server    a server that leaks a task for each request; `port` is its port
spin      counts, and tasks that start, run and end all the time
lie SEED  counts; `lie` overwrites parts of the tasks, after which only `cameo` may look at them
NUMBER    as many tasks that wait for an event
"""
import asyncio
import collections
import ctypes
import gc
import os
import random
import sys
import types

loop = lock = queue = event = condition = future = None
tasks = []
port = 0


async def sleep():
    await asyncio.sleep(100000)  # at sleep


async def deep(n):
    if n:
        await deep(n - 1)
    else:
        await generator()


@types.coroutine
def generator():
    yield from future  # at generator


async def items():
    for i in range(2):
        await event.wait()  # at items
        yield i


async def iterate():
    async for _ in items():
        pass


async def get():
    await queue.get()  # at get


async def acquire():
    await lock.acquire()  # at acquire


async def notified():
    async with condition:
        await condition.wait()  # at notified


async def wait():
    await event.wait()  # at wait


async def join(task):
    await task  # at join


async def gathered():
    await asyncio.gather(asyncio.ensure_future(sleep()), future)  # at gathered


async def end():
    pass


class Derived(asyncio.Task):
    """A task of the program's own class."""


def start(n, function, *args):
    for _ in range(n):
        tasks.append(loop.create_task(function(*args)))


async def start_all():
    await lock.acquire()
    start(50, end)
    start(400, sleep)
    start(200, deep, 3)
    start(100, iterate)
    start(70, get)
    start(50, acquire)
    start(30, notified)
    start(20, wait)
    start(10, join, tasks[60])
    start(5, gathered)
    for _ in range(40):
        tasks.append(Derived(wait(), loop=loop))
    for _ in range(25):
        tasks.append(asyncio.tasks._PyTask(wait(), loop=loop))  # pylint: disable=protected-access


async def transfer(other):
    await other[0]  # at transfer


async def start_deadlock():
    one, two = [], []
    one.append(loop.create_task(transfer(two)))
    two.append(loop.create_task(transfer(one)))
    tasks.extend(one + two)


async def audit():
    await loop.create_future()  # at audit


async def serve(reader, writer):
    while await reader.readline():
        start(1, audit)
        writer.write(b"ok\n")
        await writer.drain()


async def start_server():
    global port
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    tasks.append(loop.create_task(server.serve_forever()))


async def short():
    await asyncio.sleep(0)


async def spin():
    while True:
        await asyncio.gather(*(short() for _ in range(10)))
        # a request may arrive
        await asyncio.sleep(0)


# ---- answers --------------------------------------------------------------------


def chain(task):
    """The calls of a task, outermost first, as its objects have them; asynchronous generators end it."""
    out, at = [], task.get_coro()
    while at is not None:
        frame = getattr(at, "cr_frame", None) or getattr(at, "gi_frame", None)
        if frame is None:
            break
        out.append((frame.f_code.co_name, frame.f_lineno))
        at = at.cr_await if hasattr(at, "cr_await") else at.gi_yieldfrom
    return out


def dump():
    counts = collections.Counter(repr(chain(t)) for t in tasks if not t.done())
    return "\n".join(f"{n} {text}" for text, n in counts.items()) + "\nEND"


class Victims:
    """Addresses of objects. Once one is overwritten, Python must not touch any of them."""

    def __init__(self):
        self.tasks = [id(t) for t in tasks]
        self.coroutines = [id(t.get_coro()) for t in tasks if not t.done()]
        weak = getattr(asyncio.tasks, "_all_tasks", None) or asyncio.tasks._scheduled_tasks  # pylint: disable=protected-access
        self.sets = [id(weak), id(weak.data)]
        self.others = [id(tasks), id(None), id(Derived)]

    def overwrite(self, rng):
        """Overwrites one word of an object."""
        kind = rng.choice(["tasks"] * 10 + ["coroutines"] * 10 + ["sets"])
        at = rng.choice(getattr(self, kind)) + 8 * rng.randrange(2, {"tasks": 18, "coroutines": 23, "sets": 6}[kind])
        ctypes.c_uint64.from_address(at).value = rng.choice(
            [0, 1, 8, rng.choice(self.tasks), rng.choice(self.coroutines), rng.choice(self.others), 1 << 63, (1 << 64) - 1, at,
             rng.getrandbits(64), rng.getrandbits(47) & ~7, 0x7fffffff, 0x7fffffff00000000])


def lie(rng):
    gc.disable()
    victims = Victims()
    for _ in range(rng.choice([1, 20, 400])):
        victims.overwrite(rng)


def answer(rng):
    question = sys.stdin.readline().strip()
    if not question:
        os._exit(0)
    if question == "lie":
        lie(rng)
        # nothing of Python runs from here on, but what reads one byte
        os.write(1, b"done\n")
        while os.read(0, 1):
            pass
        os._exit(0)
    replies = {"count": lambda: 1 + sum(not t.done() for t in tasks), "dump": dump, "port": lambda: port}
    print(replies[question](), flush=True)


async def main(mode, seed):
    global loop, lock, queue, event, condition, future
    loop = asyncio.get_running_loop()
    lock, queue, event, condition = asyncio.Lock(), asyncio.Queue(), asyncio.Event(), asyncio.Condition()
    future = loop.create_future()
    if mode in ("counts", "spin", "lie"):
        await start_all()
    elif mode == "deadlock":
        await start_deadlock()
    elif mode == "server":
        await start_server()
    else:
        start(int(mode), wait)
    for _ in range(5):
        await asyncio.sleep(0)
    if mode == "spin":
        start(1, spin)
    loop.add_reader(0, answer, random.Random(seed))
    print("ready", flush=True)
    await future  # at main


if os.environ.get("LOOP") == "uvloop":
    import uvloop
    uvloop.install()
asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0))
