#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every HotSpot that is found, here and in the chroots of scripts/runtimes: known stacks.

The program is compiled once, for Java 8. Each shape runs by a name of its own,
a link to the launcher.
"""
import glob
import os
import re
import shutil
import subprocess

from cameo import PROGRAMS, Recording, Tap, Workshop, end, expect, is_in, need, need_bpf, record, \
    record_while_running, show, spawn, together, total, user_frames

MS = 1500
CACHE = os.path.join(os.environ.get("CAMEO_CACHE", "/var/cache/cameo"), "runtimes")
MAIN = r"... (JavaCalls::call_helper\(.*|\[libjvm.*) \[stub:.*\] Shapes\.main Shapes\.repeat Shapes\.once "
THREAD = r"... \[stub:.*\] java\.lang\.Thread\.run(With)? ... Shapes\.repeat Shapes\.once "
CHAIN = r"Shapes\.chainA Shapes\.chainB Shapes\.chainC Shapes\.hot ..."
SHAPES = {
    "chain": [MAIN + CHAIN],
    "deep": [MAIN + r"Shapes\.deep " * 901 + r"Shapes\.hot ..."],
    "virtual": [MAIN + rf"Shapes\.many Shapes\${c}\.area Shapes\.hot ..."
                for c in ("Square", "Circle", "Line")],
    "lambda": [MAIN + r"Shapes\.lambda Shapes\$\$Lambda\.applyAsInt Shapes\.lambda\$once\$\d Shapes\.hot ..."],
    "reflection": [MAIN + r"java\.lang\.reflect\.Method\.invoke ... Shapes\.reflected Shapes\.hot ..."],
    "callback": [MAIN + r"Shapes\.sorted java\.util\.Arrays\.sort ... Shapes\$\$Lambda\.compare "
                 r"Shapes\.lambda\$sorted\$\d Shapes\.hot ..."],
    "exception": [MAIN + r"Shapes\.thrown Shapes\.throwing Shapes\.hot ..."],
    "locked": [MAIN + r"Shapes\.locked Shapes\.hot ..."],
    "threads": [THREAD + CHAIN],
}
MODES = {
    "interpreted": ["-Xint"],
    "C1 only": ["-XX:TieredStopAtLevel=1"],
    "C2 only": ["-XX:-TieredCompilation"],
    "with frame pointers": ["-XX:+PreserveFramePointer"],
    "serial GC": ["-XX:+UseSerialGC"],
}
# what is inlined in a loop without a safepoint nobody can tell
NOT_INLINED = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Shapes::hot"]
VIRTUAL_THREADS = 21
WITH_SYMBOLS = 11  # Debian's 8 is stripped
UNMOUNTED = {"": [], ", interpreted": ["-Xint"], ", with wide references": ["-XX:-UseCompressedOops"]}
START = r"_start|\[(?!incomplete)|(__)?clone|start_thread|_dl_"
FIRST = ["chain", "virtual", "exception"]


class Java:
    """A HotSpot: its root directory and its launcher there."""

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
        """Put the classes where it sees them; a directory for links."""
        self.dir = shop.path(self.name.replace(" ", "-")) if not self.root else "/tmp/cameo-java"
        shutil.rmtree(self.root + self.dir, ignore_errors=True)
        shutil.copytree(shop.path("classes"), self.root + self.dir)

    def remove(self):
        shutil.rmtree(self.root + self.dir, ignore_errors=True)

    def link(self, name):
        """The launcher by another name, which is what the process is called."""
        link = f"{self.dir}/{name}"
        if not os.path.islink(self.root + link):
            os.symlink(self.java, self.root + link)
        return link

    def run(self, shape, *args, ms=MS):
        link = self.link(shape)
        return self.command(link, *args, *NOT_INLINED, "-cp", self.dir, "Shapes", shape, str(ms))


def javas():
    """One of each version, of this machine's first."""
    found = {}
    for root in ["", *sorted(glob.glob(CACHE + "/*"))]:
        for home in sorted(glob.glob(root + "/usr/lib/jvm/*")):
            if os.path.islink(home) or not os.path.isdir(home) or root.endswith(".new"):
                continue
            java = Java(root, home[len(root):])
            if java.major:
                found.setdefault(java.major, java)
    return [found[major] for major in sorted(found)]


def judge(recording, shape):
    """Of the program itself: what the VM does besides is as whole as native stacks are."""
    ours = [s for s in recording.of(shape) if is_in(s, r"Shapes\..*")]
    Recording(ours, recording.said, recording.status).judge(
        shape, *SHAPES[shape], leaf=r"Shapes\.hot", most_elsewhere=0.6)


def judge_running(java):
    """Begun before Cameo, which is told nothing but the pid."""
    program = spawn(*java.run("chain", ms=120000))
    try:
        recording = record_while_running("-a", processes=[program])
    finally:
        end(program)
    judge(recording, "chain")


def judge_stubs(recording):
    """Java code is called by a routine, whose name a libjvm with symbols leads to."""
    expect(any(is_in(s, re.escape("[stub: call_stub]")) for s in recording.of("chain")),
           show(recording.of("chain")))


def judge_signatures(java):
    recording = record("--demangle=full", "--", *java.run("chain"))
    expect(any(is_in(s, re.escape("Shapes.main(java.lang.String[])")) and
               is_in(s, re.escape("Shapes.hot(int)")) for s in recording.stacks),
           show(recording.of("chain")))


def judge_unmounted(java, args):
    """A virtual thread: its frames, most of them in the heap, then its carrier's."""
    recording = record("--", *java.run("unmounted", *args))
    hot = [s for s in recording.stacks if is_in(s, r"Shapes\.hot")]
    for within, chain in (("twice", ""), ("rounds", r"Shapes\.rounds " * 8)):
        Recording([s for s in hot if is_in(s, rf"Shapes\.{within}")], recording.said,
                  recording.status).judge(
            "unmounted", r"... java\.util\.concurrent\.ForkJoinWorkerThread\.run ... "
            r"jdk\.internal\.vm\.Continuation\.run ... java\.lang\.VirtualThread\.run ... "
            rf"Shapes\.inVirtualThread {chain}Shapes\.{within} Shapes\.hot ...",
            leaf=r"Shapes\.hot", share=0.97)


def judge_mixed(java):
    """A load of many kinds: where Java threads are, all but one of a hundred stacks are whole."""
    link = java.link("mixed")
    recording = record("--", *java.command(link, "-cp", java.dir, "Mixed", str(2 * MS)))
    ours = [s for s in recording.of("mixed") if is_in(s, r"(Mixed|java)[.$].*")]
    bad = [s for s in ours if not re.match(START, user_frames(s)[0])]
    expect(total(ours) >= 1000 and total(bad) <= 0.01 * total(ours), show(bad))


def judge_modes(java, args):
    recording = record("--", *together([java.run(s, *args) for s in FIRST]))
    for shape in FIRST:
        judge(recording, shape)


def all_of(tap, shop, java):
    java.install(shop)
    try:
        recording = record("--", *together([java.run(s) for s in SHAPES]))
        for shape in SHAPES:
            tap.run(f"{java.name}: {shape}", judge, recording, shape)
        if java.major >= WITH_SYMBOLS:
            tap.run(f"{java.name}: a stub's routine", judge_stubs, recording)
        for mode, args in MODES.items():
            tap.run(f"{java.name}: {mode}", judge_modes, java, args)
        tap.run(f"{java.name}: a process that runs already", judge_running, java)
        tap.run(f"{java.name}: signatures", judge_signatures, java)
        tap.run(f"{java.name}: a mixed load", judge_mixed, java)
        if java.major >= VIRTUAL_THREADS:
            for mode, args in UNMOUNTED.items():
                tap.run(f"{java.name}: virtual threads{mode}", judge_unmounted, java, args)
    finally:
        java.remove()


def compile_program(shop):
    need("javac")
    r = subprocess.run(["javac", "-Xlint:-options", "-source", "8", "-target", "8", "-d",
                        shop.path("classes"), *glob.glob(os.path.join(PROGRAMS, "java", "*.java"))],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)


def main():
    need_bpf()
    tap = Tap()
    if not shutil.which("javac"):
        tap.skip("HotSpot", "no javac here")
        tap.done()
    with Workshop() as shop:
        compile_program(shop)
        for java in javas():
            all_of(tap, shop, java)
    tap.done()


main()
