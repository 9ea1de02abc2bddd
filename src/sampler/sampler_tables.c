/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/sampler_tables.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "bpf/sample.skel.h"
#include "sampler/sampler_state.h"

enum {
	RULES_BYTES = UNWIND_RULES_MAX * sizeof(struct unwind_rule),
	FILES_BYTES = UNWIND_FILES_MAX * sizeof(struct unwind_file),
};

static void *map_memory(struct bpf_map *map, size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t page_up(size_t len)
{
	return (len + 4095) & ~(size_t)4095;
}

#define VM_BYTES(field) page_up(VM_TABLE_MAX * sizeof(*((struct vm_tables *)NULL)->field))

static size_t contexts_bytes(void)
{
	return page_up(CONTEXT_LAYOUTS_MAX * sizeof(struct context_layout));
}

static bool have_vms(const struct sampler *s)
{
#define X(sym, name)                                                                               \
	if (!s->vms.name)                                                                          \
		return false;
#include "bpf/shared/langs.def"
#undef X
	return s->vms.codes && s->vms.contexts;
}

int sampler_map_tables(struct sampler *s, struct err *err)
{
	s->rules = map_memory(s->skel->maps.rules, RULES_BYTES);
	s->files = map_memory(s->skel->maps.files, FILES_BYTES);
	s->vms.codes = map_memory(s->skel->maps.vm_codes, VM_BYTES(codes));
	s->vms.contexts = map_memory(s->skel->maps.context_layouts, contexts_bytes());
#define X(sym, name) s->vms.name = map_memory(s->skel->maps.name##_vms, VM_BYTES(name));
#include "bpf/shared/langs.def"
#undef X
	if (!s->rules || !s->files || !have_vms(s))
		return err_set(err, -errno, "cannot map the unwind tables: %s", strerror(errno));
	return 0;
}

static void unmap_vms(struct sampler *s)
{
	if (s->vms.codes)
		munmap(s->vms.codes, VM_BYTES(codes));
	if (s->vms.contexts)
		munmap(s->vms.contexts, contexts_bytes());
#define X(sym, name)                                                                               \
	if (s->vms.name)                                                                           \
		munmap(s->vms.name, VM_BYTES(name));
#include "bpf/shared/langs.def"
#undef X
}

void sampler_unmap_tables(struct sampler *s)
{
	for (uint32_t i = 0; i < ARENA_CHUNKS_MAX; i++)
		if (s->chunks[i])
			munmap(s->chunks[i], ARENA_CHUNK_BYTES);
	if (s->rules)
		munmap(s->rules, RULES_BYTES);
	if (s->files)
		munmap(s->files, FILES_BYTES);
	unmap_vms(s);
}

uint64_t sampler_mapped_tables_bytes(const struct sampler *s)
{
	return RULES_BYTES + FILES_BYTES + s->n_chunks * (uint64_t)ARENA_CHUNK_BYTES;
}

/*
 * Each chunk of the unwind tables is a map of its own, so that memory is allocated as the tables
 * grow, and freed as they shrink.
 */
static int sampler_add_chunk(void *ctx, uint32_t n, uint32_t **out_mem)
{
	struct sampler *s = ctx;
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	_cleanup_(closep) int fd = -1;
	void *mem;
	int r;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "chunk", 4, ARENA_CHUNK_BYTES, 1, &opts);
	if (fd < 0)
		return -errno;
	mem = mmap(NULL, ARENA_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	r = bpf_map__update_elem(s->skel->maps.chunks, &n, sizeof(n), &fd, sizeof(fd), BPF_ANY);
	if (r < 0) {
		munmap(mem, ARENA_CHUNK_BYTES);
		return r;
	}
	s->chunks[n] = *out_mem = mem;
	s->n_chunks++;
	return 0;
}

/* A walk that has looked the map up holds it until it ends. */
static void sampler_release_chunk(void *ctx, uint32_t n)
{
	struct sampler *s = ctx;

	(void)bpf_map__delete_elem(s->skel->maps.chunks, &n, sizeof(n), 0);
	munmap(s->chunks[n], ARENA_CHUNK_BYTES);
	s->chunks[n] = NULL;
	s->n_chunks--;
}

void sampler_tables_memory(struct sampler *s, struct unwind_tables_memory *out)
{
	*out = (struct unwind_tables_memory){
		.rules = s->rules,
		.files = s->files,
		.generation = &s->skel->bss->table_generation,
		.add_chunk = sampler_add_chunk,
		.release_chunk = sampler_release_chunk,
		.ctx = s,
		.max_chunks = s->opts.max_chunks,
	};
}

void sampler_vm_tables(struct sampler *s, struct vm_tables *out)
{
	*out = s->vms;
}
