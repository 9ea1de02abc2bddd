# SPDX-License-Identifier: Apache-2.0
"""waits.py N: sleeps and waits for a lock N times, and prints "NAME OFF WALL" as waits.c does."""
import sys
import threading
import time

PAUSE_S = 0.008
turns = int(sys.argv[1])
lock = threading.Lock()
held, released = threading.Barrier(2), threading.Barrier(2)


def off():
    return time.monotonic_ns() - time.thread_time_ns()


def py_sleep():
    time.sleep(PAUSE_S)


def py_lock():
    with lock:
        pass


def holder():
    for _ in range(turns):
        with lock:
            held.wait()
            time.sleep(PAUSE_S)
        released.wait()


def measured(function, before, after):
    began, total = time.monotonic_ns(), 0
    for _ in range(turns):
        before()
        at = off()
        function()
        total += off() - at
        after()
    # print() writes each argument by itself, and the threads end at nearly the same time
    sys.stdout.write(f"{function.__name__} {total} {time.monotonic_ns() - began}\n")
    sys.stdout.flush()


def nothing():
    pass


threads = [threading.Thread(target=holder),
           threading.Thread(target=measured, args=(py_lock, held.wait, released.wait)),
           threading.Thread(target=measured, args=(py_sleep, nothing, nothing))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
