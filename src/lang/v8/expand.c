/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a frame's words say. A function that has a name of its own has it; that of
 * others, and places, are not read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/find.h"
#include "lang/v8/v8.h"

enum { IS_CODE = 1 };

int v8_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX])
{
	uint64_t addr = VM_FRAME_ADDR(words[0]), shared = V8_CODE_SHARED(words[1]), name;

	(void)tables;
	switch (VM_FRAME_SLOT(words[0])) {
	case V8_BYTECODE:
		out[0] = (struct lang_call){ addr, (uint32_t)words[1], 0 };
		return 1;
	case V8_CODE:
		if (shared &&
		    !lang_read_u64(p, shared + (uint64_t)tables->v8[vm].f.shared_name, &name)) {
			out[0] = (struct lang_call){ shared, lang_cookie(name), 0 };
			return 1;
		}
	}
	out[0] = (struct lang_call){ IS_CODE, 1, 0 };
	return 1;
}

static int read_name(const struct v8_vm *vm, const struct lang_process *p, uint64_t string,
		     char **out)
{
	uint64_t map, head[2];
	uint16_t type;

	if ((string & 3) != 1 || lang_read_u64(p, string - 1, &map) < 0 ||
	    p->read(p->ctx, map - 1 + (uint64_t)vm->f.map_type, &type, sizeof(type)) ||
	    p->read(p->ctx, string - 1, head, sizeof(head)))
		return -EFAULT;
	if (type >= vm->f.type_first_nonstring || vm->f.string_one_byte == V8_ABSENT)
		return -ENOENT;
	return lang_read_text(p, string - 1 + (uint64_t)vm->f.string_one_byte, head[1] >> 32, out);
}

int v8_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	    uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const struct v8_vm *v8 = &tables->v8[vm];
	uint64_t name;
	int r = -ENOENT;

	if (!(addr & IS_CODE)) {
		r = lang_read_u64(p, addr + (uint64_t)v8->f.shared_name, &name);
		if (r < 0)
			return r;
		if (lang_check_cookie(cookie, name) < 0)
			return -ESTALE;
		r = read_name(v8, p, name, &out->name);
	}
	if (r == -ENOENT)
		out->name = strdup(addr & IS_CODE ? "[builtin]" : "[function]");
	out->file = strdup("");
	return out->name && out->file ? 0 : -ENOMEM;
}

uint32_t v8_line(const struct lang_function *f, uint32_t place)
{
	(void)f;
	(void)place;
	return 0;
}
