/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves uprobe:FILE:FUNCTION to the file and offset that the kernel needs. The file is another
 * program's, so the caller of event_list_parse() decides in which process its symbols are read.
 */
#include "sampler/uprobe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/regular_file.h"
#include "base/sigbus.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "elf/symtab.h"
#include "proc/maps.h"
#include "sampler/event.h"
#include "symbol/demangle.h"

enum { SYMBOLS = ELF_SYMTAB | ELF_DYNSYM };

/* A probe specification, split into its parts. */
struct probe_spec {
	char file[PATH_MAX]; /* the name that the user entered */
	char path[PATH_MAX]; /* the path at which the file was found */
	const char *symbol;  /* with +OFFSET */
	char name[PATH_MAX]; /* without +OFFSET */
	uint64_t offset;
	bool is_return;
};

/* ---- the file ----------------------------------------------------------------------- */

/*
 * Returns true if @path is a library or program that is called @name: "libc" matches
 * libc.so.6 and libc-2.31.so.
 */
static bool is_called(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strlen(name);

	return !strncmp(base, name, n) &&
	       (!base[n] || !strncmp(base + n, ".so", 3) ||
		(base[n] == '-' && base[n + 1] >= '0' && base[n + 1] <= '9'));
}

/* A linker script may have the name of a library, so the magic number decides. */
static bool is_elf(const char *path)
{
	_cleanup_(closep) int fd = regular_file_open(path, NULL);
	char magic[SELFMAG];

	return fd >= 0 && read(fd, magic, SELFMAG) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
}

struct search {
	const struct probe_spec *p;
	uint32_t pid;
	char *out;
};

static int match_mapping(void *ctx, const struct proc_map *m)
{
	struct search *s = ctx;

	if (!m->inode || m->deleted || m->path[0] != '/' || !is_called(m->path, s->p->file))
		return 0;
	return snprintf(s->out, PATH_MAX, "/proc/%u/root%s", s->pid, m->path) < PATH_MAX;
}

/*
 * Finds the first ELF file in @dir that is_called() @name; stores its path in @out (PATH_MAX
 * bytes).
 */
static bool find_in_dir(const char *dir, const char *name, char *out)
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

/* Searches the directories of the dynamic loader, then $PATH. */
static bool find_in_system(const char *name, char *out)
{
	static const char *const dirs[] = { "/lib/" ARCH_MULTIARCH,
					    "/usr/lib/" ARCH_MULTIARCH,
					    "/lib64",
					    "/usr/lib64",
					    "/usr/local/lib",
					    "/lib",
					    "/usr/lib" };
	const char *path = getenv("PATH");
	_cleanup_(freep) char *copy = strdup(path ? path : "/usr/bin:/bin");
	char *remaining = copy, *dir;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (find_in_dir(dirs[i], name, out))
			return true;
	while (copy && (dir = strsep(&remaining, ":")))
		if (snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX && is_elf(out))
			return true;
	return false;
}

static int find_file(struct probe_spec *p, uint32_t pid, struct err *err)
{
	struct search s = { .p = p, .pid = pid, .out = p->path };
	int r = 0;

	if (strchr(p->file, '/')) {
		snprintf(p->path, sizeof(p->path), "%s", p->file);
		return 0;
	}
	if (pid)
		r = proc_maps_read((int)pid, PROC_MAPS_EXEC, match_mapping, &s, err);
	if (r < 0)
		return r;
	if (r > 0 || (!pid && find_in_system(p->file, p->path)))
		return 0;
	if (pid)
		return err_set(err, -ENOENT, "--event: process %u has not mapped a file \"%.80s\"",
			       pid, p->file);
	return err_set(err, -ENOENT,
		       "--event: cannot find a library or program \"%.80s\": use its path",
		       p->file);
}

/* ---- the symbol --------------------------------------------------------------------- */

static bool is_demangled_as(const char *raw, const char *name_wanted)
{
	_cleanup_(freep) char *name = demangle_name(raw, DEMANGLE_SHORT, false);

	return name && !strcmp(name, name_wanted);
}

static int find_demangled(const struct elf_image *img, const char *name_wanted, uint64_t *out)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct elf_symbol sym;
	int r = elf_symtab_load(&t, img, SYMBOLS, NULL);

	if (r < 0)
		return r;
	if (elf_symtab_by_name(t, name_wanted, &sym) == 0) {
		*out = sym.vaddr;
		return 0;
	}
	for (size_t i = 0; i < elf_symtab_count(t); i++) {
		elf_symtab_at(t, i, &sym);
		if (!is_demangled_as(sym.name, name_wanted))
			continue;
		*out = sym.vaddr;
		return 0;
	}
	return -ENOENT;
}

static int find_symbol(const struct elf_image *img, const struct probe_spec *p, uint64_t *out,
		       struct err *err)
{
	struct elf_rawsym raw;
	char *end;
	int r;

	if (!strncmp(p->name, "0x", 2)) {
		*out = strtoull(p->name, &end, 16);
		return *end ? err_set(err, -EINVAL,
				      "--event: invalid address \"%.60s\": expected hexadecimal "
				      "digits",
				      p->name)
			    : 0;
	}
	r = elf_symbol_lookup(img, SYMBOLS, p->name, &raw);
	if (r == 0 && raw.type == STT_GNU_IFUNC)
		return err_set(err, -EINVAL,
			       "--event: \"%.60s\" is an indirect function (IFUNC), which is "
			       "resolved when the program starts: probe one of its implementations",
			       p->name);
	if (r == 0 && raw.type != STT_OBJECT) {
		*out = raw.vaddr;
		return 0;
	}
	r = find_demangled(img, p->name, out);
	return r < 0 ? err_set(err, -ENOENT, "--event: cannot find function \"%.80s\" in \"%.80s\"",
			       p->name, p->file)
		     : 0;
}

struct symbol_job {
	const struct probe_spec *p;
	uint64_t *out;
	struct err *err;
};

static int read_offset(void *ctx)
{
	struct symbol_job *rd = ctx;
	const struct probe_spec *p = rd->p;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = regular_file_open(p->path, NULL);
	uint64_t vaddr = 0;
	int r;

	if (fd < 0)
		return err_set(rd->err, fd, "--event: cannot open \"%.100s\": %s", p->file,
			       strerror(-fd));
	r = elf_image_open(&img, fd, NULL);
	if (r < 0)
		return err_set(
			rd->err, r,
			"--event: \"%.120s\" is not a program or library (invalid ELF header)",
			p->file);
	r = find_symbol(img, p, &vaddr, rd->err);
	if (r < 0)
		return r;
	r = elf_image_offset_of(img, vaddr + p->offset, rd->out);
	return r < 0 ? err_set(rd->err, r, "--event: \"%.60s\" is outside of the code of \"%.80s\"",
			       p->symbol, p->file)
		     : 0;
}

/* ---- the event ---------------------------------------------------------------------- */

/*
 * Splits SYMBOL[+OFFSET]. A C++ operator's name may itself contain a plus, so only a number
 * after the last one counts.
 */
static void split_offset(struct probe_spec *p)
{
	const char *offset = strrchr(p->symbol, '+');
	char *end = NULL;
	size_t n = strlen(p->symbol);

	if (offset && offset > p->symbol && offset[1] >= '0' && offset[1] <= '9')
		p->offset = strtoull(offset + 1, &end, 0);
	if (end && !*end)
		n = (size_t)(offset - p->symbol);
	else
		p->offset = 0;
	snprintf(p->name, sizeof(p->name), "%.*s", (int)n, p->symbol);
}

static int split_spec(const char *text, struct probe_spec *p, struct err *err)
{
	const char *file = strchr(text, ':') + 1, *colon = strchr(file, ':');

	p->is_return = !strncmp(text, "uretprobe:", 10);
	if (!colon || colon == file || !colon[1] || colon - file >= PATH_MAX - 32 ||
	    strlen(colon + 1) >= sizeof(p->name))
		return err_set(err, -EINVAL,
			       "--event \"%.60s\": invalid probe; expected uprobe:FILE:FUNCTION or "
			       "uprobe:FILE:FUNCTION+OFFSET",
			       text);
	snprintf(p->file, sizeof(p->file), "%.*s", (int)(colon - file), file);
	p->symbol = colon + 1;
	split_offset(p);
	if (p->is_return && p->offset)
		return err_set(err, -EINVAL, "--event: a uretprobe cannot have an offset");
	return 0;
}

/* Reads the first number in a one-line file such as "config:0". */
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

/*
 * Fills in the perf event type of uprobes and the bit that selects return probes, both
 * dynamic.
 */
static int set_event_type(struct event *e, bool is_return, struct err *err)
{
	uint32_t bit = 0;
	int r = read_number("/sys/bus/event_source/devices/uprobe/type", &e->type);

	if (r == 0 && is_return)
		r = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", &bit);
	if (r < 0 || bit > 63)
		return err_set(err, -ENOTSUP,
			       "--event: this kernel does not support uprobes (CONFIG_UPROBES is "
			       "not set)");
	e->config = is_return ? 1ULL << bit : 0;
	return 0;
}

int uprobe_parse(const char *text, uint32_t pid, struct event *out, struct err *err)
{
	struct probe_spec p = { 0 };
	struct event e = { .kind = EVENT_UPROBE, .period = 1 };
	struct symbol_job rd = { .p = &p, .out = &e.offset, .err = err };
	const char *slash;
	int r = split_spec(text, &p, err);

	if (r == 0)
		r = find_file(&p, pid, err);
	if (r == 0)
		r = sigbus_run(read_offset, &rd);
	if (r == 0)
		r = set_event_type(&e, p.is_return, err);
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
