#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Symbols of stripped system programs, deleted and hidden files, and inlined calls; and the worker."""
import os
import re
import signal
import subprocess

from cameo import CAMEO, DEADLINE_S, ENOUGH, PROGRAMS, Recorder, Recording, Skip, Tap, Workshop, \
    cameo, children_of, end, expect, expect_kept, is_in, need, need_bpf, parse_folded, record, \
    record_while_running, show, spawn, together, total, until, user_frames

MS = 500
CHAIN = "_start __libc_start_main.* ... main outer middle hot"
UNNAMED = re.compile(r"\[(.+)\+0x([0-9a-f]+)\](_\[k\])?|\[anonymous code\]")
MARK = re.compile(r"_\[i\]$")
WORKER = "cameo-symbolizer"
TRIES = 10

PYTHON = "import time\nwhile time.process_time() < 1: sorted(map(str, range(2000)))"


# ---- the worker is killed ----------------------------------------------------


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as f:
            return f.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_worker(pid):
    return read_proc(pid, "cmdline").startswith(WORKER)


def is_confined_and_waits(pid):
    status = read_proc(pid, "status")
    return re.search(r"^State:\s+S", status, re.M) and re.search(r"^Seccomp:\s+2", status, re.M)


def is_waiting_or_gone(pid):
    return is_confined_and_waits(pid) or not is_worker(pid)


def kill_worker(recorder, ready):
    """Kills the worker as it starts or, if READY, when it waits for work; cameo is stopped meanwhile."""
    process = recorder.process
    worker = until(lambda: next(filter(is_worker, children_of(process.pid)), 0) or
                   process.poll() is not None, "a worker starts")
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGSTOP)
    if ready:
        until(lambda: is_waiting_or_gone(worker), "the worker is ready")
    if is_worker(worker):
        os.kill(worker, signal.SIGKILL)
    process.send_signal(signal.SIGCONT)


def record_and_kill(program, ready):
    """Records while the worker is killed before it has done its work.

    On a busy machine the worker may have finished before, so there are several attempts.
    """
    for _ in range(TRIES):
        with Recorder("--", program, str(MS)) as recorder:
            kill_worker(recorder, ready)
            recording = recorder.finish()
        if recording.status or "the symbolizer process was restarted" in recording.said:
            break
    return recording


def killed_worker(shop, ready):
    recording = record_and_kill(shop.c("chain", "-g"), ready)
    expect(recording.status == 0, recording.status, recording.said)
    expect("the symbolizer process was restarted 1 times; 0 files that crashed it" in recording.said,
           recording.said)
    recording.stacks = [s._replace(frames=tuple(MARK.sub("", f) for f in s.frames))
                        for s in recording.stacks]
    recording.judge("chain", "_start __libc_start_main.* ... main outer middle hot ...")
    expect(any(is_in(s, "spin") for s in recording.of("chain")),
           "no inlined calls, which only the worker knows:", show(recording.stacks))


# ---- system programs -----------------------------------------------------------


def is_stripped(path):
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                         check=True).stdout
    return ".symtab" not in out


def libraries(program):
    """Returns {base name: path} of PROGRAM and its libraries."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    paths = [os.path.realpath(p) for p in [program, *re.findall(r"(/\S+) \(0x", out)]]
    return {os.path.basename(p): p for p in paths}


def exported(path):
    """Returns (start, end, name) of the functions that PATH exports."""
    out = subprocess.run(["nm", "-D", "--defined-only", "-S", path], capture_output=True,
                         text=True, check=True).stdout
    words = [line.split() for line in out.splitlines()]
    return [(int(w[0], 16), int(w[0], 16) + int(w[1], 16), w[3].partition("@")[0])
            for w in words if len(w) == 4 and w[2] in "TtWwi"]


def check_exported(stacks, paths):
    """Expects a name for each frame in an exported function. Returns the number of such frames."""
    tables = {name: exported(path) for name, path in paths.items()}
    names = {f[2] for table in tables.values() for f in table}
    bad, good = [], 0
    for stack in stacks:
        for frame in user_frames(stack):
            m = UNNAMED.fullmatch(frame)
            at = int(m[2], 16) if m and m[2] else -1
            good += stack.count if frame in names else 0
            bad += [(frame, f[2]) for f in tables.get(m[1], []) if f[0] <= at < f[1]] if m else []
    expect(not bad, "frames in exported functions without a name:", bad[:10])
    return good


def system_program(comm, program, *args, status=0, least=1):
    """Expects at least LEAST names of exported functions per sample."""
    need(program, "nm", "readelf", "ldd")
    if not is_stripped(program):
        raise Skip(f"{program} is not stripped")
    recording = record("--native-frames=all", "--", program, *args)
    expect(recording.status == status, recording.status, recording.said)
    expect_kept(recording.said)
    ours = recording.of(comm)
    expect(total(ours) >= ENOUGH, show(recording.stacks), recording.said)
    good = check_exported(ours, libraries(program))
    expect(good > 0 and good >= least * total(ours),
           f"{good} exported names in {total(ours)} samples:", show(ours))


# ---- deleted and hidden files ---------------------------------------------------


def deleted_file(shop):
    program = shop.path("deleted")
    os.link(shop.c("chain"), shop.path("kept"))
    subprocess.run(["cp", shop.path("kept"), program], check=True)
    process = spawn(program, 60000)
    try:
        os.unlink(program)
        recording = record_while_running("-p", str(process.pid), processes=[process])
    finally:
        end(process)
    recording.judge("deleted", CHAIN, enough=ENOUGH // 2)


def hidden_file(shop):
    """Records a program on a file system that exists only in its mount and user namespace."""
    need("unshare")
    program = shop.c("chain")
    os.makedirs(shop.path("there"), exist_ok=True)
    script = f"mount -t tmpfs none {shop.dir}/there && cp {program} {shop.dir}/there/hidden && " \
             f"exec {shop.dir}/there/hidden {MS}"
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        raise Skip("no user namespaces are available")
    recording = record("--", "unshare", "-Urm", "sh", "-c", script)
    expect(not os.path.exists(shop.path("there/hidden")), "the program is not hidden")
    recording.judge("hidden", CHAIN)


def split(shop, name, *flags):
    """Makes a program without symbols, its debug file, and the path of the debug file by build id."""
    need("objcopy", "readelf")
    program = shop.path(name)
    debug = program + ".debug"
    os.link(shop.c("chain", "-g", "-Wl,--build-id=sha1", *flags), program)
    os.unlink(shop.path("chain"))
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    notes = subprocess.run(["readelf", "-n", debug], capture_output=True, text=True,
                           check=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    return program, debug, f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


def judge_split(recording, name):
    """Expects names of all functions, including inlined ones that only DWARF knows."""
    recording.stacks = [s._replace(frames=tuple(MARK.sub("", f) for f in s.frames))
                        for s in recording.stacks]
    recording.judge(name, CHAIN + " ...")
    expect(any(is_in(s, "spin") for s in recording.of(name)), "no inlined calls:",
           show(recording.of(name)))


def need_namespaces(*flags):
    need("unshare")
    if subprocess.run(["unshare", *flags, "true"], capture_output=True, check=False).returncode:
        raise Skip("no namespaces here")


def debug_in_container(shop):
    """The debug file exists only in the mount namespace of the process, which has exited."""
    need_namespaces("-m")
    program, debug, place = split(shop, "contained")
    os.makedirs("/usr/lib/debug", exist_ok=True)
    script = f"mount -t tmpfs none /usr/lib/debug && mkdir -p {os.path.dirname(place)} && " \
             f"mv {debug} {place} && exec {program} {MS}"
    recording = record("--", "unshare", "-m", "sh", "-c", script)
    expect(not os.path.exists(place) and not os.path.exists(debug), "the debug file exists on this machine, too")
    judge_split(recording, "contained")


CLONES = """
volatile long sink;
__attribute__((noinline)) static long work(long n, long *p)
{
	long k = *p;
	for (; n > 0; n--)
		sink = sink * 31 + k;
	return sink;
}
int main(int argc, char **argv) { long x = argc; (void)argv; return (int)(work(10, &x) + work(20, &x)); }
"""


def clones(shop):
    """A function that the compiler has specialized has the name of its source, in the program and by its debug file."""
    need("gcc")
    source, program, stripped = shop.path("clones.c"), shop.path("clones"), shop.path("clones.stripped")
    with open(source, "w", encoding="ascii") as f:
        f.write(CLONES)
    subprocess.run(["gcc", "-g", "-O2", "-o", program, source], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, stripped + ".debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={stripped}.debug", program, stripped], check=True)
    out = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    found = re.search(r"(\w+) t (work\.\S+)", out)
    if not found:
        raise Skip("this compiler does not specialize the function")
    for path in program, stripped:
        said = cameo("symbols", path, "0x" + found[1]).stdout.split()
        expect(said[1] == "work", path, said, found[2])


def debug_on_host(shop):
    """The host has the debug file, the root directory of the process does not."""
    need_namespaces("-m")
    need("chroot")
    program, debug, place = split(shop, "rooted", "-static")
    output = shop.path("out.folded")
    os.makedirs("/usr/lib/debug", exist_ok=True)
    script = f"mount -t tmpfs none /usr/lib/debug && mkdir -p {os.path.dirname(place)} && " \
             f"mv {debug} {place} && exec {CAMEO} record -F 997 -o {output} -- " \
             f"chroot {shop.dir} /{os.path.basename(program)} {MS}"
    r = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                       check=False, timeout=DEADLINE_S)
    expect(r.returncode == 0, r.stderr)
    with open(output, encoding="utf-8") as f:
        recording = Recording(parse_folded(f.read()), r.stderr, 0)
    recording.stacks = [s._replace(frames=tuple(MARK.sub("", f) for f in s.frames))
                        for s in recording.stacks]
    recording.judge("rooted", "_start ... main outer middle hot ...")
    expect(any(is_in(s, "spin") for s in recording.of("rooted")), "no inlined calls:",
           show(recording.of("rooted")))


def on_overlay(shop):
    """A program in the lower layer of an overlay has different devices and inodes in maps and stat."""
    need_namespaces("-m")
    for d in ("lower", "upper", "work", "merged"):
        os.makedirs(shop.path(d), exist_ok=True)
    os.rename(shop.c("chain"), shop.path("lower/layered"))
    script = f"mount -t tmpfs none {shop.path('upper')} && cd {shop.path('upper')} && mkdir u w && " \
             f"mount -t overlay none -o lowerdir={shop.path('lower')},upperdir=u,workdir=w " \
             f"{shop.path('merged')} || exit 99; exec {shop.path('merged')}/layered {MS}"
    recording = record("--", "unshare", "-m", "sh", "-c", script)
    if recording.status == 99:
        raise Skip("no overlayfs here")
    recording.judge("layered", CHAIN)


# ---- Go ------------------------------------------------------------------------


def one_build_id(shop):
    """A program, its stripped copy, and a copy with one other name have the same build id."""
    need("strip")
    program = shop.path("claimed")
    os.rename(shop.c("chain", "-Wl,--build-id=sha1"), program)
    subprocess.run(["strip", "-o", shop.path("bare"), program], check=True)
    with open(program, "ab") as f:
        f.write(bytes(8192))  # the name is neither among the first bytes nor among the last
    with open(program, "rb") as f:
        text = f.read()
    expect(text.count(b"\0middle\0") == 1, "no name")
    with open(shop.path("forged"), "wb") as f:
        f.write(text.replace(b"\0middle\0", b"\0muddle\0"))
    os.chmod(shop.path("forged"), 0o755)
    recording = record("--", *together([[shop.path(n), MS] for n in ("bare", "forged", "claimed")]))
    recording.judge("claimed", CHAIN)
    recording.judge("forged", CHAIN.replace("middle", "muddle"))
    named = [s for s in recording.of("bare") if is_in(s, "hot|outer|m[iu]ddle")]
    expect(not named, "the stripped copy has no names:", show(named))
    expect(any(is_in(s, r"\[bare\+0x[0-9a-f]+\]") for s in recording.of("bare")), "not itself:",
           show(recording.of("bare")))


def go_raw(profile, *options):
    """Returns the locations of a profile from `go tool pprof`: {address: [(function, file:line)]}.

    Since Go 1.22 it prints columns as well.
    """
    r = subprocess.run(["go", "tool", "pprof", "-raw", "-lines", *options, profile],
                       capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    expect(r.returncode == 0, "go tool pprof:", r.stderr)
    found, frames = {}, []
    for line in r.stdout.partition("\nLocations\n")[2].partition("\nMappings\n")[0].splitlines():
        m = re.match(r"\s*\d+: (0x[0-9a-f]+) M=\d+ (.*)", line)
        if m:
            frames = found.setdefault(int(m[1], 16), [])
        m = re.match(r"\s*(\S+) (\S+?:\d+)(?::\d+)?(?: s=\d+)?\s*$", m[2] if m else line)
        if m:
            frames.append((m[1], m[2]))
    return found


def compare(ours, theirs, of_ours):
    """Compares the frames at each address that both have."""
    both = [at for at in ours if theirs.get(at) and ours[at]]
    expect(both, "no address in common:", ours, theirs)
    different = [(hex(at), ours[at], theirs[at]) for at in both
                 if of_ours(ours[at]) != theirs[at]]
    expect(not different, f"{len(different)} of {len(both)}:", *different[:10])
    return both


def go_inlined(shop):
    """Compares with Go's own profile, and with pprof's outermost function and innermost line."""
    need("go")
    program, profile, gos = (shop.path("inlined" + s) for s in ("", ".pb.gz", ".go.pb.gz"))
    r = subprocess.run(["go", "build", "-o", program, "./inlined"], capture_output=True, text=True,
                       check=False, cwd=os.path.join(PROGRAMS, "go"),
                       env=dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=mod", GOENV="off"))
    expect(r.returncode == 0, r.stderr)
    r = cameo("record", "-F", "997", "--no-kernel", "-o", profile, "--", program, "2", gos)
    expect(r.returncode == 0, r.stderr)
    ours = go_raw(profile, "-symbolize=none")
    both = compare(ours, go_raw(gos, "-symbolize=none"), lambda frames: frames)
    expect(any([f[0] for f in ours[at]] == ["main.leaf", "main.middle", "main.outer"]
               for at in both), "no inlined calls:", [ours[at] for at in both])
    in_go = {at: frames for at, frames in ours.items()
             if frames and "inlined/main.go" in frames[0][1]}
    compare(in_go, go_raw(profile, "-symbolize=local:force"),
            lambda frames: [(frames[-1][0], frames[0][1])])


# ---- the summary ---------------------------------------------------------------


def share_of_unnamed(shop):
    program = shop.c("chain", "-s")
    recording = record("--", program, str(MS))
    m = re.search(r"([\d.]+) % of frames without a symbol", recording.said)
    expect(m, recording.said)
    frames = [(f, s.count) for s in recording.stacks for f in s.frames
              if not f.startswith("[incomplete") and not f.endswith("_[i]")]
    unnamed = sum(n for f, n in frames if UNNAMED.fullmatch(f))
    share = 100 * unnamed / sum(n for _, n in frames)
    expect(share > 10, "a stripped program has names:", show(recording.stacks))
    expect(abs(share - float(m[1])) <= 0.1, f"the frames have a share of {share}:", recording.said)


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        tap.run("a killed symbol worker is restarted once and symbolizes everything", killed_worker, shop,
                True)
        tap.run("a symbol worker killed at its start is restarted", killed_worker, shop, False)
        tap.run("python3, stripped", system_program, "python3", "/usr/bin/python3", "-c", PYTHON)
        # a fixed amount of work: openssl speed ends after an amount of time, with few samples on a busy machine
        tap.run("openssl, stripped", system_program, "openssl", "/usr/bin/openssl", "enc", "-aes-256-cbc", "-pbkdf2",
                "-iter", "1000000", "-pass", "pass:x", "-in", "/dev/null", "-out", "/dev/null")
        # git diff exports nothing itself, and exits with 1 if files differ
        tap.run("git, stripped", lambda: system_program(
            "git", "/usr/bin/git", "diff", "--no-index", "--patience", "--stat", *texts(shop),
            status=1, least=0))
        tap.run("a program that was deleted", deleted_file, shop)
        tap.run("a program in another mount and user namespace", hidden_file, shop)
        tap.run("a debug file in a container that has ended", debug_in_container, shop)
        tap.run(clones.__doc__, clones, shop)
        tap.run("a debug file of the host for a process in a chroot", debug_on_host, shop)
        tap.run("a program on an overlay", on_overlay, shop)
        tap.run("three files with one build id", one_build_id, shop)
        tap.run("Go's inlined calls are those of go tool pprof", go_inlined, shop)
        tap.run("the share of frames without a symbol", share_of_unnamed, shop)
    tap.done()


def texts(shop):
    """Creates two large files that differ, for git to compare."""
    for name, step in ("one", 7919), ("two", 7927):
        with open(shop.path(name), "w", encoding="ascii") as f:
            f.writelines(f"line {i * step % 100003}\n" for i in range(200000))
    return shop.path("one"), shop.path("two")


main()
