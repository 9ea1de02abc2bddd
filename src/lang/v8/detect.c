/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects V8 in a file: it must define the numbers of V8's version, which node exports for its
 * add-ons. The object layout comes from V8's symbols for debuggers (layout.c), and the embedded
 * code is found by blob.c. Detection does not read any process.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/v8/v8.h"

#define VERSION "_ZN2v88internal7Version"
/*
 * Exported by all versions, and not part of the embedded code, which may be mapped a second
 * time.
 */
#define PLACE "_ZN2v87Isolate10GetCurrentEv"

enum { MAJOR_MIN = 7, NUMBER_MAX = 0xffff, COLLECTOR_NAME_MAX = 64 };

static int read_number(const struct elf_image *img, const char *name, uint16_t *out)
{
	struct elf_rawsym sym;
	struct elf_span span;
	uint32_t v;

	if (elf_gnuhash_lookup(img, name, &sym) < 0 ||
	    elf_image_at_vaddr(img, sym.vaddr, sizeof(v), &span) < 0)
		return -ENOENT;
	memcpy(&v, span.data, sizeof(v));
	if (v > NUMBER_MAX)
		return -ENOENT;
	*out = (uint16_t)v;
	return 0;
}

static int find_version(const struct elf_image *img, struct v8_vm *out)
{
	if (read_number(img, VERSION "6major_E", &out->major) < 0 ||
	    read_number(img, VERSION "6minor_E", &out->minor) < 0 ||
	    read_number(img, VERSION "6build_E", &out->build) < 0 ||
	    read_number(img, VERSION "6patch_E", &out->patch) < 0)
		return -ENOENT;
	return 0;
}

/* Returns whether everything that the walk requires was found. */
static bool is_complete(const struct v8_vm *vm)
{
	return vm->f.fp_context != V8_ABSENT && vm->f.fp_function != V8_ABSENT &&
	       vm->f.fp_bytecode_array != V8_ABSENT && vm->f.fp_bytecode_offset != V8_ABSENT &&
	       vm->f.function_shared > 0 && vm->f.shared_name > 0 && vm->f.bytecode_data > 0 &&
	       vm->blob_hi > vm->blob_lo;
}

/* ---- code of the garbage collector --------------------------------------------- */

/* Mangled names without the parameters, which differ between versions. */
static const char *const collectors[VM_RANGES_MAX] = {
	"_ZN2v88internal4Heap14CollectGarbageE",
	"_ZN2v88internal18IncrementalMarking4StepE",
};

static void set_collector(const struct elf_image *img, const struct elf_rawsym *sym,
			  struct vm_range *out)
{
	uint64_t off;

	/* The compiler may have split off a cold part, which is the smaller one. */
	if (sym->size > out->hi - out->lo && elf_image_offset_of(img, sym->vaddr, &off) == 0)
		*out = (struct vm_range){ off, off + sym->size };
}

static bool find_collector(const struct elf_image *img, enum elf_symtab_source source,
			   struct vm_code *code)
{
	struct elf_rawsyms syms;
	struct elf_rawsym sym;

	if (elf_rawsyms_open(img, source, &syms) < 0)
		return false;
	for (size_t i = 0; i < syms.n; i++) {
		const char *text;
		size_t len;

		elf_rawsyms_get(&syms, i, &sym);
		len = elf_rawsyms_name(&syms, sym.name_off, COLLECTOR_NAME_MAX, &text);
		for (size_t k = 0; k < VM_RANGES_MAX; k++)
			if (len > strlen(collectors[k]) && sym.shndx &&
			    !memcmp(text, collectors[k], strlen(collectors[k])))
				set_collector(img, &sym, &code->marked[k]);
	}
	return code->marked[0].hi;
}

int v8_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	      struct lang_detected *d)
{
	struct v8_vm v8 = { 0 };
	struct elf_rawsym place;
	uint64_t off;
	int r = find_version(img, &v8);

	if (r < 0)
		return r;
	d->runtime = "V8";
	snprintf(d->version, sizeof(d->version), "%u.%u", v8.major, v8.minor);
	if (v8.major < MAJOR_MIN || elf_gnuhash_lookup(img, PLACE, &place) < 0 ||
	    elf_image_offset_of(img, place.vaddr, &off) < 0)
		return -ENOTSUP;
	v8_layout(img, &v8);
	if (!v8.f.smi_shift) {
		d->problem = "compressed pointers";
		return -ENOTSUP;
	}
	v8_find_blob(img, &v8);
	v8_find_tables(img, &v8);
	d->problem = "its object layout was not recognized";
	if (!is_complete(&v8))
		return -ENOTSUP;
	d->code.loop[0] = (struct vm_range){ off, off };
	d->code.stepped[0] = (struct vm_range){ v8.blob_lo, v8.blob_hi };
	d->code.generated = VM_GENERATED_STEPPED;
	d->loop_vaddr = place.vaddr;
	if (!find_collector(img, ELF_DYNSYM, &d->code))
		(void)find_collector(img, ELF_SYMTAB, &d->code);
	tables->v8[vm] = v8;
	return 0;
}

const struct lang v8_lang = {
	.name_part = "node",
	.detect = v8_detect,
	.expand = v8_expand,
	.read = v8_read,
	.line = v8_line,
	.column = v8_column,
};
