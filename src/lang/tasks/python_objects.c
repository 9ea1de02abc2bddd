/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets that have been equal since 3.9 are constants; they count from the end of PyObject. The
 * place of an instance's attributes changed in 3.11, 3.12 and 3.13 (Objects/dictobject.c).
 */
#include "lang/tasks/python_objects.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "lang/tasks/task_pages.h"

/* PyTypeObject (Include/cpython/object.h). */
enum {
	TYPE_NAME = 8,
	TYPE_BASIC_SIZE = 16,
	TYPE_FLAGS = 152,
	TYPE_BASE = 240,
	TYPE_DICT_OFFSET = 272,
	TYPE_BYTES = 280,
	FLAG_INLINE_VALUES = 1 << 2,
	FLAG_MANAGED_DICT = 1 << 4,
	FLAG_HEAP_TYPE = 1 << 9,
	BASES_MAX = 16,
};

/* PyDictObject, PyDictKeysObject (Include/internal/pycore_dict.h), PySetObject. */
enum {
	DICT_KEYS = 16,
	DICT_VALUES = 24,
	KEYS_OLD_SIZE = 8,   /* up to 3.10: the number of indexes */
	KEYS_LOG2_BYTES = 9, /* from 3.11 on: log2 of the bytes of all indexes */
	KEYS_KIND = 10,      /* from 3.11 on; 0: entries have hashes */
	KEYS_N_ENTRIES = 24, /* from 3.11 on, like the next one */
	KEYS_INDEXES = 32,
	KEYS_OLD_MORE = 8, /* up to 3.10, this is added to the offsets of these two */
	ENTRIES_MAX = 1 << 20,
	INSTANCE_VALUES_MAX = 64,
	SET_MASK = 16,
	SET_TABLE = 24,
	SET_DUMMY_HASH = -1,
};

/* ---- types ----------------------------------------------------------------------------------- */

struct name {
	const char *name;
	uint8_t kind;
};

/* Types of the interpreter itself. Classes of a program are allocated (FLAG_HEAP_TYPE). */
static const struct name builtins[] = {
	{ "coroutine", PYTHON_COROUTINE },
	{ "generator", PYTHON_GENERATOR },
	{ "async_generator", PYTHON_ASYNC_GENERATOR },
	{ "async_generator_asend", PYTHON_AWAITABLE },
	{ "async_generator_athrow", PYTHON_AWAITABLE },
	{ "coroutine_wrapper", PYTHON_AWAITABLE },
	{ "anext_awaitable", PYTHON_AWAITABLE },
	{ "_asyncio.FutureIter", PYTHON_FUTURE_ITERATOR },
	{ "_asyncio.Task", PYTHON_TASK },
	{ "dict", PYTHON_DICT },
	{ "set", PYTHON_SET },
	{ "str", PYTHON_STRING },
	{ "int", PYTHON_INT },
	{ "module", PYTHON_MODULE },
	{ "weakref", PYTHON_WEAKREF },
	{ "weakref.ReferenceType", PYTHON_WEAKREF },
};

static uint64_t word_at(const uint8_t *data, size_t at)
{
	uint64_t v;

	memcpy(&v, data + at, sizeof(v));
	return v;
}

/* Reads text up to its zero; what does not fit, or is not mapped, is cut off. */
static int read_c_string(struct task_pages *p, uint64_t addr, char *out, size_t size)
{
	size_t n = 0;
	int r = 0;

	while (n + 1 < size) {
		r = task_pages_read(p, addr + n, out + n, 1);
		if (r < 0 || !out[n])
			break;
		n++;
	}
	out[n] = '\0';
	return n ? 0 : r;
}

static enum python_kind kind_by_name(const char *name, uint64_t flags)
{
	/* _asyncio allocates its types since 3.12; a class of a program has no module in its name
	 */
	if ((flags & FLAG_HEAP_TYPE) && strncmp(name, "_asyncio.", 9) != 0)
		return PYTHON_OTHER;
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (!strcmp(name, builtins[i].name))
			return builtins[i].kind;
	return PYTHON_OTHER;
}

/* Reads the type at @addr, without its bases; *@base is the next one. */
static int read_type(struct python_objects *o, uint64_t addr, struct python_type *out,
		     uint64_t *base)
{
	uint8_t data[TYPE_BYTES];
	char name[PYTHON_TYPE_NAME_MAX];
	const char *dot;
	int r = task_pages_read(o->pages, addr + o->py->object, data, sizeof(data));

	if (r == 0)
		r = read_c_string(o->pages, word_at(data, TYPE_NAME), name, sizeof(name));
	if (r < 0)
		return r;
	*out = (struct python_type){
		.addr = addr,
		.flags = word_at(data, TYPE_FLAGS),
		.size = word_at(data, TYPE_BASIC_SIZE),
		.dict_offset = word_at(data, TYPE_DICT_OFFSET),
	};
	out->kind = (uint8_t)kind_by_name(name, out->flags);
	dot = strrchr(name, '.');
	strcpy(out->name, dot ? dot + 1 : name);
	*base = word_at(data, TYPE_BASE);
	return 0;
}

/* A class that is derived from a task is a task; other derived classes do not matter. */
static int inherit(struct python_objects *o, uint64_t base, struct python_type *t)
{
	struct python_type of;
	int r = 0;

	if (t->kind != PYTHON_OTHER || !(t->flags & FLAG_HEAP_TYPE))
		return 0;
	for (int i = 0; i < BASES_MAX && base && r == 0; i++) {
		r = read_type(o, base, &of, &base);
		if (r == 0 && of.kind == PYTHON_TASK)
			t->kind = PYTHON_TASK;
	}
	return r == -EFAULT ? 0 : r;
}

struct type_key {
	const struct python_objects *o;
	uint64_t addr;
};

static bool is_type(const void *ctx, uint32_t id)
{
	const struct type_key *k = ctx;

	return k->o->types.data[id].addr == k->addr;
}

static int add_type(struct python_objects *o, uint64_t addr, uint32_t *out)
{
	struct python_type t;
	uint64_t base;
	int r = read_type(o, addr, &t, &base);

	if (r == 0)
		r = inherit(o, base, &t);
	if (r < 0)
		return r;
	if (o->types.len == PYTHON_TYPES_MAX)
		return -EBADMSG;
	*out = (uint32_t)o->types.len;
	r = vec_push(&o->types, t);
	return r < 0 ? r : index_add(&o->index, hash_u64(addr), *out);
}

int python_type_of(struct python_objects *o, uint64_t addr, const struct python_type **out)
{
	struct type_key k = { .o = o };
	uint32_t id;
	int r;

	/* ob_type is the last field of a PyObject */
	if (!addr || addr % 8)
		return -EBADMSG;
	r = task_pages_word(o->pages, addr + o->py->object - 8, &k.addr);
	if (r < 0)
		return r;
	if (!k.addr || k.addr % 8)
		return -EBADMSG;
	if (!index_find(&o->index, hash_u64(k.addr), is_type, &k, &id))
		r = add_type(o, k.addr, &id);
	if (r == 0)
		*out = &o->types.data[id];
	return r;
}

enum python_kind python_kind_of(struct python_objects *o, uint64_t addr)
{
	const struct python_type *t;

	return python_type_of(o, addr, &t) == 0 ? (enum python_kind)t->kind : PYTHON_OTHER;
}

int python_field(struct python_objects *o, uint64_t addr, uint64_t off, uint64_t *out)
{
	return task_pages_word(o->pages, addr + o->py->object + off, out);
}

void python_objects_fini(struct python_objects *o)
{
	vec_fini(&o->types);
	index_fini(&o->index);
}

/* ---- integers -------------------------------------------------------------------------------- */

int python_small_int(struct python_objects *o, uint64_t addr, uint32_t *out)
{
	uint8_t data[16];
	uint64_t tag;
	uint32_t digits[2]; /* of 30 bits */
	int r = task_pages_read(o->pages, addr + o->py->object, data, sizeof(data));

	if (r < 0)
		return r;
	tag = word_at(data, 0);
	memcpy(digits, data + 8, sizeof(digits));
	/* the lowest bits are the sign, 0 for positive ones; those from bit 3 count the digits */
	if ((tag & 3) || tag >> 3 > 2 || (tag >> 3 == 2 && digits[1] > 3))
		return -EBADMSG;
	*out = digits[0] | (tag >> 3 == 2 ? digits[1] << 30 : 0);
	return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

int python_text(struct python_objects *o, uint64_t addr, char *out, size_t size)
{
	uint64_t length, state;
	int r = python_field(o, addr, 0, &length);

	if (r == 0)
		r = python_field(o, addr, PYTHON_STRING_STATE, &state);
	if (r < 0)
		return r;
	state >>= o->py->kind_shift;
	if ((state & PYTHON_STRING_KIND) != 1 || !(state & PYTHON_STRING_COMPACT))
		return -EBADMSG;
	if (length > size - 1)
		length = size - 1;
	r = task_pages_read(o->pages, addr + python_text_at(o->py, state), out, length);
	out[r < 0 ? 0 : length] = '\0';
	return r;
}

static int is_text(struct python_objects *o, uint64_t addr, const char *want)
{
	char text[32];
	uint64_t length;

	if (python_kind_of(o, addr) != PYTHON_STRING || python_field(o, addr, 0, &length) < 0 ||
	    length != strlen(want) || python_text(o, addr, text, sizeof(text)) < 0)
		return false;
	return !strcmp(text, want);
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Where the entries of a dictionary are. */
struct entries {
	uint64_t start, n;
	uint64_t values; /* 0: values are in the entries */
	bool has_hashes;
};

/* Up to 3.10, an index has as many bytes as the size of the table needs. */
static int find_old_entries(struct python_objects *o, uint64_t keys, struct entries *out)
{
	uint64_t size, width;
	int r = task_pages_word(o->pages, keys + KEYS_OLD_SIZE, &size);

	if (r == 0)
		r = task_pages_word(o->pages, keys + KEYS_N_ENTRIES + KEYS_OLD_MORE, &out->n);
	if (r < 0)
		return r;
	if (size > UINT32_MAX)
		return -EBADMSG;
	width = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
	out->start = keys + KEYS_INDEXES + KEYS_OLD_MORE + size * width;
	out->has_hashes = true;
	return 0;
}

static int find_new_entries(struct python_objects *o, uint64_t keys, struct entries *out)
{
	uint8_t head[KEYS_INDEXES];
	int r = task_pages_read(o->pages, keys, head, sizeof(head));

	if (r < 0)
		return r;
	if (head[KEYS_LOG2_BYTES] > 32)
		return -EBADMSG;
	out->n = word_at(head, KEYS_N_ENTRIES);
	out->start = keys + KEYS_INDEXES + (1ULL << head[KEYS_LOG2_BYTES]);
	out->has_hashes = !head[KEYS_KIND];
	return 0;
}

static int find_entries(struct python_objects *o, uint64_t dict, struct entries *out)
{
	uint64_t keys;
	int r;

	if (python_kind_of(o, dict) != PYTHON_DICT)
		return -EBADMSG;
	*out = (struct entries){ 0 };
	r = python_field(o, dict, DICT_KEYS, &keys);
	if (r == 0)
		r = python_field(o, dict, DICT_VALUES, &out->values);
	if (r == 0)
		r = o->py->minor <= 10 ? find_old_entries(o, keys, out)
				       : find_new_entries(o, keys, out);
	/* from 3.13 on, the values have a head */
	if (out->values && o->py->minor >= 13)
		out->values += 8;
	return r < 0 ? r : out->n > ENTRIES_MAX ? -EBADMSG : 0;
}

static int read_entry(struct python_objects *o, const struct entries *e, uint64_t i, uint64_t *key,
		      uint64_t *value)
{
	uint64_t words[2];
	uint64_t at = e->has_hashes ? e->start + i * 24 + 8 : e->start + i * 16;
	int r = task_pages_read(o->pages, at, words, sizeof(words));

	if (r < 0)
		return r;
	*key = words[0];
	*value = words[1];
	return e->values ? task_pages_word(o->pages, e->values + 8 * i, value) : 0;
}

int python_dict_get(struct python_objects *o, uint64_t addr, const char *key, uint64_t *out)
{
	struct entries e;
	int r = find_entries(o, addr, &e);

	for (uint64_t i = 0; i < e.n && r == 0; i++) {
		uint64_t at, value;

		r = read_entry(o, &e, i, &at, &value);
		if (r == 0 && at && value && is_text(o, at, key)) {
			*out = value;
			return 0;
		}
	}
	return r < 0 ? r : -ENOENT;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Finds a dictionary, or else an array of values, either of which is 0. */
struct attributes {
	uint64_t dict, values;
};

static int find_attributes(struct python_objects *o, uint64_t addr, const struct python_type *t,
			   struct attributes *out)
{
	uint64_t words[2]; /* the two before the garbage collector's, which precede the object */
	uint8_t head[8];
	int r;

	*out = (struct attributes){ 0 };
	if (!(t->flags & FLAG_MANAGED_DICT) || o->py->minor <= 10)
		return t->dict_offset && t->dict_offset < UINT16_MAX
			       ? task_pages_word(o->pages, addr + t->dict_offset, &out->dict)
			       : -ENOENT;
	r = task_pages_read(o->pages, addr - 32, words, sizeof(words));
	if (r < 0)
		return r;
	out->dict = words[1];
	if (o->py->minor == 11) {
		out->values = words[0];
	} else if (o->py->minor == 12 && (words[1] & 1)) {
		/* the address before that of the values, which is odd */
		*out = (struct attributes){ .values = words[1] + 1 };
	} else if (o->py->minor >= 13 && (t->flags & FLAG_INLINE_VALUES) && t->size < UINT16_MAX) {
		r = task_pages_read(o->pages, addr + t->size, head, sizeof(head));
		if (r == 0 && head[3]) /* they are valid */
			*out = (struct attributes){ .values = addr + t->size + 8 };
	}
	return r;
}

int python_attribute_of(struct python_objects *o, uint64_t addr, enum python_kind kind,
			uint64_t *out)
{
	const struct python_type *t;
	struct attributes a = { 0 };
	struct entries e = { .n = INSTANCE_VALUES_MAX };
	int r = python_type_of(o, addr, &t);

	if (r == 0)
		r = find_attributes(o, addr, t, &a);
	if (r == 0 && !a.values)
		r = find_entries(o, a.dict, &e);
	for (uint64_t i = 0; i < e.n && i < INSTANCE_VALUES_MAX && r == 0; i++) {
		uint64_t key, value;

		r = a.values ? task_pages_word(o->pages, a.values + 8 * i, &value)
			     : read_entry(o, &e, i, &key, &value);
		if (r == 0 && value && python_kind_of(o, value) == kind) {
			*out = value;
			return 0;
		}
	}
	return r < 0 ? r : -ENOENT;
}

/* ---- sets ------------------------------------------------------------------------------------ */

int python_set_each(struct python_objects *o, uint64_t addr, uint64_t max, python_element_fn fn,
		    void *ctx)
{
	uint64_t mask, table, entry[2];
	int r;

	if (python_kind_of(o, addr) != PYTHON_SET)
		return -EBADMSG;
	r = python_field(o, addr, SET_MASK, &mask);
	if (r == 0)
		r = python_field(o, addr, SET_TABLE, &table);
	if (r < 0)
		return r;
	if (mask >= max)
		return -E2BIG;
	for (uint64_t i = 0; i <= mask && r == 0; i++) {
		r = task_pages_read(o->pages, table + 16 * i, entry, sizeof(entry));
		if (r == 0 && entry[0] && entry[1] != (uint64_t)SET_DUMMY_HASH)
			r = fn(ctx, entry[0]);
	}
	return r;
}
