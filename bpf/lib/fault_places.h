/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Places of page faults whose stacks were sent. A place is a block of 64 KiB of a process and a
 * stack pointer, which differs between most functions that touch the block in turn. The agent
 * attributes the block's pages that have no fault of their own to the nearest one that was sent
 * (src/profiler/touch_map.h), so further faults at a known place may be omitted.
 */
enum {
	FAULT_BLOCK_SHIFT = 16,
	FAULT_PERIOD_SHIFT = 27, /* 134 ms */
};

struct fault_place {
	__u64 block, sp;
	__u32 pid;
	__u32 period; /* see fault_place_is_known() */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* set before loading */
	__type(key, struct fault_place);
	__type(value, __u8);
} fault_places SEC(".maps");

/*
 * True if a fault at the same place was sent in the same @period; otherwise, notes it. Each kind of
 * record has its own periods.
 */
static __always_inline int fault_place_is_known(__u32 pid, __u64 address, __u64 sp, __u32 period)
{
	struct fault_place place = {
		.block = address >> FAULT_BLOCK_SHIFT, .sp = sp, .pid = pid, .period = period
	};
	__u8 yes = 1;

	return bpf_map_update_elem(&fault_places, &place, &yes, BPF_NOEXIST);
}
