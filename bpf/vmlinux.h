/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The kernel types that the programs read, written by hand: only the fields
 * used, relocated by CO-RE. tests/oracle/vmlinux compares each of them with
 * the running kernel's BTF.
 */
#include <linux/bpf.h>
#include <linux/types.h>

/* replaces the definition in linux/stddef.h, which does not force inlining */
#include <bpf/bpf_helpers.h>

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s16 int16_t;
typedef __s32 int32_t;

#include "bpf/arch/kernel.h"

/* Context of a perf_event program: begins with the registers at the interrupt. */
struct perf_event_ctx {
	struct user_regs regs;
	__u64 sample_period;
	__u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	__u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	long long i_size;
};

struct file {
	struct inode *f_inode;
};

struct mm_struct {
	unsigned long start_code; /* 0 in the new memory of an exec until the program is in place */
	unsigned long start_stack; /* address of argc, above the main thread's outermost frame */
	struct file *exe_file;
};

/* With CONFIG_SCHED_INFO: waiting for a CPU, by the clock of its queue */
struct sched_info {
	unsigned long long last_arrival; /* when it was switched in, by the run queue's clock */
	unsigned long long run_delay;    /* in all, up to the last time it got one */
	unsigned long long last_queued;  /* since then; 0: it does not wait */
};

struct rq {
	__u64 clock;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq; /* with CONFIG_FAIR_GROUP_SCHED, of every task */
};

struct kernfs_node {
	__u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct vm_unmapped_area_info {
	unsigned long length;
};

struct css_set {
	struct cgroup *dfl_cgrp; /* in the unified hierarchy */
};

struct task_struct {
	unsigned int flags;
	void *stack;
	struct mm_struct *mm;
	unsigned int __state;
	unsigned int on_cpu; /* u8 in 7.2; unsigned, so that libbpf may fit the load to its size */
	int pid;
	int tgid;
	int pagefault_disabled; /* greater than 0 while a fault is an error, as in a BPF program's
				   read */
	struct task_struct *group_leader;
	__u64 start_boottime;
	__u64 self_exec_id;
	char comm[16];
	struct sched_entity se;
	struct sched_info sched_info;
	struct css_set *cgroups;
	struct thread_struct thread;
};

/* Before 5.14 */
struct task_struct___state {
	long state;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop
