/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code that does not belong to a method. Each CodeBlob has a name of its
 * own. Most are a single routine, such as a runtime entry of C1 or C2 or an adapter; a blob
 * such as "StubRoutines" contains many. HotSpot lists those in StubCodeDesc::_list, whose nodes
 * are {next, group, name, begin, end}, until version 11 with a number before begin. The
 * variable is not exported: where libjvm has no symbol table, all routines are reported with
 * the name of their blob.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/vec.h"
#include "lang/jvm/jvm.h"
#include "lang/memo.h"

/*
 * When an unmounted virtual thread continues, only its inner frames are copied back to the
 * stack. A return to the outer ones leads into this stub, which copies more.
 */
#define BARRIER_NAME "[more frames in the heap]"
#define BARRIER_BLOB "StubRoutines"

enum {
	TEXT_MAX = 64,
	ROUTINES_MAX = 4096,
	ROUTINE_BYTES_MAX = 1 << 20,
	NESTED_MAX = 8, /* limit of routines that begin within another one */
	NODE_WORDS = 6,
	NODE_NAME = 2,
	NODE_BEGIN = 3,
};

struct routine {
	uint64_t begin, end, name;
};

/* Borrowed from the memo of the process. */
struct routines {
	const struct routine *data;
	size_t len;
};

static int read_at(const struct lang_process *p, uint64_t addr, void *dst, size_t len)
{
	return p->read(p->ctx, addr, dst, len) ? -EFAULT : 0;
}

/* ---- the list ---------------------------------------------------------------- */

/* Converts one node. Returns 0, or -EBADMSG if its range or name is implausible. */
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

static int compare_begin(const void *a, const void *b)
{
	const struct routine *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Reads the list up to its end or the first unreadable node, and sorts it by address. */
static int read_list(const struct lang_process *p, uint64_t at, struct routine **out,
		     size_t *out_len)
{
	struct {
		struct routine *data;
		size_t len, cap;
	} routines = { 0 };
	uint64_t node[NODE_WORDS];
	struct routine routine;
	int r = 0;

	for (int i = 0; i < ROUTINES_MAX && at && r == 0; i++, at = node[0]) {
		if (read_at(p, at, node, sizeof(node)) < 0)
			break;
		if (make_routine(node, &routine) == 0)
			r = vec_push(&routines, routine);
	}
	if (r < 0) {
		vec_fini(&routines);
		return r;
	}
	if (routines.len)
		qsort(routines.data, routines.len, sizeof(routine), compare_begin);
	*out = routines.data;
	*out_len = routines.len;
	return 0;
}

/*
 * Gets all routines, sorted by address. HotSpot adds nodes at the head, so the head in the
 * memo's key makes a list that has grown be read again.
 */
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
	struct routines routines;
	size_t lo = 0;

	routines_open(tables, vm, p, &routines);
	lo = bisect(routines.len, i, routines.data[i].begin <= pc);
	for (size_t i = lo; i > 0 && lo - i < NESTED_MAX; i--)
		if (pc < routines.data[i - 1].end)
			return routines.data[i - 1].begin;
	return 0;
}

/* ---- names ------------------------------------------------------------------- */

/*
 * Reads text of unknown length. The memory after it may be unmapped, so the length is halved
 * until the read succeeds.
 */
static void read_text(const struct lang_process *p, uint64_t at, char out[TEXT_MAX])
{
	memset(out, 0, TEXT_MAX);
	for (size_t len = TEXT_MAX - 1; len && read_at(p, at, out, len) < 0; len /= 2)
		memset(out, 0, TEXT_MAX);
}

/* Readable texts for names that HotSpot uses only internally. */
static const struct {
	const char *blob, *text;
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

/*
 * Removes prefixes and suffixes. Version 26 has "C1 Runtime new_instance_blob" where earlier
 * ones have "new_instance Runtime1 stub"; both become "new_instance".
 */
static const char *blob_name(char text[TEXT_MAX])
{
	static const char *const prefixes[] = { "C1 Runtime ", "C2 Runtime ", "Shared Runtime ",
						"_" };
	static const char *const suffixes[] = { " Runtime1 stub", "_blob", "_Java" };
	const char *name = text;

	for (size_t i = 0; i < sizeof(plain_names) / sizeof(plain_names[0]); i++)
		if (!strcmp(text, plain_names[i].blob))
			return plain_names[i].text;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])) && name[strlen(prefixes[i])])
			name += strlen(prefixes[i]);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(name), drop = strlen(suffixes[i]);

		if (n > drop && !strcmp(name + n - drop, suffixes[i]))
			text[(size_t)(name - text) + n - drop] = '\0';
	}
	return name;
}

/* Sets the name to "[stub: NAME]" and the file to "". */
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
	out->name = strdup(BARRIER_NAME);
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
	/* Remove the signature that adapters have in parentheses, and the spaces before it. */
	text[strcspn(text, "(")] = '\0';
	for (size_t n = strlen(text); n && text[n - 1] == ' '; n--)
		text[n - 1] = '\0';
	if (addr & JVM_IS_BARRIER && !strcmp(text, BARRIER_BLOB))
		return put_barrier(out);
	return put_name(blob_name(text), out);
}

/* Version 26 has "Stub Generator call_stub_stub" where earlier ones have "call_stub". */
static const char *routine_name(char text[TEXT_MAX])
{
	static const char prefix[] = "Stub Generator ", suffix[] = "_stub";
	size_t skip = sizeof(prefix) - 1, drop = sizeof(suffix) - 1, n = strlen(text);

	if (strncmp(text, prefix, skip) != 0)
		return text;
	if (n > skip + drop && !strcmp(text + n - drop, suffix))
		text[n - drop] = '\0';
	return text + skip;
}

static int read_routine(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
			uint64_t begin, struct lang_function *out)
{
	char text[TEXT_MAX];
	struct routines routines;

	routines_open(tables, vm, p, &routines);
	for (size_t i = 0; i < routines.len; i++) {
		if (routines.data[i].begin != begin)
			continue;
		read_text(p, routines.data[i].name, text);
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
