/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of the role cameo-disassembler. The request comes with the descriptor of the file;
 * each PART is an array of struct disasm_insn; the reply follows them. Neither side trusts the
 * other: disasm_check_part() and disasm_check_reply() check all that is used.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disasm/insn.h"
#include "elf/note.h"

enum { DISASM_FUNCTION = 1, DISASM_INSNS = 1 };

struct disasm_request {
	uint64_t vaddr;
};

struct disasm_reply {
	uint64_t start, end;
	uint32_t is_cut; /* 0 or 1 */
	struct elf_build_id build_id;
};

/* Returns true if all of the @len bytes are valid instructions. @data is aligned to 8. */
bool disasm_check_part(const void *data, size_t len);

/* Returns the checked reply, which is @data, or NULL. */
const struct disasm_reply *disasm_check_reply(const void *data, size_t len);
