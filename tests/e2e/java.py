#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every HotSpot on this machine and in the chroots of scripts/runtimes has known stacks.

The programs are compiled once, for Java 8. Programs that can run at the same time on one HotSpot
share a recording, a few processes at a time, each under its own name, which is a link to the
launcher.
"""
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess

from cameo import ENOUGH, PROGRAMS, TOP, Recorder, Recording, Tap, Workshop, end, expect, is_in, \
    need_bpf, record, show, spawn, total, user_frames, wait_cpu

MS = 400
RUN_FIRST_MS = 800  # of a running program
AT_ONCE = 4
CACHE = os.path.join(os.environ.get("CAMEO_CACHE", "/var/cache/cameo"), "runtimes")
MAIN = r"... (JavaCalls::call_helper\(.*|\[libjvm.*) \[stub:.*\] Shapes\.main Shapes\.repeat Shapes\.once "
THREAD = r"... \[stub:.*\] java\.lang\.Thread\.run(With)? ... Shapes\.repeat Shapes\.once "
CHAIN = r"Shapes\.chainA Shapes\.chainB Shapes\.chainC Shapes\.hot ..."
# A virtual thread has its own frames, most of them in the heap, and those of its carrier.
VIRTUAL = r"... java\.util\.concurrent\.ForkJoinWorkerThread\.run ... " \
    r"jdk\.internal\.vm\.Continuation\.run ... java\.lang\.VirtualThread\.run ... Shapes\.inVirtualThread "
# The methods that only this shape has, and its stacks.
SHAPES = {
    "chain": (r"chain[ABC]", [MAIN + CHAIN]),
    "threads": (r"chain[ABC]", [THREAD + CHAIN]),
    "deep": (r"deep", [MAIN + r"Shapes\.deep " * 901 + r"Shapes\.hot ..."]),
    "virtual": (r"many", [MAIN + rf"Shapes\.many Shapes\${c}\.area Shapes\.hot ..."
                          for c in ("Square", "Circle", "Line")]),
    "lambda": (r"lambda(\$once.*)?", [
        MAIN + r"Shapes\.lambda Shapes\$\$Lambda\.applyAsInt Shapes\.lambda\$once\$\d Shapes\.hot ..."]),
    "reflection": (r"reflected", [
        MAIN + r"java\.lang\.reflect\.Method\.invoke ... Shapes\.reflected Shapes\.hot ..."]),
    "callback": (r"(lambda\$)?sorted.*", [
        MAIN + r"Shapes\.sorted java\.util\.Arrays\.sort ... Shapes\$\$Lambda\.compare "
        r"Shapes\.lambda\$sorted\$\d Shapes\.hot ..."]),
    "exception": (r"throw(n|ing)", [MAIN + r"Shapes\.thrown Shapes\.throwing Shapes\.hot ..."]),
    "locked": (r"locked", [MAIN + r"Shapes\.locked Shapes\.hot ..."]),
    "unmounted": (r"inVirtualThread|rounds|twice", [
        VIRTUAL + r"Shapes\.twice Shapes\.hot ...",
        VIRTUAL + r"Shapes\.rounds " * 9 + r"Shapes\.hot ..."]),
}
FIRST = ["chain", "virtual", "exception"]
# C1 pushes arguments and calls a stub, which pushes registers.
CASTS = MAIN + r"Shapes\.castA Shapes\.castB Shapes\.hotCasts ..."
IN_CASTS = r"\[stub: .*slow_subtype.*|Shapes\.hotCasts"
# A variant has a letter for the name of its process, arguments for the JVM, and shapes.
WAYS = {
    "": ("d", [], list(SHAPES)),
    ", interpreted": ("i", ["-Xint"], [*FIRST, "unmounted"]),
    ", C1 only": ("1", ["-XX:TieredStopAtLevel=1"], FIRST),
    ", C2 only": ("2", ["-XX:-TieredCompilation"], FIRST),
    ", with frame pointers": ("p", ["-XX:+PreserveFramePointer"], FIRST),
    ", serial GC": ("s", ["-XX:+UseSerialGC"], FIRST),
    ", with wide references": ("w", ["-XX:-UseCompressedOops"], ["unmounted"]),
}
# HotSpot does not record inlining in a loop without a safepoint
NOT_INLINED = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Shapes::hot"]
CASTS_NOT_INLINED = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Shapes::*ast*"]
VIRTUAL_THREADS = 21
WITH_SYMBOLS = 11  # Debian's build of version 8 is stripped
COLLECTED_OFTEN = ["-XX:+UseSerialGC", "-Xmx32m"]
START = r"_start|\[(?!incomplete)|(__)?clone|start_thread|_dl_"
LIARS = 4


class Java:
    """A HotSpot, with its root directory and the launcher in it."""

    def __init__(self, root, home):
        self.root, self.home = root, home
        self.java = next((p for p in (home + "/bin/java", home + "/jre/bin/java")
                          if os.path.exists(root + p)), None)
        release = subprocess.run(self.command(self.java, "-version"), capture_output=True,
                                 text=True, check=False).stderr if self.java else ""
        m = re.search(r'version "(?:1\.)?(\d+)', release)
        self.major = int(m[1]) if m else 0
        self.name = f"{self.major} of {os.path.basename(root) or os.path.basename(home)}"

    def command(self, launcher, *args):
        if not self.root:
            return [launcher, *args]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                'mount -t proc proc "$0/proc"; exec chroot "$0" "$@"', self.root, launcher, *args]

    def install(self, shop):
        """Copies the classes into the root. Returns a directory for links."""
        self.dir = shop.path(self.name.replace(" ", "-")) if not self.root else "/tmp/cameo-java"
        shutil.rmtree(self.root + self.dir, ignore_errors=True)
        shutil.copytree(shop.path("classes"), self.root + self.dir)

    def remove(self):
        shutil.rmtree(self.root + self.dir, ignore_errors=True)

    def run(self, letter, *args):
        """Links the launcher under another name, which becomes the name of the process."""
        link = f"{self.dir}/{self.major}{letter}"
        if not os.path.islink(self.root + link):
            os.symlink(self.java, self.root + link)
        return self.command(link, "-cp", self.dir, *args)

    def has(self, shape):
        return shape != "unmounted" or self.major >= VIRTUAL_THREADS

    def shapes(self, shapes):
        return [s for s in shapes if self.has(s)]


def javas():
    """Returns one HotSpot of each version, preferring those of this machine."""
    found = {}
    for root in ["", *sorted(glob.glob(CACHE + "/*"))]:
        for home in sorted(glob.glob(root + "/usr/lib/jvm/*")):
            if os.path.islink(home) or not os.path.isdir(home) or root.endswith(".new"):
                continue
            java = Java(root, home[len(root):])
            if java.major:
                found.setdefault(java.major, java)
    return [found[major] for major in sorted(found)]


# ---- the recording --------------------------------------------------------------


def commands_of(java):
    for letter, args, shapes in WAYS.values():
        if java.shapes(shapes):
            yield java.run(letter, *args, *NOT_INLINED, "Shapes", ",".join(java.shapes(shapes)), MS)
    yield java.run("c", "-XX:TieredStopAtLevel=1", *CASTS_NOT_INLINED, "Shapes", "casts", MS)
    yield java.run("m", "Mixed", 2 * MS)
    yield java.run("u", *COLLECTED_OFTEN, "Unloads", 2 * MS)
    yield java.run("v", *COLLECTED_OFTEN, "-Xint", "Unloads", 2 * MS)


def record_all(shop, commands, *args):
    """Records all COMMANDS in one recording, a few at a time."""
    with open(shop.path("commands"), "w", encoding="utf-8") as f:
        f.writelines(shlex.join(map(str, c)) + " >/dev/null\n" for c in commands)
    return record(*args, "--", "sh", "-c", f'xargs -d "\\n" -P {AT_ONCE} -n 1 sh -c <"$0"',
                  shop.path("commands"))


def judge_ends(recording):
    """Expects each program to report success by its exit status."""
    expect(recording.status == 0, recording.said)
    expect(re.search(r"\d+ samples \([\d.]+ %\) are in compiled Java code", recording.said),
           recording.said)


# ---- checks -----------------------------------------------------------------------


def of_program(recording, comm, methods=r"Shapes\..*"):
    """Checks the program itself; stacks of the VM's own work are as complete as native stacks."""
    return Recording([s for s in recording.of(comm) if is_in(s, methods)], recording.said,
                     recording.status)


def judge(recording, comm, shapes):
    chains = [c for s in shapes for c in SHAPES[s][1]]
    of_program(recording, comm).judge(comm, *chains, leaf=r"Shapes\.hot", most_elsewhere=0.6)


def judge_shape(recording, comm, methods, chains):
    of_program(recording, comm, rf"Shapes\.({methods})").judge(
        comm, *chains, leaf=r"Shapes\.hot", most_elsewhere=0.6)


def judge_casts(recording, comm):
    """Expects all callers of a stub that has pushed the registers it saves."""
    of_program(recording, comm, IN_CASTS).judge(comm, CASTS, leaf=IN_CASTS)


def judge_stubs(recording, comm):
    """Expects the name of the stub that calls Java code, which needs a libjvm with symbols."""
    expect(any(is_in(s, re.escape("[stub: call_stub]")) for s in recording.of(comm)),
           show(recording.of(comm)))


def judge_signatures(recording, comm):
    ours = recording.of(comm)
    expect(any(is_in(s, re.escape("Shapes.main(java.lang.String[])")) and
               is_in(s, re.escape("Shapes.hot(int)")) for s in ours), show(ours))


def judge_near(recording, comm):
    """Expects the nearest safepoint to determine the methods where nothing better is known."""
    ours = recording.of(comm)
    expect(any(is_in(s, r"Shapes\.hot \[nearest safepoint\]") and is_in(s, r"Shapes\.chainC")
               for s in ours), show(ours))


def judge_mixed(recording, comm):
    """Expects 99 % of the stacks of Java threads to be complete under a mixed load."""
    ours = of_program(recording, comm, r"(Mixed|java)[.$].*").stacks
    bad = [s for s in ours if not re.match(START, user_frames(s)[0])]
    expect(total(ours) >= 500 and total(bad) <= 0.01 * total(ours), total(ours), show(bad))


def letters_of(stack, pattern):
    return {m[1] for f in stack.frames for m in [re.fullmatch(pattern, f)] if m}


def judge_unloaded(recording, comm):
    """Expects a driver to run only its own class, although classes replace each other.

    Samples from before the process's code was known are symbolized by the code that is there
    shortly afterwards, and the nearest safepoint in compiled code may belong to another class.
    """
    ours = of_program(recording, comm, r"Unloads\.drive.").stacks
    drivers = [letters_of(s, r"Unloads\.drive(.)") for s in ours]
    bodies = [letters_of(s, r"Unloads\$Body(.)\..*") | letters_of(s, r"Unloads\$Body.\.(?:spin|turn)(.)")
              for s in ours]
    wrong = [s for s, driver, body in zip(ours, drivers, bodies) if body - driver]
    right = [s for s, driver, body in zip(ours, drivers, bodies) if body == driver]
    expect(total(wrong) <= 0.05 * total(ours), "other methods' names:",
           show([s._replace(frames=s.frames[-4:]) for s in wrong]))
    expect(total(right) >= ENOUGH and
           set().union(*(letters_of(s, r"Unloads\.drive(.)") for s in right)) == set("ABCD"),
           show([s._replace(frames=s.frames[-4:]) for s in ours]))
    nameless = [f for s in ours for f in s.frames if "??" in f]
    expect(not nameless, "not even names:", nameless)


def judge_liars(recording):
    """Expects the claims of a false libjvm to be read without being trusted."""
    ours = [s for i in range(LIARS) for s in recording.of(f"liar{i}")]
    expect(any(is_in(s, r"\[stub: .*\]|\[(stale|unreadable) function\]") for s in ours), show(ours))


def judge_all(tap, recording, java):
    for way, (letter, _, shapes) in WAYS.items():
        comm, mine = f"{java.major}{letter}", java.shapes(shapes)
        if mine:
            tap.run(f"{java.name}: all shapes{way}", judge, recording, comm, mine)
        for methods in dict.fromkeys(SHAPES[s][0] for s in mine):
            same = [s for s in mine if SHAPES[s][0] == methods]
            tap.run(f"{java.name}: {' and '.join(same)}{way}", judge_shape, recording, comm, methods,
                    [c for s in same for c in SHAPES[s][1]])
    tap.run(f"{java.name}: casts compiled by C1", judge_casts, recording, f"{java.major}c")
    if java.major >= WITH_SYMBOLS:
        tap.run(f"{java.name}: a stub's routine", judge_stubs, recording, f"{java.major}d")
    tap.run(f"{java.name}: a mixed load", judge_mixed, recording, f"{java.major}m")
    tap.run(f"{java.name}: classes that are loaded and unloaded", judge_unloaded, recording, f"{java.major}u")
    tap.run(f"{java.name}: interpreted classes that are loaded and unloaded", judge_unloaded, recording,
            f"{java.major}v")


# ---- recordings of their own ------------------------------------------------------


def record_running(all_javas):
    """The program starts before Cameo, which profiles the whole machine."""
    programs = [spawn(*j.run("r", *NOT_INLINED, "Shapes", "chain", 120000)) for j in all_javas]
    try:
        wait_cpu(*programs, ms=RUN_FIRST_MS)
        with Recorder("-a") as recorder:
            recorder.wait_attached()
            wait_cpu(*programs, ms=MS)
            return recorder.finish(signal.SIGINT)
    finally:
        end(*programs)


def record_chains(shop, all_javas, names):
    commands = [j.run("g", *NOT_INLINED, "Shapes", "chain", MS) for j in all_javas]
    return record_all(shop, commands, f"--demangle={names}")


# ---- programs -----------------------------------------------------------------------


def compile_programs(shop):
    r = subprocess.run(["javac", "-Xlint:-options", "-source", "8", "-target", "8", "-d",
                        shop.path("classes"), *glob.glob(os.path.join(PROGRAMS, "java", "*.java"))],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)


def liars(shop):
    """Returns commands that run a library that calls itself libjvm; none without a compiler."""
    if not shutil.which("gcc"):
        return []
    source = os.path.join("..", "java", "liar.c")
    library = shop.build("libjvm.so", "gcc", source, "-shared", "-fPIC", "-fvisibility=hidden",
                         "-I" + os.path.join(TOP, "src"))
    program = shop.build("liar", "gcc", source, "-DPROGRAM", "-ldl")
    return [[shop.link(program, f"liar{i}"), library, MS // 2, i] for i in range(LIARS)]


def all_of(tap, shop, all_javas):
    liar_commands = liars(shop)
    for java in all_javas:
        recording = record_all(shop, [*liar_commands, *commands_of(java)])
        tap.run(f"{java.name}: all programs succeed", judge_ends, recording)
        if liar_commands:
            tap.run(f"{java.name}: a false libjvm next to it", judge_liars, recording)
        judge_all(tap, recording, java)
        liar_commands = []
    recording = record_running(all_javas)
    for java in all_javas:
        tap.run(f"{java.name}: a running process", judge, recording, f"{java.major}r",
                ["chain"])
    recording = record_chains(shop, all_javas, "full")
    for java in all_javas:
        tap.run(f"{java.name}: signatures", judge_signatures, recording, f"{java.major}g")
    java = all_javas[-1]
    recording = record_chains(shop, [java], "no")
    tap.run(f"{java.name}: the nearest safepoint", judge_near, recording, f"{java.major}g")


def main():
    need_bpf()
    tap = Tap()
    if not shutil.which("javac"):
        tap.skip("HotSpot", "no javac here")
        tap.done()
    with Workshop() as shop:
        all_javas = javas()
        try:
            compile_programs(shop)
            for java in all_javas:
                java.install(shop)
            all_of(tap, shop, all_javas)
        finally:
            for java in all_javas:
                java.remove()
    tap.done()


main()
