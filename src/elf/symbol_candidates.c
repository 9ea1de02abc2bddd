/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the entries of a file's tables that name code, each with a level, and the best of several
 * at one address. Both users (elf/symtab.c, elf/symtab_scan.c) choose names by this module, so that
 * they agree.
 */
#include "elf/symbol_candidates.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/bisect.h"
#include "base/err.h"
#include "elf/function_extents.h"
#include "elf/plt.h"

enum { LABEL_PREFIX_LEN = 3 };

/* Each name is compared a few times and then copied. */
#define NAME_READS_MAX (4ull * ELF_NAMES_MAX)

void candidates_fini(struct candidates *l)
{
	function_extents_free(l->extents);
	vec_fini(&l->exec);
	vec_fini(&l->all);
}

static int range_cmp(const void *a, const void *b)
{
	const struct candidates_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void merge_ranges(struct candidates *l)
{
	size_t n = 0;

	if (!l->exec.len)
		return;
	qsort(l->exec.data, l->exec.len, sizeof(*l->exec.data), range_cmp);
	for (size_t i = 1; i < l->exec.len; i++) {
		const struct candidates_range *r = &l->exec.data[i];
		struct candidates_range *last = &l->exec.data[n];

		if (r->start >= last->end)
			l->exec.data[++n] = *r;
		else if (r->end > last->end)
			last->end = r->end;
	}
	l->exec.len = n + 1;
}

static int read_exec_ranges(struct candidates *l)
{
	size_t n = elf_image_n_sections(l->img);

	for (uint32_t i = 1; i < n; i++) {
		struct elf_section s;
		int r;

		if (elf_image_section_header(l->img, i, &s) < 0)
			break;
		if ((s.flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR) ||
		    !s.size || s.size > UINT64_MAX - s.vaddr)
			continue;
		r = vec_push(&l->exec, (struct candidates_range){ s.vaddr, s.vaddr + s.size });
		if (r < 0)
			return r;
	}
	merge_ranges(l);
	return 0;
}

uint64_t candidates_code_left(const struct candidates *l, uint64_t vaddr)
{
	size_t lo = bisect(l->exec.len, i, l->exec.data[i].start <= vaddr);

	if (!lo || vaddr >= l->exec.data[lo - 1].end)
		return 0;
	return l->exec.data[lo - 1].end - vaddr;
}

/*
 * Sizes of symbols are untrusted and often wrong in hand-written assembly: a symbol never extends
 * beyond the executable range that contains it.
 */
bool candidates_clip(const struct candidates *l, struct candidate *c, uint64_t size)
{
	uint64_t left = candidates_code_left(l, c->vaddr);

	if (size > left)
		size = left;
	c->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
	return left > 0;
}

bool candidates_too_many_names(const struct candidates *l)
{
	return l->n_name_bytes > NAME_READS_MAX;
}

static const struct elf_rawsyms *table_of(const struct candidates *l, unsigned int level)
{
	return &l->tables[level >= LEVEL_DYNSYM_FUNCTION];
}

/* The order in which bindings are preferred (base/alias.h), for symbols at the same address. */
static uint8_t bind_rank(uint8_t bind)
{
	switch (bind) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return ALIAS_GLOBAL;
	case STB_WEAK:
		return ALIAS_WEAK;
	case STB_LOCAL:
		return ALIAS_LOCAL;
	default:
		return ALIAS_OTHER;
	}
}

/* True if a symbol without a type is a programmer's label, not the assembler's or a tool's. */
static bool is_label(const struct elf_rawsyms *table, uint32_t name_off)
{
	const char *name;
	size_t len = elf_rawsyms_name(table, name_off, LABEL_PREFIX_LEN, &name);

	if (!len || name[0] == '.')
		return false;
	/* mapping symbols (ABI of Arm and RISC-V): $x, $d, $a, $t, with an optional suffix */
	return !(len >= 2 && name[0] == '$' && memchr("xdat", name[1], 4) &&
		 (len == 2 || name[2] == '.'));
}

/* The default consumer: stores the symbol. Symbols outside of executable sections are dropped. */
static int keep(struct candidates *l, struct candidate c, uint64_t size)
{
	if (!candidates_clip(l, &c, size))
		return 0;
	if (l->all.len >= ELF_SYMBOLS_MAX)
		return err_set(l->err, -E2BIG, "more than %d function symbols", ELF_SYMBOLS_MAX);
	return vec_push(&l->all, c);
}

static int take(struct candidates *l, struct candidate c, uint64_t size)
{
	return l->take ? l->take(l, c, size) : keep(l, c, size);
}

/*
 * True if @s belongs to a section without code. Its address may still be in another section's code:
 * __bss_start is the end of .data, which programs that dump themselves fill with code.
 */
static bool is_in_data(const struct candidates *l, const struct elf_rawsym *s)
{
	struct elf_section section;

	return elf_image_section_header(l->img, s->shndx, &section) == 0 &&
	       !(section.flags & SHF_EXECINSTR);
}

/*
 * True if @s, which is not a function, may name code. GHC gives many of its functions the type of
 * data. Data among code has names too, but is not executed; without a size, it would seem to extend
 * over the function that follows it.
 */
static bool may_name_code(const struct candidates *l, const struct elf_rawsyms *table,
			  const struct elf_rawsym *s)
{
	if (s->type == STT_OBJECT)
		return s->size > 0;
	return s->type == STT_NOTYPE && s->shndx != SHN_ABS && is_label(table, s->name_off) &&
	       !is_in_data(l, s);
}

/*
 * Undefined symbols have no address here, and common ones no code. A symbol of another type
 * is used only if no function has its address.
 */
static int read_symbols(struct candidates *l, enum elf_symtab_source source)
{
	struct elf_rawsyms *table = &l->tables[source == ELF_DYNSYM];
	uint8_t level = source == ELF_DYNSYM ? LEVEL_DYNSYM_FUNCTION : LEVEL_SYMTAB_FUNCTION;
	int r = elf_rawsyms_open(l->img, source, table);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_set(l->err, r, "cannot read the symbol table %s",
			       source == ELF_DYNSYM ? ".dynsym" : ".symtab");
	for (size_t i = 0; i < table->n && r == 0; i++) {
		struct elf_rawsym s;
		struct candidate c;

		elf_rawsyms_get(table, i, &s);
		if (s.shndx == SHN_UNDEF || s.shndx == SHN_COMMON || !s.name_off)
			continue;
		c = (struct candidate){ s.vaddr, 0, s.name_off, level, bind_rank(s.bind) };
		if (may_name_code(l, table, &s))
			c.level++;
		else if (s.type != STT_FUNC && s.type != STT_GNU_IFUNC)
			continue;
		r = take(l, c, s.size);
	}
	return r;
}

static int add_symtab_plt(void *ctx, const struct elf_plt_entry *e)
{
	const struct candidate c = { e->vaddr, 0, e->name_off, LEVEL_SYMTAB_PLT,
				     bind_rank(e->bind) };

	return take(ctx, c, e->size);
}

static int add_dynsym_plt(void *ctx, const struct elf_plt_entry *e)
{
	const struct candidate c = { e->vaddr, 0, e->name_off, LEVEL_DYNSYM_PLT,
				     bind_rank(e->bind) };

	return take(ctx, c, e->size);
}

/* Entries of the PLT are named after the function that they call. */
static int read_source(struct candidates *l, enum elf_symtab_source source)
{
	const bool dynamic = source == ELF_DYNSYM;
	int r = read_symbols(l, source);

	return r ? r
		 : elf_plt_walk(l->img, &l->tables[dynamic], source,
				dynamic ? add_dynsym_plt : add_symtab_plt, l);
}

int candidates_collect(struct candidates *l, unsigned int sources)
{
	int r = read_exec_ranges(l);

	if (r == 0 && (sources & ELF_SYMTAB))
		r = read_source(l, ELF_SYMTAB);
	if (r == 0 && (sources & ELF_DYNSYM))
		r = read_source(l, ELF_DYNSYM);
	return r;
}

/* Returns no name once more bytes were read than any file that is not malicious needs. */
struct alias_name candidates_name(struct candidates *l, const struct candidate *c)
{
	struct alias_name n = { NULL, 0 };

	if (l->n_name_bytes > NAME_READS_MAX)
		return n;
	n.len = elf_rawsyms_name(table_of(l, c->level), c->name_off, ELF_NAME_MAX, &n.s);
	l->n_name_bytes += n.len;
	n.len = elf_name_unversioned(n.s, n.len);
	return n;
}

/* Reads one byte, so that it need not be charged against the limit on names. */
bool candidates_have_name(const struct candidates *l, const struct candidate *c)
{
	const char *s;

	return elf_rawsyms_name(table_of(l, c->level), c->name_off, 1, &s) > 0;
}

/*
 * Two properties are compared before names: the level, and whether other files can refer to the
 * symbol.
 * Weak symbols are as good as global ones here, since most public names of C libraries are weak
 * aliases of internal global ones (write, __write).
 */
static int rank_of(const struct candidate *c)
{
	return c->level * (ALIAS_OTHER + 1) + (c->bind == ALIAS_WEAK ? ALIAS_GLOBAL : c->bind);
}

/*
 * The number of underscores that mark a name as internal. The prefix of the vDSO does not: without
 * it its functions could not be distinguished from those of the C library that call them.
 */
static size_t internal_underscores(const struct alias_name *n)
{
	static const char vdso[] = "__vdso_";

	if (n->len >= sizeof(vdso) && !memcmp(n->s, vdso, sizeof(vdso) - 1))
		return 0;
	return alias_underscores(n);
}

/* Compares symbols of one rank. */
static bool is_better_alias(const struct candidate *a, const struct alias_name *name_a,
			    const struct candidate *b, const struct alias_name *name_b)
{
	size_t ua = internal_underscores(name_a), ub = internal_underscores(name_b);

	if (name_a->len && name_b->len && ua != ub)
		return ua < ub;
	if (a->bind != b->bind)
		return a->bind < b->bind;
	return alias_name_is_better(name_a, name_b);
}

/*
 * Names are read only if level and binding do not decide. If the chosen symbol has no size, the
 * greatest size among those of its level applies, since aliases share their code.
 */
struct candidate candidates_choose(struct candidates *l, const struct candidate *c, size_t n)
{
	struct candidate best = c[0];
	struct alias_name best_name;

	if (n == 1)
		return best;
	best_name = candidates_name(l, c);
	for (size_t i = 1; i < n; i++) {
		int worse = rank_of(&c[i]) - rank_of(&best);
		struct alias_name name;

		if (worse > 0 || (worse == 0 && c[i].name_off == best.name_off))
			continue;
		name = candidates_name(l, &c[i]);
		if (worse < 0 || is_better_alias(&c[i], &name, &best, &best_name)) {
			best = c[i];
			best_name = name;
		}
	}
	if (best.size)
		return best;
	for (size_t i = 0; i < n; i++)
		if (c[i].level == best.level && c[i].size > best.size)
			best.size = c[i].size;
	return best;
}
