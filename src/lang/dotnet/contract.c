/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the data contract descriptor that CoreCLR exports for debuggers (contract-descriptor.md of
 * the runtime's design documents): an object that leads to a JSON text with the offsets of fields
 * and to an array of addresses. .NET 9 describes part of what is needed, .NET 10 all of it, so
 * versions that did not exist yet when this was written are supported if they describe themselves.
 *
 * Fields that the walk reads at an assumed offset are compared: a runtime that has them elsewhere
 * is refused rather than misread.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "elf/gnuhash.h"
#include "elf/gomodule.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/dotnet/dotnet.h"

enum {
	JSON_BYTES_MAX = 1 << 20,
	POINTERS_MAX = 1 << 12,
	OFFSET_MAX = 1 << 15,
	TYPE_NAME_MAX = 48,
	EXECUTION_MANAGER_MAX = 2, /* the version of the nibble map that is known */
	NOT_STORED = UINT16_MAX,
};

/* The object that is exported. */
struct descriptor {
	uint64_t magic;
	uint32_t flags, json_bytes;
	uint64_t json;
	uint32_t n_pointers, pad;
	uint64_t pointers;
};

static const uint64_t descriptor_magic = UINT64_C(0x0043414443434e44); /* "DNCCDAC" */

/* A field of a structure: where struct dotnet_vm has its offset, or the offset that is assumed. */
struct field {
	const char *type, *name;
	uint16_t stored, assumed;
};

#define STORED(type, name, member)                                                                 \
	{                                                                                          \
		type, name, offsetof(struct dotnet_vm, member), 0                                  \
	}
#define ASSUMED(type, name, offset)                                                                \
	{                                                                                          \
		type, name, NOT_STORED, offset                                                     \
	}

static const struct field fields[] = {
	STORED("Module", "ReadyToRunInfo", module_ready),
	STORED("Module", "Base", module_base),
	STORED("DynamicMethodDesc", "MethodName", dynamic_name),
	ASSUMED("RangeSectionMap", "TopLevelData", 0),
	ASSUMED("RangeSectionFragment", "Next", 0),
	ASSUMED("RangeSectionFragment", "RangeBegin", 8),
	ASSUMED("RangeSectionFragment", "RangeEndOpen", 16),
	ASSUMED("RangeSectionFragment", "RangeSection", 24),
	ASSUMED("RangeSection", "RangeBegin", 0),
	ASSUMED("RangeSection", "RangeEndOpen", 8),
	ASSUMED("RangeSection", "Flags", 8 * DOTNET_RANGE_FLAGS),
	ASSUMED("RangeSection", "R2RModule", 8 * DOTNET_RANGE_MODULE),
	ASSUMED("RangeSection", "HeapList", 8 * DOTNET_RANGE_HEAP),
	ASSUMED("CodeHeapListNode", "MapBase", DOTNET_NODE_MAP_BASE),
	ASSUMED("CodeHeapListNode", "HeaderMap", DOTNET_NODE_MAP_BASE + 8),
	ASSUMED("RealCodeHeader", "MethodDesc", DOTNET_HEADER_METHOD),
	ASSUMED("RealCodeHeader", "NumUnwindInfos", DOTNET_HEADER_METHOD + 8),
	ASSUMED("RealCodeHeader", "UnwindInfos", DOTNET_HEADER_FUNCTIONS),
	ASSUMED("RuntimeFunction", "!", DOTNET_FUNCTION_BYTES),
	ASSUMED("ReadyToRunInfo", "RuntimeFunctions", DOTNET_READY_FUNCTIONS),
	ASSUMED("ReadyToRunInfo", "NumRuntimeFunctions", DOTNET_READY_FUNCTIONS + 8),
	ASSUMED("MethodDesc", "Flags3AndTokenRemainder", 0),
	ASSUMED("MethodDesc", "ChunkIndex", 2),
	ASSUMED("MethodDesc", "Flags", 6),
	ASSUMED("MethodDescChunk", "!", DOTNET_CHUNK_BYTES),
	ASSUMED("MethodDescChunk", "MethodTable", 0),
	ASSUMED("MethodDescChunk", "FlagsAndTokenRange", DOTNET_CHUNK_TOKEN_RANGE),
	ASSUMED("MethodTable", "Module", DOTNET_TABLE_MODULE),
};
#undef STORED
#undef ASSUMED

enum { N_FIELDS = sizeof(fields) / sizeof(*fields) };

struct contract {
	struct dotnet_vm *vm;
	uint64_t found; /* a bit for each of fields[] */
	uint32_t root;  /* number of the pointer to the map of code ranges; 0: none was found */
	bool differs;
	char type[TYPE_NAME_MAX]; /* that is being read */
};

/* ---- JSON ------------------------------------------------------------------------- */

/* Reads an offset: a number, or an array of a number and its type. -ENOENT: it is neither. */
static int read_offset(struct json_read *j, double *out)
{
	int r, kind = json_read_peek(j);

	if (kind == 0)
		return json_read_number(j, out);
	if (kind != '[') {
		r = json_read_skip(j);
		return r < 0 ? r : -ENOENT;
	}
	*out = -1;
	r = json_read_open(j, '[');
	for (int i = 0; r == 0 && (r = json_read_item(j)) > 0; i++)
		r = !i && json_read_peek(j) == 0 ? json_read_number(j, out) : json_read_skip(j);
	return r < 0 ? r : *out < 0 ? -ENOENT : 0;
}

static void take_field(struct contract *c, size_t i, double offset)
{
	uint16_t v = offset >= 0 && offset < OFFSET_MAX ? (uint16_t)offset : OFFSET_MAX;

	c->found |= UINT64_C(1) << i;
	if (fields[i].stored == NOT_STORED)
		c->differs |= v != fields[i].assumed;
	else if (v < OFFSET_MAX)
		memcpy((uint8_t *)c->vm + fields[i].stored, &v, sizeof(v));
	else
		c->differs = true;
}

static int read_field(struct json_read *j, void *ctx)
{
	struct contract *c = ctx;
	double offset;
	int r;

	for (size_t i = 0; i < N_FIELDS; i++) {
		if (strcmp(fields[i].type, c->type) || !json_read_is(j, fields[i].name))
			continue;
		r = read_offset(j, &offset);
		if (r == 0)
			take_field(c, i, offset);
		return r == -ENOENT ? 0 : r;
	}
	return json_read_skip(j);
}

static int read_type(struct json_read *j, void *ctx)
{
	struct contract *c = ctx;

	c->type[0] = '\0';
	if (j->text.len < sizeof(c->type))
		strcpy(c->type, (const char *)j->text.data);
	return json_read_each(j, '{', read_field, c);
}

/* Reads a global, such as [[20], "pointer"] or ["0xc", "uint8"]. */
static int read_global(struct json_read *j, void *ctx)
{
	bool is_root = json_read_is(j, "ExecutionManagerCodeRangeMapAddress");
	bool is_bits = json_read_is(j, "MethodDescTokenRemainderBitCount");
	struct contract *c = ctx;
	double v = 0;
	int r;

	if ((!is_root && !is_bits) || json_read_peek(j) != '[')
		return json_read_skip(j);
	r = json_read_open(j, '[');
	for (int i = 0; r == 0 && (r = json_read_item(j)) > 0; i++) {
		int kind = json_read_peek(j);

		r = i                        ? json_read_skip(j)
		    : is_root && kind == '[' ? read_offset(j, &v)
		    : kind == '"'            ? json_read_string(j)
					     : json_read_skip(j);
		if (r == -ENOENT)
			r = 0; /* the global has no offset, and is read to its end */
		if (!i && r == 0 && is_bits && kind == '"')
			c->differs |=
				strtoul((const char *)j->text.data, NULL, 0) != DOTNET_TOKEN_BITS;
	}
	if (is_root && v >= 1 && v < POINTERS_MAX)
		c->root = (uint32_t)v;
	return r;
}

static int read_contract_version(struct json_read *j, void *ctx)
{
	struct contract *c = ctx;
	double v = 0;
	int r;

	if (!json_read_is(j, "ExecutionManager") || json_read_peek(j) != 0)
		return json_read_skip(j);
	r = json_read_number(j, &v);
	c->differs |= !(v >= 1 && v <= EXECUTION_MANAGER_MAX);
	return r;
}

static int read_part(struct json_read *j, void *ctx)
{
	if (json_read_is(j, "types"))
		return json_read_each(j, '{', read_type, ctx);
	if (json_read_is(j, "globals"))
		return json_read_each(j, '{', read_global, ctx);
	if (json_read_is(j, "contracts"))
		return json_read_each(j, '{', read_contract_version, ctx);
	return json_read_skip(j);
}

int dotnet_contract_parse(const char *text, size_t len, struct dotnet_vm *vm, uint32_t *out_root,
			  bool *out_is_whole)
{
	struct contract c = { .vm = vm };
	struct json_read j;
	int r;

	json_read_init(&j, text, len);
	r = json_read_each(&j, '{', read_part, &c);
	json_read_fini(&j);
	if (r < 0 || c.differs)
		return r < 0 ? r : -ENOTSUP;
	*out_root = c.root;
	*out_is_whole = c.root && c.found == (UINT64_C(1) << N_FIELDS) - 1;
	return 0;
}

/* ---- the file --------------------------------------------------------------------- */

static int read_descriptor(const struct elf_image *img, struct descriptor *out)
{
	struct elf_rawsym sym;
	struct elf_span span;

	if (elf_gnuhash_lookup(img, "DotNetRuntimeContractDescriptor", &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, sizeof(*out), &span) < 0)
		return -ENOENT;
	memcpy(out, span.data, sizeof(*out));
	gomodule_relocate(img, sym.vaddr, (uint8_t *)out, sizeof(*out));
	return out->magic == descriptor_magic && out->json_bytes <= JSON_BYTES_MAX ? 0 : -EBADMSG;
}

int dotnet_contract_read(const struct elf_image *img, struct dotnet_vm *vm, bool *out_is_whole)
{
	struct descriptor d;
	struct elf_span text;
	uint32_t root = 0;
	int r = read_descriptor(img, &d);

	if (r == 0)
		r = elf_image_at_vaddr(img, d.json, d.json_bytes, &text);
	if (r == 0)
		r = dotnet_contract_parse((const char *)text.data, d.json_bytes, vm, &root,
					  out_is_whole);
	if (r < 0)
		return r;
	if (root && root < d.n_pointers)
		vm->ranges = d.pointers + 8ULL * root;
	else
		*out_is_whole = false;
	return 0;
}
