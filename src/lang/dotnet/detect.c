/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects CoreCLR, in libcoreclr.so or in a program that contains it (single-file), by the tables
 * that it exports for debuggers. Its structures differ little between versions; the offsets that do
 * differ are those that the file describes (contract.c), and for versions that do not describe all
 * of them those listed here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/dotnet/dotnet.h"
#include "lang/find.h"

enum { VERSION_TEXT = 32 };

/*
 * The offsets of a version that were measured; see struct dotnet_vm. Servicing releases do not
 * change them.
 */
struct layout {
	uint16_t major, module_ready, dynamic_name, module_base, module_assembly, image_layouts;
};

static const struct layout layouts[] = {
	{ 8, 0x618, 24, 0, 0x110, 0x70 },
	{ 9, 0x490, 32, 0x120, 0, 0 },
};

/*
 * Parses the build number "10.0.926.27113", which is version 10.0.9: the third part is 100 times
 * the patch, plus the year. .NET Core 3.1 states another one, 4.700.22.
 */
static int parse_version(const char *text, struct dotnet_vm *out)
{
	unsigned int major, minor, build;

	if (sscanf(text, "%u.%u.%u", &major, &minor, &build) != 3 || major > 99 || minor > 999 ||
	    build > 99999)
		return -EBADMSG;
	if (major == 4) {
		major = 3;
		minor = 1;
		build = 0;
	}
	out->major = (uint16_t)major;
	out->minor = (uint16_t)minor;
	out->patch = (uint16_t)(build / 100);
	return 0;
}

static int read_version(const struct elf_image *img, struct dotnet_vm *vm, struct lang_detected *d)
{
	char text[VERSION_TEXT];

	if (lang_find_text(img, "@(#)Version ", text, sizeof(text)) < 0 ||
	    parse_version(text, vm) < 0)
		return -ENOENT;
	snprintf(d->version, sizeof(d->version), vm->patch ? "%u.%u.%u" : "%u.%u", vm->major,
		 vm->minor, vm->patch);
	return 0;
}

/* Sets the offsets of @vm's version. Return: 0, or -ENOTSUP. */
static int set_measured(struct dotnet_vm *vm)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		const struct layout *l = &layouts[i];

		if (l->major != vm->major)
			continue;
		vm->module_ready = l->module_ready;
		vm->dynamic_name = l->dynamic_name;
		vm->module_base = l->module_base;
		vm->module_assembly = l->module_assembly;
		vm->image_layouts = l->image_layouts;
		return 0;
	}
	return -ENOTSUP;
}

static int set_layout(const struct elf_image *img, struct dotnet_vm *vm)
{
	bool is_whole = false;
	int measured = set_measured(vm), r = dotnet_contract_read(img, vm, &is_whole);

	if (r == -ENOTSUP)
		return r;
	return is_whole ? 0 : measured;
}

/* A place in the code, by which the mapping of the file is found. */
static int find_place(const struct elf_image *img, struct lang_detected *d)
{
	struct elf_rawsym place;
	uint64_t off;

	if (elf_gnuhash_lookup(img, "MetaDataGetDispenser", &place) < 0 ||
	    elf_image_offset_of(img, place.vaddr, &off) < 0)
		return -ENOENT;
	d->code.loop[0] = (struct vm_range){ off, off };
	d->loop_vaddr = place.vaddr;
	return 0;
}

static int dotnet_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
			 struct lang_detected *d)
{
	struct dotnet_vm own = { 0 };
	struct elf_rawsym table, entry;
	bool has_table = elf_gnuhash_lookup(img, "g_dacTable", &table) == 0;

	/* without the table: before .NET 6 */
	if (!has_table && elf_gnuhash_lookup(img, "coreclr_initialize", &entry) < 0)
		return -ENOENT;
	if (find_place(img, d) < 0)
		return -ENOENT;
	d->runtime = ".NET";
	if (read_version(img, &own, d) < 0 || !has_table)
		return -ENOTSUP;
	own.ranges = table.vaddr;
	if (set_layout(img, &own) < 0)
		return -ENOTSUP;
	d->code.generated = VM_GENERATED_RANGES;
	tables->dotnet[vm] = own;
	return 0;
}

const struct lang dotnet_lang = {
	.name_part = "libcoreclr",
	.detect = dotnet_detect,
	.expand = dotnet_expand,
	.read = dotnet_read,
	.line = dotnet_line,
	.column = dotnet_column,
	.address = dotnet_address,
};
