# SPDX-License-Identifier: Apache-2.0
"""wakes N: waits N times in each wait_NAME, which another thread ends in wake_NAME."""
import queue
import socket
import sys
import threading
import time

PAUSE_S = 0.006
turns = int(sys.argv[1])
items, back = queue.Queue(), threading.Semaphore(0)
event = threading.Event()
ends = socket.socketpair()


def wait_queue():
    items.get()


def wake_queue():
    items.put(1)


def wait_event():
    event.wait()
    event.clear()


def wake_event():
    event.set()


def wait_socket():
    ends[0].recv(1)


def wake_socket():
    ends[1].send(b"x")


def waiter(wait):
    for _ in range(turns):
        wait()
        back.release()


for wait, wake in ((wait_queue, wake_queue), (wait_event, wake_event), (wait_socket, wake_socket)):
    thread = threading.Thread(target=waiter, args=(wait,))
    thread.start()
    for _ in range(turns):
        time.sleep(PAUSE_S)
        wake()
        back.acquire()
    thread.join()
