/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds V8's embedded builtins in its file: machine code, and the metadata that describes it.
 * Getter functions such as DefaultEmbeddedBlobCode() return their addresses and sizes, so the
 * few instructions of these getters are decoded. If the file has no symbols for them, the code
 * is found as the longest range of an executable segment without unwind information, because
 * the linker gets the builtins as plain data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/eh_frame.h"
#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/v8/v8.h"

#define PREFIX "_ZN2v88internal"

enum {
	GETTER_BYTES = 24,
	GAP_MIN = 512 << 10,
	BLOB_MAX = 16 << 20,
	BLOB_ALIGN = 64,
};

static int find_symbol(const struct elf_image *img, const char *name, struct elf_rawsym *out)
{
	return elf_gnuhash_lookup(img, name, out) == 0
		       ? 0
		       : elf_symbol_lookup(img, ELF_SYMTAB, name, out);
}

static int load(const struct elf_image *img, uint64_t vaddr, size_t len, uint64_t *out)
{
	struct elf_span span;

	*out = 0;
	if (elf_image_at_vaddr(img, vaddr, len, &span) < 0)
		return -ENOENT;
	memcpy(out, span.data, len);
	return 0;
}

static bool is_return(const uint8_t *c)
{
	static const uint8_t epilogue[] = { 0x48, 0x89, 0xe5, 0x5d, 0xc3 };

	return c[0] == 0xc3 || (c[0] == 0x5d && c[1] == 0xc3) ||
	       !memcmp(c, epilogue, sizeof(epilogue));
}

/*
 * Decodes a getter's code at @c, linked at @vaddr: mov $imm, %eax, or lea or mov with a
 * %rip-relative address and perhaps mov (%rax), %eax, followed by ret.
 */
static int loaded_value(const struct elf_image *img, const uint8_t *c, uint64_t vaddr,
			uint64_t *out)
{
	bool wide = c[0] == 0x48;
	size_t i = wide ? 1 : 0;
	int32_t disp;
	int r = 0;

	if (c[0] == 0xb8) {
		memcpy(&disp, c + 1, sizeof(disp));
		*out = (uint32_t)disp;
		return is_return(c + 5) ? 0 : -ENOENT;
	}
	if (c[i + 1] != 0x05 || (c[i] != 0x8d && c[i] != 0x8b))
		return -ENOENT;
	memcpy(&disp, c + i + 2, sizeof(disp));
	*out = vaddr + i + 6 + (uint64_t)(int64_t)disp;
	if (c[i] == 0x8b)
		r = load(img, *out, wide ? 8 : 4, out);
	i += 6;
	if (r == 0 && c[i] == 0x8b && c[i + 1] == 0x00) {
		r = load(img, *out, 4, out);
		i += 2;
	}
	return r == 0 && is_return(c + i) ? 0 : -ENOENT;
}

/* Computes the value that the getter at @vaddr returns. -ENOENT for any other kind of function. */
static int getter_value(const struct elf_image *img, uint64_t vaddr, uint64_t *out)
{
	static const uint8_t prologue[] = { 0x55, 0x48, 0x89, 0xe5 };
	struct elf_span span;
	size_t i;

	if (elf_image_at_vaddr(img, vaddr, GETTER_BYTES, &span) < 0)
		return -ENOENT;
	i = !memcmp(span.data, prologue, sizeof(prologue)) ? sizeof(prologue)
	    : span.data[0] == prologue[0]                  ? 1
							   : 0;
	return loaded_value(img, span.data + i, vaddr + i, out);
}

static uint64_t call_getter(const struct elf_image *img, const char *name)
{
	struct elf_rawsym sym;
	uint64_t v = 0;

	return find_symbol(img, name, &sym) == 0 && getter_value(img, sym.vaddr, &v) == 0 ? v : 0;
}

/* ---- search by unwind information --------------------------------------------- */

static int compare_start(const void *a, const void *b)
{
	const struct eh_frame_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Uses [@lo, @hi), which no function covers, if it is longer than the range found before. */
static void use_longer_gap(uint64_t lo, uint64_t hi, struct v8_vm *out)
{
	lo = (lo + BLOB_ALIGN - 1) & ~(uint64_t)(BLOB_ALIGN - 1);
	if (hi <= lo || hi - lo <= out->blob_code_bytes || hi - lo > BLOB_MAX)
		return;
	out->blob_code = lo;
	out->blob_code_bytes = (uint32_t)(hi - lo);
}

/* Finds the longest range of @seg that follows a function and has no entry in @ef. */
static void longest_gap(const struct eh_frame *ef, const struct elf_segment *seg, struct v8_vm *out)
{
	uint64_t at = 0;

	for (size_t i = 0; i < ef->fdes.len; i++) {
		uint64_t next = ef->fdes.data[i].start;

		if (next < seg->vaddr || next - seg->vaddr >= seg->filesz)
			continue;
		if (at)
			use_longer_gap(at, next, out);
		if (next + ef->fdes.data[i].len > at)
			at = next + ef->fdes.data[i].len;
	}
	if (at)
		use_longer_gap(at, seg->vaddr + seg->filesz, out);
}

static void find_gap(const struct elf_image *img, struct v8_vm *out)
{
	const struct elf_segment *seg;
	struct eh_frame_source src;
	struct eh_frame ef = { 0 };
	size_t n = elf_image_segments(img, &seg);

	if (eh_frame_find(img, &src) == 0 && eh_frame_read(&ef, &src, NULL) == 0 && ef.fdes.len) {
		qsort(ef.fdes.data, ef.fdes.len, sizeof(*ef.fdes.data), compare_start);
		for (size_t i = 0; i < n; i++)
			if (seg[i].exec)
				longest_gap(&ef, &seg[i], out);
	}
	eh_frame_fini(&ef);
	if (out->blob_code_bytes < GAP_MIN)
		out->blob_code = out->blob_code_bytes = 0;
}

static void find_code(const struct elf_image *img, struct v8_vm *out)
{
	uint64_t bytes;

	out->blob_code = call_getter(img, PREFIX "23DefaultEmbeddedBlobCodeEv");
	bytes = call_getter(img, PREFIX "27DefaultEmbeddedBlobCodeSizeEv");
	if (!out->blob_code) {
		/* up to 8.4: one blob, with the metadata before the code */
		out->blob_code = call_getter(img, PREFIX "19DefaultEmbeddedBlobEv");
		bytes = call_getter(img, PREFIX "23DefaultEmbeddedBlobSizeEv");
	}
	out->blob_code_bytes = bytes <= BLOB_MAX ? (uint32_t)bytes : 0;
}

void v8_find_blob(const struct elf_image *img, struct v8_vm *out)
{
	uint64_t lo, hi, bytes;

	find_code(img, out);
	out->blob_data = call_getter(img, PREFIX "23DefaultEmbeddedBlobDataEv");
	bytes = call_getter(img, PREFIX "27DefaultEmbeddedBlobDataSizeEv");
	if (!out->blob_data) {
		/* 8.5 to 8.8 */
		out->blob_data = call_getter(img, PREFIX "27DefaultEmbeddedBlobMetadataEv");
		bytes = call_getter(img, PREFIX "31DefaultEmbeddedBlobMetadataSizeEv");
	}
	out->blob_data_bytes = bytes <= BLOB_MAX ? (uint32_t)bytes : 0;
	if (!out->blob_code || !out->blob_code_bytes ||
	    elf_image_offset_of(img, out->blob_code, &lo) < 0)
		find_gap(img, out);
	if (!out->blob_code_bytes || elf_image_offset_of(img, out->blob_code, &lo) < 0 ||
	    elf_image_offset_of(img, out->blob_code + out->blob_code_bytes - 1, &hi) < 0 || hi < lo)
		return;
	out->blob_lo = lo;
	out->blob_hi = hi + 1;
}
