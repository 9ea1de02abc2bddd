/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names a method: from its MethodDesc by way of its MethodTable and Module to the metadata of its
 * assembly, or from precompiled code by the tables of its image. The cookie of the walk is compared
 * first, so memory that was reused has no name rather than a wrong one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lang/dotnet/dotnet.h"
#include "lang/find.h"
#include "lang/memo.h"

enum {
	TOKEN_RANGE_MASK = 0xfff,
	ASSEMBLY_IMAGE = 8, /* offset in a PEAssembly of its PEImage */
	LAYOUT_BASE = 8,    /* offset in a PEImageLayout */
	LAYOUTS = 2,        /* of a PEImage: as the file is, and loaded */
	DYNAMIC_NAME_MAX = 256,
	MEMO_IMAGE = 0x646e6569, /* lang_memo_key.what */
	PACKED_MAJOR = 10,       /* .NET has written debug info in another form since */
	IL_MAX = 1 << 30,
	NO_METHOD = 1, /* the address of a method whose code is gone */
};

/*
 * Addresses that dotnet_expand() passes to dotnet_read(): those of MethodDescs, of functions of
 * images with this bit, or 0 for stubs. Addresses of programs have 47 bits.
 */
#define IS_IMAGE (UINT64_C(1) << 47)

static const char dynamic_class[] = "dynamicClass.";

/* ---- assemblies ------------------------------------------------------------------- */

/* An assembly that is in memory. */
struct assembly {
	struct dotnet_image image;
	struct dotnet_metadata metadata;
};

/* Opens the assembly whose image is mapped at @base. */
static int open_assembly(const struct lang_process *p, uint64_t base, struct assembly *out)
{
	const struct lang_memo_key key = {
		.start_ns = p->start_ns,
		.addr = base,
		.size = sizeof(*out),
		.pid = p->pid,
		.what = MEMO_IMAGE,
	};
	struct assembly *copy;
	size_t len;
	const void *known = lang_memo_get(p->memo, &key, &len);
	int r;

	if (known) {
		memcpy(out, known, sizeof(*out));
		out->image.p = p;
		return 0;
	}
	r = dotnet_image_open(p, base, &out->image);
	if (r == 0)
		r = dotnet_metadata_open(&out->image, &out->metadata);
	if (r < 0)
		return r;
	copy = malloc(sizeof(*copy));
	if (copy) {
		*copy = *out;
		lang_memo_put(p->memo, &key, copy, sizeof(*copy));
	}
	return 0;
}

/* Before .NET 9, the image of a module is found by way of its PEAssembly. */
static int open_by_assembly(const struct dotnet_vm *vm, const struct lang_process *p,
			    uint64_t module, struct assembly *out)
{
	uint64_t image, layout, base;
	int r = lang_read_u64(p, module + vm->module_assembly, &image);

	if (r == 0)
		r = lang_read_u64(p, image + ASSEMBLY_IMAGE, &image);
	if (r < 0)
		return r;
	r = -ENOENT;
	for (uint64_t i = 0; i < LAYOUTS && r < 0; i++)
		if (lang_read_u64(p, image + vm->image_layouts + 8 * i, &layout) == 0 && layout &&
		    lang_read_u64(p, layout + LAYOUT_BASE, &base) == 0)
			r = open_assembly(p, base, out);
	return r;
}

static int open_module(const struct dotnet_vm *vm, const struct lang_process *p, uint64_t module,
		       struct assembly *out)
{
	uint64_t base;
	int r;

	if (!vm->module_base)
		return open_by_assembly(vm, p, module, out);
	r = lang_read_u64(p, module + vm->module_base, &base);
	return r < 0 ? r : open_assembly(p, base, out);
}

/* ---- methods ---------------------------------------------------------------------- */

/* A MethodDesc. */
struct method {
	uint64_t desc, table, name; /* its first word; its MethodTable; the name, or 0 */
	uint32_t rid;
};

static int read_method(const struct dotnet_vm *vm, const struct lang_process *p, uint64_t addr,
		       struct method *out)
{
	uint64_t chunk;
	uint16_t range;
	int r = lang_read_u64(p, addr, &out->desc);

	if (r < 0)
		return r;
	chunk = addr - DOTNET_DESC_CHUNK(out->desc) * 8 - DOTNET_CHUNK_BYTES;
	r = lang_read_u64(p, chunk, &out->table);
	if (r == 0)
		r = dotnet_read_bytes(p, chunk + DOTNET_CHUNK_TOKEN_RANGE, &range, sizeof(range));
	if (r == 0 && DOTNET_DESC_KIND(out->desc) == DOTNET_KIND_DYNAMIC)
		r = lang_read_u64(p, addr + vm->dynamic_name, &out->name);
	if (r == 0)
		out->rid = (uint32_t)(range & TOKEN_RANGE_MASK) << DOTNET_TOKEN_BITS |
			   DOTNET_DESC_REMAINDER(out->desc);
	return r;
}

/* Appends the name of a method that was made at run time, which is a string in memory. */
static int put_dynamic(const struct lang_process *p, uint64_t name, struct buf *out)
{
	char text[DYNAMIC_NAME_MAX] = "";
	int r = dotnet_read_bytes(p, name, text, sizeof(text) - 1);

	if (r < 0) /* near the end of its memory */
		r = dotnet_read_bytes(p, name, text, sizeof(text) / 8);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	buf_put_str(out, dynamic_class);
	buf_put_str(out, text);
	return r;
}

/* Appends the name of method @rid, and reads its lines into @f. Without lines it has its name. */
static int put_row(const struct assembly *a, uint32_t rid, struct buf *out, struct lang_function *f)
{
	int r = dotnet_metadata_name(a->image.p, &a->metadata, rid, out);

	if (r == 0)
		(void)dotnet_lines(&a->image, rid, f);
	return r;
}

static int put_method(const struct dotnet_vm *vm, const struct lang_process *p, uint64_t addr,
		      uint32_t cookie, struct buf *out, struct lang_function *f)
{
	struct method m = { 0 };
	struct assembly assembly;
	uint64_t module;
	int r = read_method(vm, p, addr, &m);

	if (r == 0)
		r = lang_check_cookie(cookie, dotnet_method_key(m.desc, m.table, m.name));
	if (r < 0)
		return r;
	if (m.name)
		return put_dynamic(p, m.name, out);
	r = lang_read_u64(p, m.table + DOTNET_TABLE_MODULE, &module);
	if (r == 0)
		r = open_module(vm, p, module, &assembly);
	return r < 0 ? r : put_row(&assembly, m.rid, out, f);
}

static int put_precompiled(const struct dotnet_vm *vm, uint64_t bias, const struct lang_process *p,
			   uint64_t addr, uint32_t cookie, struct buf *out, struct lang_function *f)
{
	struct assembly assembly;
	uint64_t base;
	uint32_t rid = 0;
	int r = lang_check_cookie(cookie, addr);

	if (r == 0)
		r = dotnet_range_of(p, bias + vm->ranges, addr, &base);
	if (r == 0)
		r = open_assembly(p, base, &assembly);
	if (r == 0)
		r = dotnet_ready_method(&assembly.image, (uint32_t)(addr - base), &rid);
	return r < 0 ? r : put_row(&assembly, rid, out, f);
}

/* ---- calls ------------------------------------------------------------------------ */

/* A place of which the IL is unknown is none. */
static uint32_t place_of(const struct dotnet_il *il)
{
	return il->is_known && il->offset < IL_MAX ? il->offset + 1 : 0;
}

/* Reads from the header of the code at @code which method it is, and the IL at @offset. */
static int read_code(const struct dotnet_vm *vm, const struct lang_process *p, uint64_t code,
		     uint32_t offset, struct lang_call *out)
{
	const struct dotnet_debug_form form = {
		.is_packed = vm->major >= PACKED_MAJOR,
		.patchpoint_words = vm->major >= PACKED_MAJOR ? DOTNET_PATCHPOINT_WORDS_10
							      : DOTNET_PATCHPOINT_WORDS_8,
	};
	uint64_t header, debug;
	struct dotnet_il il = { 0 };
	int r = lang_read_u64(p, code - 8, &header);

	if (r == 0)
		r = lang_read_u64(p, header + DOTNET_HEADER_METHOD, &out->addr);
	if (r == 0 && lang_read_u64(p, header + DOTNET_HEADER_DEBUG, &debug) == 0 && debug)
		(void)dotnet_debug_info_find(p, debug, &form, offset, &il);
	out->place = place_of(&il);
	return r;
}

/* Finds the IL @offset bytes after the beginning of the function @addr of an image. */
static uint32_t place_in_image(const struct dotnet_vm *vm, uint64_t bias,
			       const struct lang_process *p, uint64_t addr, uint32_t offset)
{
	struct assembly assembly;
	struct dotnet_il il = { 0 };
	uint64_t base;
	int r = dotnet_range_of(p, bias + vm->ranges, addr, &base);

	if (r == 0)
		r = open_assembly(p, base, &assembly);
	if (r == 0)
		(void)dotnet_ready_il(&assembly.image, (uint32_t)(addr - base), offset, &il);
	return place_of(&il);
}

int dotnet_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		  const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX])
{
	const struct dotnet_vm *own = &tables->dotnet[vm];
	uint64_t addr = VM_FRAME_ADDR(words[0]) & ~IS_IMAGE;
	uint32_t offset = VM_PLACE_OF(words[1]);

	out[0] = (struct lang_call){ .cookie = (uint32_t)words[1] };
	if (VM_FRAME_SLOT(words[0]) == DOTNET_IMAGE) {
		out[0].addr = addr | IS_IMAGE;
		out[0].place =
			place_in_image(own, p->bias ? p->bias(p->ctx, vm) : 0, p, addr, offset);
	} else if (addr && read_code(own, p, addr, offset, &out[0]) < 0) {
		out[0].addr = NO_METHOD; /* its memory is gone */
	}
	return 1;
}

uint32_t dotnet_line(const struct lang_function *f, uint32_t place)
{
	const struct dotnet_line *l = place ? dotnet_line_at(f, place - 1) : NULL;

	return l ? l->line : 0;
}

uint32_t dotnet_column(const struct lang_function *f, uint32_t place)
{
	const struct dotnet_line *l = place ? dotnet_line_at(f, place - 1) : NULL;

	return l ? l->column : 0;
}

/* Without lines the address is the IL offset. */
uint64_t dotnet_address(const struct lang_function *f, uint32_t place)
{
	return place && !f->n_lines ? place - 1 : 0;
}

int dotnet_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const struct dotnet_vm *own = &tables->dotnet[vm];
	uint64_t bias = p->bias ? p->bias(p->ctx, vm) : 0;
	struct buf b = { 0 };
	int r = 0;

	if (!addr)
		buf_put_str(&b, "[.NET stub]");
	else if (addr & IS_IMAGE)
		r = put_precompiled(own, bias, p, addr & ~IS_IMAGE, cookie, &b, out);
	else if (addr == NO_METHOD)
		r = -ESTALE;
	else
		r = put_method(own, p, addr, cookie, &b, out);
	buf_put_byte(&b, '\0');
	if (r == 0 && buf_error(&b))
		r = -ENOMEM;
	if (!out->file)
		out->file = strdup("");
	if (r == 0)
		out->name = (char *)b.data;
	else
		buf_fini(&b);
	return r;
}
