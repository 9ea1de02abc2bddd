# SPDX-License-Identifier: Apache-2.0
"""Go programs of tests/programs, and the toolchains of this machine that can build them."""
import os
import re
import subprocess

from cameo import PROGRAMS, expect

# Goroutines record the lock that they wait for since Go 1.26; Debian 12 and 13 have 1.19 and 1.24.
LOCK_RECORDED = 26


def toolchains(layouts):
    """Yields the installed go program, and the last patch release of each of LAYOUTS that is in the module cache.

    CAMEO_GO_RELEASES=all yields each release there. Nothing is downloaded here."""
    yield "go"
    cache = os.path.join(os.environ.get("GOMODCACHE", os.path.expanduser("~/go/pkg/mod")), "golang.org")
    newest = {}
    for name in os.listdir(cache) if os.path.isdir(cache) else ():
        path = os.path.join(cache, name, "bin", "go")
        version = re.search(r"-go1\.(\d+)(?:\.(\d+))?\.", name)
        if version and os.access(path, os.X_OK):
            minor, patch = int(version[1]), int(version[2] or 0)
            newest[minor] = max(newest.get(minor, (-1, "")), (patch, path))
    for minor in sorted(newest) if os.environ.get("CAMEO_GO_RELEASES") == "all" else sorted(layouts & newest.keys()):
        yield newest[minor][1]


def environment():
    env = {k: v for k, v in os.environ.items() if k != "GOROOT"}
    env.update(GOTOOLCHAIN="local", CGO_ENABLED="0", GOFLAGS="-mod=mod", GOENV="off", GOPROXY="off")
    return env


def version(go):
    return subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True, env=environment()).stdout.strip()


def minor(go):
    return int(version(go).split(".")[1])


def build(shop, go, name, package, *flags):
    out = shop.path(name)
    r = subprocess.run([go, "build", *flags, "-o", out, package], cwd=os.path.join(PROGRAMS, "go"), env=environment(),
                       capture_output=True, text=True, check=False)
    expect(r.returncode == 0, r.stderr)
    return out
