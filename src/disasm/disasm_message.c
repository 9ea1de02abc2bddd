/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/disasm_message.h"

#include <string.h>

static bool is_valid(const struct disasm_insn *i)
{
	size_t n = strnlen(i->text, sizeof(i->text));

	if (!i->len || i->len > DISASM_CODE_MAX || n == sizeof(i->text))
		return false;
	for (size_t k = 0; k < n; k++)
		if (i->text[k] < 0x20 || i->text[k] > 0x7e)
			return false;
	return true;
}

/* A bool from another process may have any value, so its byte is read as what it is. */
static bool has_valid_flag(const struct disasm_insn *i)
{
	uint8_t flag;

	memcpy(&flag, &i->is_call, 1);
	return flag <= 1;
}

bool disasm_check_part(const void *data, size_t len)
{
	const struct disasm_insn *insns = data;

	if (!len || len % sizeof(*insns))
		return false;
	for (size_t i = 0; i < len / sizeof(*insns); i++)
		if (!has_valid_flag(&insns[i]) || !is_valid(&insns[i]))
			return false;
	return true;
}

const struct disasm_reply *disasm_check_reply(const void *data, size_t len)
{
	const struct disasm_reply *r = data;

	if (len != sizeof(*r) || r->end < r->start || r->is_cut > 1 ||
	    r->build_id.len > ELF_BUILD_ID_MAX)
		return NULL;
	return r;
}
