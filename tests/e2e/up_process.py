# SPDX-License-Identifier: Apache-2.0
"""A running `cameo up`, or a `cameo server` on its data, for tests."""
import os
import pty
import select
import signal
import subprocess
import time

import cameo
from cameo import expect
from our_server import Asked, listening


class Up(Asked):
    """`cameo COMMAND --data DIR` on a free port until the end of the block."""

    def __init__(self, data, *flags, command="up"):
        self.said = b""
        terminal, stderr = pty.openpty()
        self.terminal = terminal
        argv = [cameo.CAMEO, command, "--data", data, "--listen", "127.0.0.1:0", *flags]
        if command == "up" and "--metrics" not in flags:
            argv += ["--metrics", "no"]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=stderr, stdin=subprocess.DEVNULL)
        os.close(stderr)

    def __enter__(self):
        line = self.process.stdout.readline().decode()
        expect(line, "it has ended:", self.text())
        self.url = listening(line)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.text()
        self.process.stdout.close()
        os.close(self.terminal)
        self.terminal = None

    def text(self):
        """Returns the text on its terminal so far."""
        while self.terminal is not None and select.select([self.terminal], [], [], 0)[0]:
            try:
                piece = os.read(self.terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            self.said += piece
        return self.said.decode(errors="replace")

    def wait(self, condition, what):
        deadline = time.monotonic() + cameo.DEADLINE_S
        while not condition():
            self.text()  # a full terminal would block it
            expect(self.process.poll() is None, "it has ended:", self.text())
            expect(time.monotonic() < deadline, f"no {what} in time:", self.text())
            time.sleep(0.1)

    def samples(self):
        """Returns whether it has opened perf events."""
        links = [os.path.join(f"/proc/{self.process.pid}/fd", n) for n in os.listdir(f"/proc/{self.process.pid}/fd")]
        return any(os.path.lexists(link) and "perf_event" in os.readlink(link) for link in links)

    def settled(self, service, program):
        """Returns the total of a service in a tuple, if it stays the same during a second of PROGRAM's CPU time."""
        _, before = self.names(service)
        cameo.wait_cpu(program, ms=1000)
        return (before,) if self.names(service)[1] == before else None

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(cameo.DEADLINE_S)

    def server(self):
        """Returns the pid of the server process."""
        for pid in cameo.children_of(self.process.pid):
            try:
                with open(f"/proc/{pid}/status", encoding="ascii") as status:
                    if "CapPrm:\t0000000000000000" in status.read() and os.readlink(f"/proc/{pid}/exe") == \
                            os.readlink(f"/proc/{self.process.pid}/exe"):
                        return pid
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has ended since
        return None
