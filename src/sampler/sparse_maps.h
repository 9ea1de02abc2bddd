/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hash maps with room for every process that a machine may run, of which few are in use. Their
 * entries are allocated by need where the kernel permits that to programs of perf events (Linux
 * 6.1); elsewhere all are allocated when the map is created: 8 MiB for the agent. A helper of
 * sampler.c: nothing else includes it.
 */
#include <stdbool.h>
#include <stdint.h>

struct bpf_map;
struct sample_bpf;

/*
 * Selects the maps whose entries are allocated by need. Call it before loading. The selected
 * processes of a recording are not among them, since an allocation that fails would lose a child.
 */
void sparse_maps_prepare(struct sample_bpf *skel, bool targets_only);

/* Bytes of a hash map with @n entries. */
uint64_t sparse_maps_hash_bytes(const struct bpf_map *map, uint64_t n);

/* True if the entries of @map are allocated by need. */
bool sparse_maps_has(const struct bpf_map *map);
