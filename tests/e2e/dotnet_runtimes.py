#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runtimes of .NET that scripts/runtimes unpacks below $CAMEO_CACHE/dotnet, with tests/programs/dotnet/shapes.cs.

Directories have libcoreclr.so, which a host loads; files are programs with all in one file.
"""
import collections
import fcntl
import glob
import os
import subprocess

import cameo
import dotnet_bundle
from cameo import PROGRAMS, Skip, expect, need

ROOT = os.path.join(os.environ.get("CAMEO_CACHE", "/var/cache/cameo"), "dotnet")
DOWNLOAD_S = 600
# A version, whether all is in one file, and the command that runs shapes.cs.
Runtime = collections.namedtuple("Runtime", "version is_single command")


def compile_program(source, shop, name, *args):
    need("mcs")
    out = shop.path(name)
    r = subprocess.run(["mcs", "-nologo", "-langversion:7", "-optimize+", "-unsafe", f"-out:{out}", *args,
                        os.path.join(PROGRAMS, "dotnet", source)], capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stdout, r.stderr)
    return out


def compile_shapes(shop, name, *args):
    return compile_program("shapes.cs", shop, name, *args)


def host(shop):
    out = shop.path("run_dotnet")
    r = subprocess.run(["gcc", "-O2", os.path.join(PROGRAMS, "dotnet", "host.c"), "-o", out, "-ldl"],
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    return out


def installed(shop, path, build):
    """Returns the runtime that has libcoreclr.so, which runs any assembly."""
    return Runtime(os.path.basename(path), False, [host(shop), path, build(shop, "program.dll")])


def single(shop, path, build):
    """Makes a single-file program. Its framework has no mscorlib, which assemblies of mcs refer to otherwise."""
    version = dotnet_bundle.framework_version(path)
    library = os.path.join(ROOT, version.split(".")[0], "System.Private.CoreLib.dll")
    if not os.path.exists(library):
        library = shop.path("System.Private.CoreLib.dll")
        with open(library, "wb") as f:
            f.write(dotnet_bundle.core_library(path))
    dll = build(shop, f"program-{version}.dll", "-nostdlib", "-noconfig", f"-r:{library}")
    out = shop.path(f"program-{version}")
    with open(dll, "rb") as f:
        dotnet_bundle.make(path, f.read(), out)
    return Runtime(version, True, [out])


def command(runtime, *args):
    return ["env", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1", *runtime.command, *map(str, args)]


def download():
    """Runs scripts/runtimes. Returns the reason if that failed."""
    try:
        r = subprocess.run([os.path.join(cameo.TOP, "scripts", "runtimes"), "dotnet"], capture_output=True, text=True,
                           check=False, timeout=DOWNLOAD_S)
    except subprocess.TimeoutExpired:
        return f"scripts/runtimes took more than {DOWNLOAD_S} s"
    return (r.stderr.strip().splitlines() or ["no reason given"])[-1]


def runtimes():
    """Returns the directories and the files that scripts/runtimes unpacked, which it does now if it has not."""
    patterns, why = (os.path.join(ROOT, "*", "libcoreclr.so"), os.path.join(ROOT, "*.single")), ""
    try:
        os.makedirs(os.path.dirname(ROOT), exist_ok=True)
        with open(f"{ROOT}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not all(map(glob.glob, patterns)):
                why = download()
    except PermissionError as e:  # a user can only use runtimes that root has unpacked
        why = str(e)
    found = [sorted(glob.glob(p)) for p in patterns]
    if not any(found):
        raise Skip(f"the runtimes cannot be downloaded: {why}")
    return [os.path.dirname(x) for x in found[0]], found[1]


def all_runtimes(shop, build=compile_shapes):
    """Returns every runtime that is there, as a Runtime that runs the assembly that BUILD makes, or raises Skip."""
    directories, files = runtimes()
    return [installed(shop, x, build) for x in directories] + [single(shop, x, build) for x in files]
