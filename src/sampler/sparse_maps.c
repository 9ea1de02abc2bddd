/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/sparse_maps.h"

#include <linux/bpf.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "bpf/sample.skel.h"

/* Loads a program of the type that may not be permitted to use such maps, with one of them. */
static bool is_permitted(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	_cleanup_(closep) int map =
		bpf_map_create(BPF_MAP_TYPE_HASH, "probe", sizeof(__u32), sizeof(__u64), 1, &opts);
	const struct bpf_insn program[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map },
		{ 0 }, /* the upper half of the word */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	_cleanup_(closep) int fd = -1;

	if (map < 0)
		return false;
	fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "probe", "GPL", program,
			   sizeof(program) / sizeof(*program), NULL);
	return fd >= 0;
}

static void make_sparse(struct bpf_map *map)
{
	bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_NO_PREALLOC);
}

void sparse_maps_prepare(struct sample_bpf *skel, bool targets_only)
{
	if (!is_permitted())
		return;
	make_sparse(skel->maps.processes);
	if (!targets_only)
		make_sparse(skel->maps.selected);
}

bool sparse_maps_has(const struct bpf_map *map)
{
	return bpf_map__map_flags(map) & BPF_F_NO_PREALLOC;
}

static uint64_t up_to(uint64_t n, uint64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

/*
 * An entry has a header of 48 bytes; one that is allocated by need has a link as well, and the next
 * size of the kernel's allocator up to 256 bytes. There is at least one bucket for each entry.
 */
uint64_t sparse_maps_hash_bytes(const struct bpf_map *map, uint64_t n)
{
	enum { HEADER = 48, LINK = 8, BUCKET = 16, SMALL = 128 };
	uint64_t bytes =
		HEADER + up_to(bpf_map__key_size(map), 8) + up_to(bpf_map__value_size(map), 8);
	uint64_t n_buckets = 1;

	if (sparse_maps_has(map))
		bytes = up_to(bytes + LINK, bytes + LINK > SMALL ? SMALL / 2 : SMALL / 4);
	while (n_buckets < bpf_map__max_entries(map))
		n_buckets *= 2;
	return n_buckets * BUCKET + n * bytes;
}
