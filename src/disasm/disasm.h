/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Disassembles one function of an ELF file of x86-64 or arm64, in a process without privileges
 * (the role cameo-disassembler), because the file may be hostile. That process loads libcapstone
 * when it starts, so no other part of Cameo carries its tables.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "disasm/insn.h"
#include "elf/note.h"
#include "roles/role.h"

struct err;

/* main() of a program that calls disasm_function() must pass it to role_main(). */
extern const struct role disassembler_role;

/* Zero it before; free it with disasm_code_fini(). */
struct disasm_code {
	struct elf_build_id build_id; /* of the file; len 0: none */
	uint64_t start, end;          /* of the function, as linked */
	bool is_cut;                  /* the function is longer than DISASM_BYTES_MAX */
	struct {
		VEC(struct disasm_insn);
	} insns; /* by address */
};

void disasm_code_fini(struct disasm_code *c);

/**
 * disasm_function() - disassemble the function that contains @vaddr
 *
 * Its extent is that of its symbol, otherwise that of .eh_frame or of the code that follows. @fd is
 * borrowed.
 *
 * Return: 0; -ENOENT if @vaddr is in no function of the file; -ENOEXEC if it is not an ELF file of
 * a known machine; -ENOPKG if libcapstone is not installed; -ETIMEDOUT; -errno; all with @err.
 */
int disasm_function(int fd, uint64_t vaddr, struct disasm_code *out, struct err *err);
