/* SPDX-License-Identifier: Apache-2.0 */
/* Checks instructions and replies that a compromised disassembler has sent. */
#include "disasm/disasm_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Whatever was accepted must be printable, and lie within its arrays. */
static void use_insns(const struct disasm_insn *insns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!insns[i].len || insns[i].len > sizeof(insns[i].code) ||
		    strlen(insns[i].text) > DISASM_TEXT_MAX || strpbrk(insns[i].text, "\n\033"))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(freep) uint8_t *aligned = malloc(len ? len : 1);
	const struct disasm_reply *reply;

	if (!aligned)
		abort();
	memcpy(aligned, data, len);
	if (disasm_check_part(aligned, len))
		use_insns((const struct disasm_insn *)aligned, len / sizeof(struct disasm_insn));
	reply = disasm_check_reply(aligned, len);
	if (reply && (reply->end < reply->start || reply->build_id.len > ELF_BUILD_ID_MAX))
		abort();
	return 0;
}
