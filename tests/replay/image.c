/* SPDX-License-Identifier: Apache-2.0 */
/* Files are told apart by their path: the images of tests do not outlive their files. */
#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "unwind/tables.h"
#include "unwind/walk.h"

static int add_chunk(void *ctx, uint32_t n, uint32_t **out)
{
	struct image *im = ctx;

	im->chunks[n] = calloc(1, ARENA_CHUNK_BYTES);
	*out = im->chunks[n];
	return *out ? 0 : -ENOMEM;
}

int image_init(struct image *im)
{
	struct unwind_tables_memory mem = { .add_chunk = add_chunk,
					    .ctx = im,
					    .max_chunks = IMAGE_CHUNKS_MAX };
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
	return r < 0 ? r : vec_push(&im->files, (struct image_file){ 0 });
}

void image_fini(struct image *im)
{
	unwind_walker_free(im->walker);
	unwind_tables_free(im->tables);
	for (size_t i = 0; i < im->files.len; i++)
		elf_image_free(im->files.data[i].elf);
	vec_fini(&im->files);
	vec_fini(&im->mappings);
	for (size_t i = 0; i < IMAGE_CHUNKS_MAX; i++)
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

/* The id of the file, with its table made; 0 or -errno. */
static int file_id(struct image *im, const char *path, const void *memory, size_t len,
		   uint32_t *out)
{
	struct unwind_tables_source src = { 0 };
	struct image_file f = { 0 };
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

int image_add(struct image *im, const struct unwind_mapping *m, const char *path,
	      const void *memory, size_t len)
{
	struct unwind_mapping map = *m;
	int r = 0;

	map.kind = path[0] == '/' || memory ? MAPPING_FILE : MAPPING_ANONYMOUS;
	if (map.kind == MAPPING_FILE)
		r = file_id(im, path, memory, len, &map.file);
	return r < 0 ? r : vec_push(&im->mappings, map);
}

int image_seal(struct image *im)
{
	return unwind_tables_add_mappings(im->tables, im->mappings.data, (uint32_t)im->mappings.len,
					  &im->process);
}

const struct unwind_mapping *image_find(const struct image *im, uint64_t pc)
{
	for (size_t i = 0; i < im->mappings.len; i++)
		if (pc >= im->mappings.data[i].start && pc < im->mappings.data[i].end)
			return &im->mappings.data[i];
	return NULL;
}
