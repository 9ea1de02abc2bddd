/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what is in the PE image of an assembly (Microsoft's "PE Format", and ECMA-335 II.25). It is
 * mapped section by section if it has code, else often as the file is; which it is shows where the
 * metadata has its signature.
 */
#include <errno.h>
#include <string.h>

#include "lang/dotnet/dotnet.h"

enum {
	HEADERS_BYTES = 1024,
	PE_OFFSET_AT = 0x3c,
	COFF_SECTIONS = 6, /* offsets from "PE\0\0" */
	COFF_OPTIONAL_BYTES = 20,
	COFF_BYTES = 24,
	PE32_PLUS = 0x20b,
	PE32 = 0x10b,
	DIRECTORIES_PLUS = 112, /* offsets in the optional header */
	DIRECTORIES = 96,
	DIRECTORY_DEBUG = 6,
	DIRECTORY_CLI = 14,
	SECTION_BYTES = 40,
	CLI_BYTES = 72,
	CLI_METADATA = 8, /* offsets in the CLI header */
	CLI_READY = 64,
	METADATA_BYTES_MAX = 256 << 20,
};

struct headers {
	uint8_t bytes[HEADERS_BYTES];
};

static uint32_t get(const struct headers *h, size_t at, size_t width)
{
	uint32_t v = 0;

	if (at + width <= HEADERS_BYTES)
		memcpy(&v, h->bytes + at, width);
	return v;
}

int dotnet_read_bytes(const struct lang_process *p, uint64_t addr, void *out, size_t len)
{
	return p->read(p->ctx, addr, out, len) < 0 ? -EFAULT : 0;
}

int dotnet_image_address(const struct dotnet_image *img, uint32_t rva, uint32_t len, uint64_t *out)
{
	for (uint32_t i = 0; i < img->n_sections; i++) {
		const struct dotnet_section *s = &img->sections[i];

		if (rva < s->rva || rva - s->rva > s->size || len > s->size - (rva - s->rva))
			continue;
		*out = img->base + (img->is_flat ? s->file_off + (rva - s->rva) : rva);
		return 0;
	}
	return -ENOENT;
}

/* Reads the table of sections at @at. */
static int read_sections(const struct headers *h, size_t at, uint32_t n, struct dotnet_image *out)
{
	if (n > DOTNET_SECTIONS_MAX || at + (size_t)n * SECTION_BYTES > HEADERS_BYTES)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++, at += SECTION_BYTES) {
		uint32_t size = get(h, at + 8, 4), in_file = get(h, at + 16, 4);

		out->sections[i] = (struct dotnet_section){
			.rva = get(h, at + 12, 4),
			.size = size > in_file ? size : in_file,
			.file_off = get(h, at + 20, 4),
		};
	}
	out->n_sections = n;
	return 0;
}

/* Finds the RVA of the CLI header, and reads the sections. */
static int read_headers(const struct headers *h, struct dotnet_image *out, uint32_t *out_cli)
{
	uint32_t pe = get(h, PE_OFFSET_AT, 4), optional, magic, directories;

	if (get(h, 0, 2) != 0x5a4d || pe > HEADERS_BYTES / 2 || get(h, pe, 4) != 0x4550)
		return -EBADMSG;
	optional = pe + COFF_BYTES;
	magic = get(h, optional, 2);
	if (magic != PE32_PLUS && magic != PE32)
		return -EBADMSG;
	directories = optional + (magic == PE32_PLUS ? DIRECTORIES_PLUS : DIRECTORIES);
	*out_cli = get(h, directories + 8 * DIRECTORY_CLI, 4);
	out->debug = get(h, directories + 8 * DIRECTORY_DEBUG, 4);
	out->debug_bytes = get(h, directories + 8 * DIRECTORY_DEBUG + 4, 4);
	return read_sections(h, optional + get(h, pe + COFF_OPTIONAL_BYTES, 2),
			     get(h, pe + COFF_SECTIONS, 2), out);
}

/* Reads the CLI header, on the assumption that out->is_flat is right. */
static int read_cli(struct dotnet_image *out, uint32_t rva)
{
	uint32_t cli[CLI_BYTES / 4], signature;
	uint64_t at;
	int r = dotnet_image_address(out, rva, CLI_BYTES, &at);

	if (r == 0)
		r = dotnet_read_bytes(out->p, at, cli, sizeof(cli));
	if (r < 0)
		return r;
	if (cli[0] != CLI_BYTES || cli[CLI_METADATA / 4 + 1] > METADATA_BYTES_MAX)
		return -EBADMSG;
	out->metadata_bytes = cli[CLI_METADATA / 4 + 1];
	out->ready = cli[CLI_READY / 4];
	r = dotnet_image_address(out, cli[CLI_METADATA / 4], out->metadata_bytes, &out->metadata);
	if (r == 0)
		r = dotnet_read_bytes(out->p, out->metadata, &signature, sizeof(signature));
	return r < 0 ? r : signature == DOTNET_METADATA_SIGNATURE ? 0 : -EBADMSG;
}

int dotnet_image_open(const struct lang_process *p, uint64_t base, struct dotnet_image *out)
{
	struct headers h;
	uint32_t cli;
	int r;

	*out = (struct dotnet_image){ .p = p, .base = base };
	r = dotnet_read_bytes(p, base, h.bytes, sizeof(h.bytes));
	if (r == 0)
		r = read_headers(&h, out, &cli);
	if (r < 0)
		return r;
	if (read_cli(out, cli) == 0)
		return 0;
	out->is_flat = true;
	return read_cli(out, cli);
}
