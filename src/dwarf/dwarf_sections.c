/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A debug section may have one of three names: .debug_X, .debug_X.dwo or GNU's
 * .zdebug_X. Compressed sections use zlib or zstd. Their stated size is checked
 * against the caller's limit before memory is allocated, and the decompressed
 * data must have exactly that size.
 */
#include "dwarf/dwarf_sections.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/err.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static const char *const names[DWARF_SECTION_MAX] = {
	[DWARF_INFO] = "info",
	[DWARF_ABBREV] = "abbrev",
	[DWARF_STR] = "str",
	[DWARF_LINE] = "line",
	[DWARF_LINE_STR] = "line_str",
	[DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists",
	[DWARF_ADDR] = "addr",
	[DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_CU_INDEX] = "cu_index",
};

/* zlib counts in 32 bits, so that larger sections are passed in several parts. */
static int inflate_zlib(const struct elf_span *in, uint8_t *out, size_t out_len)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)in->data };
	size_t in_left = in->len, out_left = out_len;
	int r;

	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	z.next_out = out;
	do {
		uInt in_now = in_left > UINT32_MAX ? UINT32_MAX : (uInt)in_left;
		uInt out_now = out_left > UINT32_MAX ? UINT32_MAX : (uInt)out_left;

		z.avail_in = in_now;
		z.avail_out = out_now;
		r = inflate(&z, Z_NO_FLUSH);
		in_left -= in_now - z.avail_in;
		out_left -= out_now - z.avail_out;
	} while (r == Z_OK); /* Without any progress, the result is Z_BUF_ERROR. */
	inflateEnd(&z);
	return r == Z_STREAM_END && !out_left ? 0 : -EBADMSG;
}

/*
 * The output has the size that the header states; a stream that yields any other size is damaged.
 */
static int inflate_zstd(const struct elf_span *in, uint8_t *out, size_t out_len)
{
	return ZSTD_decompress(out, out_len, in->data, in->len) == out_len ? 0 : -EBADMSG;
}

/* Decompresses @in, whose header states @size, into section @id of @s. */
static int decompress(struct dwarf_sections *s, enum dwarf_section id, uint32_t type,
		      const struct elf_span *in, uint64_t size, size_t max_heap, struct err *err)
{
	uint8_t *out;
	int r;

	if (size > max_heap || s->heap_bytes > max_heap - size)
		return err_set(err, -E2BIG,
			       ".debug_%s has %llu bytes uncompressed, more than the limit",
			       names[id], (unsigned long long)size);
	out = malloc(size ? size : 1);
	if (!out)
		return -ENOMEM;
	if (type == ELFCOMPRESS_ZLIB)
		r = inflate_zlib(in, out, size);
	else if (type == ELFCOMPRESS_ZSTD)
		r = inflate_zstd(in, out, size);
	else
		r = -ENOTSUP;
	if (r < 0) {
		free(out);
		return err_set(err, r, "cannot decompress .debug_%s", names[id]);
	}
	s->heap[id] = out;
	s->heap_bytes += size;
	s->s[id] = (struct elf_span){ .data = out, .len = size };
	return 0;
}

/* With SHF_COMPRESSED, a header with type, size and alignment precedes the stream. */
static int load_compressed(struct dwarf_sections *s, enum dwarf_section id, uint32_t index,
			   size_t max_heap, struct err *err)
{
	struct elf_section hdr;
	struct elf_span raw;
	Elf64_Chdr ch;
	int r;

	r = elf_image_section_header(s->img, index, &hdr);
	if (r < 0)
		return r;
	r = elf_image_at_offset(s->img, hdr.file_off, hdr.size, &raw);
	if (r < 0)
		return r;
	if (raw.len < sizeof(ch))
		return err_set(err, -EBADMSG, ".debug_%s has an invalid compression header",
			       names[id]);
	memcpy(&ch, raw.data, sizeof(ch));
	raw.data += sizeof(ch);
	raw.len -= sizeof(ch);
	return decompress(s, id, ch.ch_type, &raw, ch.ch_size, max_heap, err);
}

/* A .zdebug_ section has "ZLIB" and the size in big endian before the stream. */
static int load_zdebug(struct dwarf_sections *s, enum dwarf_section id, const char *name,
		       size_t max_heap, struct err *err)
{
	struct elf_span raw;
	uint64_t size;
	int r;

	r = elf_image_section(s->img, name, &raw);
	if (r < 0)
		return r;
	if (raw.len < 12 || memcmp(raw.data, "ZLIB", 4))
		return err_set(err, -EBADMSG, "%s has an invalid compression header", name);
	memcpy(&size, raw.data + 4, sizeof(size));
	raw.data += 12;
	raw.len -= 12;
	return decompress(s, id, ELFCOMPRESS_ZLIB, &raw, be64toh(size), max_heap, err);
}

static int load_named(struct dwarf_sections *s, enum dwarf_section id, const char *name,
		      size_t max_heap, struct err *err)
{
	uint32_t index;
	int r;

	r = elf_image_section_index(s->img, name, &index);
	if (r < 0)
		return r;
	r = elf_image_section_at(s->img, index, &s->s[id]);
	return r == -ENOTSUP ? load_compressed(s, id, index, max_heap, err) : r;
}

/* Loads a section. A section that is absent, or only in another file, is not an error. */
static int load(struct dwarf_sections *s, enum dwarf_section id, size_t max_heap, struct err *err)
{
	static const char *const tails[] = { "", ".dwo" };
	char name[48];
	int r;

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		snprintf(name, sizeof(name), ".debug_%s%s", names[id], tails[i]);
		r = load_named(s, id, name, max_heap, err);
		if (r != -ENOENT && r != -ENODATA)
			return r;
	}
	snprintf(name, sizeof(name), ".zdebug_%s", names[id]);
	r = load_zdebug(s, id, name, max_heap, err);
	return r == -ENOENT || r == -ENODATA ? 0 : r;
}

/* Takes ownership of @img, also on failure. */
static int open_image(struct dwarf_sections **out, struct elf_image *img, size_t max_heap,
		      struct err *err)
{
	_cleanup_(dwarf_sections_freep) struct dwarf_sections *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		elf_image_free(img);
		return -ENOMEM;
	}
	s->img = img;
	for (int id = 0; id < DWARF_SECTION_MAX; id++) {
		r = load(s, (enum dwarf_section)id, max_heap, err);
		if (r < 0)
			return r;
		/* .debug_info is loaded first: a file without it has no DWARF at all. */
		if (id == DWARF_INFO && !s->s[id].len)
			return -ENODATA;
	}
	*out = steal_ptr(&s);
	return 0;
}

int dwarf_sections_open(struct dwarf_sections **out, int fd, size_t max_heap, struct err *err)
{
	struct elf_image *img;
	int r;

	r = elf_image_open(&img, fd, err);
	return r < 0 ? r : open_image(out, img, max_heap, err);
}

int dwarf_sections_from_memory(struct dwarf_sections **out, const void *data, size_t len,
			       size_t max_heap, struct err *err)
{
	struct elf_image *img;
	int r;

	r = elf_image_from_memory(&img, data, len, err);
	return r < 0 ? r : open_image(out, img, max_heap, err);
}

void dwarf_sections_free(struct dwarf_sections *s)
{
	if (!s)
		return;
	for (int id = 0; id < DWARF_SECTION_MAX; id++)
		free(s->heap[id]);
	elf_image_free(s->img);
	free(s);
}
