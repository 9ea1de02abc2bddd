/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/sampler_memory.h"

#include <stdio.h>

#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "bpf/sample.skel.h"
#include "sampler/attach.h"
#include "sampler/sampler_load.h"
#include "sampler/sampler_state.h"
#include "sampler/sparse_maps.h"

static uint64_t up_to(uint64_t n, uint64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

static void add_map(const struct bpf_map *map, const struct sample_bpf *skel,
		    struct sampler_memory *out)
{
	uint64_t n = bpf_map__max_entries(map), value = up_to(bpf_map__value_size(map), 8);

	if (map == skel->maps.ring)
		return;
	switch (bpf_map__type(map)) {
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		out->per_cpu_bytes += n * value;
		break;
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
		out->fixed_bytes += sparse_maps_hash_bytes(map, n);
		break;
	default:
		out->fixed_bytes += up_to(n * value, 4096);
	}
}

/*
 * Adds the maps' memory to *@out. Maps with an element for each CPU are counted in per_cpu_bytes
 * with the size of one element.
 */
static void add_maps(const struct sampler *s, struct sampler_memory *out)
{
	uint64_t of_cpu = (bpf_map__value_size(s->skel->maps.walks) +
			   bpf_map__value_size(s->skel->maps.raw_records)) *
			  (uint64_t)attach_walks(&s->opts);
	const struct bpf_map *map = NULL;

	while ((map = bpf_object__next_map(s->skel->obj, map)))
		add_map(map, s->skel, out);
	out->fixed_bytes -= of_cpu * s->n_possible;
	out->per_cpu_bytes += of_cpu;
}

int sampler_memory(const struct sampler_opts *opts, struct sampler_memory *out, struct err *err)
{
	struct sampler s = { .opts = *opts, .n_possible = (uint32_t)libbpf_num_possible_cpus() };
	int r;

	*out = (struct sampler_memory){ .n_cpus = s.n_possible };
	r = sampler_prepare(&s, true, err);
	if (r == 0)
		add_maps(&s, out);
	sample_bpf__destroy(s.skel);
	return r;
}

/* Kernel memory of a map in bytes. It is in fdinfo, but not in bpf_map_info. */
static uint64_t map_bytes(const struct bpf_map *map)
{
	_cleanup_(fclosep) FILE *f = NULL;
	unsigned long long bytes = 0;
	char path[48], line[128];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	return bytes;
}

uint64_t sampler_maps_bytes(const struct sampler *s, bool are_sparse)
{
	const struct bpf_map *map = NULL;
	uint64_t bytes = 0;

	while ((map = bpf_object__next_map(s->skel->obj, map)))
		if (sparse_maps_has(map) == are_sparse)
			bytes += map_bytes(map);
	return bytes;
}
