/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own code never changes, so its symbols are returned at once. For any other address,
 * the names and places of modules, and the number of changes of BPF programs, are compared with
 * those of the last reading, at most once per second.
 */
#include "symbol/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/lines.h"

enum { LOAD_COST_SHARE = 20 };

#define CHECK_NS 1000000000ULL

struct kernel_symbols {
	struct kernel_symbols_source source;
	const _Atomic uint32_t *n_changes;
	struct kallsyms *table; /* NULL: the kernel hides its symbols */
	bool is_loaded;
	uint64_t modules; /* modules and changes are those of the last reading */
	uint32_t changes;
	uint64_t next_check_ns;
};

static int load_proc(void *ctx, struct kallsyms **out)
{
	return kallsyms_load(out, NULL);
}

/* Adds name, size and address of "name size users deps state address" to the fingerprint. */
static uint64_t add_module(uint64_t h, char *line)
{
	char *save = NULL;
	int n = 0;

	for (char *f = strtok_r(line, " ", &save); f && n < 6; f = strtok_r(NULL, " ", &save), n++)
		if (n < 2 || n == 5)
			h = XXH3_64bits_withSeed(f, strlen(f), h);
	return h;
}

static uint64_t modules_of_proc(void *ctx)
{
	_cleanup_(closep) int fd = open("/proc/modules", O_RDONLY | O_CLOEXEC);
	_cleanup_(lines_fini) struct lines lines = { 0 };
	uint64_t h = 0;
	char *line;
	bool cut;

	if (fd < 0 || lines_init(&lines, fd) < 0)
		return 0;
	while (lines_next(&lines, &line, &cut) > 0)
		h = add_module(h, line);
	return h;
}

int kernel_symbols_new(struct kernel_symbols **out, const _Atomic uint32_t *n_changes,
		       const struct kernel_symbols_source *source)
{
	struct kernel_symbols *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->n_changes = n_changes;
	k->source = source ? *source
			   : (struct kernel_symbols_source){ .load = load_proc,
							     .modules = modules_of_proc };
	*out = k;
	return 0;
}

void kernel_symbols_free(struct kernel_symbols *k)
{
	if (!k)
		return;
	kallsyms_free(k->table);
	free(k);
}

/* Reads the table; the one before stays if that fails. */
static void load(struct kernel_symbols *k, uint64_t now_ns)
{
	uint64_t begun_ns = clock_monotonic_ns(), cost_ns;
	struct kallsyms *fresh = NULL;

	if (k->source.load(k->source.ctx, &fresh) == 0) {
		kallsyms_free(k->table);
		k->table = fresh;
	}
	k->is_loaded = true;
	cost_ns = (clock_monotonic_ns() - begun_ns) * LOAD_COST_SHARE;
	k->next_check_ns = now_ns + (cost_ns > CHECK_NS ? cost_ns : CHECK_NS);
}

/* Reads the table for the first time, or if it is out of date. Returns true if it did. */
static bool update(struct kernel_symbols *k, uint64_t now_ns)
{
	uint32_t changes = k->n_changes ? atomic_load(k->n_changes) : 0;
	uint64_t modules;

	if (k->is_loaded && now_ns < k->next_check_ns)
		return false;
	k->next_check_ns = now_ns + CHECK_NS;
	modules = k->source.modules(k->source.ctx);
	if (k->is_loaded && modules == k->modules && changes == k->changes)
		return false;
	/* the next comparison notices changes that happen while the table is read */
	k->modules = modules;
	k->changes = changes;
	load(k, now_ns);
	return true;
}

static int find(const struct kernel_symbols *k, uint64_t address, struct kallsyms_symbol *out)
{
	return k->table ? kallsyms_find(k->table, address, out) : -ENOENT;
}

int kernel_symbols_find(struct kernel_symbols *k, uint64_t address, uint64_t now_ns,
			struct kallsyms_symbol *out)
{
	int r = find(k, address, out);

	if (r == 0 && !*out->module)
		return 0;
	return update(k, now_ns) ? find(k, address, out) : r;
}
