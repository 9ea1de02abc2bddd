/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorded_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/regular_file.h"
#include "cli/text.h"
#include "elf/note.h"
#include "profile/profile.h"
#include "symbol/facts.h"

struct recorded_file {
	struct profile_mapping mapping;
	struct symbolizer *symbolizer;
	const struct symbol_facts *facts;
	char *path;
	int fd;
	uint32_t id;
	bool is_added;
};

void recorded_file_free(struct recorded_file *f)
{
	if (!f)
		return;
	if (f->is_added)
		symbolizer_release_file(f->symbolizer, f->id);
	closep(&f->fd);
	free(f->path);
	free(f);
}

static int open_file(struct recorded_file *f, struct err *err)
{
	const struct regular_file_query query = { .path = f->path, .root = -1 };
	struct regular_file_info info;

	if (f->path[0] == '[' || !f->path[0])
		return err_set(err, -ENOENT, "\"%.100s\" is not a file", f->path);
	f->fd = regular_file_find(&query, &info);
	if (f->fd == -ENOENT)
		return err_set(err, f->fd,
			       "cannot open \"%.100s\": it does not exist or is not a regular file",
			       f->path);
	if (f->fd < 0)
		return err_set(err, f->fd, "cannot open \"%.120s\": %s", f->path, strerror(-f->fd));
	return 0;
}

/* Build ids are compared as text: the profile's may have any length. */
static int check_build_id(const struct recorded_file *f, const char *recorded, struct err *err)
{
	char own[2 * ELF_BUILD_ID_MAX + 1];

	elf_build_id_hex(&f->facts->build_id, own);
	if (!*recorded || !strcmp(own, recorded))
		return 0;
	return err_set(err, -ESTALE,
		       "\"%.100s\" is not the recorded file: its build id is %.16s, not %.16s",
		       f->path, *own ? own : "missing", recorded);
}

static int add_file(struct recorded_file *f, struct err *err)
{
	const struct symbolizer_file file = {
		.fd = f->fd, .root_fd = -1, .debug_fd = -1, .path = f->path
	};
	int r = symbolizer_add_file(f->symbolizer, &file, &f->id);

	if (r < 0)
		return err_set(err, r, "\"%.120s\": %s", f->path, strerror(-r));
	f->is_added = true;
	f->facts = symbolizer_facts(f->symbolizer, f->id);
	if (!f->facts)
		return err_set(err, -EIO, "cannot read \"%.100s\": symbolizer: %.60s", f->path,
			       symbolizer_confinement(f->symbolizer));
	if (!f->facts->is_elf)
		return err_set(err, -ENOEXEC, "\"%.120s\" is not a 64-bit little-endian ELF file",
			       f->path);
	return 0;
}

int recorded_file_open(struct recorded_file **out, const struct profile *p, uint32_t mapping,
		       const char *path, struct symbolizer *s, struct err *err)
{
	_cleanup_(recorded_file_freep) struct recorded_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->fd = -1;
	f->mapping = *profile_mapping(p, mapping);
	f->symbolizer = s;
	f->path = strdup(path ? path : profile_string(p, f->mapping.file));
	if (!f->path)
		return err_set(err, -ENOMEM, "out of memory");
	r = open_file(f, err);
	if (r == 0)
		r = add_file(f, err);
	if (r == 0)
		r = check_build_id(f, profile_string(p, f->mapping.build_id), err);
	if (r == 0)
		*out = steal_ptr(&f);
	return r;
}

int recorded_file_fd(const struct recorded_file *f)
{
	return f->fd;
}

const char *recorded_file_path(const struct recorded_file *f)
{
	return f->path;
}

/*
 * Cameo's own recordings have addresses as linked, for which both ways give the same; other tools
 * write those of the process, or addresses as linked outside of the process's mapping.
 */
int recorded_file_vaddr(const struct recorded_file *f, uint64_t address, uint64_t *out)
{
	const struct profile_mapping *m = &f->mapping;

	if (address >= m->start && address < m->limit)
		return symbol_facts_vaddr(f->facts, address - m->start + m->file_off, out);
	*out = address;
	return 0;
}

int recorded_file_resolve(struct recorded_file *f, const uint64_t *vaddrs, size_t n,
			  symbol_frames_fn fn, void *ctx)
{
	return symbolizer_resolve(f->symbolizer, f->id, SYMBOLIZER_VADDR, vaddrs, n, fn, ctx);
}
