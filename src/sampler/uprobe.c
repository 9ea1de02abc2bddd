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
#include "proc/maps.h"
#include "sampler/event.h"
#include "symbol/probe_place.h"

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

static int place_error(const struct probe_spec *p, int r, struct err *err)
{
	switch (r) {
	case -ENOEXEC:
		return err_set(
			err, r,
			"--event: \"%.120s\" is not a program or library (invalid ELF header)",
			p->file);
	case -ENOENT:
		return err_set(err, r, "--event: cannot find function \"%.80s\" in \"%.80s\"",
			       p->name, p->file);
	case -EINVAL:
		return err_set(err, r,
			       "--event: invalid address \"%.60s\": expected hexadecimal digits",
			       p->name);
	case -ENOTSUP:
		return err_set(err, -EINVAL,
			       "--event: \"%.60s\" is an indirect function (IFUNC), which is "
			       "resolved when the program starts: probe one of its implementations",
			       p->name);
	case -ERANGE:
		return err_set(err, -ENOENT,
			       "--event: \"%.60s\" is outside of the code of \"%.80s\"", p->symbol,
			       p->file);
	default:
		return err_set(err, r, "--event: cannot read the symbols of \"%.80s\": %s", p->file,
			       strerror(-r));
	}
}

static int find_place(const struct probe_spec *p, const struct event_query *q, uint64_t *out,
		      struct err *err)
{
	const struct regular_file_query file = { .path = p->path, .root = -1 };
	struct regular_file_info info;
	_cleanup_(closep) int fd = regular_file_find(&file, &info);
	int r;

	if (fd < 0)
		return err_set(err, fd, "--event: cannot open \"%.100s\": %s", p->file,
			       strerror(-fd));
	r = q->find_place ? q->find_place(q->ctx, fd, p->name, p->offset, out)
			  : probe_place_find(fd, p->name, p->offset, out);
	return r < 0 ? place_error(p, r, err) : 0;
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

int uprobe_event_type(bool is_return, uint32_t *out_type, uint64_t *out_config)
{
	uint32_t bit = 0;
	int r = read_number("/sys/bus/event_source/devices/uprobe/type", out_type);

	if (r == 0 && is_return)
		r = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", &bit);
	if (r < 0 || bit > 63)
		return -ENOTSUP;
	*out_config = is_return ? 1ULL << bit : 0;
	return 0;
}

static int set_event_type(struct event *e, bool is_return, struct err *err)
{
	int r = uprobe_event_type(is_return, &e->type, &e->config);

	return r < 0 ? err_set(err, r,
			       "--event: this kernel does not support uprobes (CONFIG_UPROBES is "
			       "not set)")
		     : 0;
}

int uprobe_parse(const char *text, const struct event_query *q, struct event *out, struct err *err)
{
	struct probe_spec p = { 0 };
	struct event e = { .kind = EVENT_UPROBE, .period = 1 };
	const char *slash;
	int r = split_spec(text, &p, err);

	if (r == 0)
		r = find_file(&p, q->pid, err);
	if (r == 0)
		r = find_place(&p, q, &e.offset, err);
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
