/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the tables gHotSpotVMStructs, gHotSpotVMTypes and gHotSpotVMIntConstants, which every
 * libjvm exports for HotSpot's serviceability agent (runtime/vmStructs.hpp). Each is an array
 * of entries with a name; an entry without a name ends it. The tables are read from a process
 * and not from the file, because some of their values are computed at startup. A cache of pages
 * keeps the number of reads small. Entries outside of facts.def are not stored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/jvm/jvm.h"

enum {
	PAGE = 4096,
	PAGES = 128, /* number of cached pages */
	ENTRIES_MAX = 8192,
	ENTRY_MAX = 256, /* limit in bytes */
	TEXT_MAX = 96,
};

static const struct {
	const char *type, *field;
} fact_sources[JVM_FACT_MAX] = {
#define X(sym, type, field) { type, field },
#include "lang/jvm/facts.def"
#undef X
};

struct page {
	uint64_t at; /* 0 marks an unused page */
	uint8_t data[PAGE];
};

struct reader {
	const struct lang_process *p;
	struct page *pages; /* an array of PAGES, indexed by the low bits of the page number */
};

static const uint8_t *page_get(struct reader *r, uint64_t at)
{
	struct page *page = &r->pages[at / PAGE % PAGES];

	at &= ~(uint64_t)(PAGE - 1);
	if (!at)
		return NULL;
	if (page->at != at) {
		page->at = 0;
		if (r->p->read(r->p->ctx, at, page->data, PAGE))
			return NULL;
		page->at = at;
	}
	return page->data;
}

static int read_bytes(struct reader *r, uint64_t at, void *dst, size_t len)
{
	for (size_t i = 0; i < len;) {
		const uint8_t *page = page_get(r, at + i);
		size_t off = (at + i) % PAGE, n = PAGE - off < len - i ? PAGE - off : len - i;

		if (!page)
			return -EFAULT;
		memcpy((uint8_t *)dst + i, page + off, n);
		i += n;
	}
	return 0;
}

/* Reads a string. One that exceeds the buffer matches no fact and is truncated. */
static int read_text(struct reader *r, uint64_t at, char out[TEXT_MAX])
{
	for (size_t i = 0; i < TEXT_MAX; i++) {
		const uint8_t *page = page_get(r, at + i);

		if (!page)
			return -EFAULT;
		out[i] = (char)page[(at + i) % PAGE];
		if (!out[i])
			return 0;
	}
	out[TEXT_MAX - 1] = '\0';
	return 0;
}

/* Returns the size in bytes of a field whose C++ type is @kind. */
static uint8_t kind_width(const char *kind)
{
	static const struct {
		const char *name;
		uint8_t width;
	} known[] = { { "int", 4 },
		      { "u4", 4 },
		      { "uint32_t", 4 },
		      { "int16_t", 2 },
		      { "u2", 2 },
		      { "bool", 1 },
		      { "u1", 1 },
		      { "unsigned char", 1 },
		      { "signed char", 1 },
		      { "jushort", 2 },
		      { "unsigned short", 2 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(kind, known[i].name))
			return known[i].width;
	return 8;
}

/* One of the exported tables: its address and entry size, and the offsets within an entry. */
struct table {
	uint64_t at, stride;
	uint64_t name, value;
};

static int table_open(struct reader *r, const struct jvm_vm *vm, uint64_t bias, enum jvm_symbol at,
		      enum jvm_symbol name, enum jvm_symbol value, struct table *out)
{
	/* The symbol for the entry size follows that of the table. */
	if (read_bytes(r, vm->symbols[at] + bias, &out->at, 8) < 0 ||
	    read_bytes(r, vm->symbols[at + 1] + bias, &out->stride, 8) < 0 ||
	    read_bytes(r, vm->symbols[name] + bias, &out->name, 8) < 0 ||
	    read_bytes(r, vm->symbols[value] + bias, &out->value, 8) < 0)
		return -EAGAIN;
	if (!out->at || out->stride < 16 || out->stride > ENTRY_MAX ||
	    out->name > out->stride - 8 || out->value > out->stride - 4)
		return -EAGAIN;
	return 0;
}

static uint64_t entry_u64(const uint8_t *entry, uint64_t off)
{
	uint64_t v;

	memcpy(&v, entry + off, sizeof(v));
	return v;
}

/* Reads entry @i and its name. Returns false at the end of the table, or if it cannot be read. */
static bool table_entry(struct reader *r, const struct table *t, size_t i, uint8_t entry[ENTRY_MAX],
			char name[TEXT_MAX])
{
	uint64_t text;

	if (i >= ENTRIES_MAX || read_bytes(r, t->at + i * t->stride, entry, t->stride) < 0)
		return false;
	text = entry_u64(entry, t->name);
	return text && read_text(r, text, name) == 0;
}

static void store_field(struct reader *r, const uint64_t other[3], const uint8_t *entry,
			const char *type, const char *field, struct jvm_found *out)
{
	char kind[TEXT_MAX];

	for (size_t i = 0; i < JVM_FACT_MAX; i++) {
		if (!fact_sources[i].field || !fact_sources[i].field[0] ||
		    strcmp(type, fact_sources[i].type) != 0 ||
		    strcmp(field, fact_sources[i].field) != 0)
			continue;
		if (!entry_u64(entry, other[0]) ||
		    read_text(r, entry_u64(entry, other[0]), kind) < 0)
			kind[0] = '\0';
		out[i].found = true;
		out[i].width = kind_width(kind);
		/* Only static fields have an address; all others have an offset. */
		out[i].value = entry_u64(entry, other[2]) ? entry_u64(entry, other[2])
							  : entry_u64(entry, other[1]);
	}
}

static bool type_has_facts(const char *type)
{
	for (size_t i = 0; i < JVM_FACT_MAX; i++)
		if (fact_sources[i].field && fact_sources[i].field[0] &&
		    !strcmp(type, fact_sources[i].type))
			return true;
	return false;
}

static int read_fields(struct reader *r, const struct jvm_vm *vm, uint64_t bias,
		       struct jvm_found *out)
{
	static const enum jvm_symbol others[3] = { JVM_SYMBOL_STRUCT_KIND, JVM_SYMBOL_STRUCT_OFFSET,
						   JVM_SYMBOL_STRUCT_ADDRESS };
	uint8_t entry[ENTRY_MAX];
	char type[TEXT_MAX], field[TEXT_MAX];
	uint64_t other[3];
	struct table t;
	int e = table_open(r, vm, bias, JVM_SYMBOL_STRUCTS, JVM_SYMBOL_STRUCT_TYPE,
			   JVM_SYMBOL_STRUCT_FIELD, &t);

	for (size_t i = 0; i < 3 && e == 0; i++)
		if (read_bytes(r, vm->symbols[others[i]] + bias, &other[i], 8) < 0 ||
		    other[i] > t.stride - 8)
			e = -EAGAIN;
	if (e < 0 || t.value > t.stride - 8)
		return -EAGAIN;
	for (size_t i = 0; table_entry(r, &t, i, entry, type); i++)
		if (type_has_facts(type) && entry_u64(entry, t.value) &&
		    read_text(r, entry_u64(entry, t.value), field) == 0)
			store_field(r, other, entry, type, field, out);
	return 0;
}

/* Stores the sizes of types (@mark is NULL) or integer constants (@mark is ""), as in facts.def. */
static int read_numbers(struct reader *r, const struct table *t, const char *mark, size_t width,
			struct jvm_found *out)
{
	uint8_t entry[ENTRY_MAX];
	char name[TEXT_MAX];

	for (size_t i = 0; table_entry(r, t, i, entry, name); i++) {
		for (size_t k = 0; k < JVM_FACT_MAX; k++) {
			if (!mark != !fact_sources[k].field || (mark && fact_sources[k].field[0]) ||
			    strcmp(name, fact_sources[k].type) != 0)
				continue;
			out[k] = (struct jvm_found){ .found = true, .width = 8 };
			memcpy(&out[k].value, entry + t->value, width);
		}
	}
	return 0;
}

static int read_tables(struct reader *r, const struct jvm_vm *vm, uint64_t bias,
		       struct jvm_found *out)
{
	struct table t;
	int e = read_fields(r, vm, bias, out);

	if (e == 0)
		e = table_open(r, vm, bias, JVM_SYMBOL_TYPES, JVM_SYMBOL_TYPE_NAME,
			       JVM_SYMBOL_TYPE_SIZE, &t);
	if (e == 0 && t.value > t.stride - 8)
		e = -EAGAIN;
	if (e == 0)
		e = read_numbers(r, &t, NULL, 8, out);
	if (e == 0)
		e = table_open(r, vm, bias, JVM_SYMBOL_INTS, JVM_SYMBOL_INT_NAME,
			       JVM_SYMBOL_INT_VALUE, &t);
	return e < 0 ? e : read_numbers(r, &t, "", 4, out);
}

int jvm_structs_read(const struct jvm_vm *vm, uint64_t bias, const struct lang_process *p,
		     struct jvm_found out[JVM_FACT_MAX])
{
	struct reader r = { p, calloc(PAGES, sizeof(struct page)) };
	int e;

	memset(out, 0, JVM_FACT_MAX * sizeof(*out));
	if (!r.pages)
		return -ENOMEM;
	e = read_tables(&r, vm, bias, out);
	free(r.pages);
	return e;
}
