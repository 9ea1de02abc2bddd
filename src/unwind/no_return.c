/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names are those of the C and C++ libraries that compilers call or declare as not returning.
 * A stripped file still has the stubs of its dynamic symbols, which suffices: functions with
 * -fstack-protector end in a call of __stack_chk_fail(), with the next function right behind it.
 */
#include "unwind/no_return.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "elf/image.h"
#include "elf/plt.h"
#include "elf/rawsym.h"

enum { NAME_MAX_BYTES = 64 };

static const char *const never[] = {
	"_Exit",
	"_Unwind_Resume",
	"_ZSt9terminatev", /* std::terminate() */
	"__assert",
	"__assert_fail",
	"__assert_perror_fail",
	"__chk_fail",
	"__cxa_bad_cast",
	"__cxa_bad_typeid",
	"__cxa_call_terminate",
	"__cxa_pure_virtual",
	"__cxa_rethrow",
	"__cxa_throw",
	"__cxa_throw_bad_array_new_length",
	"__fortify_fail",
	"__longjmp_chk",
	"__stack_chk_fail",
	"__stack_chk_fail_local",
	"_exit",
	"abort",
	"exit",
	"longjmp",
	"pthread_exit",
	"quick_exit",
	"siglongjmp",
};

/* True for std::__throw_bad_alloc() and the like: _ZSt, a length, and the name. */
static bool is_std_throw(const char *name, size_t len)
{
	static const char std[] = "_ZSt", throw[] = "__throw_";
	size_t at = sizeof(std) - 1;

	if (len < at || memcmp(name, std, at) != 0)
		return false;
	while (at < len && name[at] >= '0' && name[at] <= '9')
		at++;
	return len - at >= sizeof(throw) - 1 && !memcmp(name + at, throw, sizeof(throw) - 1);
}

bool unwind_never_returns(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (strlen(never[i]) == len && !memcmp(name, never[i], len))
			return true;
	return is_std_throw(name, len);
}

struct search {
	struct unwind_no_return *out;
	struct elf_rawsyms syms;
};

static int examine(struct search *s, uint64_t vaddr, uint32_t name_off)
{
	const char *name;
	size_t len = elf_rawsyms_name(&s->syms, name_off, NAME_MAX_BYTES, &name);

	if (!unwind_never_returns(name, elf_name_unversioned(name, len)))
		return 0;
	return vec_push(s->out, vaddr);
}

static int examine_stub(void *ctx, const struct elf_plt_entry *e)
{
	return examine(ctx, e->vaddr, e->name_off);
}

static int search_table(struct unwind_no_return *out, const struct elf_image *img,
			enum elf_symtab_source source)
{
	struct search s = { .out = out };
	int r = 0;

	if (elf_rawsyms_open(img, source, &s.syms) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < s.syms.n; i++) {
		struct elf_rawsym sym;

		elf_rawsyms_get(&s.syms, i, &sym);
		if (sym.type == STT_FUNC && sym.shndx != SHN_UNDEF)
			r = examine(&s, sym.vaddr, sym.name_off);
	}
	return r ? r : elf_plt_walk(img, &s.syms, source, examine_stub, &s);
}

static int vaddr_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int unwind_no_return_find(struct unwind_no_return *out, const struct elf_image *img)
{
	int r = search_table(out, img, ELF_SYMTAB);

	r = r ? r : search_table(out, img, ELF_DYNSYM);
	if (out->len)
		qsort(out->data, out->len, sizeof(*out->data), vaddr_cmp);
	return r;
}

void unwind_no_return_fini(struct unwind_no_return *n)
{
	vec_fini(n);
}

bool unwind_no_return_at(const struct unwind_no_return *n, uint64_t vaddr)
{
	size_t at = bisect(n->len, i, n->data[i] < vaddr);

	return at < n->len && n->data[at] == vaddr;
}
