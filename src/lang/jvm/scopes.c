/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expands a position in compiled code to the chain of methods that were inlined there.
 *
 * HotSpot records debug information only for the positions at which it may stop a thread:
 * calls, safepoint polls and loads that may fault. The nmethod has an array of PcDescs {pc,
 * scope offset, ...}, sorted by pc; see code/pcDesc.hpp. The scope offset leads into its scopes
 * data, where a scope is three packed numbers: the offset of the caller's scope, the index of
 * the method in the nmethod's metadata plus 1, and the byte code index plus 1. Following the
 * caller's offsets from scope to scope produces the calls, innermost first; an offset of 0 ends
 * the chain.
 *
 * A return address always has a PcDesc. A sampled instruction of a leaf frame mostly has none,
 * and the next one is used instead. That may belong to another of the inlined methods, so the
 * resulting calls are marked as approximate (LANG_PLACE_NEAR).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "lang/jvm/jvm.h"

enum {
	PCS_BYTES_MAX = 1 << 22,
	SCOPE_BYTES = 15, /* three numbers of up to five bytes */
	METADATA_MAX = 1 << 16,
};

struct pc_desc {
	int32_t pc, scope, object, flags;
};

struct job {
	const struct jvm_vm *vm;
	const struct lang_process *p;
	uint64_t blob;
	uint64_t head[JVM_BLOB_BYTES / 8];
};

static int read_at(const struct job *j, uint64_t addr, void *dst, size_t len)
{
	return j->p->read(j->p->ctx, addr, dst, len) ? -EFAULT : 0;
}

static uint64_t value(const struct job *j, struct jvm_field f)
{
	uint64_t v = j->head[f.off / 8 % (JVM_BLOB_BYTES / 8)] >> f.off % 8 * 8;

	return f.width == 1   ? v & 0xff
	       : f.width == 2 ? (uint64_t)(int16_t)v
	       : f.width == 4 ? (uint64_t)(int32_t)v
			      : v;
}

static uint64_t address(const struct job *j, struct jvm_field f)
{
	switch (f.base) {
	case JVM_FROM_BLOB:
		return j->blob + value(j, f);
	case JVM_FROM_IMMUTABLE:
		return value(j, j->vm->immutable_data) + value(j, f);
	case JVM_FROM_MUTABLE:
		return value(j, j->vm->mutable_data) + value(j, f);
	default:
		return value(j, f);
	}
}

/*
 * Returns whether the blob was freed. Its memory remains readable and unchanged, but the
 * pointers in it may lead to reused memory.
 */
static bool is_freed(const struct job *j)
{
	uint8_t used = 1;

	return j->vm->block_used &&
	       (read_at(j, j->blob - j->vm->block_bytes + j->vm->block_used, &used, 1) < 0 ||
		!used);
}

/* Reads the header of the nmethod. Returns -ESTALE if it is not the sampled one any more. */
static int read_head(struct job *j, uint32_t cookie)
{
	if (read_at(j, j->blob, j->head, j->vm->blob_bytes) < 0 || is_freed(j))
		return -ESTALE;
	return lang_cookie(value(j, j->vm->method) ^ value(j, j->vm->compile_id) << 40) == cookie
		       ? 0
		       : -ESTALE;
}

/* Finds the first PcDesc at or after @place. */
static int find_desc(const struct job *j, uint32_t place, struct pc_desc *out)
{
	uint64_t begin = address(j, j->vm->scopes_pcs), end = address(j, j->vm->pcs_end);
	struct pc_desc *all;
	size_t lo = 0, n;

	if (end <= begin || end - begin > PCS_BYTES_MAX)
		return -EBADMSG;
	n = (end - begin) / sizeof(*all);
	all = malloc(n * sizeof(*all) + 1);
	if (!all)
		return -ENOMEM;
	if (read_at(j, begin, all, n * sizeof(*all)) < 0)
		n = 0;
	lo = bisect(n, i, all[i].pc < (int32_t)place);
	/* The last PcDesc only marks the end. */
	if (lo + 1 < n)
		*out = all[lo];
	free(all);
	return lo + 1 < n ? 0 : -ENOENT;
}

static int put_call(const struct job *j, uint64_t method, uint32_t place, bool near,
		    struct lang_call *out)
{
	struct jvm_identity id;

	if (!method || method & 7 || jvm_identity_read(j->vm, j->p, method, &id) < 0)
		return -EBADMSG;
	*out = (struct lang_call){
		.addr = method,
		.cookie = lang_cookie(id.whole),
		.place = (place <= UINT16_MAX ? place : JVM_PLACE_NONE) |
			 (near ? LANG_PLACE_NEAR : 0),
	};
	return 0;
}

/*
 * Reads the scope at @off: its method, its byte code index, and the offset of its caller's
 * scope.
 */
static int read_scope(const struct job *j, uint64_t off, uint64_t *out_method, uint32_t *out_place,
		      uint32_t *out_caller)
{
	struct jvm_packed p = { .zero_free = j->vm->zero_free };
	uint8_t bytes[SCOPE_BYTES + 1] = { 0 };
	uint32_t index;

	/* A scope may be shorter than the maximum; the reader stops after its three numbers. */
	p.len = SCOPE_BYTES;
	p.data = bytes;
	if (read_at(j, address(j, j->vm->scopes_data) + off, bytes, p.len) < 0)
		return -EFAULT;
	*out_caller = jvm_packed_uint(&p);
	index = jvm_packed_uint(&p);
	*out_place = jvm_packed_uint(&p) - 1;
	if (!index || index > METADATA_MAX)
		return -EBADMSG;
	return read_at(j, address(j, j->vm->metadata) + (index - 1) * 8ULL, out_method, 8);
}

/* Writes the calls at @place, innermost first. Returns their number or -errno. */
static int put_inlined_calls(const struct job *j, uint32_t place, bool leaf, struct lang_call *out)
{
	struct pc_desc desc;
	uint64_t method;
	uint32_t off, caller, bci;
	bool near;
	int n = 0, r;

	r = find_desc(j, place, &desc);
	if (r < 0)
		return r;
	near = leaf && desc.pc != (int32_t)place;
	for (off = (uint32_t)desc.scope; off && n < LANG_CALLS_MAX; off = caller) {
		r = read_scope(j, off, &method, &bci, &caller);
		if (r == 0)
			r = put_call(j, method, bci, near, &out[n]);
		if (r < 0)
			return r;
		n++;
		if (caller >= off)
			break;
	}
	return n;
}

static int expand_compiled(struct job *j, const uint64_t words[2], struct lang_call *out)
{
	uint32_t cookie = (uint32_t)words[1], place = VM_PLACE_OF(words[1]);
	int n, r = read_head(j, cookie);

	if (r == 0) {
		n = put_inlined_calls(j, place, VM_FRAME_SLOT(words[0]) == JVM_COMPILED_LEAF, out);
		r = read_head(j, cookie);
		if (r == 0 && n > 0)
			return n;
	}
	/*
	 * Without debug information, report the method itself with an unknown position. A call
	 * without a cookie is reported as stale.
	 */
	if (r == 0 && put_call(j, value(j, j->vm->method), JVM_PLACE_NONE, true, out) == 0)
		return 1;
	out[0] = (struct lang_call){ .addr = j->blob | JVM_IS_STUB };
	return 1;
}

/* Reports the stub routine at the sampled position if HotSpot lists one, else the whole blob. */
static void expand_stub(struct job *j, const struct vm_tables *tables, uint32_t vm,
			const uint64_t words[2], struct lang_call *out)
{
	uint32_t cookie = (uint32_t)words[1], place = VM_PLACE_OF(words[1]);
	uint64_t begin = 0, code;

	*out = (struct lang_call){ j->blob | JVM_IS_STUB, cookie, 0 };
	if (place & JVM_STUB_IN_HEAP) {
		out->addr |= JVM_IS_BARRIER;
		return;
	}
	if (read_at(j, j->blob, j->head, j->vm->blob_bytes) == 0 &&
	    lang_cookie(value(j, j->vm->name)) == cookie) {
		code = address(j, j->vm->code);
		begin = jvm_routine_at(tables, vm, j->p, code + place);
	}
	if (begin)
		*out = (struct lang_call){ begin | JVM_IS_ROUTINE, lang_cookie(begin), 0 };
}

int jvm_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	       const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX])
{
	struct job j = { .vm = &tables->jvm[vm], .p = p, .blob = VM_FRAME_ADDR(words[0]) };

	switch (VM_FRAME_SLOT(words[0])) {
	case JVM_COMPILED:
	case JVM_COMPILED_LEAF:
		return expand_compiled(&j, words, out);
	case JVM_STUB:
		expand_stub(&j, tables, vm, words, out);
		return 1;
	default:
		out[0] = (struct lang_call){ j.blob, (uint32_t)words[1], VM_PLACE_OF(words[1]) };
		return 1;
	}
}

const struct lang jvm_lang = {
	.name_part = "libjvm",
	.detect = jvm_detect,
	.attach = jvm_attach,
	.expand = jvm_expand,
	.read = jvm_read,
	.line = jvm_line,
};
