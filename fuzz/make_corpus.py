#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_corpus.py TARGET DIR STAMP: generate the inputs that fuzz/TARGET.c runs on.

Each target has a function of the same name below that yields byte strings, derived from
programs that are compiled here. They are the same in every run.
"""
import base64
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

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

# Values that overflow, wrap around or point backwards when used as a count, an offset or a size.
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
    """@data with one number replaced; None if the number does not fit there."""
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
    """@n files that differ from @data by a number of a header, a few bytes, or their end."""
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
            # The value of another field makes tables overlap and links form a cycle.
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


# Every CFI instruction that the assembler can emit.
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


def sweep():
    """Machine code alone: first as compilers generate it, then increasingly invalid."""
    rng = random.Random(9)
    lazy = bytes.fromhex("ff3500100000ff2500100000" "0f1f4000" "ff2500100000" "6800000000" "e9e0ffffff")
    frame = bytes.fromhex("554889e5" "53" "4883ec18" "4883e4e0" "e800000000" "488d65f8" "5b5dc3")
    table = bytes.fromhex("53" "4883ec10" "83ff05" "770c" "ffe0" "ebf2" "31c0" "4883c410" "5bc3" "e8e5ffffff")
    for code in lazy, frame, table, lazy + frame + table, frame * 20, table * 20:
        for first in 0, 1, 0x80, 0xFF:
            yield bytes([first]) + code
            for _ in range(20):
                out = bytearray(code)
                for _ in range(rng.randrange(1, 6)):
                    out[rng.randrange(len(out))] = rng.randrange(256)
                yield bytes([first]) + bytes(out)


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


def maps_message():
    rng = random.Random(31)

    def record(start, path, same=False):
        head = struct.pack("<4Q3IHBB", start, start + 4096, 0, 7, 8, 1, 5, 0xffff if same else len(path), 0, 0)
        return head + (b"" if same else path + bytes(-len(path) % 8))

    message = record(4096, b"/usr/bin/program") + record(8192, b"", same=True) + record(16384, b"") + record(20480, b"[vdso]")
    yield b""
    yield message
    yield from byte_mutations(message, rng, 200)


def resident_message():
    """A mapping with its path, and a run of pages (src/opener/resident_message.c)."""
    rng = random.Random(33)

    def record(start, kind, rss=0, path=b""):
        return struct.pack("<3QI4B", start, start + 8192, rss, len(path), kind, 1, 0, 0) + path + bytes(-len(path) % 8)

    message = record(4096, 1, 8192, b"/usr/bin/program") + record(4096, 2) + record(16384, 1, 4096) + record(20480, 2)
    yield b""
    yield message
    yield from byte_mutations(message, rng, 200)


def disasm_message():
    """Instructions, and the reply that follows them (src/disasm/disasm_message.h)."""
    rng = random.Random(32)
    insn = struct.pack("<2Q2B16s112s6x", 4096, 8192, 2, 0, b"\x31\xc0", b"xorl %eax, %eax")
    reply = struct.pack("<2QIB64s3x", 4096, 8192, 0, 20, bytes(range(64)))
    yield insn + insn
    yield reply
    yield from byte_mutations(insn, rng, 200)
    yield from byte_mutations(reply, rng, 100)


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
    yield b"0000000000000000 A fixed_percpu_data\nffffffffc0009000 t __pfx_fn\n"
    for text in text_mutations(symbols, rng, 100):
        yield text + b"\0" + modules
    for text in text_mutations(modules, rng, 50):
        yield symbols + b"\0" + text


class GoFile:
    """A Go program that consists of tables only; src/elf/gopclntab.c describes the formats."""

    BASE, TABLE, MODULE, TREE, RELA, DYNAMIC, TEXT, LEN = (
        0x400000, 0x400, 0x1000, 0x1200, 0x1280, 0x1600, 0x1800, 0x2000)
    NAMES, UNITS, FILES, VALUES, FUNCS, RECORDS, RECORD_LEN = (
        0x100, 0x1c0, 0x1d0, 0x1e0, 0x240, 0x340, 0x60)
    # Functions with unwind rules of their own, and the first bytes of their tables.
    FUNCTIONS = [
        (b"main.outer", b"\x55\x48\x89\xe5\x48\x83\xec\x10"),
        (b"runtime.asmcgocall", b"\x48\x89\xe2\x48\x8b\x66\x38\x48\x89\x7c\x24\x30\x48\x89\x7c\x24"
                                b"\x28\xff\xd0\x48\x89\xf4\xc3\x48\x89\xe2\x48\x89\x54\x24\x28"
                                b"\x48\x89\xf4\xc3"),
        (b"runtime.systemstack", b"\x48\x8b\x62\x38\xff\xd7\x48\x8b\x60\x38\xc3"),
        (b"crosscall2", b"\x48\x83\xec\x30\x48\x89\x6c\x24\x28\x48\x89\x1c\x24"),
        (b"runtime.nanotime1", b"\x48\x8d\x6c\x24\x08\x48\x89\xe5\x48\x89\xec\xc3"),
        (b"runtime.sigreturn", b"\x0f\x05"),
        (b"runtime.goexit", b"\x90"),
        (b"main.leaf", b"\x41\x5c\xc3"),
    ]

    def __init__(self, magic, dialect, pie):
        self.magic, self.dialect, self.pie = magic, dialect, pie
        self.data = bytearray(self.LEN)
        self.relocations = []
        self.wide = magic in (0xFFFFFFFB, 0xFFFFFFFA)
        self.old = magic == 0xFFFFFFFB

    def put(self, at, fmt, *values):
        struct.pack_into("<" + fmt, self.data, at, *values)

    def address(self, at, value):
        if self.pie:
            self.relocations.append((self.BASE + at, 8, value))
        else:
            self.put(at, "Q", value)

    def record(self, i, name, entry):
        at = self.TABLE + self.FUNCS + self.RECORDS + i * self.RECORD_LEN
        names, values = (self.NAMES, self.VALUES) if self.old else (0, 0)
        pcdata, funcdata = {11: (1, 2), 12: (1, 2), 13: (2, 4)}.get(self.dialect, (2, 3))
        if self.wide:
            self.address(at, entry)
        else:
            self.put(at, "I", entry - self.BASE - self.TEXT)
        at += 8 if self.wide else 4
        depth = values + (8 if i < 7 else 0x20)
        self.put(at, "7I", names + name, 0, 0, depth, values + 0x38, values + 0x10, pcdata + 1)
        at += 28
        if not self.old:
            self.put(at, "I", 1)
            at += 4
        if self.magic == 0xFFFFFFF1:
            self.put(at, "I", 9)
            at += 4
        self.put(at, "I", funcdata + 1 if self.dialect == 11 else (funcdata + 1) << 24)
        self.put(at + 4 + 4 * pcdata, "I", values + 0x18)
        at += 4 + 4 * (pcdata + 1)
        if self.wide:
            self.address((at + 7) // 8 * 8 + 8 * funcdata, self.BASE + self.TREE)
        else:
            self.put(at + 4 * funcdata, "I", 0)

    def functions(self):
        n = len(self.FUNCTIONS)
        array = self.TABLE + (16 if self.old else self.FUNCS)
        records = self.RECORDS + (self.FUNCS if self.old else 0)
        name = 8
        for i in range(n + 1):
            entry = self.BASE + self.TEXT + 0x40 * i
            offset = records + i * self.RECORD_LEN if i < n else self.UNITS
            if self.wide:
                self.address(array + 16 * i, entry)
                self.put(array + 16 * i + 8, "Q", offset)
            else:
                self.put(array + 8 * i, "2I", entry - self.BASE - self.TEXT, offset)
            if i == n:
                break
            text, code = self.FUNCTIONS[i]
            self.put(self.TABLE + self.NAMES + name, "%ds" % len(text), text)
            self.put(self.TEXT + 0x40 * i, "%ds" % len(code), code)
            self.record(i, name, entry)
            name += len(text) + 1

    def strings(self):
        self.put(self.TABLE + self.FILES + 2, "5s", b"/a.go")
        self.put(self.TABLE + self.UNITS, "2I", 2, self.FILES + 2 if self.old else 2)
        for off, values in ((8, (2, 4, 48, 60)), (0x10, (22, 16, 20, 16, 17, 32)),
                            (0x18, (0, 16, 2, 16, 1, 32)), (0x20, (2, 2, 15, 2, 16, 60)),
                            (0x38, (4 if self.old else 2, 64))):
            self.put(self.TABLE + self.VALUES + off, "%dB" % len(values), *values)

    def tree(self):
        names = 8 + (self.NAMES if self.old else 0)
        if self.magic == 0xFFFFFFF1:
            self.put(self.TREE, "4I", 0, names, 0x20, 19)
        else:
            self.put(self.TREE, "5I", 0xFFFFFFFF, 1 if self.old else 0, 11, names, 0x20)

    def module(self):
        end = self.BASE + self.TEXT + 0x40 * len(self.FUNCTIONS)
        self.address(self.MODULE, self.BASE + self.TABLE)
        self.put(self.MODULE + 17 * 8, "Q", len(self.FUNCTIONS) + 1)
        for word, value in ((20, self.BASE + self.TEXT), (21, end), (22, self.BASE + self.TEXT),
                            (38 if self.magic == 0xFFFFFFF0 else 40, self.BASE + self.TREE)):
            self.address(self.MODULE + word * 8, value)

    def headers(self):
        note = struct.pack("<3I4s4s", 4, 4, 4, b"Go", b"id")
        self.put(0, "16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3 if self.pie else 2, 62, 1, 0, 64, 0, 0,
                 64, 56, 4, 64, 0, 0)
        for i, (kind, flags, at, size) in enumerate((
                (1, 4, 0, self.TEXT), (1, 5, self.TEXT, self.LEN - self.TEXT),
                (4, 4, 0x200, len(note)), (2, 4, self.DYNAMIC, 48))):
            self.put(64 + 56 * i, "IIQQQQQQ", kind, flags, at, self.BASE + at, 0, size, size, 8)
        self.put(0x200, "%ds" % len(note), note)
        if self.dialect == 13:
            self.put(0x300, "14s", b"\xff Go buildinf:")
        self.put(self.DYNAMIC, "4Q", 7, self.BASE + self.RELA, 8, 24 * len(self.relocations))
        for i, relocation in enumerate(self.relocations):
            self.put(self.RELA + 24 * i, "3Q", *relocation)

    def build(self):
        parts = (self.NAMES, self.UNITS, self.FILES, self.VALUES, self.FUNCS)
        self.put(self.TABLE, "IHBBQ", self.magic, 0, 1, 8, len(self.FUNCTIONS))
        if not self.old:
            self.put(self.TABLE + (24 if self.wide else 32), "5Q", *parts)
        self.functions()
        self.strings()
        self.tree()
        if not self.wide:
            self.module()
        self.headers()
        return bytes(self.data)


def gopclntab():
    rng = random.Random(1)
    for magic, dialect in ((0xFFFFFFFB, 11), (0xFFFFFFFB, 12), (0xFFFFFFFB, 13), (0xFFFFFFFA, 16),
                           (0xFFFFFFF0, 18), (0xFFFFFFF1, 20)):
        for pie in (False, True):
            data = GoFile(magic, dialect, pie).build()
            yield data
            for i in range(60):
                changed = bytearray(data)
                for _ in range(1 + i % 3):
                    at = rng.randrange(GoFile.TABLE, GoFile.LEN - 8) & ~3
                    fmt = rng.choice("BHIQ")
                    value = rng.choice(ODD) & ((1 << 8 * struct.calcsize(fmt)) - 1)
                    struct.pack_into("<" + fmt, changed, at, value)
                yield bytes(changed)


def varint(v):
    out = bytearray()
    v &= (1 << 64) - 1
    while v >= 0x80:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    return bytes(out) + bytes([v])


def message(*fields):
    """Encodes a protobuf message of (number, value): an int as varint, a list packed, a float as fixed64."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<Q", int(value))
        else:
            if isinstance(value, list):
                value = b"".join(map(varint, value))
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def byte_mutations(data, rng, n):
    """@n inputs that differ from @data by a few bytes, a repeated piece, or their end."""
    for i in range(n):
        out = bytearray(data)
        if i % 4 == 0:
            yield bytes(out[:rng.randrange(len(out))])
            continue
        if i % 4 == 1:
            at, end = sorted(rng.randrange(len(out)) for _ in range(2))
            out[at:at] = out[at:end]


DEBUG_PROGRAM = """
static inline __attribute__((always_inline)) int inner(int a) { return a * 3; }
static inline __attribute__((always_inline)) int middle(int a) { return inner(a) + inner(a + 1); }
__attribute__((noinline)) int outer(int a) { return a > 7 ? middle(a) : 0; }
struct s { int (*f)(int); struct s *next; };
int main(int argc, char **argv) { struct s x = { outer, 0 }; return x.f(argc) + middle(argc); }
"""


def debug_programs():
    """Small files with DWARF of each version, compressed and split."""
    cc = os.environ.get("CC", "cc").split()
    with tempfile.TemporaryDirectory() as tmp:
        source, out = pathlib.Path(tmp, "p.c"), pathlib.Path(tmp, "p")
        source.write_text(DEBUG_PROGRAM)
        for flags in ("-gdwarf-5", "-gdwarf-4", "-gdwarf-2", "-gdwarf-5 -gz", "-gdwarf-5 -gsplit-dwarf",
                      "-gdwarf-4 -gsplit-dwarf"):
            run(*cc, "-w", "-O1", "-shared", "-fPIC", "-nostdlib", "-fdebug-prefix-map=%s=/s" % tmp,
                *flags.split(), str(source), "-o", str(out))
            yield out.read_bytes()
        for dwo in sorted(pathlib.Path(tmp).glob("*.dwo")):
            yield dwo.read_bytes()


def dwarf():
    rng = random.Random(5)
    for data in debug_programs():
        yield data
        start = len(data) // 8
        for _ in range(120):
            out = bytearray(data)
            for _ in range(rng.choice((1, 1, 3, 20))):
                at = rng.randrange(start, len(out))
                out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, out[at] ^ 1 << rng.randrange(8)))
            yield bytes(out)
        yield from mutations(data, rng, 20)


NAMES = ["_ZNSt6vectorIiSaIiEE9push_backERKi", "_ZZ4mainENKUlvE_clEv", "_ZN1AptEv@plt", "_Z1fi.cold",
         "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "_RNvNtCs1234_7mycrate3foo3bar",
         "_RINvNtC3std3mem4dropTiiEEC3foo", "_RNvCs1234_5crateu8gdel_5qa", "_D3std5stdio7writelnFZv",
         "_D3foo__T3barTQeTQhZQnFQoZv", "_ada_hello", "pkg__sub__proc", "_ZStlsISt11char_traitsIcEE" * 3,
         "_Z" + "1f" + "S_IS0_S0_E" * 40, "_Z" + "N1a" * 200 + "E", "_RINv" + "B_" * 50]


def demangle():
    rng = random.Random(6)
    for name in NAMES:
        raw = name.encode()
        yield raw
        for _ in range(40):
            out = bytearray(raw)
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(len(out))
                out[at:at + rng.randrange(2)] = rng.choice((b"S_", b"E", b"I", b"9", b"B_", b"Q", b"K"))
            yield bytes(out)


def packet_text(s):
    return struct.pack("<H", len(s)) + s + b"\0"


def protocol():
    """A byte that chooses the message, and the message"""
    rng = random.Random(7)
    frame = struct.pack("<II", 7, 5) + packet_text(b"inner") + packet_text(b"_Z5innerv") + packet_text(b"/a/b.c")
    segment = struct.pack("<QQQQQ", 0x1000, 0x2000, 0, 0x1800, 1)
    config = struct.pack("<QQIIII", 77, 64 << 20, 6, 1, 0, 2) + bytes(range(16))
    bodies = [
        config + struct.pack("<QQ", 0x1000, 1 << 40),
        bytes([20]) + bytes(range(64)) + bytes(3) + struct.pack("<III", 1, 2, 0) + segment * 2 + bytes(62 * 40),
        struct.pack("<QII", 1000, 1, 1) + b"0123456789abcdef0123456789abcdef.symbols".ljust(64, b"\0") + bytes(64),
        struct.pack("<IIQH", 0, 3, 0, 2) + frame * 2 + struct.pack("<IIQH", 1, 0, 0x1000, 0),
        *[struct.pack("<I", 2) + packet_text(b"name") + packet_text(b"dir") + struct.pack("<H", 3) + b"abc"] * 5,
    ]
    kinds = [0, 1, 2, 3, 5, 6, 7, 8, 9]
    for kind, body in zip(kinds, bodies):
        data = bytes([kind]) + body
        yield data
        for _ in range(60):
            out = bytearray(data[:rng.choice((len(data), rng.randrange(len(data)) + 1))])
            at = rng.randrange(1, len(out)) if len(out) > 1 else 0
            out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            yield bytes(out)


def table_cache():
    rng = random.Random(17)
    names = b"".join(b"name%d\0" % i for i in range(40))
    starts = [0x1000 + 24 * i for i in range(40)]
    offsets = [m.start() + 1 if m.start() else 0 for m in re.finditer(rb"^|\0(?!$)", names)]
    infos = [(32, offsets[i], i - 1 if i % 4 else 0xFFFFFFFF) for i in range(40)]
    data = struct.pack("<QQ", 40, len(names)) + struct.pack("<40Q", *starts)
    data += b"".join(struct.pack("<III", *i) for i in infos) + names
    yield data
    yield struct.pack("<QQ", 0, 0)
    yield b"CSYM" + struct.pack("<IQQ", 1, len(data), 0) + data
    for i in range(300):
        out = bytearray(data[:rng.choice((len(data), len(data), rng.randrange(len(data)) + 1))])
        at = rng.randrange(len(out)) if i % 2 else rng.randrange(min(len(out), 800)) // 4 * 4
        out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        yield bytes(out)


def perfmap():
    rng = random.Random(8)
    lines = b"".join(b"%x %x name %d /a b.js:%d\n" % (0x1000 + 16 * i, rng.randrange(64), i, i)
                     for i in range(60))
    yield lines
    yield from text_mutations(lines, rng, 150)


def jitdump():
    rng = random.Random(9)

    def record(kind, body):
        return struct.pack("<IIQ", kind, 16 + len(body), 0) + body

    data = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 7, 0, 0)
    data += record(2, struct.pack("<QQ", 0x1000, 2) + struct.pack("<QII", 0x1000, 10, 0) + b"a.js\0" +
                   struct.pack("<QII", 0x1008, 20, 0) + b"\xff\0")
    data += record(0, struct.pack("<IIQQQQ", 7, 7, 0x1000, 0x1000, 16, 1) + b"f\0" + bytes(16))
    data += record(99, bytes(4))
    data += record(1, struct.pack("<IIQQQQQ", 7, 7, 0x9000, 0x1000, 0x9000, 16, 1))
    yield data
    for _ in range(300):
        out = bytearray(data[:rng.choice((len(data), rng.randrange(len(data)) + 1))])
        for _ in range(rng.randrange(1, 4)):
            out[rng.randrange(len(out))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        yield bytes(out)


def allocator_message():
    rng = random.Random(26)

    def function(low, high, place, kind=1, flags=0):
        return struct.pack("<QQQII", low, high, place, kind, flags)

    reply = function(16, 64, 20) + function(64, 80, 64, 6, 1)
    yield b""
    yield function(16, 64, 20) * 33
    yield reply
    yield from byte_mutations(reply, rng, 100)


def jit_message():
    rng = random.Random(21)

    def found(index, line, name, file):
        return struct.pack("<IIHH", index, line, len(name), len(file)) + name + file

    part = found(0, 7, b"f", b"a.js") + found(63, 0, b"g" * 300, b"") + found(5, 1, b"h", b"b.js")
    request = struct.pack("<IIQQ", 2, 3, 0, 4096) + struct.pack("<3Q", 1, 2, 3)
    yield b""
    for message_ in (part, request):
        yield message_
        yield from byte_mutations(message_, rng, 150)


def context():
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    def message(*names):
        keys = b"".join(field(1, field(1, name)) for name in names)
        return field(1, b"") + field(2, field(1, b"threadlocal.attribute_key_map") + field(2, field(5, keys)))

    def otel(attributes, said=None):
        said = len(attributes) if said is None else said
        return struct.pack("<BBBBI16s8sBBH", 1, 0, 0, 0, 28 + len(attributes), b"t" * 16, b"s" * 8, 1, 0,
                           said) + attributes

    def labels(kind, *texts):
        body = b"".join(struct.pack("<BB6x24s64s", len(k), len(v), k, v) for k, v in texts)
        return struct.pack("<BBBBI", kind, 0, 0, 0, len(body)) + body

    rng = random.Random(28)
    for names in ((b"http.route", b"userid"), (b"x" * 99, b""), (b"k",) * 9):
        for context_ in (otel(b"\0\5/cart\1\3bob\7\1x"), otel(b"\0\xff/", 9000), otel(b"\0\2a\0" * 99),
                         labels(2, (b"k", b"v"), (b"k", b"w")), labels(3, *[(bytes([97 + i]), b"v" * i) for i in range(8)])):
            text = message(*names)
            whole = struct.pack("<H", len(text)) + text + context_
            yield whole
            for _ in range(20):
                changed = bytearray(whole)
                changed[rng.randrange(len(changed))] = rng.randrange(256)
                yield bytes(changed[:rng.randrange(2, len(changed) + 1)])


def lang_message():
    rng = random.Random(24)

    def function(number, lines, *texts, result=0, flags=12, n_calls=0, version=11, unnamed=0):
        texts += (b"",) * (3 - len(texts))
        return struct.pack("<IiIIIIIHH4I", number, result, flags, n_calls, len(lines), 7, 3, version, unnamed,
                           *map(len, texts), 0) + lines + b"".join(texts)

    tables = [b"", bytes(40), bytes(range(1, 200)), b"\x80\x05" * 30, struct.pack("<20I", *range(20)), b"\xff" * 99]
    tables += [bytes(rng.randrange(256) for _ in range(60)) for _ in range(30)]
    for version in (0, 1, 6, 9, 10, 11, 14):
        yield b"\2" + b"".join(function(i, t, b"name", b"file.py", b"name [near]", version=version)
                               for i, t in enumerate(tables))
    stream = function(0, b"\1\2", b"f", b"a.js") + function(1, b"", flags=1, result=0) + function(2, b"", flags=0, result=-116)
    calls = function(0, b"", flags=0, result=2, n_calls=2) + struct.pack("<QIIQII", 4096, 1, 2, 8192, 3, 4)
    yield b""
    for message_ in (b"\2" + stream, b"\3" + calls, bytes(64), bytes(40), b"\1" + bytes(1500)):
        yield message_
        yield from byte_mutations(message_, rng, 150)


def flat_table():
    rng = random.Random(22)
    rules = [(0, 0, 0, 0, 0), (1, 0, 0, 0, 0), (10, 0, 0, 0, 0), (2, 0, 0, 0, 16), (3, 0, 1, 1, 16)]
    rows = [(0, 0), (0x1000, 3), (0x1010, 4), (0x1100, 0), (0, 0), (0x10, 3)]
    table = struct.pack("<6I", 0x62615446, len(rules), 5, 3, len(rows), 1)
    table += b"".join(struct.pack("<4Bi4h", *rule, -16, -24, -8, 0) if i > 2 else struct.pack("<4Bi4h", *rule, 0, 0, 0, 0)
                      for i, rule in enumerate(rules))
    table += struct.pack("<4I", 0, 4, 4, 6) + b"".join(struct.pack("<HH", *row) for row in rows)
    need = struct.pack("<I256s", 3, b"program.debug")
    yield struct.pack("<6I", 0x62615446, 3, 0, 0, 0, 0) + table[24:24 + 48] + bytes(4)
    facts = struct.pack("<BB64s", 1, 20, bytes(range(64)))
    for message_ in (table, need, facts):
        yield message_
        yield from byte_mutations(message_, rng, 200)


def pprof():
    strings = [b"", b"cpu", b"nanoseconds", b"main", b"main.py", b"/bin/prog", b"pid", b"sh"]
    text = message(
        (1, message((1, 1), (2, 2))),
        (2, message((1, [1, 2]), (2, [5]), (3, message((1, 6), (3, 7), (4, 1))))),
        (2, message((1, 2), (2, 3), (3, message((1, 6), (2, 7))))),
        (3, message((1, 1), (2, 0x1000), (3, 0x2000), (4, 16), (5, 5), (6, 7), (7, 1))),
        (4, message((1, 1), (2, 1), (3, 0x1234), (4, message((1, 9), (2, 3), (3, 4))))),
        (4, message((1, 2), (3, 5), (4, message((1, 9))), (4, message((1, 9), (2, 1))))),
        (5, message((1, 9), (2, 3), (3, 3), (4, 4), (5, 1))),
        *((6, s) for s in strings), (9, 1), (10, 2), (11, message((1, 1), (2, 2))), (12, 10), (13, [3, 4]))
    yield text
    yield gzip.compress(text, mtime=0)
    yield gzip.compress(text, mtime=0) * 2
    yield from byte_mutations(text, random.Random(4), 200)
    yield from byte_mutations(gzip.compress(text, mtime=0), random.Random(5), 30)


def otlp():
    strings = [b"", b"samples", b"count", b"main", b"profile.frame.type", b"kernel", b"/bin/prog", b"pid"]
    dictionary = message(
        (1, b""), (1, message((1, 0x1000), (2, 0x2000), (4, 6), (5, [2]))),
        (2, b""), (2, message((1, 1), (2, 0x1234), (3, message((1, 1), (2, 3))), (4, [1]))),
        (3, b""), (3, message((1, 3), (2, 3))), (4, b""), *((5, s) for s in strings),
        (6, b""), (6, message((1, 4), (2, message((1, b"kernel"))))),
        (6, message((1, 7), (2, message((3, 42))), (3, 2))), (7, b""), (7, message((1, [1]))))
    resource = message((1, message((1, b"service.name"), (2, message((1, b"shop"))))),
                       (1, message((3, 7), (2, message((8, 5))))))
    for sample in (((2, [2]), (4, [7])), ((2, [7]), (3, [2])), ((5, struct.pack("<2Q", 1, 2)),),
                   ((2, [2]), (5, struct.pack("<Q", 9)))):
        profile = message((1, message((1, 1), (2, 2))), (2, message((1, 1), *sample)), (3, 5.0), (4, 6),
                          (5, message((1, 1), (2, 2))), (6, 10), (11, [2]))
        text = message((1, message((1, resource), (2, message((2, profile))))), (2, dictionary))
        yield text
        yield from byte_mutations(text, random.Random(6), 80)


def otlp_answer():
    retry = message((1, b"type.googleapis.com/google.rpc.RetryInfo"), (2, message((1, message((1, 2), (2, 5))))))
    for text in (b"", message((1, message((1, 3), (2, b"too old")))), message((1, 8), (2, b"slow"), (3, retry)),
                 message((3, message((1, b"x"), (2, retry))))):
        yield text
        yield base64.b64encode(text)
        yield from byte_mutations(text or b"%20%c3%bc%zz%", random.Random(8), 60)


def containers():
    ident = "feedc0de" * 8
    labels = {"io.kubernetes.pod.name": "web-0", "io.kubernetes.pod.namespace": "prod", "io.kubernetes.container.name": "w"}
    pod = {"metadata": {"name": "web-0", "namespace": "prod", "uid": "1-2"},
           "status": {"containerStatuses": [{"name": "w", "containerID": "containerd://" + ident}]}}
    for value in ({"Name": "/web", "Config": {"Labels": labels}}, {"annotations": labels}, {"items": [pod, pod]},
                  [{"id": ident, "names": ["web"]}], {"Name": ["a", {"Name": None}]}):
        text = json.dumps(value).encode()
        yield text
        yield from byte_mutations(text, random.Random(9), 60)
    path = f"0::/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-{ident}.scope\n".encode()
    yield path
    yield from byte_mutations(path, random.Random(10), 60)
    yield b"[" * 100000


def otlp_json():
    text = json.dumps({"resourceProfiles": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "a\u00fc"}},
                                    {"keyStrindex": 1, "value": {"arrayValue": {"values": [{}]}}}]},
        "scopeProfiles": [{"scope": {"name": "s"}, "profiles": [{
            "sampleType": {"typeStrindex": 1}, "timeUnixNano": "18", "period": 10,
            "profileId": "00" * 16, "samples": [
                {"stackIndex": 1, "values": ["-3", 4.0], "timestampsUnixNano": ["5", 6],
                 "attributeIndices": [1], "linkIndex": 1}]}]}]}],
        "dictionary": {"stringTable": ["", "cpu", "main"], "functionTable": [{}, {"nameStrindex": 2}],
                       "locationTable": [{}, {"lines": [{"functionIndex": 1}], "mappingIndex": 0}],
                       "mappingTable": [{}], "stackTable": [{}, {"locationIndices": [1]}],
                       "attributeTable": [{}, {"keyStrindex": 1, "value": {"bytesValue": "aGk="}}],
                       "linkTable": [{"traceId": "ab", "spanId": ""}, {"traceId": "ab" * 16, "spanId": "cd" * 8}]}}).encode()
    yield text
    yield b'{"resourceProfiles":[' * 3000
    yield from text_mutations(text, random.Random(11), 200)


def ingest():
    def node(name, own, *children):
        return (varint(len(name)) + name + varint(own) + varint(len(children)) + b"".join(children))

    tree = node(b"", 0, node(b"main", 1, node(b"a;b", 2), node(b"\n", 1 << 62)), node(b"x", 4))
    form = (b'--XX\r\nContent-Disposition: form-data; name="profile"\r\n\r\nabc\r\n--XX\r\n'
            b'Content-Disposition: form-data; name="other"\r\n\r\n\r\n--XX--\r\n')
    rng = random.Random(12)
    for kind, text in ((0, b"a;b 3\nc\r\nd 4"), (1, b"a;b\n\nc"), (2, tree), (3, tree), (4, form)):
        yield bytes([kind]) + text
        for changed in byte_mutations(text, rng, 60):
            yield bytes([kind]) + changed
    yield b"\3" + (varint(0) + varint(1) + varint(1)) * 70000


def request():
    inner = message((1, b"text"), (2, 1.5))
    proto = message((1, b"a"), (2, b"b"), (2, b"c"), (3, 1 << 63), (4, 1), (5, b"\0\1"), (6, inner),
                    (6, b""), (7, inner), (9, 5))
    text = (b'{"text":"a\\u00fc","texts":["b",""],"number":"ONE","flag":true,"bytes":"AAE=","list":['
            b'{"text":"x","number":1e3},{}],"inner":{"number":"2.5"},"un_known":[{"a":null}]}')
    rng = random.Random(13)
    yield b"\0" + proto
    yield b"\1" + text
    for changed in byte_mutations(proto, rng, 80):
        yield b"\0" + changed
    for changed in text_mutations(text, rng, 120):
        yield b"\1" + changed


def h2():
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def literal(name, value):
        return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value

    headers = b"\x83\x86" + literal(b":path", b"/a%20b?c=d+e&f&%zz=1") + literal(
        b":authority", b"x") + literal(b"content-type", b"application/grpc")
    text = (frame(4, 0, 0, b"") + frame(1, 4, 1, headers) + frame(0, 0, 1, b"\0\0\0\0\2ab") +
            frame(0, 1, 1, b"") + frame(1, 5, 3, headers) + frame(3, 0, 3, bytes(4)) +
            frame(6, 0, 0, bytes(8)) + frame(8, 0, 0, b"\0\0\1\0") + frame(7, 0, 0, bytes(8)))
    yield text
    yield frame(1, 5, 1, headers) + frame(0, 0, 5, bytes(70)) * 3
    yield frame(4, 0, 0, b"") + frame(1, 4, 1, headers) + frame(0, 0, 1, bytes(16000)) * 6
    yield from byte_mutations(text, random.Random(14), 200)


def connection():
    rng = random.Random(21)
    host = b"Host: localhost\r\n"
    chunked = b"POST /ingest?name=a HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n5\r\na;b 1\r\n0\r\n\r\n"
    asks = [b"GET /ready HTTP/1.1\r\n" + host + b"\r\n",
            b"GET /metrics HTTP/1.0\r\n\r\n" * 3,
            chunked,
            b"POST /ingest?name=a&format=folded HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nContent-Encoding: gzip\r\n\r\na;b 1"]
    # a TLS record with a ClientHello that ends too early
    hello = bytes.fromhex("160301003c010000380303") + bytes(32) + b"\0\0\2\x13\1\1\0\0\x0d\0\x10\0\5\0\3\2h2"
    for kind in (0, 5):
        for text in asks:
            yield bytes([kind]) + text
            for changed in byte_mutations(text, rng, 20):
                yield bytes([kind]) + changed
        # what was found: no body in the format lines, and headers and paths that parsers read differently
        yield bytes([kind]) + b"POST /ingest?name=a&format=lines HTTP/1.1\r\n" + host + b"Content-Length: 0\r\n\r\n"
        for header in (b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                       b"Transfer-Encoding: \x0bchunked", b"X: y\rContent-Length: 2", b"Content-Length: 0\r\n 2",
                       b"Content-Length: 2\0"):
            yield bytes([kind]) + b"POST /ingest?name=a HTTP/1.1\r\n" + host + header + b"\r\n\r\n0\r\n\r\n"
        yield bytes([kind]) + b"GET /ready%00/x?a=%00 HTTP/1.1\r\n" + host + b"\r\n"
    yield b"\4" + hello
    for changed in byte_mutations(hello, rng, 20):
        yield b"\4" + changed
    for text in list(h2())[:80]:
        yield b"\1" + text
    for path in range(8):
        bodies = list(pprof())[:2] if path == 0 else [b'{"profileTypeID":"x","labelSelector":"{}"}', message((1, b"a"), (2, b"{}"), (3, 1))]
        for body in bodies:
            yield bytes([3, path]) + body
            yield bytes([2, path]) + b"\0" + struct.pack(">I", len(body)) + body
            for changed in byte_mutations(body, rng, 5):
                yield bytes([2, path]) + b"\0" + struct.pack(">I", len(changed)) + changed


def api():
    rng = random.Random(31)
    query = (b'{"profileTypeID":"process_cpu:cpu:nanoseconds:cpu:nanoseconds","labelSelector":"{a=~\\"b.*\\"}",'
             b'"start":1795199985000,"end":"1795200030000","step":15,"groupBy":["a"],"format":"PROFILE_FORMAT_TREE"}')
    asked = message((1, b"process_cpu:cpu:nanoseconds:cpu:nanoseconds"), (2, b"{}"), (3, 1795199985000), (4, 1795200030000))
    bodies = {0: list(pprof())[:2], 1: [b"main;a 1\n"], 2: list(otlp())[:3], 3: list(otlp())[:3]}
    for text in list(h2())[:40]:
        yield b"\0" + text
    for path in range(8):
        for body in bodies.get(path, [query, asked]):
            for kind in (2, 3):
                yield bytes([kind, path]) + body
                for changed in byte_mutations(body, rng, 8):
                    yield bytes([kind, path]) + changed
            yield bytes([1, path]) + b"\0" + struct.pack(">I", len(body)) + body
            yield bytes([1, path]) + b"\1" + struct.pack(">I", len(body) + 1) + body


def pack():
    """Packs of a series' windows (src/store/pack.c), uncompressed: heads, rows."""
    rng = random.Random(41)

    def blob(head, columns):
        return b"\0" + b"".join(map(varint, head)) + b"".join(varint(len(c)) for c in columns) + b"".join(columns)

    def column(values):
        return b"".join(varint(v << 1 if v >= 0 else (-v << 1) - 1) for v in values)

    for n in (0, 1, 4, 9):
        ids = bytes(i % 2 for i in range(n)) + bytes(rng.randrange(256) for _ in range(8 * (n // 2)))
        totals = [b"\0" + column([7 + i for i in range(n)]), b"\1" + column([10000000])]
        heads = blob([n, 2], [column([15000000000] + [0] * (n - 1))[:(n > 0) * 99], column([1] * n),
                              column([3] * n), column([0] * n), ids] + totals)
        counts = [rng.randrange(1, n + 1) for _ in range(6)] if n else []
        windows = b"".join(varint(0) + b"".join(varint(1) for _ in range(c - 1)) for c in counts)
        rows = sum(counts)
        values = [b"\0" + column([1 + i % 3 for i in range(rows)]), b"\1" + column([10000000])]
        body = blob([2, len(counts), rows], [b"".join(map(varint, [3] * len(counts))),
                                             b"".join(map(varint, counts)), windows] + values)
        data = bytes([len(heads)]) + heads + body
        yield data
        yield from byte_mutations(data, rng, 150)


def spool_item():
    rng = random.Random(9)
    for body in (b"", b"x" * 300, bytes(rng.randrange(256) for _ in range(2000))):
        head = b"CAMEOSP1" + struct.pack("<QQI", 1795200000 * 10**9, len(body), 3)
        text = head + struct.pack("<I", zlib.crc32(head + bytes(4) + body)) + body
        yield text
        yield from byte_mutations(text, rng, 40)


def folded():
    text = (b"main;work;inlined_[i];vfs_read_[k] 10\nsh;a b c;Klass.run_[j] 3\r\n\n"
            b"x;;y 1\n_[i] 2\n;;; 4\nroot 9223372036854775807\nroot 1\n")
    yield text
    yield b"a;" * 20000 + b"a 1\n"
    yield from text_mutations(text, random.Random(7), 200)


def producers():
    text = (b"# austin: 3.7.0\n# mode: full\n\nP1;T0:1;a.py:<module>:1;b:c:d:2 10,0,5\n"
            b"P1;T0x1f;a.py:f:3 7,1,-4\r\nP2;T4 1,0,0\n# duration: 3\n")
    yield text
    yield text.replace(b"full", b"wall").replace(b",0,5", b"")
    yield b"# austin: 3\nP1;T1;" + b"a:b:1;" * 20000 + b"a:b:1 1\n"
    yield from text_mutations(text, random.Random(24), 200)
    words = (0, 3, 0, 10000, 0, 2, 3, 0x1010, 0x100F, 0x2020, 5, 1, 0x1030, 0, 1, 0)
    maps = (b"00001000-00002000 r-xp 00000400 08:01 77   /bin/a b\n"
            b"2000-3000 r--p 0 0:0 0\nbuild=x\n")
    whole = struct.pack("<%dQ" % len(words), *words) + maps
    yield whole
    for i in range(0, len(whole), 5):
        yield whole[:i]
    yield from byte_mutations(whole, random.Random(25), 400)


def jfr():
    """A recording of one chunk: classes, constants, events."""
    strings = []

    def text(s):
        return bytes([3]) + varint(len(s)) + s.encode()

    def string(s):
        if s not in strings:
            strings.append(s)
        return varint(strings.index(s))

    def attributes(**values):
        return varint(len(values)) + b"".join(string(k) + string(v) for k, v in values.items())

    def field(name, kind, how=""):
        extra = {"c": {"constantPool": "true"}, "a": {"dimension": "1"}}.get(how, {})
        return string("field") + attributes(name=name, **{"class": str(kind)}, **extra) + b"\0"

    def class_(ident, name, *fields):
        return (string("class") + attributes(name=name, id=str(ident)) + varint(len(fields)) +
                b"".join(field(*f) for f in fields))

    def event(kind, payload):
        body = varint(kind) + payload
        return varint(len(body) + (1 if len(body) < 0x7F else 2)) + body

    sample = (("startTime", 11), ("sampledThread", 26, "c"), ("stackTrace", 24, "c"), ("state", 25, "c"), ("tlabSize", 11))
    classes = [class_(10, "java.lang.String"), class_(11, "long"), class_(12, "boolean"), class_(13, "double"),
               class_(20, "jdk.types.Symbol", ("string", 10)), class_(21, "java.lang.Class", ("name", 20, "c")),
               class_(22, "jdk.types.Method", ("type", 21, "c"), ("name", 20, "c")),
               class_(23, "jdk.types.StackFrame", ("method", 22, "c"), ("lineNumber", 11), ("weight", 13)),
               class_(24, "jdk.types.StackTrace", ("truncated", 12), ("frames", 23, "a")),
               class_(25, "jdk.types.ThreadState", ("name", 10)), class_(26, "java.lang.Thread", ("javaName", 10)),
               class_(30, "jdk.ExecutionSample", *sample), class_(31, "jdk.ObjectAllocationInNewTLAB", *sample),
               class_(32, "jdk.ActiveSetting", ("id", 11), ("name", 10), ("value", 10))]
    elements = string("root") + b"\0\1" + string("metadata") + b"\0" + varint(len(classes)) + b"".join(classes)
    metadata = event(0, b"\0\0\1" + varint(len(strings)) + b"".join(map(text, strings)) + elements)
    frame = b"\1\7" + bytes(8)
    pools = [b"\x0a\1\5" + text("wall"), b"\x14\2\1" + text("a/B") + b"\2" + text("run"), b"\x15\1\1\1", b"\x16\1\1\1\2",
             b"\x18\2\1\0\2" + frame * 2 + b"\2\1\0", b"\x19\1\1" + text("STATE_RUNNABLE"), b"\x1a\1\1" + text("main")]
    constants = event(1, b"\0\0\0\0" + varint(len(pools)) + b"".join(pools))
    events = (event(30, b"\5\1\1\1\0") + event(31, b"\5\1\2\1\x80\x20") + event(77, b"xyz") +
              event(32, b"\0" + text("interval") + text("10000000")) + event(32, b"\0" + text("event") + b"\2\5"))
    at = 68 + len(events)
    whole = (b"FLR\0" + struct.pack(">HHQQQQQQQI", 2, 1, at + len(metadata) + len(constants), at + len(metadata), at,
                                   10**18, 10**9, 0, 10**9, 1) + events + metadata + constants)
    yield whole
    yield whole + whole
    yield from byte_mutations(whole, random.Random(26), 600)
    labels = b"\x0a\x0a\x08\x09\x12\x06\x0a\x04\x08\x01\x10\x03\x12\x07\x08\x01\x12\x03key\x12\x05\x08\x03\x12\x01v"
    yield labels
    yield from byte_mutations(labels, random.Random(27), 200)


def perfscript():
    text = (b"# captured on: Sat Nov 21 2026\n#\n"
            b"my app 1200/1234 [000]  7115.396268:     250000 cpu-clock:ppp: \n"
            b"\t    7f13 ns::f(int) const+0x1b (/usr/lib/a (deleted))\n\t 55 in (inlined)\n"
            b"\t 55 main (inlined)\n\t 56 [unknown] ([unknown])\n"
            b"\tffffffff81 do_idle+0x0 ([kernel.kallsyms])\n  a.c:12\n\n"
            b"sh 7 7115.3: cycles: 55 f (/bin/sh)\n"
            b"x -1 [001] 1.0: sched:sched_switch: prev_comm=a\n\t1 g (a)\n"
            b"x 1 [001] 1.0: PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0]: r-xp /x\n")
    yield text
    yield b"x 1 1.0: c:\n" + b"\t1 f (a)\n" * 20000
    yield from text_mutations(text, random.Random(10), 100)
    yield from byte_mutations(text, random.Random(11), 300)


def speedscope():
    text = (b'{"$schema":"x",\n"shared":{"frames":[{"name":"a\\u00e4\\n","file":"b.py","line":3},\n'
            b'{"name":"b","col":1.5e3}]},\n"profiles":[{"type":"sampled","name":"cpu",\n'
            b'"unit":"nanoseconds","startValue":0,"endValue":3,\n"samples":[[0],[0,1],[]],\n'
            b'"weights":[1,2,-3]},{"weights":[],"samples":[],\n"type":"sampled","x":[{},null,true]}]}\n')
    yield text
    yield b"[" * 1000
    yield b'{"shared":{"frames":' + b"[" * 1000
    yield (b'{"shared":{"frames":[{"name":"a"},{"name":"b"}]},"profiles":[{"type":"evented","unit":"ms",\n"events":['
           b'{"type":"O","frame":0,"at":1},{"type":"O","frame":1,"at":2},\n{"type":"C","frame":1,"at":2.5},'
           b'{"type":"C","frame":0,"at":3}]}]}')
    yield from text_mutations(text, random.Random(8), 100)
    yield from byte_mutations(text, random.Random(9), 200)


def json_profiles():
    event = b'"pid":1,"tid":"2","cat":"native","args":{"name":"x","file":"a.c","line":3}}'
    chrome = (b'{"traceEvents":[{"ph":"X","name":"a","ts":0,"dur":9,' + event + b',\n{"ph":"B","name":"b","ts":1,' +
              event + b',\n{"ph":"E","ts":2.5,' + event + b',\n{"ph":"M","name":"thread_name",' + event +
              b',\n{"ph":"X","name":"c","ts":8,"dur":7,' + event + b',\n{"ph":"B","ts":-1e3,' + event + b']}\n')
    v8 = (b'{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3]},\n{"id":2,"callFrame":'
          b'{"functionName":"","url":"a.js","lineNumber":7}},\n{"id":3,"parent":2,"callFrame":{}}],\n'
          b'"startTime":5,"endTime":90,"samples":[2,3,3,1],"timeDeltas":[1,2,-3,4]}\n')
    firefox = (b'{"meta":{"startTime":5.5,"categories":[{"name":"native"}]},"libs":[{"name":"l","codeId":"ab"}],\n'
               b'"shared":{"stringArray":["f","g"],"sources":{"filename":[1]}},\n"threads":[{"pid":"1.2","tid":3,'
               b'"name":"n","processName":"p",\n"samples":{"stack":[0,1,null],"time":[0,1.5,2],"weight":[1,2,3],'
               b'"weightType":"tracing-ms"},\n"stackTable":{"prefix":[null,0],"frame":[0,1]},"frameTable":{"func":'
               b'[0,1],"line":[3,null],"category":[0,0]},\n"funcTable":{"name":[0,1],"source":[0,null],'
               b'"resource":[0,-1]},"resourceTable":{"lib":[0]}}]}\n')
    for i, text in enumerate((chrome, v8, firefox)):
        yield text
        yield from text_mutations(text, random.Random(40 + i), 100)
        yield from byte_mutations(text, random.Random(50 + i), 150)


def walk():
    """Consistent tables with rules of every kind; then increasingly inconsistent ones."""
    rng = random.Random(6)
    text, stack = 0x400000, 0x7FFF0000
    for n in range(400):
        rules = [struct.pack("<BBBBihhhh", i % 15, rng.randrange(17), rng.randrange(6),
                             rng.randrange(6), rng.choice([0, 8, 16, 24, -8, 1 << 20]),
                             rng.choice([-16, -24, 0]), rng.choice([-24, -32, 6]), -8,
                             rng.choice([0, 8])) for i in range(16)]
        files = [struct.pack("<IIIHH", 512, 0, 16, 1, 0), struct.pack("<IIIHH", 0, 0, 0, 2, 0),
                 struct.pack("<IIIHH", 512, 3, 9, 1, 0), struct.pack("<IIIHH", 0, 0, 0, 0, 0)]
        mappings = [struct.pack("<QQQII", text + i * 0x100000, text + i * 0x100000 + 0xF0000, 0,
                                1 + i % 4, i % 3 == 2) for i in range(8)]
        rows = b"".join(struct.pack("<HH", i * 0x100, 3 + rng.randrange(17)) for i in range(200))
        pages = struct.pack("<II", 1024, 200) * 16
        units = b"".join(mappings).ljust(2048, b"\0") + pages.ljust(2048, b"\0") + rows
        units = units.ljust(8192, b"\0")
        words = [rng.choice([text + rng.randrange(0x100000 * (1 + n % 8)), 0,
                             stack + 8 * rng.randrange(1024), rng.getrandbits(64)])
                 for _ in range(1024)]
        memory = struct.pack("<1024Q", *words)
        regs = [stack + 8 * rng.randrange(64) for _ in range(16)] + [text + rng.randrange(0xF0000)]
        data = bytearray(struct.pack("<4I", 0, 8, n % 2, n % 257) + struct.pack("<17Q", *regs) +
                         b"".join(rules) + b"".join(files) + units + memory)
        for _ in range(n // 8):
            patched_at = rng.randrange(len(data) - 8)
            struct.pack_into("<Q", data, patched_at, rng.choice(ODD))
        yield bytes(data)


def langs():
    """The number of a language, its table of small offsets and flags, and memory that points into itself."""
    rng = random.Random(21)
    for i in range(600):
        entry = b"".join(struct.pack("<H", rng.choice((0, 1, 2, 3, 8, 16, 24, 32, 40, 56, 72, 104,
                                                       0xffff, rng.randrange(256))))
                         for _ in range(96))
        words = [rng.choice((0, 1, 5, 0x7000, rng.randrange(1 << 12) & ~7, rng.randrange(256),
                             rng.getrandbits(64), rng.choice(ODD))) for _ in range(512)]
        yield bytes([i % 256]) + entry + struct.pack("<512Q", *words)
    yield bytes([0]) + b"\0" * 300


def function_record():
    """The number of a language, its table, and a copy whose ranges hold words that lead to one another."""
    rng = random.Random(28)
    sizes = (16, 24, 32, 40, 64, 96, 120, 144, 176)
    for i in range(800):
        entry = b"".join(struct.pack("<H", rng.choice((0, 1, 2, 8, 16, 24, 32, 40, 56, 72, 104, 112, 128)))
                         for _ in range(rng.choice((8, 16, 28, 40))))
        n = rng.randrange(1, 24)
        ats = [0x1000 * (k + 1) for k in range(n)]
        lens = [rng.choice(sizes) for _ in range(n)]
        ranges, body = b"", b""
        for at, size in zip(ats, lens):
            ranges += struct.pack("<QII", at, size, len(body) if rng.randrange(20) else rng.getrandbits(32))
            words = [rng.choice((rng.choice(ats), rng.choice(ats) - 16, rng.randrange(40), 0x601a, 0x701a, 5, 7,
                                 rng.getrandbits(64))) for _ in range(size // 8)]
            body += struct.pack(f"<{size // 8}Q", *words)
        ranges = ranges.ljust(24 * 16, b"\0")
        claimed = len(body) if rng.randrange(10) else rng.getrandbits(16)
        yield (bytes([i % 256]) + entry + struct.pack("<QQII", ats[0] | rng.randrange(2), rng.getrandbits(33),
                                                      n if rng.randrange(10) else rng.randrange(64), claimed) +
               ranges + body)
    yield bytes([0]) + b"\0" * 300


def jvm():
    """An address and registers, then the words of the image to replace."""
    rng = random.Random(22)
    for i in range(800):
        head = struct.pack("<4I", rng.choice((0x30 << 2 | 1, 0x20 << 2 | 2, rng.getrandbits(32))),
                           rng.randrange(4), rng.choice((0x210, 0x10, rng.randrange(0x4000))),
                           rng.randrange(1 << 16) & ~7)
        patches = [struct.pack("<HQ", rng.randrange(1 << 16) & ~rng.choice((0, 3, 7)),
                               rng.choice((rng.getrandbits(64), rng.choice(ODD),
                                           0x10000 + rng.randrange(1 << 16), rng.randrange(256))))
                   for _ in range(i % 8)]
        yield head + b"".join(patches)


def selector():
    rng = random.Random(15)
    whole = b"{a=\"x\", b!='y', c=~\"r.*(a|b)+\", 'host.name' !~ `[a-z]{2,3}`,}"
    yield from (b"", b"{}", whole, b"{a=~\"(a*)*b\"}", b"{a=~\"" + b"(" * 300 + b"\"}")
    for i in range(len(whole)):
        yield whole[:i]
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.choice(b"{}=!~\"'`\\,()*+?[]a\0\xff")
        yield bytes(data)


def mcp():
    rng = random.Random(33)
    start = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}\n'
    call = (b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":'
            b'{"text":"a\\u00e9|","limit":3,"more":"b"}}}')
    listing = b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"a":[1,true,null]}}}'
    yield from (b"", b"\n", start, start + listing, start + call, b"[" + call + b"]", start + b"[" * 3000,
                start + b'{"jsonrpc":"2.0","id":1,"id":2}', start + call.replace(b"3", b"1e999"))
    for whole in call, listing:
        for i in range(0, len(whole), 3):
            yield start + whole[:i]
        for _ in range(200):
            data = bytearray(whole)
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.choice(b'{}[]":,\\0123-e.\n\0\xff')
            yield start + bytes(data)


def beam():
    """Words to replace in the memory of the process."""
    rng = random.Random(31)
    for i in range(600):
        yield b"".join(
            struct.pack("<HQ", rng.choice((rng.randrange(0x60), 0x200 + rng.randrange(0x100), 0x400 + rng.randrange(0x200),
                                           0xd00 + rng.randrange(0x100), 0x1000 + rng.randrange(0x600))) & ~rng.choice((0, 7)),
                        rng.choice((0, 1, 2, 0x3b, 0xffff, 1 << 16, 0x11000 + rng.randrange(0x400), 0x10400,
                                    rng.getrandbits(32), rng.getrandbits(64), rng.getrandbits(20) << 6 | 0xb)))
            for _ in range(i % 7))


def golang_tasks():
    """Words to replace in the memory of the process: its list, goroutines, stacks and sudogs."""
    rng = random.Random(51)
    memory = 0x100000
    for i in range(600):
        yield b"".join(
            struct.pack("<HQ", rng.choice((rng.randrange(2), 0x100 + rng.randrange(12) * 8,
                                           0x1000 + rng.randrange(12) * 0x200 + rng.choice((0, 8, 56, 64, 104, 112, 144, 152, 168,
                                                                                            176, 288, 304, 320)),
                                           0x8000 + rng.randrange(12) * 0x200 + rng.randrange(0x200),
                                           0xf000 + rng.randrange(0x900))) & ~rng.choice((0, 7)),
                        rng.choice((0, 1, 2, 4, 9, 0x1004, 1 << 20, memory, memory + 0x1000 + rng.randrange(12) * 0x200,
                                    memory + 0x8000 + rng.randrange(0x1800), memory + 0xf000 + rng.randrange(0x900),
                                    0x400000 + rng.randrange(0x240), rng.getrandbits(32), rng.getrandbits(64), (1 << 64) - 1)))
            for _ in range(i % 9))


def golang_heap():
    """Words to replace in the memory of the process: its variables, and the headers, stacks and counts of records."""
    rng = random.Random(57)
    memory = 0x100000
    for i in range(600):
        yield b"".join(
            struct.pack("<HQ", rng.choice((0, 8, 16, 0x100 + rng.randrange(12) * 0x100 + rng.choice((8, 16, 40, 48, 56)),
                                           0x100 + rng.randrange(12) * 0x100 + rng.randrange(0x100))) & ~rng.choice((0, 7)),
                        rng.choice((0, 1, 2, 3, 1100, 1101, 1 << 20, memory, memory + 0x100 + rng.randrange(12) * 0x100,
                                    memory + 0xffc0, 0x400000 + rng.randrange(0x240), rng.getrandbits(32), rng.getrandbits(64),
                                    (1 << 63) - 1, 1 << 63, (1 << 64) - 1)))
            for _ in range(i % 9))


def asyncio_tasks():
    """Words to replace in the memory of the process: its types, modules, set, tasks and coroutines."""
    rng = random.Random(53)
    memory = 0x100000
    for i in range(800):
        yield b"".join(
            struct.pack("<HQ", rng.choice((0x28, rng.randrange(0x100, 0x500), rng.randrange(0x500, 0x2000),
                                           rng.randrange(0x2000, 0x6000), rng.randrange(0x3000, 0x5000))) & ~rng.choice((0, 7)),
                        rng.choice((0, 1, 2, 0xff, 1 << 20, 1 << 40, memory, memory + rng.randrange(0x6000) & ~7,
                                    memory + rng.randrange(0x6000) & ~15, rng.getrandbits(32), rng.getrandbits(64),
                                    (1 << 64) - 1)))
            for _ in range(i % 9))


def tasks_message():
    """A snapshot with a string, a frame, a stack and a few tasks; and others that differ from it."""
    rng = random.Random(52)
    strings = [b"", b"main.worker", b"worker.go", b"chan receive"]
    task = [struct.pack("<5Q3I4B", i, 5 * i, i, 0, (i + 1) % 4, 1, 3, 0, 1 + i % 4, i % 3, i % 4, 0) for i in range(4)]
    whole = struct.pack("<16s24s4Q4I4I", b"Go", b"1.26.1", 100, 4, 0, 0, 1, 0, 0, 0, len(strings), 1, 2, len(task))
    whole += b"".join(struct.pack("<I", len(s)) + s for s in strings) + struct.pack("<3I2BH", 1, 2, 41, 4, 0, 0)
    whole += struct.pack("<3I", 0, 1, 0) + b"".join(task)
    yield whole
    yield from byte_mutations(whole, rng, 400)


def luajit():
    """An object with the type and pointers of a prototype or of a trace, at the start of the memory."""
    rng = random.Random(41)
    for i in range(800):
        memory = bytearray(rng.choice((0, 1, 65, 89, 255)) for _ in range(512))
        for at in range(0, 512, 8):
            if rng.random() < 0.7:
                struct.pack_into("<Q", memory, at, 512 * 8 + rng.randrange(512) + 1)
        struct.pack_into("<BBHI", memory, 8, 0, (7, 9, 4, 8)[i % 4], rng.randrange(20), rng.randrange(64))
        struct.pack_into("<QIIQQQ", memory, 64, 512 * 8 + 1, rng.randrange(100), rng.randrange(300), 512 * 8 + 128,
                         512 * 8 + 160, 512 * 8 + 200)
        memory[128:152] = struct.pack("<QBBHIQ", 0, 0, 4, 0, 0, rng.randrange(40) << 32)
        for at in range(104, 128, 4):
            struct.pack_into("<I", memory, at, rng.choice((18, 45, 54, 57, 66, 69, 89)) | rng.getrandbits(4) << 8 | rng.getrandbits(2) << 16)
        yield struct.pack("<H", 512 * 8 - 1) + bytes(memory)


def dotnet():
    """The layout of the assembly in memory, and words to replace."""
    rng = random.Random(29)
    for i in range(800):
        yield bytes([i & 1]) + b"".join(
            struct.pack("<HI", rng.choice((rng.randrange(0x200), 0x1000 + rng.randrange(0xc00),
                                           0x400 + rng.randrange(0xc00), rng.randrange(0x8000))),
                        rng.choice((0, 1, 3, 7, 0xff, 0x15151515, 0xffffffff, rng.getrandbits(16),
                                    rng.getrandbits(32))))
            for _ in range(i % 9))


def dotnet_contract():
    """Descriptors with the names that matter, cut and changed."""
    rng = random.Random(31)
    whole = (b'{"version":0,"types":{"Module":{"Base":224,"ReadyToRunInfo":[704,"pointer"]},'
             b'"RangeSection":{"Flags":16,"HeapList":40},"RuntimeFunction":{"!":12},'
             b'"DynamicMethodDesc":{"MethodName":32}},"globals":{'
             b'"MethodDescTokenRemainderBitCount":["0xc","uint8"],'
             b'"ExecutionManagerCodeRangeMapAddress":[[20],"pointer"]},'
             b'"contracts":{"ExecutionManager":2}}')
    yield whole
    for i in range(len(whole)):
        yield whole[:i]
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(data))
            data[at:at + rng.randrange(3)] = rng.choice((b"{", b"}", b"[", b"]", b'"', b",", b"-1", b"9e99", b"\0"))
        yield bytes(data)


def dotnet_lines():
    """A portable PDB and maps from native code to IL, cut and changed."""
    rng = random.Random(37)
    blobs = (b"\0\4a.cs\3src\3/\6\1\2/\1\x15\0\0\0\1\x0a\3\4\0\0\2\0\1\2\4\0\2\2\0\1\0\0")
    pdb_id = b"0123456789abcdef\1\2\3\4" + bytes(12)
    tables = (bytes(8) + struct.pack("<Q", 3 << 0x30) + bytes(8) + struct.pack("<II14H", 2, 3, 10, 0, 0, 0, 14, 0, 0, 0,
                                                                           0, 0, 1, 17, 0, 0))
    streams, at, head = ((b"#Pdb", pdb_id), (b"#~", tables), (b"#Blob", blobs)), 84, b""
    for name, content in streams:
        head += struct.pack("<II", at, len(content)) + name + bytes(4 - len(name) % 4)
        at += len(content)
    pdb = b"BSJB\1\0\1\0\0\0\0\0\x0c\0\0\0PDB v1.0" + bytes(6) + b"\3\0" + head
    pdb = b"\3" + pdb.ljust(84, b"\0") + b"".join(content for _, content in streams)
    map_ = b"\6\3\1\x34\x50\x79\0"
    maps = [b"\0" + map_, b"\1\0" + map_, b"\1\3" + bytes(8) + b"\2" + bytes(31) + b"\5" + bytes(8) + map_,
            b"\4\6\x23\3" + struct.pack("<I", 0x7d3a220), b"\6\0\6\x23\3" + struct.pack("<I", 0x7d3a220)]
    for whole in (pdb, *maps):
        yield whole
        for i in range(len(whole)):
            yield whole[:i]
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 7, 0x7f, 0x80, 0xc0, 0xff, rng.randrange(256)))
            yield bytes(data)


def v8():
    """A version and addresses, then the words of the image to replace."""
    rng = random.Random(23)
    for i in range(800):
        head = struct.pack("<4BI", rng.choice((11, 11, 12, 14 | 16, 8, rng.randrange(256))),
                           rng.choice((0x20, 0x30, rng.randrange(256))), rng.randrange(8),
                           rng.randrange(256),
                           rng.choice((2, 6, 0x20, 0x30, 0x40, rng.getrandbits(32))))
        patches = [struct.pack("<HQ", rng.randrange(0x4000) & ~rng.choice((0, 3, 7)),
                               rng.choice((rng.getrandbits(64), rng.choice(ODD),
                                           rng.getrandbits(32) << 32, rng.randrange(16) << 32,
                                           0x10001 + (rng.randrange(0x4000) & ~7))))
                   for _ in range(i % 8)]
        yield head + b"".join(patches)
    text = b"class A extends (class { m() {} }) { n() { `${ {} }`; /[/]/ } } B = class { 'x'() {} }//"
    for i in range(len(text)):
        yield bytes(8) + text[:i]


def core():
    """Core files as a capture writes them, whole, with patched words and cut short."""
    def note(owner, kind, desc):
        name = owner + b"\0"
        return (struct.pack("<III", len(name), len(desc), kind) + name.ljust(-(-len(name) // 4) * 4, b"\0") +
                desc.ljust(-(-len(desc) // 4) * 4, b"\0"))

    rng = random.Random(31)
    text, stack = 0x400000, 0x7FFF0000
    elf = pathlib.Path("/bin/true").read_bytes()
    registers = bytearray(336)
    struct.pack_into("<i", registers, 32, 42)
    regs = [0] * 27
    regs[4], regs[16], regs[19] = stack + 64, text + 0x1234, stack + 16
    struct.pack_into("<27Q", registers, 112, *regs)
    words = [rng.choice([text + rng.randrange(0x4000), stack + 8 * rng.randrange(512), 0])
             for _ in range(512)]
    notes = (note(b"CORE", 1, bytes(registers)) +
             note(b"CORE", 0x46494C45, struct.pack("<5Q", 1, 4096, text, text + 0x8000, 0) + b"/x\0") +
             note(b"Cameo", 1, struct.pack("<9Q", stack, *[(1 << 64) - 1] * 8)) +
             note(b"Cameo", 2, struct.pack("<2Q", 0, len(elf)) + b"\x02\xab\xcd".ljust(65, b"\0") + b"/x\0") +
             note(b"Cameo", 3, struct.pack("<2Q", 0, 0) + elf) + note(b"Cameo", 4, b"#0 x\n"))
    at = 64 + 3 * 56 + len(notes)
    head = (b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0) +
            struct.pack("<IIQQQQQQ", 4, 0, 64 + 3 * 56, 0, 0, len(notes), 0, 4) +
            struct.pack("<IIQQQQQQ", 1, 5, at, text, 0, 0, 0x8000, 4096) +
            struct.pack("<IIQQQQQQ", 1, 6, at, stack, 0, 4096, 4096, 4096))
    whole = head + notes + struct.pack("<512Q", *words)
    yield whole
    for i in range(200):
        data = bytearray(whole)
        places = [(0, 232), (232, 800), (len(data) - 4096, len(data))]
        for _ in range(1 + i // 50):
            lo, hi = rng.choice(places)
            struct.pack_into("<Q", data, rng.randrange(lo, hi - 8), rng.choice(ODD))
        yield bytes(data[:len(data) if i % 3 else rng.randrange(len(data))])


def main():
    target, directory, stamp = sys.argv[1:]
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    for i, data in enumerate(globals()[target]()):
        pathlib.Path(directory, "%04d" % i).write_bytes(data)
    pathlib.Path(stamp).touch()


main()
