#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""storm.py DIR ROUNDS GENERATED: programs like those of a busy build machine, four at a time, each new to a profiler.

A round compiles a program with debug information, runs it, starts twenty short processes, loads a library that nobody
has loaded before, and runs the program GENERATED, which writes a perf map. It ends after ROUNDS of them.
"""
import concurrent.futures
import os
import subprocess
import sys

FUNCTIONS = 100
STARTS = 20
WORKERS = 4
CPU_MS = 50

HEAD = """#include <time.h>
static long ms(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
"""
LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).work()"


def source(n):
    """Returns a program that spins in many functions for a while; as a library, it has the function work()."""
    text = [HEAD]
    for i in range(FUNCTIONS):
        text.append(f"__attribute__((noinline)) int f{n}_{i}(int a) {{ int s = 0; "
                    f"for (int k = 0; k < a; k++) s += k * {i} + a % {i + 1}; return s; }}")
    calls = " ".join(f"s += f{n}_{i}(500);" for i in range(FUNCTIONS))
    text.append(f"int work(void) {{ volatile int s = 0; long end = ms() + {CPU_MS}; do {{ {calls} }} while (ms() < end); return s; }}")
    text.append("int main(void) { work(); return 0; }")
    return "\n".join(text)


def quietly(*command):
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def one_round(folder, n, generated):
    path = os.path.join(folder, f"round{n}")
    with open(path + ".c", "w", encoding="ascii") as f:
        f.write(source(n))
    quietly("gcc", "-g", "-O1", "-o", path, path + ".c")
    quietly("gcc", "-g", "-O1", "-shared", "-fPIC", "-o", path + ".so", path + ".c")
    quietly(path)
    for _ in range(STARTS):
        quietly("/bin/true")
    quietly(sys.executable, "-c", LOAD, path + ".so")
    quietly(generated, str(CPU_MS), "map")
    for end in ("", ".c", ".so"):
        if os.path.exists(path + end):
            os.unlink(path + end)


def main():
    folder, rounds, generated = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for done in [pool.submit(one_round, folder, n, generated) for n in range(rounds)]:
            done.result()


main()
