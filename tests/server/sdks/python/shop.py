# SPDX-License-Identifier: Apache-2.0
"""Profiles itself with Pyroscope's SDK: shop.py SERVER. See sdks.py for what it does and prints."""
import json
import sys
import time

import pyroscope

kept = []


def spin(ns):
    begun, x = time.thread_time_ns(), 1
    while time.thread_time_ns() - begun < ns:
        for i in range(10000):
            x = (x * 31 + i) & 0xFFFFFFFF
    return time.thread_time_ns() - begun


def pay():
    return spin(30_000_000)


def cart():
    return spin(10_000_000)


def allocate():
    for _ in range(400):
        kept.append(bytearray(32 << 10))


def main():
    pyroscope.configure(application_name="shop", server_address=sys.argv[1], tags={"env": "test"}, upload_interval=1,
                        mem_enabled=True)
    done = {"pay": 0, "cart": 0}
    allocate()
    with pyroscope.tag_wrapper({"route": "/pay"}):
        for _ in range(40):
            done["pay"] += pay()
            done["cart"] += cart()
    pyroscope.shutdown()
    print(json.dumps(done))


main()
