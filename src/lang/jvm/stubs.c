/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code is called that is no method's. A blob has a name of its own, and is
 * one routine (what C1 and C2 call, adapters) or, with a name like "StubRoutines",
 * many: HotSpot keeps a list of those, {next, group, name, begin, end}, with a
 * number before begin until 11. The variable that leads to it is not exported; where
 * libjvm has no table of symbols the blob's name has to do.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "lang/jvm/jvm.h"
#include "lang/memo.h"

/* A virtual thread that was unmounted gets its outer frames back as it returns to them. */
#define IN_HEAP "[more frames in the heap]"
#define BARRIER "StubRoutines"

enum {
	TEXT_MAX = 64,
	ROUTINES_MAX = 4096,
	ROUTINE_BYTES_MAX = 1 << 20,
	NESTED_MAX = 8, /* routines that begin between another one's begin and its end */
	NODE_WORDS = 6,
	NODE_NAME = 2,
	NODE_BEGIN = 3,
};

struct routine {
	uint64_t begin, end, name;
};

/* Borrowed of what the process's memo keeps. */
struct routines {
	const struct routine *data;
	size_t len;
};

static int read_at(const struct lang_process *p, uint64_t addr, void *dst, size_t len)
{
	return p->read(p->ctx, addr, dst, len) ? -EFAULT : 0;
}

/* ---- the list ---------------------------------------------------------------- */

/* One node; 0, or -EBADMSG where no routine can be. */
static int make_routine(const uint64_t node[NODE_WORDS], struct routine *out)
{
	const uint64_t *range = node + NODE_BEGIN;

	if (range[1] - range[0] > ROUTINE_BYTES_MAX)
		range++;
	*out = (struct routine){ range[0], range[1], node[NODE_NAME] };
	return out->begin && !(out->begin & JVM_IS_ROUTINE) && out->end > out->begin &&
			       out->end - out->begin <= ROUTINE_BYTES_MAX && out->name
		       ? 0
		       : -EBADMSG;
}

static int by_begin(const void *a, const void *b)
{
	const struct routine *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* What can't be read ends it. */
static int read_list(const struct lang_process *p, uint64_t at, struct routine **out,
		     size_t *out_len)
{
	struct {
		struct routine *data;
		size_t len, cap;
	} all = { 0 };
	uint64_t node[NODE_WORDS];
	struct routine one;
	int r = 0;

	for (int i = 0; i < ROUTINES_MAX && at && r == 0; i++, at = node[0]) {
		if (read_at(p, at, node, sizeof(node)) < 0)
			break;
		if (make_routine(node, &one) == 0)
			r = vec_push(&all, one);
	}
	if (r < 0) {
		vec_fini(&all);
		return r;
	}
	if (all.len)
		qsort(all.data, all.len, sizeof(one), by_begin);
	*out = all.data;
	*out_len = all.len;
	return 0;
}

/* All routines by where they begin. The list grows at its head, which tells whether it has. */
static void routines_open(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
			  struct routines *out)
{
	const struct jvm_vm *jvm = &tables->jvm[vm];
	uint64_t at = jvm->symbols[JVM_SYMBOL_ROUTINES], head;
	struct lang_memo_key key;
	struct routine *data;
	size_t bytes;

	*out = (struct routines){ 0 };
	if (!at || !p->bias || !p->memo)
		return;
	at += p->bias(p->ctx, jvm->file_vm);
	if (read_at(p, at, &head, sizeof(head)) < 0)
		return;
	key = (struct lang_memo_key){ p->start_ns, at, head, p->pid, LANG_JVM };
	out->data = lang_memo_get(p->memo, &key, &bytes);
	if (out->data) {
		out->len = bytes / sizeof(*out->data);
	} else if (read_list(p, head, &data, &out->len) == 0) {
		lang_memo_put(p->memo, &key, data, out->len * sizeof(*data));
		out->data = lang_memo_get(p->memo, &key, &bytes);
	}
}

uint64_t jvm_routine_at(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
			uint64_t pc)
{
	struct routines all;
	size_t lo = 0;

	routines_open(tables, vm, p, &all);
	for (size_t hi = all.len; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (all.data[mid].begin <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo; i > 0 && lo - i < NESTED_MAX; i--)
		if (pc < all.data[i - 1].end)
			return all.data[i - 1].begin;
	return 0;
}

/* ---- names ------------------------------------------------------------------- */

/* Text that may end before its page does. */
static void read_text(const struct lang_process *p, uint64_t at, char out[TEXT_MAX])
{
	memset(out, 0, TEXT_MAX);
	for (size_t len = TEXT_MAX - 1; len && read_at(p, at, out, len) < 0; len /= 2)
		memset(out, 0, TEXT_MAX);
}

/* What HotSpot calls blobs in words of its own. */
static const struct {
	const char *theirs, *ours;
} plain_names[] = {
	{ "vtable chunks", "vtable/itable stub" },
	{ "I2C/C2I adapters", "interpreter/compiled adapter" },
	{ "UncommonTrapBlob", "uncommon trap" },
	{ "DeoptimizationBlob", "deoptimization" },
	{ "ExceptionBlob", "exception" },
	{ "SafepointBlob", "safepoint" },
	{ "InlineCacheBuffer", "inline cache" },
	{ "nep_invoker_blob", "foreign function" },
};

/* "C1 Runtime new_instance_blob" is 26's name of "new_instance Runtime1 stub": what was asked for.
 */
static const char *blob_name(char text[TEXT_MAX])
{
	static const char *const before[] = { "C1 Runtime ", "C2 Runtime ", "Shared Runtime ",
					      "_" };
	static const char *const behind[] = { " Runtime1 stub", "_blob", "_Java" };
	const char *name = text;

	for (size_t i = 0; i < sizeof(plain_names) / sizeof(plain_names[0]); i++)
		if (!strcmp(text, plain_names[i].theirs))
			return plain_names[i].ours;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (!strncmp(name, before[i], strlen(before[i])) && name[strlen(before[i])])
			name += strlen(before[i]);
	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		size_t n = strlen(name), drop = strlen(behind[i]);

		if (n > drop && !strcmp(name + n - drop, behind[i]))
			text[(size_t)(name - text) + n - drop] = '\0';
	}
	return name;
}

/* "[stub: call_stub]" */
static int put_name(const char *name, struct lang_function *out)
{
	struct buf b = { 0 };

	buf_put_str(&b, "[stub: ");
	for (const char *s = name; *s; s++)
		buf_put_byte(&b, isprint((unsigned char)*s) ? (uint8_t)*s : '?');
	buf_put(&b, "]", sizeof("]"));
	out->file = strdup("");
	if (buf_error(&b) || !out->file) {
		buf_fini(&b);
		return -ENOMEM;
	}
	out->name = (char *)b.data;
	return 0;
}

static int put_barrier(struct lang_function *out)
{
	out->name = strdup(IN_HEAP);
	out->file = strdup("");
	return out->name && out->file ? 0 : -ENOMEM;
}

static int read_blob(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		     uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	uint64_t blob = addr & ~(uint64_t)(JVM_IS_STUB | JVM_IS_BARRIER), at;
	char text[TEXT_MAX];

	if (read_at(p, blob + tables->jvm[vm].name.off, &at, sizeof(at)) < 0 ||
	    lang_cookie(at) != cookie)
		return -ESTALE;
	read_text(p, at, text);
	/* adapters tell their signature in parentheses; a stub's number means nothing to anybody */
	text[strcspn(text, "(")] = '\0';
	for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
		text[n - 1] = '\0';
	if (addr & JVM_IS_BARRIER && !strcmp(text, BARRIER))
		return put_barrier(out);
	return put_name(blob_name(text), out);
}

/* "Stub Generator call_stub_stub" is what 26 calls call_stub. */
static const char *routine_name(char text[TEXT_MAX])
{
	static const char before[] = "Stub Generator ", behind[] = "_stub";
	size_t skip = sizeof(before) - 1, drop = sizeof(behind) - 1, n = strlen(text);

	if (strncmp(text, before, skip) != 0)
		return text;
	if (n > skip + drop && !strcmp(text + n - drop, behind))
		text[n - drop] = '\0';
	return text + skip;
}

static int read_routine(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
			uint64_t begin, struct lang_function *out)
{
	char text[TEXT_MAX];
	struct routines all;

	routines_open(tables, vm, p, &all);
	for (size_t i = 0; i < all.len; i++) {
		if (all.data[i].begin != begin)
			continue;
		read_text(p, all.data[i].name, text);
		return put_name(routine_name(text), out);
	}
	return -ESTALE;
}

int jvm_stub_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		  uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	if (addr & JVM_IS_ROUTINE)
		return read_routine(tables, vm, p, addr & ~JVM_IS_ROUTINE, out);
	return read_blob(tables, vm, p, addr, cookie, out);
}
