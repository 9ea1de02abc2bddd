#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/ agrees with the agent: the same capabilities, existing configuration keys, valid files."""
import json
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
from cameo import CAMEO, Skip, Tap, expect  # noqa: E402


def text(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as f:
        return f.read()


def agent_capabilities():
    kept = re.search(r"\} kept\[\] = \{\n(.*?)^\};", text("src", "agent", "privileges.c"), re.MULTILINE | re.DOTALL)[1]
    return set(re.findall(r"\{ CAP_(\w+), \"", kept))


def manifest():
    try:
        import yaml
    except ImportError:
        raise Skip("python3-yaml is not installed") from None
    config, daemon_set = yaml.safe_load_all(text("packaging", "kubernetes.yaml"))
    return config, daemon_set["spec"]["template"]["spec"]


def the_unit_has_the_agents_capabilities():
    line = re.search(r"^CapabilityBoundingSet=(.*)$", text("packaging", "cameo-agent.service"), re.MULTILINE)[1]
    expect(len(agent_capabilities()) == 7 and {c.removeprefix("CAP_") for c in line.split()} == agent_capabilities(), line, agent_capabilities())


def the_daemon_set_has_them():
    _, pod = manifest()
    container, = pod["containers"]
    own = container["securityContext"]["capabilities"]
    expect(set(own["add"]) == agent_capabilities() and own["drop"] == ["ALL"], own, agent_capabilities())
    mounts = {m["name"] for m in container["volumeMounts"]}
    expect(mounts == {v["name"] for v in pod["volumes"]}, mounts)
    expect(pod["hostPID"] and pod["hostNetwork"], pod)


# The fields of Kubernetes' objects that the manifest may use, by the API reference; ... accepts any value.
FIELDS = {
    "ConfigMap": {"apiVersion": "v1", "kind": ..., "metadata": {"name": ...}, "data": ...},
    "DaemonSet": {
        "apiVersion": "apps/v1", "kind": ..., "metadata": {"name": ..., "labels": ...},
        "spec": {
            "selector": {"matchLabels": ...},
            "updateStrategy": {"type": ..., "rollingUpdate": {"maxUnavailable": ..., "maxSurge": ...}},
            "template": {
                "metadata": {"labels": ..., "annotations": ...},
                "spec": {
                    "hostPID": ..., "hostNetwork": ..., "dnsPolicy": ..., "automountServiceAccountToken": ...,
                    "tolerations": [{"operator": ...}],
                    "containers": [{
                        "name": ..., "image": ..., "args": [...],
                        "env": [{"name": ..., "valueFrom": {"fieldRef": {"fieldPath": ...}}}],
                        "securityContext": {
                            "runAsUser": ..., "readOnlyRootFilesystem": ..., "allowPrivilegeEscalation": ...,
                            "seccompProfile": {"type": ...}, "capabilities": {"drop": [...], "add": [...]}},
                        "resources": {"requests": {"cpu": ..., "memory": ...}, "limits": {"memory": ...}},
                        "livenessProbe": {"httpGet": {"host": ..., "port": ..., "path": ...},
                                          "initialDelaySeconds": ..., "periodSeconds": ...},
                        "volumeMounts": [{"name": ..., "mountPath": ..., "readOnly": ..., "mountPropagation": ...}]}],
                    "volumes": [{"name": ..., "configMap": {"name": ...}, "hostPath": {"path": ..., "type": ...}}]}}}},
}


def unknown_fields(value, fields, at):
    """The paths of those parts of VALUE that FIELDS does not allow."""
    if fields is ... or isinstance(fields, str):
        return [] if fields is ... or value == fields else [f"{at}: {value}"]
    if isinstance(fields, list):
        if not isinstance(value, list):
            return [f"{at} is not a list"]
        return [s for i, v in enumerate(value) for s in unknown_fields(v, fields[0], f"{at}[{i}]")]
    if not isinstance(value, dict):
        return [f"{at} is not an object"]
    return [s for k, v in value.items()
            for s in (unknown_fields(v, fields[k], f"{at}.{k}") if k in fields else [f"{at}.{k}"])]


def the_manifest_has_only_known_fields():
    manifest()
    import yaml
    docs = list(yaml.safe_load_all(text("packaging", "kubernetes.yaml")))
    wrong = [s for d in docs for s in unknown_fields(d, FIELDS[d["kind"]], d["kind"])]
    expect(not wrong, *wrong)
    config, daemon_set = docs
    template = daemon_set["spec"]["template"]
    expect(template["metadata"]["labels"].items() >= daemon_set["spec"]["selector"]["matchLabels"].items(), template["metadata"])
    named = {v["configMap"]["name"] for v in template["spec"]["volumes"] if "configMap" in v}
    expect(named == {config["metadata"]["name"]}, named)


def the_image_runs_existing_commands():
    """The manifest and the image run commands of the program, with options of these commands."""
    _, pod = manifest()
    container, = pod["containers"]
    image = text("packaging", "Containerfile")
    expect(re.search(r'^ENTRYPOINT \["cameo"\]$', image, re.MULTILINE), "ENTRYPOINT")
    default = json.loads(re.search(r"^CMD (\[.*\])$", image, re.MULTILINE)[1])
    for command, *arguments in (container["args"], default):
        usage = subprocess.run([CAMEO, command, "--help"], capture_output=True, text=True, check=False)
        expect(usage.returncode == 0, command, usage.stderr)
        for option in (a for a in arguments if a.startswith("-")):
            expect(re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", usage.stdout), command, option)
    config = container["args"][container["args"].index("--config") + 1]
    expect(any(os.path.dirname(config) == m["mountPath"] for m in container["volumeMounts"]), config)
    probe = container["livenessProbe"]["httpGet"]
    usage = subprocess.run([CAMEO, "agent", "--help"], capture_output=True, text=True, check=True).stdout
    expect(f"{probe['host']}:{probe['port']}" in usage, "the probe does not use the default of --metrics", probe)


def the_image_documents_them():
    for path in (("packaging", "Containerfile"), ("docs", "agent.md")):
        line = re.search(r"--cap-add=(\S+)", text(*path))[1]
        expect({c.upper() for c in line.split(",")} == agent_capabilities(), path, line, agent_capabilities())


def configurations_have_only_known_keys():
    keys = set(re.findall(r"^(?:X|FIXED|CHECKED)\((?:\w+, ){2,3}\"([\w-]+)\"", text("src", "agent", "config.def"), re.MULTILINE))
    try:
        inner = manifest()[0]["data"]["agent.conf"]
    except Skip:
        inner = ""
    for config in (text("packaging", "agent.conf"), inner):
        for line in config.splitlines():
            m = re.match(r"#?([\w-]+) = \S", line)
            expect(not m or m[1] in keys, line)


def systemd_accepts_the_unit():
    if not shutil.which("systemd-analyze"):
        raise Skip("systemd-analyze is not installed")
    unit = os.path.join(TOP, "packaging", "cameo-agent.service")
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    # The unit is right even where the program is not installed.
    wrong = [line for line in r.stderr.splitlines() if "cameo-agent" in line and "not executable" not in line]
    expect(not wrong, *wrong)


def main():
    tap = Tap()
    tap.run("the systemd unit has the agent's capabilities", the_unit_has_the_agents_capabilities)
    tap.run("the DaemonSet has the same capabilities, and mounts each of its volumes", the_daemon_set_has_them)
    tap.run("the manifest has only known fields, and its references resolve", the_manifest_has_only_known_fields)
    tap.run("the manifest and the image run commands and options that exist", the_image_runs_existing_commands)
    tap.run("the examples of the Containerfile and of docs/agent.md have the same capabilities", the_image_documents_them)
    tap.run("the configurations have only known keys", configurations_have_only_known_keys)
    tap.run("systemd accepts the unit", systemd_accepts_the_unit)
    tap.done()


main()
