#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arm64.py [RELEASE [TEST...]]: end-to-end tests on real kernels of arm64, in virtual machines.

For each RELEASE (bookworm, trixie), its kernel is booted once (tests/vm/run) and the TESTS of
tests/e2e run on it: the same programs, compiled for arm64, and the same chains as on x86-64
(tests/e2e/machine.py). The default is every test in SUITE. TAP on standard output.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/e2e"))
import machine  # noqa: E402  pylint: disable=wrong-import-position

TRIPLE = "aarch64-linux-gnu"
SUITE = ["arm64_machine.py", "native.py", "shapes.py", "languages.py", "python.py", "perl.py"]
UNITS = ["elf", "unwind"]
# Interpreters of Debian 13, whose code has signed return addresses, next to the libraries of Cameo.
PROGRAMS = ["python3", "nodejs", "openjdk-21-jre-headless", "ruby", "php-cli", "perl", "lua5.4", "luajit",
            "busybox-static", "dash", "coreutils", "procps", "libstdc++6"]
LIBRARIES = re.compile(r"^build (lib\S+-dev|zlib1g-dev)\b", re.MULTILINE)


class Unavailable(Exception):
    """The packages cannot be had; the message is the reason."""


def last_line(*command):
    """The last line of a script's output. A script that fails has its reason in the last line on standard error."""
    r = subprocess.run(command, check=False, capture_output=True, text=True)
    if r.returncode != 0:
        raise Unavailable((r.stderr.splitlines() or [f"exit status {r.returncode}"])[-1])
    return r.stdout.splitlines()[-1]


def root_of(release):
    """Programs and libraries of arm64."""
    if release == "bookworm":
        return last_line(TOP / "scripts/cross-build", "--root", "arm64")
    libraries = LIBRARIES.findall((TOP / "scripts/packages").read_text())
    return last_line(TOP / "scripts/foreign-root", "arm64", release, *libraries, *PROGRAMS)


class Guest:
    """A virtual machine that runs commands until stop()."""

    def __init__(self, release, root, share):
        self.share = share
        pathlib.Path(share, "local").mkdir()
        command = f"export CAMEO_MACHINE={share}\n{machine.GUEST}"
        self.process = subprocess.Popen(
            [TOP / "tests/vm/run", "-a", "arm64", "-t", "7200", "-r", root, "-s", share, "-s", TOP, release, command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def stop(self):
        """Ends the machine. Returns its exit status and what it said."""
        pathlib.Path(self.share, "stop").touch()
        said = self.process.communicate()[0]
        pathlib.Path(self.share, "ended").touch()
        return self.process.returncode, said


def run_tests(release, tests, cameo, root, share):
    """Runs the tests one after the other. Yields the lines of their TAP, with the release."""
    env = dict(os.environ, CAMEO_MACHINE=share, CAMEO_MACHINE_ROOT=root, CAMEO_MACHINE_TRIPLE=TRIPLE,
               GOARCH="arm64", CC=f"{TRIPLE}-gcc --sysroot={root}")
    for test in tests:
        with subprocess.Popen([sys.executable, TOP / "tests/e2e" / test, cameo], env=env, stdout=subprocess.PIPE,
                              text=True) as process:
            for line in process.stdout:
                yield re.sub(r"^(ok|not ok) \d+ - ", rf"\1 - {release}: {test}: ", line.rstrip("\n"))
        if process.returncode not in (0, 1):
            yield f"not ok - {release}: {test} exits with status {process.returncode}"


class Tap:
    """Renumbers the lines of several tests, and counts them by test and release."""

    def __init__(self):
        self.n = 0
        self.failed = 0
        self.counts = collections.defaultdict(collections.Counter)

    def add(self, line):
        if re.match(r"1\.\.\d", line):
            return
        m = re.match(r"(ok|not ok) - ", line)
        if m:
            self.n += 1
            self.failed += m[1] != "ok"
            result = "skipped" if "# SKIP" in line else "passed" if m[1] == "ok" else "failed"
            self.counts[": ".join(line[m.end():].split(": ")[:2])][result] += 1
            line = line.replace(" -", f" {self.n} -", 1)
        print(line, flush=True)


def test_units(tap, build):
    """The unit tests of what depends on the processor, by the emulation of processes."""
    root = root_of("bookworm")
    targets = [f"tests/unit/{name}/test-{name}" for name in UNITS]
    subprocess.run([TOP / "scripts/cross-build", "arm64", build, *targets], check=True)
    for name, target in zip(UNITS, targets):
        r = subprocess.run(["qemu-aarch64", "-L", root, build / target], check=False, capture_output=True, text=True)
        tap.add(f"{'ok' if r.returncode == 0 else 'not ok'} - units: {name}: {r.stderr.count(' OK ]')} tests")
        for line in r.stderr.splitlines() if r.returncode else []:
            tap.add("# " + line)


def test_release(tap, release, tests, cameo):
    try:
        root = root_of(release)
    except Unavailable as e:
        tap.add(f"ok - {release}: the packages of arm64 # SKIP {e}")
        return
    with tempfile.TemporaryDirectory(prefix="cameo-arm64.") as share:
        os.chmod(share, 0o755)
        guest = Guest(release, root, share)
        for line in run_tests(release, tests, cameo, root, share):
            tap.add(line)
        status, said = guest.stop()
        tap.add(f"{'ok' if status == 0 else 'not ok'} - {release}: the machine runs to its end")
        for line in said.splitlines()[-20:] if status else []:
            tap.add("# " + line)


def write(counts):
    """Keeps the result of the whole suite for bench/report."""
    (TOP / "bench/results/arm64.json").write_text(json.dumps({
        "command": "./test arm64",
        "title": "End-to-end tests on real kernels of arm64",
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} CPUs, qemu-system-aarch64 (TCG)",
        "conditions": "Debian 12's and 13's kernels, pointer authentication on, pages of 4 KiB",
        "figures": [{"figure": name, "value": ", ".join(f"{n} {what}" for what, n in sorted(c.items()))}
                    for name, c in counts.items()],
    }, indent=1) + "\n")


def main():
    releases = sys.argv[1:2] or ["bookworm", "trixie"]
    build = TOP / "build-arm64"
    tap = Tap()
    try:
        root_of("bookworm")
    except Unavailable as e:
        print(f"1..0 # SKIP the libraries of arm64: {e}")
        return
    subprocess.run([TOP / "scripts/cross-build", "arm64", build], check=True)
    if not sys.argv[1:]:
        test_units(tap, build)
    for release in releases:
        test_release(tap, release, sys.argv[2:] or SUITE, build / "cameo")
    print(f"1..{tap.n}")
    if not sys.argv[1:]:
        write(tap.counts)
    sys.exit(tap.failed > 0)


main()
