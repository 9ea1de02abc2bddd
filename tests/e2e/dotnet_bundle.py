#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single-file programs of .NET: an executable with the runtime, and the assemblies appended to it.

dotnet_bundle.py PROGRAM OUT makes a copy of a program that has only the assemblies that tests need, and none of
its own: a runtime in one file, which make() completes with a program. The format is version 6 of the manifest in
the runtime's Microsoft.NET.HostModel.
"""
import collections
import json
import os
import struct
import sys

# The host searches for this mark in itself; the offset of the manifest precedes it.
MARK = bytes.fromhex("8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae")
ASSEMBLY, DEPENDENCIES, CONFIGURATION = 1, 3, 4
NEEDED = {f"System.{x}.dll" for x in ("Private.CoreLib", "Runtime", "Console", "Collections", "Threading", "Linq")}
Bundle = collections.namedtuple("Bundle", "host files")  # the executable; {name: (kind, bytes)}


def read_text(data, at):
    length = shift = 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return data[at:at + length].decode(), at + length


def mark_of(data):
    at = data.find(MARK)
    if at < 8:
        raise ValueError("not a single-file program of .NET")
    return at


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    at = struct.unpack_from("<q", data, mark_of(data) - 8)[0]
    major, _, count = struct.unpack_from("<IIi", data, at)
    if major != 6:
        raise ValueError(f"version {major} of the manifest is not known")
    _, at = read_text(data, at + 12)
    at += 40
    files, end = {}, len(data)
    for _ in range(count):
        offset, size, packed, kind = struct.unpack_from("<qqqB", data, at)
        name, at = read_text(data, at + 25)
        if packed:
            raise ValueError(f"{name} is compressed")
        files[name] = (kind, data[offset:offset + size])
        end = min(end, offset)
    return Bundle(data[:end], files)


def write(path, bundle):
    out, at = bytearray(bundle.host), {}
    for name, (_, content) in bundle.files.items():
        out.extend(bytes(-len(out) % 4096))
        at[name] = (len(out), len(content))
        out.extend(content)
    manifest = struct.pack("<IIi", 6, 0, len(bundle.files)) + b"\x05tests"
    for kind in DEPENDENCIES, CONFIGURATION:
        manifest += struct.pack("<qq", *next(at[n] for n, f in bundle.files.items() if f[0] == kind))
    manifest += struct.pack("<Q", 0)
    for name, (kind, _) in bundle.files.items():
        manifest += struct.pack("<qqqB", *at[name], 0, kind) + bytes([len(name)]) + name.encode()
    struct.pack_into("<q", out, mark_of(out) - 8, len(out))
    with open(path, "wb") as f:
        f.write(out + manifest)
    os.chmod(path, 0o755)


def configuration(bundle):
    """Returns the program's name and its configuration."""
    for name, (kind, content) in bundle.files.items():
        if kind == CONFIGURATION:
            return name.split(".runtimeconfig")[0], json.loads(content)
    raise ValueError("the program has no configuration")


def make(runtime, assembly, path):
    """Writes the single-file program that runs an assembly with the runtime and the framework of another one."""
    bundle = read(runtime)
    name, config = configuration(bundle)
    version = config["runtimeOptions"]["tfm"].removeprefix("net")
    framework = {n: f for n, f in bundle.files.items() if n in NEEDED}
    target = f".NETCoreApp,Version=v{version}/linux-x64"
    dependencies = {
        "runtimeTarget": {"name": target},
        "targets": {target: {f"{name}/1": {"dependencies": {"framework": "1"}, "runtime": {f"{name}.dll": {}}},
                             "framework/1": {"runtime": {n: {} for n in framework}}}},
        "libraries": {f"{name}/1": {"type": "project", "serviceable": False, "sha512": ""},
                      "framework/1": {"type": "runtimepack", "serviceable": False, "sha512": ""}}}
    options = config["runtimeOptions"]
    options["includedFrameworks"] = options["includedFrameworks"][:1]
    options["configProperties"] = {}
    files = {f"{name}.dll": (ASSEMBLY, assembly), **framework,
             f"{name}.deps.json": (DEPENDENCIES, json.dumps(dependencies).encode()),
             f"{name}.runtimeconfig.json": (CONFIGURATION, json.dumps(config).encode())}
    write(path, Bundle(bundle.host, files))


def framework_version(runtime):
    """Returns a version such as 10.0.9."""
    return configuration(read(runtime))[1]["runtimeOptions"]["includedFrameworks"][0]["version"]


def core_library(runtime):
    return read(runtime).files["System.Private.CoreLib.dll"][1]


if __name__ == "__main__":
    make(sys.argv[1], b"", sys.argv[2])
