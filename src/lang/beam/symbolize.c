/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names a function of the BEAM. The cookie that the walk recorded is compared first, so code that
 * was replaced or unloaded gets no name instead of a wrong one.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "lang/beam/beam.h"
#include "lang/find.h"

int beam_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX])
{
	(void)tables;
	(void)vm;
	(void)p;
	out[0] = (struct lang_call){
		.addr = VM_FRAME_SLOT(words[0]) == BEAM_STUB ? 0 : VM_FRAME_ADDR(words[0]),
		.cookie = (uint32_t)words[1],
		.place = VM_PLACE_OF(words[1]),
	};
	return 1;
}

static int take_name(struct buf *b, int r, struct lang_function *out)
{
	buf_put_byte(b, '\0');
	if (r == 0 && buf_error(b))
		r = -ENOMEM;
	if (r == 0)
		out->name = (char *)b->data;
	else
		buf_fini(b);
	return r;
}

static int read_stub(struct lang_function *out)
{
	struct buf name = { 0 };

	out->file = strdup("");
	buf_put_str(&name, "[BEAM stub]");
	return take_name(&name, 0, out);
}

static int read_function(const struct beam_process *b, uint64_t info, uint32_t cookie,
			 struct lang_function *out)
{
	char module[BEAM_ATOM_BYTES], function[BEAM_ATOM_BYTES];
	struct beam_function f;
	struct buf name = { 0 };
	int r = beam_find(b, info, &f);

	if (r == -ENOENT)
		return -ESTALE;
	if (r == 0)
		r = lang_check_cookie(cookie, beam_key(f.mfa, f.md5));
	if (r == 0)
		r = beam_read_atom(b, f.mfa[0], module);
	if (r == 0)
		r = beam_read_atom(b, f.mfa[1], function);
	if (r == 0)
		r = beam_read_lines(b, &f, module, out);
	if (r < 0)
		return r;
	beam_put_name(&name, module, function, (uint32_t)f.mfa[2]);
	return take_name(&name, 0, out);
}

/* True if the function is still there after it was read: a module may be purged at any moment. */
static bool is_same(const struct beam_process *b, uint64_t info, uint32_t cookie)
{
	struct beam_function f;

	return beam_find(b, info, &f) == 0 &&
	       lang_check_cookie(cookie, beam_key(f.mfa, f.md5)) == 0;
}

int beam_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const struct beam_process b = {
		.p = p,
		.vm = &tables->beam[vm],
		.bias = p->bias ? p->bias(p->ctx, vm) : 0,
	};
	int r = addr ? read_function(&b, addr, cookie, out) : read_stub(out);

	return r == 0 && addr && !is_same(&b, addr, cookie) ? -ESTALE : r;
}
