#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What packaging/ says, beside what the agent does: one set of capabilities, files that parse."""
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "e2e"))
from cameo import Skip, Tap, expect  # noqa: E402


def text(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as f:
        return f.read()


def kept():
    return set(re.findall(r"\{ CAP_(\w+), \"", text("src", "agent", "privileges.c")))


def manifest():
    try:
        import yaml
    except ImportError:
        raise Skip("python3-yaml is wanted") from None
    config, daemon_set = yaml.safe_load_all(text("packaging", "kubernetes.yaml"))
    return config, daemon_set["spec"]["template"]["spec"]


def the_unit_has_the_agents_capabilities():
    line = re.search(r"^CapabilityBoundingSet=(.*)$", text("packaging", "cameo-agent.service"), re.MULTILINE)[1]
    expect(len(kept()) == 7 and {c.removeprefix("CAP_") for c in line.split()} == kept(), line, kept())


def the_daemon_set_has_them():
    _, pod = manifest()
    container, = pod["containers"]
    own = container["securityContext"]["capabilities"]
    expect(set(own["add"]) == kept() and own["drop"] == ["ALL"], own, kept())
    mounts = {m["name"] for m in container["volumeMounts"]}
    expect(mounts == {v["name"] for v in pod["volumes"]}, mounts)
    expect(pod["hostPID"] and pod["hostNetwork"], pod)


# Fields of the objects in the manifest, as the API's reference names them; ... : whatever there is.
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


def strange(value, fields, at):
    """Paths of what is in VALUE and not among FIELDS."""
    if fields is ... or isinstance(fields, str):
        return [] if fields is ... or value == fields else [f"{at}: {value}"]
    if isinstance(fields, list):
        if not isinstance(value, list):
            return [f"{at} is no list"]
        return [s for i, v in enumerate(value) for s in strange(v, fields[0], f"{at}[{i}]")]
    if not isinstance(value, dict):
        return [f"{at} is no object"]
    return [s for k, v in value.items()
            for s in (strange(v, fields[k], f"{at}.{k}") if k in fields else [f"{at}.{k}"])]


def the_manifest_has_fields_that_there_are():
    manifest()
    import yaml
    docs = list(yaml.safe_load_all(text("packaging", "kubernetes.yaml")))
    wrong = [s for d in docs for s in strange(d, FIELDS[d["kind"]], d["kind"])]
    expect(not wrong, *wrong)
    config, daemon_set = docs
    template = daemon_set["spec"]["template"]
    expect(template["metadata"]["labels"].items() >= daemon_set["spec"]["selector"]["matchLabels"].items(), template["metadata"])
    named = {v["configMap"]["name"] for v in template["spec"]["volumes"] if "configMap" in v}
    expect(named == {config["metadata"]["name"]}, named)


def the_image_names_them():
    line = re.search(r"--cap-add=(\S+)", text("packaging", "Containerfile"))[1]
    expect({c.upper() for c in line.split(",")} == kept(), line, kept())


def configs_have_keys_that_there_are():
    keys = set(re.findall(r"^(?:X|ONCE)\(\w+, \w+, \"([\w-]+)\"", text("src", "agent", "config.def"), re.MULTILINE))
    try:
        inner = manifest()[0]["data"]["agent.conf"]
    except Skip:
        inner = ""
    for config in (text("packaging", "agent.conf"), inner):
        for line in config.splitlines():
            m = re.match(r"#?([\w-]+) = \S", line)
            expect(not m or m[1] in keys, line)


def systemd_takes_the_unit():
    if not shutil.which("systemd-analyze"):
        raise Skip("systemd-analyze is not here")
    unit = os.path.join(TOP, "packaging", "cameo-agent.service")
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    # that the program is not installed here is no fault of the unit's
    wrong = [line for line in r.stderr.splitlines() if "cameo-agent" in line and "not executable" not in line]
    expect(not wrong, *wrong)


def main():
    tap = Tap()
    tap.run("the systemd unit has the agent's capabilities", the_unit_has_the_agents_capabilities)
    tap.run("the DaemonSet has them, and mounts what it names", the_daemon_set_has_them)
    tap.run("the manifest has fields that there are, and what refers to something finds it", the_manifest_has_fields_that_there_are)
    tap.run("the image's example has them", the_image_names_them)
    tap.run("the configurations have keys that there are", configs_have_keys_that_there_are)
    tap.run("systemd takes the unit", systemd_takes_the_unit)
    tap.done()


main()
