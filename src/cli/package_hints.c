/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists are read once, one after another: a few thousand files, 20 MiB on a large installation.
 * That costs 0.1 s of CPU time, and is done only if many samples lack a symbol.
 */
#include "cli/package_hints.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/regular_file.h"
#include "elf/note.h"
#include "profile/profile.h"
#include "symbol/facts.h"
#include "symbol/symbolizer.h"

enum {
	FILES_MAX = 8,     /* files of the profile that are looked up */
	LISTS_MAX = 20000, /* lists that are read */
	LIST_BYTES_MAX = 8 << 20,
	WORTH_IT = 20,  /* one sample in N has a leaf without a symbol */
	HINT_MIN = 100, /* the same for one file */
};

static const char debug_suffix[] = "-dbgsym";

/* A file with functions that have no symbol. */
struct unnamed_file {
	const char *path, *build_id; /* borrowed from the profile */
	int64_t value;
	char package[PACKAGE_NAME_MAX]; /* "" until it is found */
	bool is_installed;              /* the package of debug symbols is installed already */
};

struct search {
	struct unnamed_file files[FILES_MAX];
	size_t n;
	int64_t total;
};

/* ---- the profile ---------------------------------------------------------------- */

/* "[libz.so.1+0x4970]" (symbolize/frame_symbols.c) */
static bool is_unnamed(const char *name)
{
	size_t len = strlen(name);

	return len > 2 && name[0] == '[' && name[len - 1] == ']' && strstr(name, "+0x");
}

/* The mapping of the sample's leaf, if its function has no symbol; else PROFILE_NONE. */
static uint32_t unnamed_mapping(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_function *f;
	struct profile_location leaf;
	const uint32_t *ids;
	size_t n;

	ids = profile_stack(p, s->stack, &n);
	if (!n)
		return PROFILE_NONE;
	leaf = profile_location(p, ids[0]);
	if (leaf.mapping == PROFILE_NONE || !leaf.n_lines)
		return PROFILE_NONE;
	f = profile_function(p, leaf.lines[0].function);
	return is_unnamed(profile_string(p, f->name)) ? leaf.mapping : PROFILE_NONE;
}

/*
 * True if the file at the path has a build id, without which no debug symbols can be found, and the
 * profile's file has the same one or none. In a profile without build ids, a file that does not
 * exist here counts as well. The symbolizer's sandbox reads the file; *@symbolizer is created when
 * it is first needed.
 */
static bool is_here(struct symbolizer **symbolizer, const struct unnamed_file *f)
{
	const struct symbolizer_opts opts = { 0 };
	struct symbolizer_file file = { .root_fd = -1, .debug_fd = -1, .path = "" };
	char hex[2 * ELF_BUILD_ID_MAX + 1] = "";
	const struct symbol_facts *facts;
	_cleanup_(closep) int fd = -1;
	uint32_t id;

	fd = regular_file_open(f->path, NULL);
	file.fd = fd;
	if (fd < 0)
		return !*f->build_id;
	if ((!*symbolizer && symbolizer_new(symbolizer, &opts) < 0) ||
	    symbolizer_add_file(*symbolizer, &file, &id) < 0)
		return false;
	facts = symbolizer_facts(*symbolizer, id);
	if (facts)
		elf_build_id_hex(&facts->build_id, hex);
	symbolizer_release_file(*symbolizer, id);
	return *hex && (!*f->build_id || !strcmp(hex, f->build_id));
}

/* Keeps the FILES_MAX files with the greatest values, in descending order. */
static void add_file(struct search *s, const struct unnamed_file *f)
{
	size_t at = s->n;

	while (at && s->files[at - 1].value < f->value)
		at--;
	if (at == FILES_MAX)
		return;
	if (s->n < FILES_MAX)
		s->n++;
	memmove(&s->files[at + 1], &s->files[at], (s->n - at - 1) * sizeof(s->files[0]));
	s->files[at] = *f;
}

static void collect_files(const struct profile *p, struct search *s)
{
	uint32_t n = profile_n_mappings(p);
	_cleanup_(freep) int64_t *values = calloc(n + 1u, sizeof(*values));
	int64_t unnamed = 0;

	if (!values || !profile_n_sample_types(p))
		return;
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample sample = profile_sample(p, i);
		uint32_t m = unnamed_mapping(p, &sample);

		s->total += sample.values[0];
		if (m != PROFILE_NONE) {
			values[m] += sample.values[0];
			unnamed += sample.values[0];
		}
	}
	if (unnamed < s->total / WORTH_IT)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct profile_mapping *m = profile_mapping(p, i);
		struct unnamed_file f = { .path = profile_string(p, m->file),
					  .build_id = profile_string(p, m->build_id),
					  .value = values[i] };

		if (f.value > 0)
			add_file(s, &f);
	}
}

/* ---- dpkg's lists --------------------------------------------------------------- */

/* The length of the package's name in "libz1:amd64.list"; 0 if that is not a package's name. */
static size_t package_len(const char *file)
{
	size_t n = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789+-.");

	if (file[n] != ':' && n > 5 && !strcmp(file + n - 5, ".list"))
		n -= 5;
	else if (file[n] != ':' || !strstr(file + n, ".list"))
		return 0;
	return isalnum((unsigned char)file[0]) && n > 1 &&
			       n + sizeof(debug_suffix) <= PACKAGE_NAME_MAX
		       ? n
		       : 0;
}

/* Lists may still have the paths from before /bin, /lib and /sbin were merged into /usr. */
static bool is_line(const char *line, size_t len, const char *path)
{
	size_t n = strlen(path);

	if (len == n && !memcmp(line, path, n))
		return true;
	return n == len + 4 && !memcmp(path, "/usr", 4) && !memcmp(line, path + 4, len);
}

/* Debug symbols of the C library are in a package of their own kind. */
static void name_package(struct unnamed_file *f, const char *file, size_t len, int info_fd)
{
	char list[PACKAGE_NAME_MAX + NAME_MAX];

	if (len == 5 && !memcmp(file, "libc6", 5))
		snprintf(f->package, sizeof(f->package), "libc6-dbg");
	else
		snprintf(f->package, sizeof(f->package), "%.*s%s", (int)len, file, debug_suffix);
	snprintf(list, sizeof(list), "%s%s", f->package, file + len);
	f->is_installed = faccessat(info_fd, list, F_OK, 0) == 0;
}

static void search_list(struct search *s, const struct buf *list, const char *file, size_t len,
			int info_fd)
{
	const char *at = (const char *)list->data, *end = at + list->len;

	while (at < end) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((eol ? eol : end) - at);

		for (size_t i = 0; i < s->n; i++)
			if (!s->files[i].package[0] && is_line(at, n, s->files[i].path))
				name_package(&s->files[i], file, len, info_fd);
		at += n + 1;
	}
}

/* Reads a list into @out, which is emptied first. Returns false if it cannot be read. */
static bool read_list(const char *dir, const char *name, struct buf *out)
{
	char block[16 << 10];
	_cleanup_(closep) int fd = -1;
	char path[PATH_MAX];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	fd = regular_file_open(path, NULL);
	out->len = 0;
	while (fd >= 0 && out->len < LIST_BYTES_MAX && (n = read(fd, block, sizeof(block))) > 0)
		buf_put(out, block, (size_t)n);
	return out->len && !buf_error(out);
}

static void search_lists(struct search *s, const char *info_dir)
{
	_cleanup_(buf_fini) struct buf list = { 0 };
	DIR *dir = opendir(info_dir);
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir)) && n < LISTS_MAX) {
		size_t len = package_len(e->d_name);

		if (!len)
			continue;
		n++;
		if (read_list(info_dir, e->d_name, &list))
			search_list(s, &list, e->d_name, len, dirfd(dir));
	}
	if (dir)
		closedir(dir);
}

/* ---- the hints ------------------------------------------------------------------ */

/* Adds a file's share to its package, which may have other files. */
static void add_hint(struct package_hints *out, const struct unnamed_file *f, double share)
{
	size_t i = 0;

	while (i < out->n && strcmp(out->at[i].package, f->package))
		i++;
	if (i == PACKAGE_HINTS_MAX)
		return;
	if (i == out->n)
		memcpy(out->at[out->n++].package, f->package, sizeof(f->package));
	out->at[i].share += share;
	for (; i && out->at[i - 1].share < out->at[i].share; i--) {
		struct package_hint swap = out->at[i];

		out->at[i] = out->at[i - 1];
		out->at[i - 1] = swap;
	}
}

void package_hints_find(const struct profile *p, const char *info_dir, struct package_hints *out)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	struct search s = { 0 };

	*out = (struct package_hints){ 0 };
	collect_files(p, &s);
	if (s.n)
		search_lists(&s, info_dir);
	for (size_t i = 0; i < s.n; i++)
		if (s.files[i].package[0] && !s.files[i].is_installed &&
		    s.files[i].value >= s.total / HINT_MIN && is_here(&symbolizer, &s.files[i]))
			add_hint(out, &s.files[i], (double)s.files[i].value / (double)s.total);
}

void package_hints_print(const struct package_hints *hints)
{
	if (!hints->n)
		return;
	fputs("cameo: these packages would name the functions of samples without a symbol:",
	      stderr);
	for (size_t i = 0; i < hints->n; i++)
		fprintf(stderr, "%s %s (%.1f %%)", i ? "," : "", hints->at[i].package,
			100 * hints->at[i].share);
	fputc('\n', stderr);
}
