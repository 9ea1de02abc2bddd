/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is "ADDRESS TYPE NAME[\t[MODULE]]"; code has the types t, T, w and W
 * (nm(1)). Of the names at one address the same one is always taken: global
 * before weak before local, fewest leading underscores, then shortest.
 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"

enum { SYMBOLS_MAX = 4 * 1000 * 1000 };

struct ksym {
	uint64_t address;
	uint32_t name, module; /* string ids */
	char type;
};

struct kallsyms {
	struct strtab *strings;
	struct {
		VEC(struct ksym);
	} syms; /* sorted by address, one each */
};

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	strtab_free(k->strings);
	vec_fini(&k->syms);
	free(k);
}

static int rank(char type)
{
	return type == 'T' ? 0 : type == 'W' || type == 'w' ? 1 : 2;
}

/* Order of preference between two names of one address; 0 only for equal ones. */
static int prefer(const struct kallsyms *k, const struct ksym *a, const struct ksym *b)
{
	const char *x = strtab_get(k->strings, a->name), *y = strtab_get(k->strings, b->name);
	size_t ux = strspn(x, "_"), uy = strspn(y, "_");
	size_t lx = strlen(x), ly = strlen(y);

	if (rank(a->type) != rank(b->type))
		return rank(a->type) - rank(b->type);
	if (ux != uy)
		return ux < uy ? -1 : 1;
	if (lx != ly)
		return lx < ly ? -1 : 1;
	return strcmp(x, y);
}

static int by_address(const void *a, const void *b, void *ctx)
{
	const struct ksym *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return prefer(ctx, x, y);
}

static int add_line(struct kallsyms *k, const char *line)
{
	unsigned long long address;
	char type, name[512], module[128] = "";
	struct ksym s;
	int r;

	if (sscanf(line, "%llx %c %511s %127s", &address, &type, name, module) < 3)
		return 0;
	if (!strchr("tTwW", type) || !address)
		return 0;
	if (k->syms.len >= SYMBOLS_MAX)
		return -E2BIG;
	s = (struct ksym){ .address = address, .type = type };
	r = strtab_add(k->strings, name, strlen(name), &s.name);
	if (r == 0)
		r = strtab_add(k->strings, module, strlen(module), &s.module);
	return r < 0 ? r : vec_push(&k->syms, s);
}

static void sort_and_unify(struct kallsyms *k)
{
	size_t n = 0;

	if (!k->syms.len)
		return;
	qsort_r(k->syms.data, k->syms.len, sizeof(*k->syms.data), by_address, k);
	for (size_t i = 0; i < k->syms.len; i++)
		if (!n || k->syms.data[n - 1].address != k->syms.data[i].address)
			k->syms.data[n++] = k->syms.data[i];
	k->syms.len = n;
}

int kallsyms_load_file(struct kallsyms **out, const char *path, struct err *err)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = calloc(1, sizeof(*k));
	_cleanup_(fclosep) FILE *f = NULL;
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;
	int r;

	if (!k)
		return -ENOMEM;
	r = strtab_new(&k->strings);
	if (r < 0)
		return r;
	f = fopen(path, "re");
	if (!f)
		return err_set(err, -errno, "can't read %s: %s", path, strerror(errno));
	while (r == 0 && getline(&line, &cap, f) > 0)
		r = add_line(k, line);
	if (r < 0)
		return err_set(err, r, "%s: %s", path, strerror(-r));
	if (!k->syms.len)
		return err_set(
			err, -EPERM,
			"%s shows no addresses: run as root, or set kernel.kptr_restrict to 0 or 1",
			path);
	sort_and_unify(k);
	*out = steal_ptr(&k);
	return 0;
}

int kallsyms_load(struct kallsyms **out, struct err *err)
{
	return kallsyms_load_file(out, "/proc/kallsyms", err);
}

int kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *out)
{
	size_t lo = 0, hi = k->syms.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->syms.data[mid].address <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -ENOENT;
	*out = (struct kallsyms_symbol){
		.address = k->syms.data[lo - 1].address,
		.name = strtab_get(k->strings, k->syms.data[lo - 1].name),
		.module = strtab_get(k->strings, k->syms.data[lo - 1].module),
	};
	return 0;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->syms.len;
}
