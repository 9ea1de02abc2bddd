/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/disasm.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "disasm/disasm_message.h"
#include "disasm/library.h"
#include "roles/pool.h"

/* The symbol table of a browser has 100 MiB. */
enum { TIMEOUT_MS = 20000, HEAP_BYTES = 512 << 20 };

void disasm_code_fini(struct disasm_code *c)
{
	vec_fini(&c->insns);
}

static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	const struct disasm_insn *insns = data;
	struct disasm_code *out = ctx;

	if (kind != DISASM_INSNS || !disasm_check_part(data, len))
		return -EBADMSG;
	for (size_t i = 0; i < len / sizeof(*insns); i++) {
		if (out->insns.len >= DISASM_INSNS_MAX)
			return -EBADMSG;
		/* addresses ascend, which readers rely on */
		if (out->insns.len && insns[i].addr <= out->insns.data[out->insns.len - 1].addr)
			return -EBADMSG;
		if (vec_push(&out->insns, insns[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int call(struct role_pool *pool, const struct role_request *request, struct disasm_code *out)
{
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	const struct disasm_reply *reply;
	int r = role_pool_call(pool, request, &x);

	if (r < 0)
		return r;
	if (role_exchange_reply(x)->result < 0)
		return role_exchange_reply(x)->result;
	reply = disasm_check_reply(role_exchange_reply(x)->data, role_exchange_reply(x)->len);
	if (!reply)
		return -EBADMSG;
	out->build_id = reply->build_id;
	out->start = reply->start;
	out->end = reply->end;
	out->is_cut = reply->is_cut;
	return 0;
}

static int fail(struct err *err, int r)
{
	switch (r) {
	case -ENOPKG:
		return err_set(err, r, "the disassembler library is missing: install %s",
			       DISASM_LIBRARY_PACKAGE);
	case -ENOENT:
		return err_set(err, r, "no function of the file contains the address");
	case -ENOEXEC:
		return err_set(err, r, "not an ELF file for x86-64 or arm64");
	default:
		return err_set(err, r, "the disassembler failed: %s", strerror(-r));
	}
}

int disasm_function(int fd, uint64_t vaddr, struct disasm_code *out, struct err *err)
{
	const struct role_pool_opts opts = { .max_children = 1, .memory_bytes = HEAP_BYTES };
	_cleanup_(role_pool_freep) struct role_pool *pool = NULL;
	const struct disasm_request body = { .vaddr = vaddr };
	const struct role_request request = {
		.kind = DISASM_FUNCTION,
		.data = &body,
		.len = sizeof(body),
		.fds = &fd,
		.n_fds = 1,
		.timeout_ms = TIMEOUT_MS,
		.part = on_part,
		.ctx = out,
	};
	int r = role_pool_new(&pool, &disassembler_role, &opts, err);

	if (r < 0)
		return r;
	r = call(pool, &request, out);
	return r < 0 ? fail(err, r) : 0;
}
