# SPDX-License-Identifier: Apache-2.0
"""The machine that the end-to-end tests record on: this one, or a virtual one of another processor.

tests/vm/arm64.py starts a virtual machine and runs the same tests for it, with CAMEO_MACHINE set
to a directory that both machines have at the same path; programs are in its directory "local".
Programs are compiled here by a cross-compiler; they are run and recorded there. A command is a
file N.sh in the directory; the loop GUEST runs it and leaves N.out, N.err and N.status.
"""
import glob
import itertools
import os
import shlex
import shutil
import subprocess
import time

# The machine is emulated: a second of work here may take a minute there.
LIMIT_S = 900
# Cameo lacks these there (docs/architecture/processors.md), or this machine lacks tools for them.
LACKING = {"aarch64-linux-gnu": {"code without CFI", "x86-64", "rustc"}}
# The directory of programs is local there, since files of remote file systems are read only if they respond
# within half a second; it is synchronized before and after a command. N.status appears when all files of the
# command are complete.
GUEST = """
cd "$CAMEO_MACHINE"
mkdir /tmp/host
busybox mount --bind local /tmp/host
busybox mount -t tmpfs local local
: >ready
n=1
while [ ! -e stop ]; do
	if [ -e $n.sh ]; then
		cp -au /tmp/host/. local/
		sh $n.sh >$n.out 2>$n.err </dev/null
		echo $? >$n.new
		cp -au local/. /tmp/host/
		mv $n.new $n.status
		n=$((n + 1))
	else
		sleep 0.1
	fi
done
exit 0
"""


class Here:
    """This machine."""

    def path_of(self, command):
        return shutil.which(command)

    def programs(self, pattern):
        """The paths that match a glob pattern."""
        return sorted(glob.glob(pattern))

    def compiler(self, command):
        return [command]

    def tool(self, command):
        """A tool of binutils that knows the machine's executables."""
        return command

    def has(self, feature):
        """Every processor but x86-64 lacks some features."""
        return True

    def temporary(self):
        """The directory for temporary ones; None is the system's."""
        return None

    def ms(self, duration):
        """The CPU time that a program needs in order to be sampled for DURATION."""
        return duration

    def frequency(self, samples):
        """The sampling frequency in Hz."""
        return samples

    def run(self, argv, timeout, **kw):
        return subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False,
                              timeout=timeout, stdin=subprocess.DEVNULL, **kw)


class Virtual:
    """A virtual machine with the directory SHARE; its programs are in the directory ROOT here."""

    def __init__(self, share, root, triple):
        self.share, self.root, self.triple = share, root, triple

    def path_of(self, command):
        """The path there. Compilers are the exception: they run here."""
        if command.split("/")[-1] in ("gcc", "g++", "clang", "clang++"):
            return shutil.which(self.compiler(command)[0])
        for folder in "/usr/bin", "/usr/sbin":
            if os.path.lexists(self.root + folder + "/" + command):
                return folder + "/" + command
        return None

    def programs(self, pattern):
        return sorted(path[len(self.root):] for path in glob.glob(self.root + pattern))

    def compiler(self, command):
        if command.startswith("clang"):
            return [command, "--target=" + self.triple, "--sysroot=" + self.root]
        return [self.triple + "-" + command, "--sysroot=" + self.root]

    def tool(self, command):
        return self.triple + "-" + command

    def has(self, feature):
        return feature not in LACKING[self.triple]

    def temporary(self):
        return self.share + "/local"

    def ms(self, duration):
        """Programs take a second of CPU time to load their libraries."""
        return 10 * duration

    def frequency(self, samples):
        return samples // 5

    def _next(self):
        """The first number without a command; tests run one after the other."""
        return next(n for n in itertools.count(1) if not os.path.exists(f"{self.share}/{n}.sh"))

    def _wait_for(self, path, limit):
        deadline = time.monotonic() + limit
        while not os.path.exists(path):
            if time.monotonic() > deadline or os.path.exists(self.share + "/ended"):
                raise subprocess.TimeoutExpired(path, limit)
            time.sleep(0.1)

    def run(self, argv, timeout, cwd=None, env=None):
        """Runs a command there. Variables of ENV that differ from this process's own are exported."""
        changed = {k: v for k, v in (env or {}).items() if os.environ.get(k) != v}
        lines = [f"export {k}={shlex.quote(v)}" for k, v in changed.items()]
        lines += [f"cd {shlex.quote(cwd or '/tmp')}", "exec " + shlex.join(map(str, argv))]
        at = f"{self.share}/{self._next()}"
        with open(at + ".new", "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        os.rename(at + ".new", at + ".sh")
        self._wait_for(at + ".status", LIMIT_S)
        said = [open(at + end, encoding="utf-8", errors="replace").read() for end in (".out", ".err")]
        with open(at + ".status", encoding="ascii") as f:
            return subprocess.CompletedProcess(argv, int(f.read()), *said)


def is_virtual():
    return "CAMEO_MACHINE" in os.environ


def current():
    """The machine that the environment names."""
    if not is_virtual():
        return Here()
    return Virtual(os.environ["CAMEO_MACHINE"], os.environ["CAMEO_MACHINE_ROOT"], os.environ["CAMEO_MACHINE_TRIPLE"])
