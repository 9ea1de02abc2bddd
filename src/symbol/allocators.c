/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/allocators.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/sigbus.h"
#include "bpf/shared/allocs.h"
#include "elf/image.h"
#include "elf/plt.h"
#include "elf/probe_insn.h"
#include "elf/rawsym.h"

enum {
	NAME_MAX_BYTES = 48,
	CODE_BYTES = 64,          /* of a function that are examined */
	FUNCTION_BYTES = 1 << 16, /* larger than any of these functions */
};

struct known {
	const char *name;
	uint32_t kind;
};

/* The functions, whose names may have one of the prefixes below. */
static const struct known functions[] = {
	{ "malloc", ALLOC_SIZE_0 },
	{ "calloc", ALLOC_PRODUCT },
	{ "realloc", ALLOC_RESIZE },
	{ "free", ALLOC_FREE },
	{ "cfree", ALLOC_FREE },
	{ "posix_memalign", ALLOC_TO_PLACE },
	{ "aligned_alloc", ALLOC_SIZE_1 },
	{ "memalign", ALLOC_SIZE_1 },
	{ "valloc", ALLOC_SIZE_0 },
	{ "pvalloc", ALLOC_SIZE_0 },
	/* jemalloc */
	{ "mallocx", ALLOC_SIZE_0 },
	{ "rallocx", ALLOC_RESIZE },
	{ "dallocx", ALLOC_FREE },
	{ "sdallocx", ALLOC_FREE },
	/* mimalloc */
	{ "zalloc", ALLOC_SIZE_0 },
	{ "malloc_small", ALLOC_SIZE_0 },
	{ "malloc_aligned", ALLOC_SIZE_0 },
	{ "zalloc_aligned", ALLOC_SIZE_0 },
	{ "realloc_aligned", ALLOC_RESIZE },
	{ "free_size", ALLOC_FREE },
	{ "free_size_aligned", ALLOC_FREE },
	{ "free_aligned", ALLOC_FREE },
};

static const char *const prefixes[] = { "je_", "_rjem_je_", "_rjem_", "mi_", "tc_" };

/* operator new and delete; they count only where an allocator of this kind is in the file. */
static const struct known operators[] = {
	{ "_Znwm", ALLOC_SIZE_0 },
	{ "_Znam", ALLOC_SIZE_0 },
	{ "_ZnwmSt11align_val_t", ALLOC_SIZE_0 },
	{ "_ZnamSt11align_val_t", ALLOC_SIZE_0 },
	{ "_ZnwmRKSt9nothrow_t", ALLOC_SIZE_0 },
	{ "_ZnamRKSt9nothrow_t", ALLOC_SIZE_0 },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ALLOC_SIZE_0 },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", ALLOC_SIZE_0 },
	{ "_ZdlPv", ALLOC_FREE },
	{ "_ZdaPv", ALLOC_FREE },
	{ "_ZdlPvm", ALLOC_FREE },
	{ "_ZdaPvm", ALLOC_FREE },
	{ "_ZdlPvRKSt9nothrow_t", ALLOC_FREE },
	{ "_ZdaPvRKSt9nothrow_t", ALLOC_FREE },
	{ "_ZdlPvSt11align_val_t", ALLOC_FREE },
	{ "_ZdaPvSt11align_val_t", ALLOC_FREE },
	{ "_ZdlPvmSt11align_val_t", ALLOC_FREE },
	{ "_ZdaPvmSt11align_val_t", ALLOC_FREE },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", ALLOC_FREE },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", ALLOC_FREE },
};

static bool is_name(const char *name, size_t len, const char *known)
{
	return strlen(known) == len && !memcmp(name, known, len);
}

static uint32_t find_known(const struct known *table, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (is_name(name, len, table[i].name))
			return table[i].kind;
	return ALLOC_NONE;
}

#define FIND(table, name, len) find_known(table, sizeof(table) / sizeof(*(table)), name, len)

static uint32_t function_kind(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (len > n && !memcmp(name, prefixes[i], n))
			return FIND(functions, name + n, len - n);
	}
	return FIND(functions, name, len);
}

struct search {
	const struct elf_image *img;
	struct allocator_function *out;
	size_t n;
	bool replaces_new; /* the file has an allocator that defines operator new itself */
	bool operators;    /* these are searched for now */
	uint64_t stubs[ALLOCATOR_FUNCTIONS_MAX]; /* of such functions in the PLT, as offsets */
	size_t n_stubs;
};

/* Returns true for a name that only a replacement allocator defines, not the C library. */
static bool is_of_replacement(const char *name, size_t len)
{
	return is_name(name, len, "mallocx") || is_name(name, len, "_rjem_mallocx") ||
	       is_name(name, len, "tc_malloc") || is_name(name, len, "mi_malloc");
}

/* Chooses the place of the probe in the function at @vaddr. */
static int choose_place(const struct elf_image *img, uint64_t vaddr, struct allocator_function *f)
{
	struct elf_span code;
	uint64_t size = f->hi - f->lo;
	uint32_t off = 0;
	int r = elf_image_at_vaddr(img, vaddr, size < CODE_BYTES ? size : CODE_BYTES, &code);

	if (r < 0)
		return r;
	f->place = f->lo;
	if (!probe_insn_knows(elf_image_machine(img)))
		return 0;
	if (probe_insn_find(code.data, code.len, &off))
		f->place = f->lo + off;
	else
		f->flags |= ALLOCATOR_STEPPED;
	return 0;
}

static void add(struct search *s, const struct elf_rawsym *sym, uint32_t kind, bool throws)
{
	struct allocator_function f = { .kind = kind };
	uint64_t size = sym->size && sym->size < FUNCTION_BYTES ? sym->size : 1;

	if (elf_image_offset_of(s->img, sym->vaddr, &f.lo) < 0)
		return;
	f.hi = f.lo + size;
	if (throws)
		f.flags = ALLOCATOR_THROWS;
	for (size_t i = 0; i < s->n; i++)
		if (s->out[i].lo == f.lo)
			return;
	if (s->n < ALLOCATOR_FUNCTIONS_MAX && choose_place(s->img, sym->vaddr, &f) == 0)
		s->out[s->n++] = f;
}

static void examine(struct search *s, const struct elf_rawsyms *syms, size_t i)
{
	struct elf_rawsym sym;
	const char *name;
	uint32_t kind;
	size_t len;

	elf_rawsyms_get(syms, i, &sym);
	if (sym.shndx == SHN_UNDEF || sym.type != STT_FUNC)
		return;
	len = elf_rawsyms_name(syms, sym.name_off, NAME_MAX_BYTES, &name);
	len = elf_name_unversioned(name, len);
	s->replaces_new |= is_of_replacement(name, len);
	kind = s->operators ? FIND(operators, name, len) : function_kind(name, len);
	if (kind != ALLOC_NONE)
		add(s, &sym, kind,
		    s->operators && kind != ALLOC_FREE && !memmem(name, len, "nothrow", 7));
}

static void scan(struct search *s)
{
	static const enum elf_symtab_source sources[] = { ELF_SYMTAB, ELF_DYNSYM };

	for (size_t k = 0; k < sizeof(sources) / sizeof(*sources); k++) {
		struct elf_rawsyms syms;

		if (elf_rawsyms_open(s->img, sources[k], &syms) < 0)
			continue;
		for (size_t i = 0; i < syms.n && i < ELF_SYMBOLS_MAX; i++)
			examine(s, &syms, i);
	}
}

struct stubs {
	struct search *s;
	const struct elf_rawsyms *dynsym;
};

/* Keeps the offset of a PLT stub of an allocator's function. Ends the walk when there is no room.
 */
static int keep_stub(void *ctx, const struct elf_plt_entry *e)
{
	struct stubs *stubs = ctx;
	struct search *s = stubs->s;
	const char *name;
	size_t len = elf_rawsyms_name(stubs->dynsym, e->name_off, NAME_MAX_BYTES, &name);

	if (function_kind(name, elf_name_unversioned(name, len)) != ALLOC_NONE &&
	    elf_image_offset_of(s->img, e->vaddr, &s->stubs[s->n_stubs]) == 0)
		s->n_stubs++;
	return s->n_stubs == ALLOCATOR_FUNCTIONS_MAX;
}

/* Functions of the same file that may be replaced are called through the PLT. */
static void find_stubs(struct search *s)
{
	struct elf_rawsyms dynsym;
	struct stubs stubs = { s, &dynsym };

	if (elf_rawsyms_open(s->img, ELF_DYNSYM, &dynsym) == 0)
		(void)elf_plt_walk(s->img, &dynsym, ELF_DYNSYM, keep_stub, &stubs);
}

struct alias {
	const struct search *s;
	const struct allocator_function *f;
};

/* Returns true if a jump leads to another function of the allocator, or to its PLT stub. */
static bool leads_to_another(void *ctx, int64_t away)
{
	const struct alias *a = ctx;
	uint64_t target = a->f->lo + (uint64_t)away;

	for (size_t i = 0; i < a->s->n; i++)
		if (a->s->out[i].lo == target)
			return true;
	for (size_t i = 0; i < a->s->n_stubs; i++)
		if (a->s->stubs[i] == target)
			return true;
	return false;
}

/* Returns true if the function only passes its calls on to another one, which counts them. */
static bool is_alias(const struct search *s, const struct allocator_function *f)
{
	struct alias a = { s, f };
	struct elf_span code;

	return probe_insn_knows(elf_image_machine(s->img)) &&
	       elf_image_at_offset(s->img, f->lo, f->hi - f->lo, &code) == 0 &&
	       probe_insn_forwards(code.data, code.len, leads_to_another, &a);
}

static void drop_aliases(struct search *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!is_alias(s, &s->out[i]))
			s->out[kept++] = s->out[i];
	s->n = kept;
}

struct find_job {
	int fd;
	struct allocator_function *out;
};

/* Runs under sigbus_run(), because a file that is truncated meanwhile raises SIGBUS. */
static int find(void *ctx)
{
	struct find_job *j = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct search s = { .out = j->out };
	int r = elf_image_open(&img, j->fd, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : -ENOEXEC;
	if (elf_image_machine(img) != ARCH_ELF_MACHINE)
		return -ENOEXEC;
	s.img = img;
	scan(&s);
	s.operators = true;
	if (s.replaces_new)
		scan(&s);
	find_stubs(&s);
	drop_aliases(&s);
	return (int)s.n;
}

int allocator_functions_find(int fd, struct allocator_function out[ALLOCATOR_FUNCTIONS_MAX])
{
	struct find_job j = { .fd = fd, .out = out };

	return sigbus_run(find, &j);
}
