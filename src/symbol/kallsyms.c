/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/kallsyms has one line "ADDRESS TYPE NAME[\t[MODULE]]" per symbol, a few
 * hundred thousand in total. They are sorted only within the kernel and within
 * each module.
 *
 * Symbols of the code types t, T, w and W (see nm(1)) are stored. Symbols have no
 * size: each one extends to the next symbol, to the end of the kernel's code
 * (_etext, _einittext) or to the end of its module according to /proc/modules.
 * A symbol takes 24 bytes plus its name.
 *
 * Kernels that pad their functions have a symbol for each padding, __pfx_NAME before NAME, which is
 * nearly half of all. The padding holds code of the function (call thunks), so it becomes part of
 * the function, and its name is not stored.
 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/alias.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/lines.h"
#include "base/strtab.h"
#include "base/vec.h"

#define PADDING "__pfx_"

enum { NAMES_MAX = 1 << 30, MODULES_MAX = 65536, PADDING_MAX = 128 /* bytes */ };

struct symbol {
	uint64_t address;
	uint32_t size;
	uint32_t name;
	uint32_t module; /* id in kallsyms.modules; 0: the kernel */
	uint8_t bind;    /* enum alias_bind */
	bool end;        /* The code of the kernel ends here. */
	bool is_padding; /* of the function after it; without a name */
};

struct range {
	uint64_t start, end;
};

struct kallsyms {
	struct {
		VEC(struct symbol);
	} syms; /* sorted by address, one symbol per address */
	struct buf names;
	struct strtab *modules;
};

struct loader {
	struct kallsyms *k;
	struct err *err;
	bool hidden; /* No address other than 0 was read. */
	struct {
		VEC(struct range);
	} modules; /* sorted by address */
};

static void loader_fini(struct loader *l)
{
	vec_fini(&l->modules);
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	vec_fini(&k->syms);
	buf_fini(&k->names);
	strtab_free(k->modules);
	free(k);
}

/* A lower-case type is a local symbol; w and W are weak. */
static uint8_t bind_of(char type)
{
	return type == 'T' ? ALIAS_GLOBAL : type == 't' ? ALIAS_LOCAL : ALIAS_WEAK;
}

/* The kernel appends "\t[module]" to the symbols of modules. */
static int add_symbol(struct loader *l, uint64_t address, char type, char *name)
{
	struct symbol s = {
		.address = address,
		.name = (uint32_t)l->k->names.len,
		.bind = bind_of(type),
	};
	char *module = strchr(name, '\t');
	int r;

	s.is_padding = !strncmp(name, PADDING, strlen(PADDING));
	if (module)
		*module++ = '\0';
	else
		s.end = !strcmp(name, "_etext") || !strcmp(name, "_einittext");
	if (l->k->syms.len >= KALLSYMS_MAX || l->k->names.len > NAMES_MAX)
		return err_set(l->err, -E2BIG, "/proc/kallsyms has more than %d code symbols",
			       KALLSYMS_MAX);
	r = module ? strtab_add(l->k->modules, module, strlen(module), &s.module) : 0;
	if (r < 0)
		return r;
	if (!s.is_padding) {
		buf_put_str(&l->k->names, name);
		buf_put_byte(&l->k->names, '\0');
	}
	r = vec_push(&l->k->syms, s);
	return r < 0 ? r : buf_error(&l->k->names);
}

static int parse_symbol(struct loader *l, char *line)
{
	uint64_t address;
	const char *s = lines_number(line, 16, ' ', &address);

	if (!s || !s[0] || s[1] != ' ' || !s[2])
		return err_set(l->err, -EBADMSG, "cannot parse a line of /proc/kallsyms: \"%.80s\"",
			       line);
	if (!strchr("tTwW", s[0]))
		return 0;
	/* If the kernel hides addresses, all are 0. Per-CPU symbols can be 0 in any case. */
	if (!address)
		return 0;
	l->hidden = false;
	return add_symbol(l, address, s[0], line + (s + 2 - line));
}

/* The format is "name size users deps state 0xaddress". */
static int parse_module(struct loader *l, char *line)
{
	char *fields[6], *save = NULL;
	uint64_t size, start;
	int n = 0;

	for (char *f = strtok_r(line, " ", &save); f && n < 6; f = strtok_r(NULL, " ", &save))
		fields[n++] = f;
	if (n < 6 || !lines_number(fields[1], 10, '\0', &size) || strncmp(fields[5], "0x", 2) ||
	    !lines_number(fields[5] + 2, 16, '\0', &start))
		return err_set(l->err, -EBADMSG, "cannot parse a line of /proc/modules");
	if (!start || !size || size > UINT64_MAX - start)
		return 0;
	if (l->modules.len >= MODULES_MAX)
		return err_set(l->err, -E2BIG, "/proc/modules has more than %d modules",
			       MODULES_MAX);
	return vec_push(&l->modules, (struct range){ start, start + size });
}

/*
 * Lines that are too long for the buffer are skipped, since one of them should not cost all
 * symbols.
 */
static int each_line(struct loader *l, int fd, int (*parse)(struct loader *l, char *line))
{
	_cleanup_(lines_fini) struct lines lines;
	char *line;
	bool cut;
	int r = lines_init(&lines, fd);

	if (r < 0)
		return r;
	while ((r = lines_next(&lines, &line, &cut)) > 0) {
		r = cut ? 0 : parse(l, line);
		if (r < 0)
			return r;
	}
	return r < 0 ? err_set(l->err, r, "cannot read the kernel's symbols: %s", strerror(-r)) : 0;
}

static int range_cmp(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int symbol_cmp(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->end != y->end)
		return x->end - y->end;
	return x->bind - y->bind;
}

static struct alias_name name_of(const struct kallsyms *k, const struct symbol *s)
{
	const char *name = (const char *)k->names.data + s->name;

	return (struct alias_name){ name, strlen(name) };
}

/* Moves the function that follows the padding @s, if there is one, to the padding's address. */
static void attach_padding(const struct symbol *s, struct symbol *next, const struct symbol *end)
{
	uint64_t function = next < end ? next->address : 0;

	if (next == end || next->end || next->module != s->module ||
	    function - s->address > PADDING_MAX)
		return;
	for (; next < end && next->address == function; next++)
		next->address = s->address;
}

/* Makes padding a part of its function. Symbols stay sorted by address. */
static void attach_all_padding(struct kallsyms *k)
{
	struct symbol *s = k->syms.data, *end = s + k->syms.len;
	size_t n = 0;

	for (struct symbol *p = s; p < end; p++) {
		if (p->is_padding)
			attach_padding(p, p + 1, end);
		else
			s[n++] = *p;
	}
	k->syms.len = n;
}

/*
 * Retains one symbol per address. Where code begins at the address of an end symbol, the code wins,
 * because symbol_cmp() sorts it first.
 */
static void choose_names(struct kallsyms *k)
{
	struct symbol *s = k->syms.data;
	size_t n = 0;

	for (size_t i = 0; i < k->syms.len; i++) {
		struct symbol *last = n ? &s[n - 1] : NULL;
		struct alias_name a, b;

		if (!last || last->address != s[i].address) {
			s[n++] = s[i];
			continue;
		}
		if (s[i].end || last->bind != s[i].bind)
			continue;
		a = name_of(k, &s[i]);
		b = name_of(k, last);
		if (alias_name_is_better(&a, &b))
			*last = s[i];
	}
	k->syms.len = n;
}

/* Shrinks the tables to their size, since vectors grow by doubling. No bytes would free them. */
static void trim(struct kallsyms *k)
{
	size_t len = k->syms.len * sizeof(*k->syms.data);
	void *syms = len ? realloc(k->syms.data, len) : NULL;
	void *names = k->names.len ? realloc(k->names.data, k->names.len) : NULL;

	if (syms) {
		k->syms.data = syms;
		k->syms.cap = k->syms.len;
	}
	if (names) {
		k->names.data = names;
		k->names.cap = k->names.len;
	}
}

/* Returns the end of the module that contains @address, or UINT64_MAX. */
static uint64_t module_end(const struct loader *l, uint64_t address)
{
	size_t lo = 0, hi = l->modules.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->modules.data[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && address < l->modules.data[lo - 1].end ? l->modules.data[lo - 1].end
							   : UINT64_MAX;
}

/* /proc/kallsyms has no sizes: a symbol ends where the next begins, or where its module ends. */
static void set_sizes(const struct loader *l)
{
	struct symbol *s = l->k->syms.data;

	for (size_t i = 0; i < l->k->syms.len; i++) {
		uint64_t end = i + 1 < l->k->syms.len ? s[i + 1].address : UINT64_MAX;
		uint64_t limit = s[i].module ? module_end(l, s[i].address) : UINT64_MAX;

		if (end > limit)
			end = limit;
		end -= s[i].address;
		s[i].size = s[i].end ? 0 : end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
	}
}

int kallsyms_load_fds(struct kallsyms **out, int kallsyms_fd, int modules_fd, struct err *err)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = calloc(1, sizeof(*k));
	_cleanup_(loader_fini) struct loader l = { .k = k, .err = err, .hidden = true };
	int r = k ? strtab_new(&k->modules) : -ENOMEM;

	if (r == 0)
		r = each_line(&l, kallsyms_fd, parse_symbol);
	if (r == 0 && modules_fd >= 0)
		r = each_line(&l, modules_fd, parse_module);
	if (r < 0)
		return r;
	if (l.hidden)
		return err_set(err, -EPERM,
			       "the kernel hides its addresses: run as root or with CAP_SYSLOG, "
			       "and run \"sysctl kernel.kptr_restrict=1\"");
	qsort(k->syms.data, k->syms.len, sizeof(*k->syms.data), symbol_cmp);
	if (l.modules.len)
		qsort(l.modules.data, l.modules.len, sizeof(*l.modules.data), range_cmp);
	attach_all_padding(k);
	choose_names(k);
	set_sizes(&l);
	trim(k);
	*out = steal_ptr(&k);
	return 0;
}

int kallsyms_load(struct kallsyms **out, struct err *err)
{
	_cleanup_(closep) int kallsyms_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	/* A kernel without support for modules has no such file. */
	_cleanup_(closep) int modules_fd = open("/proc/modules", O_RDONLY | O_CLOEXEC);

	if (kallsyms_fd < 0)
		return err_set(err, -errno, "cannot open /proc/kallsyms: %m");
	return kallsyms_load_fds(out, kallsyms_fd, modules_fd, err);
}

int kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_symbol *out)
{
	size_t lo = 0, hi = k->syms.len;
	const struct symbol *s;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->syms.data[mid].address <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	s = lo ? &k->syms.data[lo - 1] : NULL;
	if (!s || address - s->address >= s->size)
		return -ENOENT;
	*out = (struct kallsyms_symbol){
		.address = s->address,
		.size = s->size,
		.name = (const char *)k->names.data + s->name,
		.module = strtab_get(k->modules, s->module),
	};
	return 0;
}

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->syms.len;
}
