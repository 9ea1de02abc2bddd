# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: build target programs, record them, judge stacks, say TAP.

Programs end after so much *CPU* time, and recordings end with their programs:
so the number of samples, and the result, do not depend on how busy the
machine is. What waits, waits for an event.
"""
import collections
import ctypes
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
import time
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAMEO = os.path.abspath(
    sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build", "cameo"))
PROGRAMS = os.path.join(TOP, "tests", "programs")
DEADLINE_S = 240

# Samples below which a share says nothing; and what may be other than it should: this share of
# them, or so many in all. A process's first ones are walked from a copy of the stack, which may
# lack a part; an interrupt may meet a few instructions of the kernel's or the loader's that nobody
# thought of. What is wrong in Cameo is wrong again and again.
ENOUGH = 100
RARE = 0.01
SPARE = 3


# ---- TAP ----------------------------------------------------------------------


class Failure(Exception):
    """A test's reason to fail: what was expected, and what was there."""


class Skip(Exception):
    """A test's reason not to run here."""


class Tap:
    """Runs functions as tests: the line is the function's docstring."""

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
        except Exception:  # pylint: disable=broad-except  # the other tests go on
            self.line(False, name, traceback.format_exc())
        else:
            self.line(True, name)

    def done(self):
        print(f"1..{self.n}")
        sys.exit(self.failed > 0)


def expect(true, *why):
    if not true:
        raise Failure("\n".join(str(w) for w in why))


# ---- may we at all ------------------------------------------------------------

SYS_BPF = {"x86_64": 321, "aarch64": 280}
BPF_PROG_LOAD = 5
BPF_PROG_TYPE_PERF_EVENT = 7


def bpf_refusal():
    """Why the kernel does not load `return 0`, asked without Cameo; None if it does."""
    code = struct.pack("<BBhi", 0xB7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQ", BPF_PROG_TYPE_PERF_EVENT, 2, ctypes.addressof(code),
                       ctypes.addressof(licence), 0, 0, 0).ljust(120, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_BPF.get(platform.machine(), 321), BPF_PROG_LOAD,
                      ctypes.create_string_buffer(attr, len(attr)), len(attr))
    if fd < 0:
        return f"BPF is refused here: {os.strerror(ctypes.get_errno())}"
    os.close(fd)
    return None


def need_bpf():
    """Skip the whole file where BPF programs can't be loaded."""
    why = bpf_refusal()
    if why:
        print(f"1..0 # SKIP {why}")
        sys.exit(0)


# ---- programs -----------------------------------------------------------------


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            raise Skip(f"no {command} here")


class Workshop:
    """A directory of its own, in which programs are built and recordings are written."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="cameo-e2e.")
        os.chmod(self.dir, 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def build(self, name, compiler, source, *flags):
        """tests/programs/native/SOURCE -> path of the program NAME."""
        need(compiler)
        out = self.path(name)
        sources = [os.path.join(PROGRAMS, "native", s) for s in source.split()]
        r = subprocess.run([compiler, "-D_GNU_SOURCE", *sources, "-o", out, *flags],
                           capture_output=True, text=True, check=False)
        expect(r.returncode == 0, f"{compiler} {' '.join(flags)}:", r.stderr)
        return out

    def c(self, name, *flags, cc="gcc"):
        """The C program NAME.c as people build it."""
        return self.build(name, cc, name + ".c", "-O2", "-fomit-frame-pointer", *flags)

    def link(self, program, name):
        """PROGRAM under another name: what the kernel calls a process, and samples are told by."""
        if not os.path.exists(self.path(name)):
            os.link(program, self.path(name))
        return self.path(name)


def functions(program):
    """(start, end, name) of the functions in PROGRAM, by its own symbol table."""
    out = subprocess.run(["nm", "--defined-only", "-S", program], capture_output=True, text=True,
                         check=True).stdout
    words = [line.split() for line in out.splitlines()]
    return [(int(w[0], 16), int(w[0], 16) + int(w[1], 16), w[3]) for w in words
            if len(w) == 4 and w[2] in "tT"]


# ---- recordings ---------------------------------------------------------------

# Where a stack of a program of C's kind begins: the program, its loader, a thread.
START = r"_start|_dl_start_user|_dlstart|\[ld-.*|\[libc\.so.*|(__)?clone3?|start_thread|libc_start_main.*"
Stack = collections.namedtuple("Stack", "comm frames count")
SUFFIX = re.compile(r"(\.(constprop|isra|part|cold|lto_priv|llvm)[.\d]*)+$")


def parse_folded(text):
    """Lines `comm;root;...;leaf count`; kernel frames keep their mark `_[k]`."""
    stacks = []
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        expect(frames and count.isdigit() and int(count) > 0, f"not a folded line: {line!r}")
        comm, *frames = frames.split(";")
        stacks.append(Stack(comm, tuple(SUFFIX.sub("", f) for f in frames), int(count)))
    return stacks


def show(stacks, most=12):
    stacks = sorted(stacks, key=lambda s: -s.count)
    return "\n".join(f"{s.count:6} {s.comm};{';'.join(s.frames)}" for s in stacks[:most]) or "none"


def total(stacks):
    return sum(s.count for s in stacks)


def are_rare(some, of, share=RARE):
    """SOME are so few OF those stacks that nothing follows from them."""
    return total(some) <= max(share * total(of), SPARE)


def user_frames(stack):
    return [f for f in stack.frames if not f.endswith("_[k]")]


def is_in(stack, function):
    return any(re.fullmatch(function, f) for f in user_frames(stack))


def is_whole(stack):
    return not any(f.startswith("[incomplete") for f in stack.frames)


def holds(stack, chain):
    """The user frames begin with CHAIN: one regular expression a frame, `...` for any number."""
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
        """The program's samples: those with frames of its own, not of the exec that began it."""
        return [s for s in self.stacks if s.comm == comm[:15] and user_frames(s)]

    def name_by(self, comm, program, twin):
        """Name the frames `[PROGRAM+0xADDRESS]` by the functions of its unstripped TWIN."""
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
        """At least SHARE of the samples in LEAF hold one of the whole CHAINS, and nothing is cut.

        Each of the chains must be there. What a program does before and after
        (its loader, libc's exit) is not LEAF's, but must reach the bottom of
        its stack too, and be little. A share never decides over the first SPARE samples.
        """
        ours = self.of(comm)
        expect(total(ours) >= enough, f"{comm}: {total(ours)} samples", show(ours), self.said)
        hot = [s for s in ours if is_in(s, leaf) or not is_whole(s)]
        good = [s for s in hot if is_whole(s) and any(holds(s, c) for c in chains)]
        bad = [s for s in hot if s not in good]
        expect(are_rare(bad, hot, 1 - share),
               f"{comm}: {total(good)} of {total(hot)} samples hold {' | '.join(chains)}",
               "the others:", show(bad), self.said)
        for chain in chains:
            expect(any(holds(s, chain) for s in good), f"{comm}: never {chain}", show(good))
        rest = [s for s in ours if s not in hot]
        expect(are_rare(rest, ours, most_elsewhere), f"{comm}: elsewhere than in {leaf}:",
               show(rest))
        lost = [s for s in rest if not re.fullmatch(start, user_frames(s)[0])]
        expect(are_rare(lost, ours), f"{comm}: does not begin at {start}:", show(lost))


def summary(said):
    """cameo's last words as numbers: samples, complete (%), lost."""
    m = re.search(r"cameo: (\d+) samples in ([\d.]+) s, (\d+) processes, (\d+) stacks, "
                  r"([\d.]+) % complete, (\d+) lost", said)
    expect(m, "no summary:", said)
    return {"samples": int(m[1]), "processes": int(m[3]), "complete": float(m[5]),
            "lost": int(m[6])}


def expect_kept(said):
    """Of its samples hardly one was lost, on however busy a machine."""
    n = summary(said)
    expect(n["lost"] <= RARE * n["samples"], said)


def cameo(*args, **kw):
    """Run cameo to its end."""
    return subprocess.run([CAMEO, *args], capture_output=True, text=True, errors="replace",
                          check=False, timeout=DEADLINE_S, stdin=subprocess.DEVNULL, **kw)


def record(*args, freq=997, output=None, **kw):
    """cameo record ARGS... (with `-- CMD` or -p or -d among them) -> Recording."""
    with tempfile.TemporaryDirectory(prefix="cameo-e2e.") as tmp:
        out = output or os.path.join(tmp, "out.folded")
        r = cameo("record", "-F", str(freq), "-o", out, *args, **kw)
        expect(os.path.exists(out), f"no file was written, exit status {r.returncode}:", r.stderr)
        with open(out, encoding="utf-8", errors="replace") as f:
            return Recording(parse_folded(f.read()), r.stderr, r.returncode)


class Recorder:
    """A recording that runs while the test does something: from attached until finish()."""

    def __init__(self, *args, freq=997, output=None):
        self.dir = tempfile.TemporaryDirectory(prefix="cameo-e2e.")
        self.output = output or os.path.join(self.dir.name, "out.folded")
        self.said = b""
        # a terminal, for there it shows its progress
        self.terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [CAMEO, "record", "-F", str(freq), "-o", self.output, *args], stderr=theirs,
            stdin=subprocess.DEVNULL)
        os.close(theirs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.terminal)
        self.dir.cleanup()

    def listen(self, until=None):
        """Read what it says, to its end or until a word of it."""
        while until is None or until not in self.said:
            try:
                more = os.read(self.terminal, 4096)
            except OSError:  # nobody has the other end any more
                more = b""
            if not more:
                break
            self.said += more

    def wait_attached(self):
        self.listen(b" samples (")
        expect(b" samples (" in self.said, "never attached:", self.said.decode())

    def finish(self, send=None):
        """Wait for its end, after the signal SEND."""
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
    """Child processes of PID, of whichever of its threads; none once it has ended."""
    pids = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                pids += map(int, f.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return pids


def until(event, what, pause_s=0.0):
    """Wait for what EVENT returns to be true."""
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
    """Until each process has had so much CPU time more."""
    then = [cpu_ticks(p.pid) + os.sysconf("SC_CLK_TCK") * ms / 1000 for p in processes]
    until(lambda: all(cpu_ticks(p.pid) >= t for p, t in zip(processes, then)), "processes that run",
          0.02)


def record_while_running(*args, processes):
    """A recording ended by SIGINT when PROCESSES have run for long enough."""
    with Recorder(*args) as recorder:
        recorder.wait_attached()
        wait_cpu(*processes)
        return recorder.finish(signal.SIGINT)


def together(commands):
    """One shell command that runs all COMMANDS (lists) at once and ends with the last."""
    quoted = [" ".join("'" + str(w) + "'" for w in c) for c in commands]
    return ["sh", "-c", "".join(q + " >/dev/null & " for q in quoted) + "wait"]
