# SPDX-License-Identifier: Apache-2.0
"""Shared by the end-to-end tests: build programs, record them, check stacks, print TAP.

Programs end after a given *CPU* time, and recordings end with their programs. The number of
samples, and the result, therefore do not depend on the load of the machine. A test that waits,
waits for an event.
"""
import collections
import ctypes
import http.server
import itertools
import os
import platform
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import machine

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAMEO = os.path.abspath(
    sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build", "cameo"))
PROGRAMS = os.path.join(TOP, "tests", "programs")
DEADLINE_S = 240
# The machine that programs run on and are recorded on.
MACHINE = machine.current()

# A share is judged only from ENOUGH samples on. A share of RARE of them, or SPARE in total, may
# be wrong: the first samples of a process are walked from a copy of the stack, which may be
# incomplete or belong to a later moment: as many of them as come while a reader makes the first unwind
# tables on a busy machine. An interrupt may occur at rare instructions of the kernel or the loader. A bug in
# Cameo appears repeatedly.
ENOUGH = 100
RARE = 0.01
SPARE = 12
# On a busy machine it takes a part of a short program's time until its runtime is known. Its stacks have this frame until
# then; vanished.py limits their share.
LATE, MOST_LATE = "[functions not read in time]", 0.6


# ---- TAP ----------------------------------------------------------------------


class Failure(Exception):
    """Reports that a test failed, with the expected and the actual result."""


class Skip(Exception):
    """Reports why a test cannot run here."""


class Tap:
    """Runs functions as tests and prints a TAP line for each."""

    def __init__(self):
        self.n = 0
        self.failed = 0

    def line(self, ok, name, why=""):
        self.n += 1
        self.failed += not ok
        print(f"{'ok' if ok else 'not ok'} {self.n} - {name}")
        for text in why.splitlines()[:40]:
            print(f"# {text[:400]}")
        sys.stdout.flush()

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}", flush=True)

    def run(self, name, function, *args):
        try:
            function(*args)
        except Skip as e:
            self.skip(name, e)
        except Failure as e:
            self.line(False, name, str(e))
        except Exception:  # pylint: disable=broad-except  # the other tests continue
            self.line(False, name, traceback.format_exc())
        else:
            self.line(True, name)

    def done(self):
        print(f"1..{self.n}")
        sys.exit(self.failed > 0)


def expect(true, *why):
    if not true:
        raise Failure("\n".join(str(w) for w in why))


# ---- permission to load BPF programs ------------------------------------------

SYS_BPF = {"x86_64": 321, "aarch64": 280}
BPF_PROG_LOAD = 5
BPF_PROG_TYPE_PERF_EVENT = 7


def bpf_refusal():
    """Returns why the kernel does not load `return 0`, determined without Cameo; None if it does."""
    code = struct.pack("<BBhi", 0xB7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQ", BPF_PROG_TYPE_PERF_EVENT, 2, ctypes.addressof(code),
                       ctypes.addressof(licence), 0, 0, 0).ljust(120, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_BPF.get(platform.machine(), 321), BPF_PROG_LOAD,
                      ctypes.create_string_buffer(attr, len(attr)), len(attr))
    if fd < 0:
        return f"the kernel refuses BPF here: {os.strerror(ctypes.get_errno())}"
    os.close(fd)
    return None


def need_bpf():
    """Skips the whole file where BPF programs cannot be loaded."""
    why = None if machine.is_virtual() else bpf_refusal()
    if why:
        print(f"1..0 # SKIP {why}")
        sys.exit(0)


def need_here():
    """Skips a test that starts and watches processes next to a recording."""
    if machine.is_virtual():
        raise Skip("it acts during the recording, which only works on this machine")


# ---- programs -----------------------------------------------------------------


def need(*commands):
    for command in commands:
        if not MACHINE.path_of(command):
            raise Skip(f"no {command} here")


def serve(handler):
    """Serves HTTP by HANDLER in threads at a free port of the loopback interface. Returns the server and its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


class Workshop:
    """A directory of its own, in which programs are built and recordings are written."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="cameo-e2e.", dir=MACHINE.temporary())
        os.chmod(self.dir, 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def build(self, name, compiler, source, *flags):
        """Compiles tests/programs/native/SOURCE. Returns the path of the program NAME."""
        need(compiler)
        out = self.path(name)
        sources = [os.path.join(PROGRAMS, "native", s) for s in source.split()]
        r = subprocess.run([*MACHINE.compiler(compiler), "-D_GNU_SOURCE", *sources, "-o", out, *flags],
                           capture_output=True, text=True, check=False)
        expect(r.returncode == 0, f"{compiler} {' '.join(flags)}:", r.stderr)
        return out

    def c(self, name, *flags, cc="gcc"):
        """Compiles the C program NAME.c with common options."""
        return self.build(name, cc, name + ".c", "-O2", "-fomit-frame-pointer", *flags)

    def link(self, program, name):
        """Links PROGRAM under another name, which becomes the process's name and identifies its samples."""
        if not os.path.exists(self.path(name)):
            os.link(program, self.path(name))
        return self.path(name)


def functions(program):
    """Returns (start, end, name) of the functions in PROGRAM, from its own symbol table."""
    out = subprocess.run([MACHINE.tool("nm"), "--defined-only", "-S", program], capture_output=True, text=True,
                         check=True).stdout
    words = [line.split() for line in out.splitlines()]
    return [(int(w[0], 16), int(w[0], 16) + int(w[1], 16), w[3]) for w in words
            if len(w) == 4 and w[2] in "tT"]


# ---- recordings ---------------------------------------------------------------

# Stacks of a compiled program begin in the program, its loader or a thread.
START = r"_start|\[thread start\]|_dl_start_user|_dlstart|\[ld-.*|\[libc\.so.*|(__)?clone3?|start_thread|libc_start_main.*"
Stack = collections.namedtuple("Stack", "comm frames count")
SUFFIX = re.compile(r"(\.(constprop|isra|part|cold|lto_priv|llvm)[.\d]*)+$")


def parse_folded(text):
    """Parses lines `comm;root;...;leaf count`; kernel frames keep their mark `_[k]`."""
    stacks = []
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        expect(frames and count.isdigit() and int(count) > 0, f"not a folded line: {line!r}")
        comm, *frames = frames.split(";")
        stacks.append(Stack(comm, tuple(SUFFIX.sub("", f) for f in frames), int(count)))
    return stacks


def shortened(frames):
    """Returns text with the number of equal frames in a row, and without the middle of deep stacks."""
    runs = [(f, len(list(same))) for f, same in itertools.groupby(frames)]
    text = ";".join(f if n == 1 else f"{f} x {n}" for f, n in runs)
    return text if len(text) < 380 else text[:100] + " … " + text[-270:]


def show(stacks, most=12):
    stacks = sorted(stacks, key=lambda s: -s.count)
    return "\n".join(f"{s.count:6} {s.comm};{shortened(s.frames)}" for s in stacks[:most]) or "none"


def total(stacks):
    return sum(s.count for s in stacks)


def are_rare(some, of, share=RARE):
    """Returns whether SOME are too few OF those stacks to prove an error."""
    return total(some) <= max(share * total(of), SPARE)


def user_frames(stack):
    return [f for f in stack.frames if not f.endswith("_[k]")]


def is_in(stack, function):
    return any(re.fullmatch(function, f) for f in user_frames(stack))


def is_whole(stack):
    return not any(f.startswith("[incomplete") for f in stack.frames)


def holds(stack, chain):
    """Returns whether the user frames match CHAIN: one expression per frame, `...` for any."""
    def at(frames, patterns):
        if not patterns:
            return True
        if patterns[0] == "...":
            return any(at(frames[i:], patterns[1:]) for i in range(len(frames) + 1))
        return bool(frames) and re.fullmatch(patterns[0], frames[0]) is not None and \
            at(frames[1:], patterns[1:])
    return at(user_frames(stack), chain.split() if isinstance(chain, str) else chain)


class Recording:
    def __init__(self, stacks, said, status):
        self.stacks, self.said, self.status = stacks, said, status

    def of(self, comm):
        """Returns the program's samples: those with user frames, without the exec that started it."""
        return [s for s in self.stacks if s.comm == comm[:15] and user_frames(s)]

    def name_by(self, comm, program, twin):
        """Replaces frames `[PROGRAM+0xADDRESS]` by the functions of its unstripped TWIN."""
        table = functions(twin)
        unnamed = re.compile(re.escape(f"[{program}+0x") + r"([0-9a-f]+)\]")

        def name(frame):
            m = unnamed.fullmatch(frame)
            at = int(m[1], 16) if m else -1
            return next((f for lo, hi, f in table if lo <= at < hi), frame)

        self.stacks = [s._replace(frames=tuple(map(name, s.frames))) if s.comm == comm[:15] else s
                       for s in self.stacks]

    def judge(self, comm, *chains, leaf=".*hot.*", share=1 - RARE, start=START, enough=ENOUGH,
              most_elsewhere=0.1):
        """Expects at least SHARE of the samples in LEAF to be complete and to hold one of CHAINS.

        Each of the chains must occur. Samples outside of LEAF (in the loader, in libc's exit) must
        be few and must reach the bottom of their stack, too. Up to SPARE samples are never an
        error.
        """
        ours = self.of(comm)
        expect(total(ours) >= enough, f"{comm}: {total(ours)} samples", show(ours), self.said)
        late = [s for s in ours if LATE in s.frames]
        expect(are_rare(late, ours, MOST_LATE), f"{comm}: functions were not read", show(late), self.said)
        ours = [s for s in ours if s not in late]
        hot = [s for s in ours if is_in(s, leaf) or not is_whole(s)]
        good = [s for s in hot if is_whole(s) and any(holds(s, c) for c in chains)]
        bad = [s for s in hot if s not in good]
        expect(are_rare(bad, hot, 1 - share),
               f"{comm}: {total(good)} of {total(hot)} samples hold {' | '.join(chains)}",
               "the others:", show(bad), self.said)
        for chain in chains:
            expect(any(holds(s, chain) for s in good), f"{comm}: no sample holds {chain}", show(good or ours))
        rest = [s for s in ours if s not in hot]
        expect(are_rare(rest, ours, most_elsewhere), f"{comm}: samples outside of {leaf}:",
               show(rest))
        lost = [s for s in rest if not re.fullmatch(start, user_frames(s)[0])]
        expect(are_rare(lost, ours), f"{comm}: stacks that do not begin at {start}:", show(lost))


def summary(said):
    """Parses the summary line of cameo: samples, processes, complete (%), lost."""
    m = re.search(r"cameo: (\d+) samples in ([\d.]+) s, (\d+) process(?:es)?, (\d+) stacks, "
                  r"([\d.]+) % complete, (\d+) lost", said)
    expect(m, "no summary:", said)
    return {"samples": int(m[1]), "processes": int(m[3]), "complete": float(m[5]),
            "lost": int(m[6])}


def expect_kept(said):
    """Expects hardly any sample to be lost, even on a busy machine."""
    n = summary(said)
    expect(n["lost"] <= RARE * n["samples"], said)


def cameo(*args, **kw):
    """Runs cameo to its end."""
    return MACHINE.run([CAMEO, *args], DEADLINE_S, **kw)


def expect_refused(*cases):
    """Expects `cameo record` to refuse options. CASES are pairs: the options, and a part of the message."""
    for args, why in cases:
        r = cameo("record", *args, "-d", "1")
        expect(r.returncode == 2 and why in r.stderr, args, r.stderr)


def record(*args, freq=997, output=None, **kw):
    """Runs cameo record ARGS..., which include `-- CMD`, -p or -d. Returns a Recording."""
    with tempfile.TemporaryDirectory(prefix="cameo-e2e.", dir=MACHINE.temporary()) as tmp:
        out = output or os.path.join(tmp, "out.folded")
        r = cameo("record", "-F", str(MACHINE.frequency(freq)), "-o", out, *args, **kw)
        expect(os.path.exists(out), f"no file was written, exit status {r.returncode}:", r.stderr)
        with open(out, encoding="utf-8", errors="replace") as f:
            return Recording(parse_folded(f.read()), r.stderr, r.returncode)


class OnTerminal:
    """A command whose messages go to a terminal: cameo shows its progress only there."""

    def __init__(self, *command):
        self.said = b""
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(command, stderr=theirs, stdin=subprocess.DEVNULL)
        os.close(theirs)

    def listen(self, until=None):
        """Reads the messages up to their end, or to the bytes UNTIL."""
        while until is None or until not in self.said:
            try:
                more = os.read(self.terminal, 4096)
            except OSError:  # the other end is closed
                more = b""
            if not more:
                break
            self.said += more


class Recorder(OnTerminal):
    """A recording that runs while the test acts, from wait_attached() until finish()."""

    def __init__(self, *args, freq=997, output=None):
        self.dir = tempfile.TemporaryDirectory(prefix="cameo-e2e.")
        self.output = output or os.path.join(self.dir.name, "out.folded")
        super().__init__(CAMEO, "record", "-F", str(freq), "-o", self.output, *args)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.terminal)
        self.dir.cleanup()

    def wait_attached(self):
        self.listen(b" samples (")
        expect(b" samples (" in self.said, "never attached:", self.said.decode())

    def finish(self, send=None):
        """Waits for the end of cameo, after sending the signal SEND."""
        if send:
            self.process.send_signal(send)
        self.listen()
        self.process.wait(DEADLINE_S)
        said = self.said.decode(errors="replace")
        expect(os.path.exists(self.output), "no file was written:", said)
        with open(self.output, encoding="utf-8", errors="replace") as f:
            return Recording(parse_folded(f.read()), said, self.process.returncode)


def spawn(*command, **kw):
    return subprocess.Popen([str(w) for w in command], stdout=subprocess.DEVNULL,
                            **{"stdin": subprocess.DEVNULL, **kw})


def end(*processes):
    for p in processes:
        p.kill()
        p.wait()


def children_of(pid):
    """Returns the child processes of all threads of PID; none once it has ended."""
    pids = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                pids += map(int, f.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return pids


def until(event, what, pause_s=0.0):
    """Waits until EVENT returns a true value, and returns that."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        result = event()
        if result:
            return result
        expect(time.monotonic() < deadline, "never happened:", what)
        time.sleep(pause_s)


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        words = f.read().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def wait_cpu(*processes, ms=400):
    """Waits until each process has used MS more milliseconds of CPU time."""
    then = [cpu_ticks(p.pid) + os.sysconf("SC_CLK_TCK") * ms / 1000 for p in processes]
    until(lambda: all(cpu_ticks(p.pid) >= t for p, t in zip(processes, then)), "processes that run",
          0.02)


def record_while_running(*args, processes):
    """Records until PROCESSES have used enough CPU time, then ends the recording by SIGINT."""
    with Recorder(*args) as recorder:
        recorder.wait_attached()
        wait_cpu(*processes)
        return recorder.finish(signal.SIGINT)


def together(commands):
    """Returns a shell command that runs all COMMANDS (lists) at once and ends with the last."""
    quoted = [" ".join("'" + str(w) + "'" for w in c) for c in commands]
    return ["sh", "-c", "".join(q + " >/dev/null & " for q in quoted) + "wait"]
