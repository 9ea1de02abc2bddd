/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are identified by path: an image does not outlive the files that it was built from.
 *
 * Nothing here needs the kernel: unwind tables take memory from callbacks, which are BPF maps in
 * the agent and plain arrays here, so both walk over the same bytes.
 */
#include "capture/process_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "unwind/tables.h"
#include "unwind/walk.h"

/* The tables request chunk after chunk; a chunk is only freed with the image. */
static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	struct process_image *im = ctx;

	im->chunks[n] = calloc(1, ARENA_CHUNK_BYTES);
	*out = im->chunks[n];
	return *out ? 0 : -ENOMEM;
}

int process_image_init(struct process_image *im)
{
	struct unwind_tables_memory mem = { .add_chunk = add_chunk,
					    .ctx = im,
					    .max_chunks = PROCESS_IMAGE_CHUNKS_MAX };
	int r;

	memset(im, 0, sizeof(*im));
	im->rules = calloc(UNWIND_RULES_MAX, sizeof(*im->rules));
	im->file_table = calloc(UNWIND_FILES_MAX, sizeof(*im->file_table));
	mem.rules = im->rules;
	mem.files = im->file_table;
	mem.generation = &im->generation;
	if (!mem.rules || !mem.files)
		return -ENOMEM;
	r = unwind_tables_new(&im->tables, &mem);
	if (r == 0)
		r = unwind_walker_new(&im->walker, im->tables);
	return r < 0 ? r : vec_push(&im->files, (struct process_image_file){ 0 });
}

void process_image_fini(struct process_image *im)
{
	unwind_walker_free(im->walker);
	unwind_tables_free(im->tables);
	for (size_t i = 0; i < im->files.len; i++)
		elf_image_free(im->files.data[i].elf);
	vec_fini(&im->files);
	vec_fini(&im->mappings);
	for (size_t i = 0; i < PROCESS_IMAGE_CHUNKS_MAX; i++)
		free(im->chunks[i]);
	free(im->rules);
	free(im->file_table);
}

static int open_elf(struct elf_image **out, const char *path, const void *memory, size_t len)
{
	_cleanup_(closep) int fd = -1;

	if (memory)
		return elf_image_from_memory(out, memory, len, NULL);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : elf_image_open(out, fd, NULL);
}

/*
 * Stores the id of the file in *@out and builds its table if it is new. Returns 0 or -ENOMEM. A
 * file that fails to open keeps its id without a table, so that each mapping of it does not try
 * again.
 */
static int file_id(struct process_image *im, const char *path, const void *memory, size_t len,
		   uint32_t *out)
{
	struct unwind_tables_source src = { 0 };
	struct process_image_file f = { 0 };
	uint32_t id = (uint32_t)im->files.len;
	int r;

	for (size_t i = 1; i < im->files.len; i++) {
		if (!strcmp(im->files.data[i].path, path)) {
			*out = (uint32_t)i;
			return 0;
		}
	}
	snprintf(f.path, sizeof(f.path), "%s", path);
	(void)open_elf(&f.elf, path, memory, len);
	src.img = f.elf;
	r = vec_push(&im->files, f);
	if (r < 0) {
		elf_image_free(f.elf);
		return r;
	}
	if (!f.elf || unwind_tables_build(im->tables, id, &src, 0, NULL) < 0)
		unwind_tables_set_absent(im->tables, id);
	*out = id;
	return 0;
}

int process_image_add(struct process_image *im, const struct unwind_mapping *m, const char *path,
		      const void *memory, size_t len)
{
	struct unwind_mapping map = *m;
	int r = 0;

	map.kind = path[0] == '/' || memory ? MAPPING_FILE : MAPPING_ANONYMOUS;
	if (map.kind == MAPPING_FILE)
		r = file_id(im, path, memory, len, &map.file);
	return r < 0 ? r : vec_push(&im->mappings, map);
}

static int by_start(const void *a, const void *b)
{
	const struct unwind_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Adds the parts of the mapping @old that @m does not cover: one below it and one above it. */
static int add_rest(struct process_image *im, const struct unwind_mapping *old,
		    const struct unwind_mapping *m)
{
	struct unwind_mapping below = *old, above = *old;
	int r = 0;

	if (below.end > m->start)
		below.end = m->start;
	if (above.start < m->end) {
		if (above.kind == MAPPING_FILE)
			above.file_off += m->end - above.start;
		above.start = m->end;
	}
	if (below.start < below.end)
		r = vec_push(&im->mappings, below);
	if (r == 0 && above.start < above.end)
		r = vec_push(&im->mappings, above);
	return r;
}

int process_image_cover(struct process_image *im, const struct unwind_mapping *m)
{
	struct process_image old = { .mappings = im->mappings };
	int r = 0;

	memset(&im->mappings, 0, sizeof(im->mappings));
	for (size_t i = 0; i < old.mappings.len && r == 0; i++) {
		const struct unwind_mapping *o = &old.mappings.data[i];

		r = o->end <= m->start || o->start >= m->end ? vec_push(&im->mappings, *o)
							     : add_rest(im, o, m);
	}
	vec_fini(&old.mappings);
	if (r == 0)
		r = vec_push(&im->mappings, *m);
	if (r == 0)
		qsort(im->mappings.data, im->mappings.len, sizeof(*m), by_start);
	return r;
}

void process_image_sweep(struct process_image *im, uint32_t file)
{
	struct unwind_tables_source src = { .img = im->files.data[file].elf, .sweep_all = true };

	unwind_tables_drop(im->tables, file, 0);
	if (!src.img || unwind_tables_build(im->tables, file, &src, 0, NULL) < 0)
		unwind_tables_set_absent(im->tables, file);
}

int process_image_seal(struct process_image *im)
{
	return unwind_tables_add_mappings(im->tables, im->mappings.data, (uint32_t)im->mappings.len,
					  &im->process);
}

const struct unwind_mapping *process_image_find(const struct process_image *im, uint64_t pc)
{
	for (size_t i = 0; i < im->mappings.len; i++)
		if (pc >= im->mappings.data[i].start && pc < im->mappings.data[i].end)
			return &im->mappings.data[i];
	return NULL;
}
