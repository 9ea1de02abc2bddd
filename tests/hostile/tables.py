#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executable files with crafted unwind tables, symbols and debug information, each mapped by a program of its own."""
import lzma
import os
import random
import struct
import zlib

import attack
import cameo
from cameo import ENOUGH, Tap, Workshop, are_rare, expect, holds, is_whole, show, total, user_frames

MS = 300
PAGE = 4096
MIB = 1 << 20
BASE = 0x400000
MAIN = "_start __libc_start_main.* ... main "

# mov %rdi,%rcx; 1: dec %rcx; jnz 1b; mov %rdi,%rax; ret
LOOP = bytes.fromhex("4889f948ffc975fb4889f8c3")
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_GNU_EH_FRAME = 1, 2, 4, 0x6474e550
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB = 1, 2, 3
SHF_COMPRESSED = 0x800


class Elf:
    """An executable file: headers in the first page, the loop in the second, then what the test adds."""

    def __init__(self):
        self.body = LOOP.ljust(PAGE, b"\xcc")
        self.segments, self.sections = [], [(".text", SHT_PROGBITS, 6, BASE + PAGE, PAGE, PAGE, 0, 0)]

    def add(self, data):
        """Returns the offset of DATA, which is aligned to 16 bytes."""
        self.body += bytes(-len(self.body) % 16)
        at = PAGE + len(self.body)
        self.body += data
        return at

    def segment(self, kind, at, size):
        self.segments.append((kind, at, size))

    def section(self, name, data, kind=SHT_PROGBITS, flags=0, size=None, entry=0, link=0, address=0):
        at = self.add(data)
        self.sections.append((name, kind, flags, address and BASE + at, at, len(data) if size is None else size, link,
                              entry))
        return len(self.sections)

    def image(self):
        names = b"\0" + b"".join(s[0].encode() + b"\0" for s in self.sections) + b".shstrtab\0"
        self.section(".shstrtab", names, SHT_STRTAB)
        headers = bytes(64)
        for name, kind, flags, address, at, size, link, entry in self.sections:
            headers += struct.pack("<IIQQQQIIQQ", names.find(name.encode() + b"\0"), kind, flags, address, at, size,
                                   link, 0, 1, entry)
        table = self.add(headers)
        size = PAGE + len(self.body)
        segments = [(PT_LOAD, 0, size), *self.segments]
        head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
            "<HHIQQQIHHHHHH", 3, 62, 1, BASE + PAGE, 64, table, 0, 64, 56, len(segments), 64, len(self.sections) + 1,
            len(self.sections))
        for kind, at, length in segments:
            head += struct.pack("<IIQQQQQQ", kind, 5, at, BASE + at, BASE + at, length, length, PAGE)
        return head.ljust(PAGE, b"\0") + self.body


def with_eh_frame(data, n_claimed=None, entries=()):
    """A file with this .eh_frame and, if the entries are given, a table of functions in .eh_frame_hdr."""
    elf = Elf()
    elf.section(".eh_frame", data, flags=2, address=1)
    frame = elf.sections[-1][4]
    at = PAGE + len(elf.body) + -len(elf.body) % 16
    table = b"".join(struct.pack("<ii", a - at, frame + b - at) for a, b in entries)
    head = struct.pack("<BBBBiI", 1, 0x1b, 0x03, 0x3b, frame - (at + 4),
                       len(entries) if n_claimed is None else n_claimed)
    expect(elf.add(head + table) == at, "the offset of .eh_frame_hdr")
    elf.segment(PT_GNU_EH_FRAME, at, len(head + table))
    return elf.image()


CIE = struct.pack("<IIB3sBBBBB", 20, 0, 1, b"zR\0", 1, 0x78, 16, 1, 0x1b) + bytes.fromhex("0c0708900100") + b"\0"


def fde(at, cie, instructions, start=0, length=PAGE):
    """An FDE at offset AT of .eh_frame with the CIE at CIE, for the code from START on."""
    body = struct.pack("<IiIB", (at + 4 - cie) % (1 << 32), start - PAGE - (at + 8), length, 0) + instructions
    body += bytes(-len(body) % 4)
    return struct.pack("<I", len(body)) + body


def fdes(data, instructions, n, cie=0, step=1, length=1):
    """Appends N FDEs to DATA, each STEP bytes of code after the one before. CIE: the distance between their CIEs."""
    parts, at = [data], len(data)
    for i in range(n):
        parts.append(fde(at, cie * i, instructions[i % len(instructions)], start=i * step % PAGE, length=length))
        at += len(parts[-1])
    return b"".join(parts)


def overlapping_cies():
    """Every 32 bytes a CIE begins that reaches to the end, and 4,000 FDEs have one of them each"""
    size = 4000 * 32
    cies = b"".join((struct.pack("<I", size - 32 * i - 4) + CIE[4:]).ljust(32, b"\0") for i in range(size // 32))
    return with_eh_frame(fdes(cies, [b"\x41\x0e\x10"], 4000, cie=32))


def long_cies():
    """20,000 FDEs that have one of two CIEs with a megabyte of instructions in turn"""
    cie = struct.pack("<I", len(CIE) + MIB - 4) + CIE[4:] + bytes(MIB)
    parts, at = [cie, cie], 2 * len(cie)
    for i in range(20000):
        parts.append(fde(at, len(cie) * (i % 2), b"\x41\x0e\x10", start=i % PAGE, length=1))
        at += len(parts[-1])
    return with_eh_frame(b"".join(parts))


def referring_to_themselves():
    """FDEs whose CIE is the FDE itself, or comes after it"""
    data = CIE
    for distance in (0, -8, 1 << 30, 64) * 2000:
        data += fde(len(data), len(data) - distance, b"\x0e\x08")
    return with_eh_frame(data)


def lying_lengths():
    """Lengths of 4 GB and of 64 bits"""
    return with_eh_frame(fdes(CIE, [b"\x41\x0e\x10"], 4) + struct.pack("<IQQ", 0xffffffff, 1 << 63, 0) +
                         struct.pack("<I", 0xfffffff0) + bytes(64))


def endless_rows():
    """Half a million rows for one function, which advance by nothing, one or 4 GB"""
    rows = (b"\x41\x0e\x10" * 300000) + (b"\x04\xff\xff\xff\xff\x0e\x08" * 50000) + (b"\x40\x0e\x18" * 100000)
    return with_eh_frame(fdes(CIE, [rows], 1, length=PAGE))


def remembered_states():
    """A million remembered states"""
    return with_eh_frame(fdes(CIE, [b"\x0a" * MIB + b"\x0b" * MIB], 1, length=PAGE))


def expressions():
    """Expressions that jump backwards, or are two gigabytes long"""
    loop = bytes.fromhex("0f04302ffcff0000")  # lit0; skip -4
    long = b"\x0f\xff\xff\xff\xff\x07" + b"\x06" * 64
    return with_eh_frame(fdes(CIE, [loop, long], 1000, step=2, length=2))


def one_function_a_million_times():
    """100,000 functions in 64 bytes, in a table that claims two billion"""
    data = fdes(CIE, [b"\x41\x0e\x10"], 100000, step=PAGE + 1)
    return with_eh_frame(data, n_claimed=0x7fffffff, entries=[(PAGE + i, len(CIE)) for i in range(1000)])


def noise():
    """Random bytes as unwind table"""
    return with_eh_frame(random.Random(7).randbytes(MIB), n_claimed=0x10000)


def long_names():
    """200,000 symbols, each with a name of up to a megabyte"""
    elf = Elf()
    elf.section(".strtab", b"\0" + b"n" * MIB, SHT_STRTAB)
    symbols = b"".join(struct.pack("<IBBHQQ", 1 + i, 2, 0, 1, BASE + PAGE + i % PAGE, 1) for i in range(200000))
    elf.section(".symtab", symbols, SHT_SYMTAB, entry=24, link=2)
    return elf.image()


def lying_sections():
    """Sections of 2^60 bytes, with entries of no size, that are their own strings"""
    elf = Elf()
    elf.section(".symtab", bytes(240), SHT_SYMTAB, size=1 << 60, entry=0, link=1)
    elf.section(".dynsym", bytes(240), 11, size=(1 << 64) - 8, entry=1, link=0xffffffff)
    elf.section(".debug_info", bytes(64), size=1 << 62)
    return elf.image()


def names_that_control_a_terminal():
    """A function whose name has escape sequences and a newline"""
    elf = Elf()
    elf.section(".strtab", b"\0\x1b[2Jhos\ntile\x07\0", SHT_STRTAB)
    elf.section(".symtab", bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE + PAGE, 64), SHT_SYMTAB, entry=24,
                link=2)
    return elf.image()


def xz_bomb():
    """.gnu_debugdata that becomes a gigabyte"""
    packer = lzma.LZMACompressor(lzma.FORMAT_XZ, preset=0)
    data = b"".join(packer.compress(bytes(16 * MIB)) for _ in range(64)) + packer.flush()
    elf = Elf()
    elf.section(".gnu_debugdata", data)
    return elf.image()


def compressed_sections():
    """Compressed debug sections that claim a terabyte"""
    elf = Elf()
    for name in (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"):
        elf.section(name, struct.pack("<IIQQ", 1, 0, 1 << 40, 1) + bytes(64), flags=SHF_COMPRESSED)
    return elf.image()


def deflated(mib):
    """A compressed section that becomes MIB of zeros."""
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(MIB)) for _ in range(mib)) + packer.flush()
    return struct.pack("<IIQQ", 1, 0, mib * MIB, 1) + data


def deflate_bombs():
    """Compressed debug sections that become 256 MiB each"""
    elf, data = Elf(), deflated(256)
    for name in (".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_ranges", ".debug_addr"):
        elf.section(name, data, flags=SHF_COMPRESSED)
    return elf.image()


def uleb(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def dwarf(dies, abbrevs, line=b""):
    """A file whose DWARF 4 unit covers the code and has these entries below its first."""
    elf = Elf()
    unit = uleb(1) + struct.pack("<QQI", BASE + PAGE, PAGE, 0)
    body = struct.pack("<HIB", 4, 0, 8) + unit + dies
    first = uleb(1) + b"\x11\x01\x11\x01\x12\x07\x10\x17\0\0"
    elf.section(".debug_info", struct.pack("<I", len(body)) + body)
    elf.section(".debug_abbrev", first + abbrevs + b"\0")
    elf.section(".debug_line", line)
    elf.section(".debug_str", b"\0", flags=0x30)
    elf.section(".strtab", b"\0hot\0", SHT_STRTAB)
    elf.section(".symtab", bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE + PAGE, 64), SHT_SYMTAB, entry=24,
                link=len(elf.sections))
    return elf.image()


UNIT_HEAD = 11 + 21  # bytes before the entries of dwarf()
# an entry for all of the code: DW_AT_low_pc, DW_AT_high_pc, and a reference
CODE_RANGE = struct.pack("<QQ", BASE + PAGE, PAGE)


def nested_inlines():
    """Half a million inlined calls within each other, each of the one before"""
    abbrevs = (uleb(2) + b"\x2e\x01\x03\x08\x11\x01\x12\x07\0\0" +  # DW_TAG_subprogram
               uleb(3) + b"\x1d\x01\x11\x01\x12\x07\x31\x13\0\0")  # DW_TAG_inlined_subroutine, DW_AT_abstract_origin
    size = 1 + 16 + 4
    dies = uleb(2) + b"outer\0" + CODE_RANGE
    parts = [dies]
    for i in range(500000):
        parts.append(b"\x03" + CODE_RANGE + struct.pack("<I", UNIT_HEAD + max(0, len(dies) + size * (i - 1))))
    return dwarf(b"".join(parts), abbrevs)


def origins_in_circles():
    """Functions that are specified by each other in a circle, and by themselves"""
    abbrevs = uleb(2) + b"\x2e\x00\x11\x01\x12\x07\x47\x13\x31\x13\0\0"  # DW_AT_specification, DW_AT_abstract_origin
    size, n = 1 + 16 + 8, 10000
    at = lambda i: UNIT_HEAD + size * (i % n)  # noqa: E731
    return dwarf(b"".join(b"\x02" + CODE_RANGE + struct.pack("<II", at(i + 1), at(i)) for i in range(n)), abbrevs)


def line_program(operations, directories=b"\0", files=b"a.c\0\0\0\0\0"):
    head = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + directories + files
    body = struct.pack("<HI", 4, len(head)) + head + operations
    return struct.pack("<I", len(body)) + body


def endless_lines():
    """A table of 16 million lines in one byte of code"""
    start = b"\0\x09\x02" + struct.pack("<Q", BASE + PAGE)
    return dwarf(b"", b"", line_program(start + b"\x12" * (16 * MIB) + b"\x02\x80\x20\0\x01\x01"))


def indirect_abbreviations():
    """Attributes whose form is given in the entry, a hundred thousand times, and blocks of 4 GB"""
    abbrevs = uleb(2) + b"\x2e\x01" + b"\x49\x16" * 100000 + b"\0\0"  # DW_FORM_indirect
    return dwarf((b"\x02" + (b"\x16" * 90 + b"\x0b\x01") * 20000) + b"\x02\x04\xff\xff\xff\xff" * 1000, abbrevs)


def own_debug_file():
    """A file that names itself as its debug file and as the alternate file of that"""
    elf = Elf()
    build_id = bytes(range(20))
    elf.segment(PT_NOTE, elf.add(struct.pack("<III", 4, 20, 3) + b"GNU\0" + build_id), 36)
    for i in range(100):
        elf.section(".gnu_debugaltlink", f"debug-{i}.code".encode() + b"\0" + build_id)
        elf.section(".gnu_debuglink", f"debug-{i}.code".encode().ljust(16, b"\0") + struct.pack("<I", i))
    elf.section(".debug_info", struct.pack("<IHIB", 1000, 4, 0, 8) + bytes(1000))
    return elf.image()


def section_counts():
    """A file whose first section header has the number of sections: four billion"""
    data = bytearray(names_that_control_a_terminal())
    table, = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<Q", data, table + 32, 0xffffffff)
    struct.pack_into("<I", data, table + 40, 0xfffffffe)
    struct.pack_into("<HH", data, 60, 0, 0xffff)
    return bytes(data)


def many_sections():
    """65,000 sections with the names of debug sections, all of them the whole file"""
    elf = Elf()
    image = elf.image()
    names = b"\0.debug_info\0.eh_frame\0.symtab\0.gnu_debugdata\0.debug_line\0.note.gnu.build-id\0"
    starts = [i + 1 for i, c in enumerate(names[:-1]) if not c]
    at = len(image)
    table = at + len(names) + -(at + len(names)) % 16
    parts = [bytes(64), struct.pack("<IIQQQQIIQQ", 1, SHT_STRTAB, 0, 0, at, len(names), 0, 0, 1, 0)]
    for i in range(65000):
        parts.append(struct.pack("<IIQQQQIIQQ", starts[i % len(starts)], (1, 1, 2, 1, 1, 7)[i % 6], 2, BASE, 0, at, 1, 0, 1,
                                 24))
    data = bytearray(image + names + bytes(table - at - len(names)) + b"".join(parts))
    struct.pack_into("<Q", data, 40, table)
    struct.pack_into("<HHH", data, 58, 64, 65002, 1)
    return bytes(data)


def xz_dictionary():
    """.gnu_debugdata that needs a dictionary of 4 GB"""
    data = bytearray(lzma.compress(bytes(MIB), lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}]))
    expect(data[12 + 2] == 0x21, "the filter of the block")
    data[12 + 4] = 40  # the size of the dictionary
    struct.pack_into("<I", data, 12 + 8, zlib.crc32(bytes(data[12:12 + 8])))
    elf = Elf()
    elf.section(".gnu_debugdata", bytes(data))
    return elf.image()


def pclntab():
    """Go's table of functions with counts and offsets of 64 bits"""
    elf = Elf()
    head = struct.pack("<IBBBB", 0xfffffff1, 0, 0, 1, 8) + struct.pack("<8Q", 1 << 62, 1 << 61, *[(1 << 64) - 1] * 6)
    elf.section(".gopclntab", head + random.Random(8).randbytes(65536), flags=2, address=1)
    elf.section(".go.buildinfo", b"\xff Go buildinf:\x08\x02".ljust(32, b"\0") + b"\xff" * 64, flags=2, address=1)
    return elf.image()


def notes():
    """Notes whose names and contents are 4 GB long"""
    elf = Elf()
    elf.segment(PT_NOTE, elf.add(struct.pack("<III", 0xffffffff, 0xffffffff, 3) * 1000), 1 << 40)
    return elf.image()


def dynamic_table():
    """Dynamic symbols whose hash chains do not end, and whose tables are everywhere"""
    elf = Elf()
    table = elf.add(struct.pack("<IIII", 1, 0, 1, 6) + struct.pack("<QI", (1 << 64) - 1, 1) + bytes(65536))
    tags = ((4, BASE + table), (0x6ffffef5, BASE + table), (5, (1 << 64) - 8), (6, BASE + table), (10, 1 << 60),
            (11, 0))
    data = b"".join(struct.pack("<QQ", *t) for t in tags)
    elf.segment(PT_DYNAMIC, elf.add(data), len(data))
    return elf.image()


UNWIND_FILES = (overlapping_cies, long_cies, referring_to_themselves, lying_lengths, endless_rows, remembered_states,
                expressions, one_function_a_million_times, noise, long_names, lying_sections,
                names_that_control_a_terminal, xz_bomb, compressed_sections, pclntab, notes, dynamic_table)
DEBUG_FILES = (xz_dictionary, deflate_bombs, nested_inlines, origins_in_circles, endless_lines, indirect_abbreviations,
               own_debug_file, section_counts, many_sections)


def judge(recording, comm):
    """Expects samples in the file, and a reason where a stack is not whole."""
    ours = [s for s in recording.of(comm) if total([s])]
    expect(total(ours) >= ENOUGH, f"{comm}: {total(ours)} samples", show(recording.stacks))
    in_file = [s for s in ours if any("main" in f for f in user_frames(s)) or not is_whole(s)]
    wrong = [s for s in in_file if is_whole(s) and not holds(s, MAIN + "...")]
    expect(are_rare(wrong, ours), show(wrong))
    for s in ours:
        expect(all(len(f) < 4096 and f.isprintable() for f in s.frames), "a very long name, or control characters",
               repr(s.frames)[:400])


def together(tap, shop, program, files, name):
    """Runs programs with all FILES at once, and judges each. NAME: prefix of the names of the programs."""
    commands = []
    for i, make in enumerate(files):
        path = shop.path(f"{name}-{i}.code")
        with open(path, "wb") as f:
            f.write(make())
        commands.append([shop.link(program, f"{name}-{i}"), MS, path, PAGE])
    outcome = {}
    tap.run(f"{len(files)} files at once", lambda: outcome.update(of=attack.attack(shop, commands)))
    for i, make in enumerate(files):
        if outcome:
            tap.run(make.__doc__, judge, outcome["of"].recording, f"{name}-{i}")


def main():
    attack.need_root()
    tap = Tap()
    with Workshop() as shop:
        program = shop.c("run_file", "-O0")
        together(tap, shop, program, UNWIND_FILES, "table")
        together(tap, shop, program, DEBUG_FILES, "debug")
    tap.done()


if __name__ == "__main__":
    main()
