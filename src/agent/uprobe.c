/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel wants a file and an offset in it. A symbol is looked for as it stands in the
 * file, then as people write it (demangled, without parameters). Symbols of separate debug
 * files are not looked for: an address (0x...) says the same.
 */
#include "agent/uprobe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/events.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sigbus.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "elf/symtab.h"
#include "proc/maps.h"
#include "symbol/demangle.h"

enum { SYMBOLS = ELF_SYMTAB | ELF_DYNSYM };

/* What was asked for, in its parts. */
struct place {
	char file[PATH_MAX]; /* as the user says it */
	char path[PATH_MAX]; /* where it is */
	const char *symbol;  /* with its offset */
	char name[PATH_MAX]; /* without it */
	uint64_t plus;
	bool is_return;
};

/* ---- the file --------------------------------------------------------------------- */

/* Is @path the library or the program called @name? "libc" is libc.so.6, libc-2.31.so too. */
static bool is_called(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strlen(name);

	return !strncmp(base, name, n) &&
	       (!base[n] || !strncmp(base + n, ".so", 3) ||
		(base[n] == '-' && base[n + 1] >= '0' && base[n + 1] <= '9'));
}

/* A linker's script may be called as a library is. */
static bool is_elf(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char magic[SELFMAG];

	return fd >= 0 && read(fd, magic, SELFMAG) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
}

struct search {
	const struct place *p;
	uint32_t pid;
	char *out;
};

static int look_at_map(void *ctx, const struct proc_map *m)
{
	struct search *s = ctx;

	if (!m->inode || m->deleted || m->path[0] != '/' || !is_called(m->path, s->p->file))
		return 0;
	return snprintf(s->out, PATH_MAX, "/proc/%u/root%s", s->pid, m->path) < PATH_MAX;
}

/* The first file in @dir that is called so. */
static bool look_in(const char *dir, const char *name, char *out)
{
	_cleanup_(closedirp) DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (!is_called(e->d_name, name))
			continue;
		if (snprintf(out, PATH_MAX, "%s/%s", dir, e->d_name) < PATH_MAX && is_elf(out))
			return true;
	}
	return false;
}

/* Where the loader looks, or a shell. */
static bool look_everywhere(const char *name, char *out)
{
	static const char *const dirs[] = { "/lib/x86_64-linux-gnu",
					    "/usr/lib/x86_64-linux-gnu",
					    "/lib64",
					    "/usr/lib64",
					    "/usr/local/lib",
					    "/lib",
					    "/usr/lib" };
	const char *path = getenv("PATH");
	_cleanup_(freep) char *copy = strdup(path ? path : "/usr/bin:/bin");
	char *rest = copy, *dir;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (look_in(dirs[i], name, out))
			return true;
	while (copy && (dir = strsep(&rest, ":")))
		if (snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX && is_elf(out))
			return true;
	return false;
}

static int find_file(struct place *p, uint32_t pid, struct err *err)
{
	struct search s = { .p = p, .pid = pid, .out = p->path };
	int r = 0;

	if (strchr(p->file, '/')) {
		snprintf(p->path, sizeof(p->path), "%s", p->file);
		return 0;
	}
	if (pid)
		r = proc_maps_read((int)pid, PROC_MAPS_EXEC, look_at_map, &s, err);
	if (r < 0)
		return r;
	if (r > 0 || (!pid && look_everywhere(p->file, p->path)))
		return 0;
	if (pid)
		return err_set(err, -ENOENT, "-e: process %u has no file %.80s mapped", pid,
			       p->file);
	return err_set(err, -ENOENT, "-e: no library or program %.80s: say its path", p->file);
}

/* ---- the symbol ------------------------------------------------------------------- */

static bool is_for_people(const char *raw, const char *wanted)
{
	_cleanup_(freep) char *name = demangle_name(raw, DEMANGLE_SHORT, false);

	return name && !strcmp(name, wanted);
}

static int find_demangled(const struct elf_image *img, const char *wanted, uint64_t *out)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct elf_symbol sym;
	int r = elf_symtab_load(&t, img, SYMBOLS, NULL);

	if (r < 0)
		return r;
	if (elf_symtab_by_name(t, wanted, &sym) == 0) {
		*out = sym.vaddr;
		return 0;
	}
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		elf_symtab_at(t, i, &sym);
		if (!is_for_people(sym.name, wanted))
			continue;
		*out = sym.vaddr;
		return 0;
	}
	return -ENOENT;
}

static int find_symbol(const struct elf_image *img, const struct place *p, uint64_t *out,
		       struct err *err)
{
	struct elf_rawsym raw;
	char *end;
	int r;

	if (!strncmp(p->name, "0x", 2)) {
		*out = strtoull(p->name, &end, 16);
		return *end ? err_set(err, -EINVAL, "-e: %.60s is no address", p->name) : 0;
	}
	r = elf_symbol_lookup(img, SYMBOLS, p->name, &raw);
	if (r == 0 && raw.type == STT_GNU_IFUNC)
		return err_set(err, -EINVAL,
			       "-e: %.60s is chosen among several functions when the program "
			       "starts: probe the one that it is",
			       p->name);
	if (r == 0 && raw.type != STT_OBJECT) {
		*out = raw.vaddr;
		return 0;
	}
	r = find_demangled(img, p->name, out);
	return r < 0 ? err_set(err, -ENOENT, "-e: no function %.80s in %.80s", p->name, p->file)
		     : 0;
}

struct reading {
	const struct place *p;
	uint64_t *out;
	struct err *err;
};

static int read_offset(void *ctx)
{
	struct reading *rd = ctx;
	const struct place *p = rd->p;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = open(p->path, O_RDONLY | O_CLOEXEC);
	uint64_t vaddr = 0;
	int r;

	if (fd < 0)
		return err_set(rd->err, -errno, "-e: can't open %.100s: %s", p->file,
			       strerror(errno));
	r = elf_image_open(&img, fd, NULL);
	if (r < 0)
		return err_set(rd->err, r, "-e: %.120s is no program or library", p->file);
	r = find_symbol(img, p, &vaddr, rd->err);
	if (r < 0)
		return r;
	r = elf_image_offset_of(img, vaddr + p->plus, rd->out);
	return r < 0 ? err_set(rd->err, r, "-e: %.60s is not in the code of %.80s", p->symbol,
			       p->file)
		     : 0;
}

/* ---- the event -------------------------------------------------------------------- */

/* SYMBOL[+OFFSET]: an operator's name may have a plus of its own. */
static void split_offset(struct place *p)
{
	const char *plus = strrchr(p->symbol, '+');
	char *end = NULL;
	size_t n = strlen(p->symbol);

	if (plus && plus > p->symbol && plus[1] >= '0' && plus[1] <= '9')
		p->plus = strtoull(plus + 1, &end, 0);
	if (end && !*end)
		n = (size_t)(plus - p->symbol);
	else
		p->plus = 0;
	snprintf(p->name, sizeof(p->name), "%.*s", (int)n, p->symbol);
}

static int split(const char *text, struct place *p, struct err *err)
{
	const char *file = strchr(text, ':') + 1, *colon = strchr(file, ':');

	p->is_return = !strncmp(text, "uretprobe:", 10);
	if (!colon || colon == file || !colon[1] || colon - file >= PATH_MAX - 32 ||
	    strlen(colon + 1) >= sizeof(p->name))
		return err_set(err, -EINVAL,
			       "-e: a place is uprobe:FILE:SYMBOL or uprobe:FILE:SYMBOL+OFFSET, "
			       "not %.60s",
			       text);
	snprintf(p->file, sizeof(p->file), "%.*s", (int)(colon - file), file);
	p->symbol = colon + 1;
	split_offset(p);
	if (p->is_return && p->plus)
		return err_set(err, -EINVAL, "-e: a function returns as a whole: no offset");
	return 0;
}

/* The first number in a file of one line. */
static int read_number(const char *path, uint32_t *out)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	char line[64];
	const char *digits;

	if (!f || !fgets(line, sizeof(line), f))
		return -ENOENT;
	digits = line + strcspn(line, "0123456789");
	*out = (uint32_t)strtoul(digits, NULL, 10);
	return *digits ? 0 : -ENOENT;
}

/* What perf_event_open() is to be told. */
static int ask_kernel(struct event *e, bool is_return, struct err *err)
{
	uint32_t bit = 0;
	int r = read_number("/sys/bus/event_source/devices/uprobe/type", &e->type);

	if (r == 0 && is_return)
		r = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", &bit);
	if (r < 0 || bit > 63)
		return err_set(err, -ENOTSUP, "-e: this kernel has no uprobes (CONFIG_UPROBES)");
	e->config = is_return ? 1ULL << bit : 0;
	return 0;
}

int uprobe_parse(const char *text, uint32_t pid, struct event *out, struct err *err)
{
	struct place p = { 0 };
	struct event e = { .kind = EVENT_UPROBE, .period = 1 };
	struct reading rd = { .p = &p, .out = &e.offset, .err = err };
	const char *slash;
	int r = split(text, &p, err);

	if (r == 0)
		r = find_file(&p, pid, err);
	if (r == 0)
		r = sigbus_run(read_offset, &rd);
	if (r == 0)
		r = ask_kernel(&e, p.is_return, err);
	if (r < 0)
		return r;
	slash = strrchr(p.file, '/');
	if (asprintf(&e.name, "%s:%s:%s", p.is_return ? "uretprobe" : "uprobe",
		     slash ? slash + 1 : p.file, p.symbol) < 0)
		return -ENOMEM;
	e.path = strdup(p.path);
	if (!e.path) {
		free(e.name);
		return -ENOMEM;
	}
	*out = e;
	return 0;
}
