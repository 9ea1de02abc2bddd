/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads prototypes and strings of LuaJIT (lj_obj.h). The objects may have been freed since the
 * sample was taken, so each is checked for its type, and lengths are bounded.
 */
#include <errno.h>
#include <string.h>

#include "lang/find.h"
#include "lang/luajit/luajit.h"

enum {
	STRING_LEN = 20,
	STRING_TEXT = 24,
	TYPE_SHIFT = 8,
	/* a function's first instruction */
	OP_FUNCF = 89,
	OP_JFUNCV = 94,
	CODES_EACH = 256, /* instructions that are read at once, and in all */
	CODES_MAX = 1 << 16,
};

static uint8_t type_of(uint64_t second_word)
{
	return (uint8_t)(second_word >> TYPE_SHIFT);
}

int luajit_read_string(const struct lang_process *p, uint64_t at, char **out)
{
	uint64_t head[STRING_TEXT / 8];
	uint32_t len;

	if (!at || p->read(p->ctx, at, head, sizeof(head)))
		return -EFAULT;
	if (type_of(head[1]) != LUAJIT_STRING)
		return -ESTALE;
	memcpy(&len, (const uint8_t *)head + STRING_LEN, sizeof(len));
	return lang_read_text(p, at + STRING_TEXT, len, out);
}

int luajit_read_proto(const struct lang_process *p, uint64_t at, struct luajit_proto *out)
{
	out->at = at;
	if (p->read(p->ctx, at, out->words, sizeof(out->words)) ||
	    type_of(out->words[1]) != LUAJIT_PROTO)
		return -ESTALE;
	return 0;
}

/* Returns true if @at is the address of a prototype whose code contains @pc. */
static bool has_code(const struct lang_process *p, uint64_t at, uint64_t pc,
		     struct luajit_proto *out)
{
	return luajit_read_proto(p, at, out) == 0 &&
	       (pc - at - LUAJIT_PROTO_BYTES) / 4 < luajit_proto_n_code(out);
}

int luajit_proto_of(const struct lang_process *p, uint64_t pc, struct luajit_proto *out)
{
	uint32_t codes[CODES_EACH];
	uint64_t end =
		pc; /* the instructions from here on were searched, except the one before @pc */

	for (size_t n_searched = 0; n_searched < CODES_MAX; n_searched += CODES_EACH) {
		end -= sizeof(codes);
		if (p->read(p->ctx, end, codes, sizeof(codes)))
			return -EFAULT;
		for (size_t i = CODES_EACH; i > 0; i--)
			if ((codes[i - 1] & 0xff) >= OP_FUNCF &&
			    (codes[i - 1] & 0xff) <= OP_JFUNCV &&
			    has_code(p, end + 4 * (i - 1) - LUAJIT_PROTO_BYTES, pc - 4, out))
				return 0;
	}
	return -ENOENT;
}

uint32_t luajit_proto_n_code(const struct luajit_proto *f)
{
	return (uint32_t)(f->words[LUAJIT_PROTO_N_CODE / 8] >> 32);
}

uint32_t luajit_proto_line(const struct luajit_proto *f)
{
	return (uint32_t)f->words[LUAJIT_PROTO_LINE / 8];
}

int luajit_read_code(const struct lang_process *p, const struct luajit_proto *f, uint32_t first,
		     uint32_t n, uint32_t *out)
{
	if (first + n > luajit_proto_n_code(f) || first + n < first)
		return -EFAULT;
	return p->read(p->ctx, f->at + LUAJIT_PROTO_BYTES + 4 * (uint64_t)first, out, 4 * n)
		       ? -EFAULT
		       : 0;
}
