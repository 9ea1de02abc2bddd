#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cameo ci on real benchmarks, with files and with a server, and the workflow files of packaging/ci."""
import os
import re
import stat
import subprocess
import time
import urllib.request

import our_server
from cameo import CAMEO, DEADLINE_S, TOP, Skip, Tap, Workshop, cameo, expect, need, need_bpf, need_here

try:
    import yaml
except ImportError:
    yaml = None

WORKFLOWS = os.path.join(TOP, "packaging", "ci")
# Two functions whose shares the arguments choose; the CPU time is the sum of both.
BENCH = """
import sys, time
def spin_first(until):
    while time.process_time() < until:
        i = 0
        while i < 5000:
            i += 1
def spin_second(until):
    while time.process_time() < until:
        i = 0
        while i < 5000:
            i += 1
def main():
    first, both = float(sys.argv[1]), float(sys.argv[1]) + float(sys.argv[2])
    spin_first(first)
    spin_second(both)
main()
"""


def bench(shop, first, second):
    path = shop.path("bench.py")
    with open(path, "w", encoding="ascii") as f:
        f.write(BENCH)
    return ["--", "python3", path, str(first), str(second)]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def grew(text):
    """The functions below the heading of those that grew."""
    part = re.search(r"#### Functions that grew\n(.*?)(?:####|further function)", text, re.DOTALL)
    return part[1] if part else ""


def files(shop):
    """Expects a function that became slower to fail the run, and to be named with its confidence."""
    need("python3")
    base, report, page = shop.path("base.pb.gz"), shop.path("ci.md"), shop.path("ci.html")
    r = cameo("ci", "--save", base, *bench(shop, 0.5, 0.5))
    expect(r.returncode == 0 and "spin_first" in r.stdout, r.stdout, r.stderr)
    r = cameo("ci", "--base", base, "--fail-above", "30%", "--save", shop.path("now.pb.gz"), "-o", report,
              "--html", page, *bench(shop, 0.5, 1.5))
    text = read(report)
    expect(r.returncode == 1 and re.search(r'^cameo ci: ".*" grew by ', r.stderr, re.MULTILINE), r.stderr, text)
    expect(re.search(r"^\| \+\d+\.\d+ % .*\| \+\d+\.\d+ % \(\d+\.\d σ\) .*`spin_second`", grew(text), re.MULTILINE)
           and "`spin_first`" not in grew(text), text)
    expect("**Above the threshold:**" in text, text)
    expect("spin_second" in read(page), "the page lacks the function")
    # The same work is within the threshold, and what was saved can be compared again.
    r = cameo("ci", "--base", base, "--profile", base, "--fail-above", "1%")
    expect(r.returncode == 0 and not grew(r.stdout), r.stdout, r.stderr)


def statuses(shop):
    """Expects the command's own exit status, whatever the comparison says."""
    base = shop.path("status.pb.gz")
    for command, status in (["sh", "-c", "exit 42"], 42), (["sh", "-c", "kill -TERM $$"], 143), \
            (["/no/such/command"], 127):
        r = cameo("ci", "-b", base, "--optional-base", "-s", shop.path("x.pb.gz"), "--", *command)
        expect(r.returncode == status, command, r.returncode, r.stderr)


def server(shop):
    """Expects the stored profile of a server to be the base, and a missing one to be accepted only if it may be."""
    need_here()
    base = shop.path("server.pb.gz")
    r = cameo("ci", "--save", base, *bench(shop, 0.4, 0.4))
    expect(r.returncode == 0, r.stderr)
    with our_server.Server(shop.path("data")) as s:
        now = int(time.time())
        with open(base, "rb") as f:
            urllib.request.urlopen(urllib.request.Request(
                f"{s.url}/ingest?name=bench%7Bbranch=main%7D&format=pprof&from={now - 10}&until={now}", f.read()),
                timeout=60).close()
        query = s.url + '?query={service_name="bench",branch="%s"}&from=now-1h'
        run = ["--save", shop.path("now.pb.gz"), *bench(shop, 0.4, 1.6)]
        r = cameo("ci", "--base", query % "main", "--fail-above", "30", *run)
        expect(r.returncode == 1 and "`spin_second`" in grew(r.stdout), r.stdout, r.stderr)
        profile = ["--profile", shop.path("now.pb.gz")]
        r = cameo("ci", "--base", query % "none", *profile)
        expect(r.returncode == 1 and "no samples for this query" in r.stderr, r.stderr)
        r = cameo("ci", "--base", query % "none", "--optional-base", *profile)
        expect(r.returncode == 0 and "There is no base profile" in r.stdout, r.stdout, r.stderr)
    r = cameo("ci", "--base", query % "main", "--optional-base", *profile)
    expect(r.returncode == 1, "an unreachable server is not a missing base", r.stdout)


# ---- workflow files -------------------------------------------------------------------------

# Stands in for programs that reach beyond the test: sudo runs its command, the others do nothing.
SUDO = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do [ "$1" = -u ] && shift; shift; done
exec "$@"
"""
NOTHING = "#!/bin/sh\nexit 0\n"
CURL = """#!/bin/sh
for a; do [ "$last" = -o ] && [ "$a" = base.pb.gz ] && cp "$STORED" base.pb.gz; last=$a; done
exit 0
"""


def programs(shop, benchmark):
    """Returns PATH with stand-ins, cameo, and a benchmark called `make`."""
    bin_dir = shop.path("bin")
    os.makedirs(bin_dir, exist_ok=True)
    text = {"sudo": SUDO, "gh": NOTHING, "curl": CURL, "apt-get": NOTHING,
            "make": "#!/bin/sh\nexec " + " ".join(benchmark[1:]) + "\n",
            "cameo": f'#!/bin/sh\nexec "{CAMEO}" "$@"\n'}
    for name, script in text.items():
        path = os.path.join(bin_dir, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(script)
        os.chmod(path, 0o755 | stat.S_IXUSR)
    return bin_dir + ":" + os.environ["PATH"]


def load(name):
    need_here()
    need("python3")
    if yaml is None:
        raise Skip("no PyYAML here")
    return yaml.safe_load(read(os.path.join(WORKFLOWS, name)))


def shell(script, where, env):
    r = subprocess.run(["bash", "-e", "-c", script], cwd=where, env={**os.environ, **env}, capture_output=True,
                       text=True, timeout=DEADLINE_S, check=False)
    return r


def work(shop, name):
    where = shop.path(name)
    os.makedirs(where)
    return where


def github(shop):
    """Runs the steps of a push, then those of a pull request that is slower."""
    file = load("github-actions.yml")
    expect(set(file[True]) == {"push", "pull_request"}, file)  # YAML 1.1 reads `on` as true
    steps = file["jobs"]["profile"]["steps"]
    where, summary = work(shop, "github"), shop.path("summary.md")
    env = {**file["env"], "GITHUB_STEP_SUMMARY": summary, "RUNNER_TEMP": shop.path("github"), "USER": "root",
           "CAMEO_DEB": "", "BASE_BRANCH": "main", "PULL_REQUEST": "1", "PATH": programs(shop, bench(shop, 0.4, 0.4))}
    by_name = {s["name"]: s for s in steps if "run" in s}
    expect(all("${{" not in s["run"] for s in by_name.values()), "a script contains an expression")
    for name in "Install", "Get the base profile", "Profile", "Summary", "Comment":
        r = shell(by_name[name]["run"], where, env)
        expect(r.returncode == 0, name, r.stdout, r.stderr)
    expect(read(summary).startswith("### Profile"), read(summary))
    os.makedirs(where + "/base")
    os.rename(where + "/cameo.pb.gz", where + "/base/cameo.pb.gz")
    env["PATH"] = programs(shop, bench(shop, 0.4, 1.6))
    r = shell(by_name["Profile and compare"]["run"], where, env)
    expect(r.returncode == 1, r.stdout, r.stderr)
    expect(shell(by_name["Summary"]["run"], where, env).returncode == 0 and "`spin_second`" in grew(read(summary)),
           read(summary))
    uploaded = next(s for s in steps if "upload-artifact" in s.get("uses", ""))["with"]["path"].split()
    expect(all(os.path.exists(os.path.join(where, p)) for p in uploaded), uploaded, os.listdir(where))


def gitlab(shop):
    """Runs the job on the default branch, then for a merge request that is slower."""
    job = load("gitlab-ci.yml")["profile"]
    where = work(shop, "gitlab")
    env = {**job["variables"], "CI_PIPELINE_SOURCE": "push", "CI_JOB_URL": "https://gitlab.example/job/1",
           "CI_API_V4_URL": "https://gitlab.example", "CI_PROJECT_ID": "1", "CI_DEFAULT_BRANCH": "main",
           "CI_JOB_TOKEN": "t", "CAMEO_DEB": "", "STORED": "/dev/null", "GITLAB_TOKEN": "t",
           "CI_MERGE_REQUEST_IID": "2", "PATH": programs(shop, bench(shop, 0.4, 0.4))}
    both = "\n".join(job["before_script"] + job["script"])
    r = shell(both, where, env)
    expect(r.returncode == 0, r.stdout, r.stderr)
    os.rename(where + "/cameo.pb.gz", shop.path("stored.pb.gz"))
    env.update({"CI_PIPELINE_SOURCE": "merge_request_event", "STORED": shop.path("stored.pb.gz"),
                "PATH": programs(shop, bench(shop, 0.4, 1.6))})
    r = shell(both, where, env)
    text = read(where + "/cameo.md")
    expect(r.returncode == 1 and "`spin_second`" in grew(text), r.stdout, r.stderr, text)
    expect("[Flame graph](<https://gitlab.example/job/1/artifacts/file/cameo.html>)" in text, text)
    expect(shell("\n".join(job["after_script"]), where, env).returncode == 0, "after_script")
    expect(all(os.path.exists(os.path.join(where, p)) for p in job["artifacts"]["paths"]), os.listdir(where))


def main():
    need_bpf()
    tap = Tap()
    with Workshop() as shop:
        tap.run("a slower function fails the comparison of two files", files, shop)
        tap.run("the exit status is the command's", statuses, shop)
        tap.run("the base is a stored profile of a server", server, shop)
        tap.run("the workflow of GitHub Actions", github, shop)
        tap.run("the job of GitLab", gitlab, shop)
    tap.done()


main()
