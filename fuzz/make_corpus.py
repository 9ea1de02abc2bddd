#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_corpus.py TARGET DIR STAMP: the inputs that fuzz/TARGET.c runs over.

Each target has a function of its name below that yields bytes. They are made
from programs compiled on the spot and are the same on every run.
"""
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM = """
#include <stdlib.h>
#include <string.h>
static int weight(const char *s) { return s ? (int)strlen(s) : 0; }
__attribute__((noinline)) int add(int a, int b) { return a + b; }
int add_alias(int a, int b) __attribute__((alias("add")));
__attribute__((weak)) int maybe(int a) { return abs(a); }
__asm__(".text\\n.globl label\\nlabel: nop\\nret\\n");
int main(int argc, char **argv) { return add(weight(argv[0]), maybe(argc)); }
"""

# Values that overflow, wrap or point back where a count, an offset or a size is expected.
ODD = [0, 1, 7, 8, 0x40, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 8,
       (1 << 64) - 1]


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def programs():
    """A few small binaries: position independent or not, stripped, split, without sections."""
    cc = os.environ.get("CC", "cc").split()
    with tempfile.TemporaryDirectory() as tmp:
        source = pathlib.Path(tmp, "p.c")
        source.write_text(PROGRAM)
        kinds = {
            "pie": ["-O1", "-fPIE", "-pie"],
            "fixed": ["-O1", "-no-pie", "-Wl,-Ttext-segment=0x10000000"],
            "shared": ["-O1", "-fPIC", "-shared", "-Wl,-z,ibtplt"],
            "object": ["-O1", "-c"],
        }
        for kind, flags in kinds.items():
            out = pathlib.Path(tmp, kind)
            run(*cc, "-w", "-Wl,--build-id=sha1", *flags, str(source), "-o", str(out))
            yield out.read_bytes()
        whole = pathlib.Path(tmp, "pie")
        for flags in (["--strip-all"], ["--only-keep-debug"], ["--add-gnu-debuglink=" + tmp + "/p.c"]):
            out = pathlib.Path(tmp, "changed")
            run("objcopy", *flags, str(whole), str(out))
            yield out.read_bytes()
        data = bytearray(whole.read_bytes())
        data[40:48] = bytes(8)
        yield bytes(data)


def patched(data, at, fmt, value):
    """@data with one number replaced; None when it does not fit there."""
    size = struct.calcsize(fmt)
    if at + size > len(data):
        return None
    return data[:at] + struct.pack("<" + fmt, value & ((1 << (8 * size)) - 1)) + data[at + size:]


def header_fields(data):
    """(offset, format) of the numbers in the file's header and its tables."""
    for at, fmt in ((24, "Q"), (32, "Q"), (40, "Q"), (54, "H"), (56, "H"), (58, "H"), (60, "H"),
                    (62, "H")):
        yield at, fmt
    phoff, shoff = struct.unpack_from("<QQ", data, 32)
    phnum, _, shnum = struct.unpack_from("<HHH", data, 56)
    for i in range(phnum):
        for field, fmt in ((0, "I"), (8, "Q"), (16, "Q"), (32, "Q"), (40, "Q")):
            yield phoff + 56 * i + field, fmt
    for i in range(shnum if shoff else 0):
        for field, fmt in ((0, "I"), (4, "I"), (16, "Q"), (24, "Q"), (32, "Q"), (40, "I"), (56, "Q")):
            yield shoff + 64 * i + field, fmt


def mutations(data, rng, n):
    """@n files that differ from @data by a header's number, a few bytes, or their end."""
    fields = list(header_fields(data))
    for i in range(n):
        kind = i % 4
        if kind == 0:
            yield data[:rng.randrange(len(data))]
            continue
        out = data
        for _ in range(rng.randrange(1, 4)):
            at, fmt = rng.choice(fields)
            if kind == 3:
                at, fmt = rng.randrange(len(data)), "B"
            # another field's value makes tables overlap and links go round
            other = rng.choice(fields)
            copied = int.from_bytes(data[other[0]:other[0] + struct.calcsize(other[1])], "little")
            value = copied if kind == 2 else rng.choice(ODD)
            out = patched(out, at, fmt, value) or out
        yield out


def elf_image():
    rng = random.Random(1)
    for data in programs():
        yield data
        yield from mutations(data, rng, 40)


# Every instruction that the assembler can be made to emit.
CFI_PROGRAM = """
.cfi_sections %s
.text
f:  .cfi_startproc
    nop
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    .skip 70
    .cfi_def_cfa_register 6
    .cfi_remember_state
    .skip 300
    .cfi_def_cfa 7, 8
    .cfi_restore 6
    nop
    .cfi_restore_state
    .cfi_undefined 3
    .skip 70000
    .cfi_same_value 3
    .cfi_register 3, 8
    .cfi_rel_offset 12, 0
    .cfi_val_offset 7, 0
    .cfi_adjust_cfa_offset 8
    nop
    .cfi_escape 0x0f, 3, 0x77, 8, 6
    nop
    .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
    nop
    .cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 6, 0x23, 8
    nop
    .cfi_escape 0x0f, 5, 0x76, 0x58, 6, 0x23, 8, 0x10, 6, 2, 0x76, 0, 0x16, 3, 2, 0x77, 8
    nop
    .cfi_escape 0x12, 7, 0x7f, 0x13, 0x7e, 0x11, 3, 2, 0x14, 3, 2, 0x15, 3, 0x7e, 0x05, 3, 2
    .cfi_escape 0x2e, 16, 0x2f, 3, 2, 0x06, 3, 0x0d, 3, 0x0e, 16, 0x0a, 0x0a, 0x0b, 0x0b
    nop
    .cfi_endproc
g:  .cfi_startproc simple
    .cfi_signal_frame
    .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6, 0x10, 7, 3, 0x77, 0xa0, 1
    .cfi_undefined 16
    nop
    .cfi_endproc
.ifeq %d
h:  .cfi_startproc
    .cfi_personality 0x9b, f
    .cfi_lsda 0x1b, g
    nop
    .cfi_endproc
.endif
"""


def cfi_sections():
    """(first byte for fuzz/eh_frame.c, section) of CFI in both formats."""
    cc = os.environ.get("CC", "cc").split()
    with tempfile.TemporaryDirectory() as tmp:
        source, out, raw = (pathlib.Path(tmp, n) for n in ("p.s", "p.so", "raw"))
        for i, name in enumerate((".eh_frame", ".debug_frame")):
            source.write_text(CFI_PROGRAM % (name, i))
            run(*cc, "-shared", "-nostdlib", str(source), "-o", str(out))
            run("objcopy", "--dump-section", "%s=%s" % (name, raw), str(out))
            yield i, raw.read_bytes()


def eh_frame():
    rng = random.Random(2)
    for kind, section in cfi_sections():
        yield bytes([kind]) + section
        yield bytes([kind | 2]) + section + bytes(4)
        for _ in range(150):
            out = bytearray(section)
            for _ in range(rng.randrange(1, 5)):
                out[rng.randrange(len(out))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            yield bytes([kind]) + bytes(out[:rng.choice((len(out), rng.randrange(len(out)))) + 1])
    for data in programs():
        yield b"\4" + data
        for changed in mutations(data, rng, 16):
            yield b"\4" + changed


def text_mutations(text, rng, n):
    """@n texts that differ from @text by a field, a line, a few bytes, or their end."""
    lines = text.splitlines(True)
    for i in range(n):
        out = list(lines)
        at = rng.randrange(len(out))
        if i % 5 == 0:
            yield text[:rng.randrange(len(text))]
            continue
        if i % 5 == 1:
            fields = out[at].split(b" ")
            fields[rng.randrange(len(fields))] = rng.choice([b"", b"0", b"-", b"f" * 16, b"f" * 17,
                                                             b"9" * 30, b"x" * 5000, b"\\012"])
            out[at] = b" ".join(fields)
        elif i % 5 == 2:
            out[at] = out[rng.randrange(len(out))]
        elif i % 5 == 3:
            out[at] = out[at].rstrip(b"\n")
        else:
            changed = bytearray(out[at])
            changed[rng.randrange(len(changed))] = rng.randrange(256)
            out[at] = bytes(changed)
        yield b"".join(out)


def maps():
    text = (b"555f943ad000-555f943ce000 rw-p 00000000 00:00 0                          [heap]\n"
            b"7f2e236e8000-7f2e237ac000 r-xp 0001f000 fe:00 247026                     /usr/a b.so\n"
            b"7f2e237ac000-7f2e237ad000 rwxp 00000000 00:00 0 \n"
            b"7f2e237ad000-7f2e237ae000 r-xs 00000000 00:01 1033 /memfd:jit\\012x (deleted)\n"
            b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]\n")
    yield text
    yield b"1000-2000 r-xp 0 00:00 1 " + b"x" * 200000 + b"\n" + text
    yield from text_mutations(text, random.Random(2), 200)


def kallsyms():
    symbols = (b"0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\n"
               b"ffffffff81000000 t first\nffffffff81000100 W __weak_fn\nffffffff81000200 D data\n"
               b"ffffffff81001000 T _etext\nffffffffc0001000 t mod_fn\t[nf_tables]\n"
               b"ffffffffc0009000 t bpf_prog_6deef7357e7b4530_prog\t[bpf]\n")
    modules = (b"nf_tables 4096 1 a,b, Live 0xffffffffc0001000 (OE)\n"
               b"other 8192 0 - Loading 0xffffffffc0005000\n")
    rng = random.Random(3)
    yield symbols
    yield symbols + b"\0" + modules
    for text in text_mutations(symbols, rng, 100):
        yield text + b"\0" + modules
    for text in text_mutations(modules, rng, 50):
        yield symbols + b"\0" + text


def main():
    target, directory, stamp = sys.argv[1:]
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    for i, data in enumerate(globals()[target]()):
        pathlib.Path(directory, "%04d" % i).write_bytes(data)
    pathlib.Path(stamp).touch()


main()
