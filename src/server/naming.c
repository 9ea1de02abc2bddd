/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is looked for once by its build id: at the path that the mapping tells, if
 * the file there has that id, among the debug files of the machine, and at
 * debuginfod. What is not found is not looked for again for a while.
 *
 * A place is an offset in the file where its mapping says what is mapped, else an
 * address in the file's own terms. A debug file's offsets are not its original's: of
 * that it is taken that a mapping begins with the code, or with the file.
 */
#include "server/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/armour.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/vec.h"
#include "elf/image.h"
#include "profile/profile.h"
#include "symbol/debugfile.h"
#include "symbol/debuginfod.h"
#include "symbol/symbolizer.h"

enum {
	MAX_FILES = 1024,   /* that are remembered, found or not */
	MAX_MAPPINGS = 512, /* of a profile */
	RETRY_SECONDS = 600,
	TIMEOUT_MS = 3000,
	PAGE = 4096,
	TABLES_BYTES = 32 << 20,
};

struct named_file {
	struct elf_build_id id;
	bool found, is_debug;
	uint32_t file;        /* the symbolizer's */
	uint64_t first, code; /* of a debug file: pages where it and its code are mapped */
	int64_t looked_ms;
};

struct naming {
	pthread_mutex_t lock;
	struct symbolizer *symbolizer;
	struct debuginfod *debuginfod; /* or NULL */
	int root;
	bool by_path;
	struct {
		VEC(struct named_file);
	} files;
};

void naming_free(struct naming *n)
{
	if (!n)
		return;
	symbolizer_free(n->symbolizer);
	debuginfod_free(n->debuginfod);
	vec_fini(&n->files);
	closep(&n->root);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

int naming_new(struct naming **out, const struct naming_options *opt)
{
	const struct symbolizer_opts symbols = { .memory_bytes = TABLES_BYTES,
						 .timeout_ms = TIMEOUT_MS };
	const struct debuginfod_opts debuginfod = { .urls = opt->debuginfod,
						    .cache_dir = opt->debuginfod_cache,
						    .timeout_ms = TIMEOUT_MS };
	_cleanup_(naming_freep) struct naming *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	pthread_mutex_init(&n->lock, NULL);
	n->by_path = opt->by_path;
	n->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = symbolizer_new(&n->symbolizer, &symbols);
	if (r == 0 && opt->debuginfod)
		r = debuginfod_new(&n->debuginfod, &debuginfod, NULL);
	if (r == 0)
		*out = steal_ptr(&n);
	return r;
}

static bool read_build_id(const struct profile *p, const struct profile_mapping *m,
			  struct elf_build_id *out)
{
	_cleanup_(buf_fini) struct buf bytes = { 0 };

	if (!m->build_id || armour_hex(profile_string(p, m->build_id),
				       profile_string_len(p, m->build_id), &bytes) < 0)
		return false;
	if (!bytes.len || bytes.len > ELF_BUILD_ID_MAX)
		return false;
	*out = (struct elf_build_id){ .len = (uint8_t)bytes.len };
	memcpy(out->bytes, bytes.data, bytes.len);
	return true;
}

/* The pages of a debug file's first segment and of its only executable one. */
static bool find_code(int fd, struct named_file *f)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct elf_segment *segments;
	size_t n, n_exec = 0;

	if (elf_image_open(&img, fd, NULL) < 0)
		return false;
	n = elf_image_segments(img, &segments);
	f->first = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		uint64_t page = segments[i].vaddr - segments[i].vaddr % PAGE;

		f->first = page < f->first ? page : f->first;
		if (!segments[i].exec)
			continue;
		f->code = page;
		n_exec++;
	}
	return n_exec == 1;
}

/* -1: nobody has it. */
static int open_file(struct naming *n, const char *path, struct named_file *f)
{
	int fd = path[0] == '/' ? debugfile_open_checked(n->root, path, &f->id) : -1;

	if (fd >= 0)
		return fd;
	f->is_debug = true;
	fd = debugfile_open_by_id(n->root, &f->id);
	if (fd < 0 && n->debuginfod)
		fd = debuginfod_find(n->debuginfod, &f->id);
	return fd;
}

static void look_for(struct naming *n, const char *path, struct named_file *f)
{
	int fd = open_file(n, path, f);
	const struct symbolizer_file file = {
		.fd = fd, .root_fd = -1, .debug_fd = -1, .path = path
	};

	f->looked_ms = clock_monotonic_ms();
	if (fd < 0)
		return;
	f->found = (!f->is_debug || find_code(fd, f)) &&
		   symbolizer_add_file(n->symbolizer, &file, &f->file) == 0;
	close(fd);
}

static bool same_id(const struct elf_build_id *a, const struct elf_build_id *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

static int find_file(struct naming *n, const struct elf_build_id *id, const char *path,
		     const struct named_file **out)
{
	struct named_file f = { .id = *id };

	for (size_t i = 0; i < n->files.len; i++) {
		struct named_file *have = &n->files.data[i];

		if (!same_id(&have->id, id))
			continue;
		if (!have->found &&
		    clock_monotonic_ms() - have->looked_ms > RETRY_SECONDS * 1000LL) {
			*have = f;
			look_for(n, path, have);
		}
		*out = have->found ? have : NULL;
		return 0;
	}
	*out = NULL;
	if (n->files.len == MAX_FILES)
		return 0;
	look_for(n, path, &f);
	if (vec_push(&n->files, f) < 0)
		return -ENOMEM;
	*out = f.found ? &n->files.data[n->files.len - 1] : NULL;
	return 0;
}

/* The file at a path whose build id nobody told, if that is good enough. */
static int find_unchecked(struct naming *n, const char *path, struct named_file *f,
			  const struct named_file **out)
{
	struct symbolizer_file file = { .root_fd = -1, .debug_fd = -1, .path = path };

	*out = NULL;
	if (!n->by_path || path[0] != '/')
		return 0;
	file.fd = debugfile_open_at(n->root, path);
	if (file.fd < 0)
		return 0;
	*f = (struct named_file){ .found = true };
	if (symbolizer_add_file(n->symbolizer, &file, &f->file) == 0)
		*out = f;
	close(file.fd);
	return 0;
}

/* Places of one file, asked about together. */
struct places {
	struct profile *p;
	struct {
		VEC(uint32_t);
	} locations;
	struct {
		VEC(uint64_t);
	} addresses;
	struct {
		VEC(struct profile_line);
	} lines;
};

static void places_fini(struct places *pl)
{
	vec_fini(&pl->locations);
	vec_fini(&pl->addresses);
	vec_fini(&pl->lines);
}

static int add_text(struct profile *p, const char *text, uint32_t *out)
{
	return text ? profile_add_string(p, text, strlen(text), out) : 0;
}

static int on_answer(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n_frames)
{
	struct places *pl = ctx;
	int r = 0;

	pl->lines.len = 0;
	for (size_t i = 0; r == 0 && i < n_frames; i++) {
		struct profile_function f = { .start_line = frames[i].start_line };
		struct profile_line line = { .line = frames[i].line };

		r = add_text(pl->p, frames[i].name, &f.name);
		if (r == 0)
			r = add_text(pl->p, frames[i].system_name, &f.system_name);
		if (r == 0)
			r = add_text(pl->p, frames[i].file, &f.file);
		if (r == 0)
			r = profile_add_function(pl->p, &f, &line.function);
		if (r == 0)
			r = vec_push(&pl->lines, line);
	}
	return r < 0 ? r
		     : profile_name_location(pl->p, pl->locations.data[cookie], pl->lines.data,
					     pl->lines.len);
}

/* The places in one mapping, or outside of all it says to have: as offsets or as addresses. */
static int ask(struct naming *n, const struct named_file *f, struct places *pl, uint32_t mapping,
	       bool within)
{
	const struct profile_mapping m = *profile_mapping(pl->p, mapping);

	pl->locations.len = pl->addresses.len = 0;
	for (uint32_t i = 0; i < profile_n_locations(pl->p); i++) {
		struct profile_location l = profile_location(pl->p, i);
		uint64_t at = l.address;

		if (l.mapping != mapping || l.n_lines ||
		    (l.address >= m.start && l.address < m.limit) != within)
			continue;
		if (within)
			at = at - m.start +
			     (!f->is_debug ? m.file_off
			      : m.file_off ? f->code
					   : f->first);
		if (vec_push(&pl->locations, i) < 0 || vec_push(&pl->addresses, at) < 0)
			return -ENOMEM;
	}
	if (!pl->locations.len)
		return 0;
	return symbolizer_ask(n->symbolizer, f->file,
			      within && !f->is_debug ? SYMBOLIZER_OFFSET : SYMBOLIZER_VADDR,
			      pl->addresses.data, pl->addresses.len, on_answer, pl);
}

static int name_mapping(struct naming *n, struct profile *p, uint32_t mapping)
{
	_cleanup_(places_fini) struct places pl = { .p = p };
	const struct profile_mapping *m = profile_mapping(p, mapping);
	const struct named_file *f;
	struct named_file unchecked;
	struct elf_build_id id;
	int r;

	if (read_build_id(p, m, &id))
		r = find_file(n, &id, profile_string(p, m->file), &f);
	else
		r = find_unchecked(n, profile_string(p, m->file), &unchecked, &f);
	if (r < 0 || !f)
		return r;
	r = ask(n, f, &pl, mapping, true);
	if (r == 0)
		r = ask(n, f, &pl, mapping, false);
	return r == -ENOMEM ? r : 0;
}

/* Which mappings have places without names. */
static bool *find_unnamed(const struct naming *n, const struct profile *p, bool *out_any)
{
	bool *unnamed = calloc((size_t)profile_n_mappings(p) + 1, sizeof(*unnamed));

	*out_any = false;
	for (uint32_t i = 0; unnamed && i < profile_n_locations(p); i++) {
		struct profile_location l = profile_location(p, i);

		if (l.n_lines || l.mapping == PROFILE_NONE ||
		    (!n->by_path && !profile_mapping(p, l.mapping)->build_id))
			continue;
		unnamed[l.mapping] = true;
		*out_any = true;
	}
	return unnamed;
}

int naming_apply(struct naming *n, struct profile *p)
{
	bool any;
	_cleanup_(freep) bool *unnamed = find_unnamed(n, p, &any);
	uint32_t n_asked = 0;
	int r = unnamed ? 0 : -ENOMEM;

	if (r < 0 || !any)
		return r;
	pthread_mutex_lock(&n->lock);
	for (uint32_t i = 0; r == 0 && i < profile_n_mappings(p) && n_asked < MAX_MAPPINGS; i++) {
		if (!unnamed[i])
			continue;
		n_asked++;
		r = name_mapping(n, p, i);
	}
	pthread_mutex_unlock(&n->lock);
	return r;
}
