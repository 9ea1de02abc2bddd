/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects the BEAM with its JIT by what its program exports: Debian's builds of OTP 25 and 27 have
 * no symbol table, but export all functions and global variables. The list of modules is static;
 * its address is found in the code of the function that initializes it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/beam/beam.h"
#include "lang/find.h"

enum {
	TEXT_MAX = 16, /* bytes of a version */
	KEY_CODE_BYTES = 10,
	CODE_MAX = 512,     /* bytes of erts_init_ranges() that are read */
	TARGETS_MAX = 2048, /* addresses that they may refer to */
	N_STORES = 6,       /* members that it sets to 0 one by one: modules and mid */
};

static const char no_symbols[] = "it does not export its variables";
static const char no_jit[] = "it has no JIT";
static const char no_lists[] = "its list of modules or its threads were not found";

/* The offsets of a release; see struct beam_vm. */
struct layout {
	uint16_t release, functions, current, stop, heap;
};

static const struct layout layouts[] = {
	{ 25, 96, 168, 88, 128 },
	{ 27, 136, 168, 88, 192 },
};

static bool find_symbol(const struct elf_image *img, const char *name, struct elf_rawsym *out)
{
	return elf_gnuhash_lookup(img, name, out) == 0 ||
	       elf_symbol_lookup(img, ELF_SYMTAB | ELF_DYNSYM, name, out) == 0;
}

/* Reads a text that the runtime exports for debuggers; "" if there is none. */
static void read_text(const struct elf_image *img, const char *name, char out[TEXT_MAX])
{
	struct elf_rawsym sym;
	struct elf_span span;

	memset(out, 0, TEXT_MAX);
	if (find_symbol(img, name, &sym) && sym.size && sym.size < TEXT_MAX &&
	    elf_image_at_vaddr(img, sym.vaddr, sym.size, &span) == 0)
		memcpy(out, span.data, sym.size);
}

static int set_layout(struct beam_vm *vm, unsigned int release)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		const struct layout *l = &layouts[i];

		if (l->release != release)
			continue;
		vm->release = l->release;
		vm->functions = l->functions;
		vm->current = l->current;
		vm->stop = l->stop;
		vm->heap = l->heap;
		return 0;
	}
	return -ENOTSUP;
}

/* ---- the list of modules ------------------------------------------------------------ */

/* Addresses that the code of a function may refer to, relative to the next instruction. */
struct targets {
	uint64_t at[TARGETS_MAX];
	size_t n;
};

/*
 * Collects the address that any four bytes of the code would refer to as a displacement that ends
 * an instruction or precedes a constant of four bytes. Most of these are not displacements, but a
 * match of N_STORES members is not a coincidence.
 */
static void collect(const struct elf_span *code, uint64_t vaddr, struct targets *out)
{
	int32_t distance;

	out->n = 0;
	for (size_t i = 0; i + 8 <= code->len && out->n + 2 <= TARGETS_MAX; i++) {
		memcpy(&distance, code->data + i, sizeof(distance));
		out->at[out->n++] = vaddr + i + 4 + (uint64_t)(int64_t)distance;
		out->at[out->n++] = vaddr + i + 8 + (uint64_t)(int64_t)distance;
	}
}

static bool has(const struct targets *t, uint64_t at)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->at[i] == at)
			return true;
	return false;
}

/* True if the code sets the first and last member of all generations of a list at @at. */
static bool is_list(const struct targets *t, uint64_t at)
{
	for (uint64_t i = 0; i < N_STORES / 2; i++)
		if (!has(t, at + i * BEAM_RANGES_BYTES) ||
		    !has(t, at + i * BEAM_RANGES_BYTES + BEAM_RANGES_BYTES - 8))
			return false;
	return true;
}

static int find_ranges(const struct elf_image *img, __u64 *out)
{
	struct elf_rawsym init;
	struct targets targets;
	struct elf_span code;

	if (!find_symbol(img, "erts_init_ranges", &init) || init.size > CODE_MAX ||
	    elf_image_at_vaddr(img, init.vaddr, init.size, &code) < 0)
		return -ENOENT;
	collect(&code, init.vaddr, &targets);
	for (size_t i = 0; i < targets.n; i++) {
		if (targets.at[i] & 7 || !is_list(&targets, targets.at[i]))
			continue;
		*out = targets.at[i];
		return 0;
	}
	return -ENOENT;
}

/* ---- code --------------------------------------------------------------------------- */

static int set_range(const struct elf_image *img, const struct elf_rawsym *sym,
		     struct vm_range *out)
{
	uint64_t off;

	if (elf_image_offset_of(img, sym->vaddr, &off) < 0)
		return -ENOENT;
	*out = (struct vm_range){ off, off + sym->size };
	return 0;
}

/* Records the loop of threads for dirty NIFs, and @place, by which the mapping is found. */
static int set_code(const struct elf_image *img, const struct elf_rawsym *place,
		    struct lang_detected *d)
{
	struct elf_rawsym dirty;

	if (!find_symbol(img, "erts_dirty_process_main", &dirty) ||
	    set_range(img, place, &d->code.loop[0]) < 0 ||
	    set_range(img, &dirty, &d->code.stepped[0]) < 0)
		return -ENOENT;
	d->loop_vaddr = place->vaddr;
	d->code.generated = VM_GENERATED_RANGES;
	return 0;
}

/* Finds the key of threads in erts_get_scheduler_data(): [endbr64] mov key(%rip),%edi. */
static int find_key(const struct elf_image *img, __u64 *out)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct elf_rawsym get;
	struct elf_span code;
	int32_t distance;
	size_t at = 0;

	if (!find_symbol(img, "erts_get_scheduler_data", &get) ||
	    elf_image_at_vaddr(img, get.vaddr, KEY_CODE_BYTES, &code) < 0)
		return -ENOENT;
	if (!memcmp(code.data, endbr, sizeof(endbr)))
		at = sizeof(endbr);
	if (code.data[at] != 0x8b || code.data[at + 1] != 0x3d)
		return -ENOENT;
	memcpy(&distance, code.data + at + 2, sizeof(distance));
	*out = get.vaddr + at + 6 + (uint64_t)(int64_t)distance;
	return 0;
}

static int find_variables(const struct elf_image *img, struct beam_vm *vm)
{
	struct elf_rawsym active, exit, atoms;

	if (!find_symbol(img, "the_active_code_index", &active) ||
	    !find_symbol(img, "beam_normal_exit", &exit) ||
	    !find_symbol(img, "erts_atom_table", &atoms))
		return -ENOENT;
	vm->active = active.vaddr;
	vm->normal_exit = exit.vaddr;
	vm->atoms = atoms.vaddr;
	return 0;
}

static int not_supported(struct lang_detected *d, const char *problem)
{
	d->problem = problem;
	return -ENOTSUP;
}

/* Fills @vm for a runtime of release @release. */
static int describe(const struct elf_image *img, unsigned int release, struct beam_vm *vm,
		    struct lang_detected *d)
{
	struct elf_rawsym jit;

	if (set_layout(vm, release) < 0)
		return -ENOTSUP;
	if (find_variables(img, vm) < 0)
		return not_supported(d,
				     find_symbol(img, "etp_beamasm", &jit) ? no_symbols : no_jit);
	if (find_ranges(img, &vm->ranges) < 0 || find_key(img, &vm->thread_key) < 0)
		return not_supported(d, no_lists);
	return 0;
}

static int beam_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		       struct lang_detected *d)
{
	struct elf_rawsym nif, driver;
	struct beam_vm own = { 0 };
	unsigned int release;
	char text[TEXT_MAX];
	int r;

	if (elf_gnuhash_lookup(img, "enif_get_int", &nif) < 0 ||
	    elf_gnuhash_lookup(img, "driver_output", &driver) < 0)
		return -ENOENT;
	d->runtime = "Erlang/OTP";
	read_text(img, "etp_otp_release", text);
	if (sscanf(text, "%3u", &release) != 1)
		return not_supported(d, no_symbols);
	snprintf(d->version, sizeof(d->version), "%u", release);
	r = describe(img, release, &own, d);
	if (r == 0 && set_code(img, &nif, d) < 0)
		r = not_supported(d, no_symbols);
	if (r < 0)
		return r;
	tables->beam[vm] = own;
	return 0;
}

const struct lang beam_lang = {
	.name_part = "beam",
	.detect = beam_detect,
	.expand = beam_expand,
	.read = beam_read,
	.line = beam_line,
};
