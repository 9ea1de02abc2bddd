/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Places of page faults whose stacks were sent: a block of 64 KiB of a process, and the stack
 * pointer, which differs between most functions that touch it in turn. The agent takes a sent fault
 * for that of the block's pages without one (src/profiler/touch_map.h), so a fault at a place that
 * is known may be left out.
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
