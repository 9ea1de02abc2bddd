/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The kernel half: loads the BPF programs, attaches them to events (a clock's
 * on every online CPU, or others), and hands over what arrives in the ring. It knows no
 * process and no file; it owns the memory that unwind tables are written to.
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cpus.h"
#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "bpf/shared/offcpu.h"
#include "bpf/shared/vms.h"
#include "unwind/tables.h"

struct err;
struct event;
struct sampler;

struct sampler_opts {
	uint32_t freq_hz;
	const struct event *events; /* what is sampled, with their numbers. Kept */
	size_t n_events;            /* 0: the CPUs' clocks, by frequency */
	bool kernel, user;          /* which halves of the stack */
	bool idle;                  /* sample idle CPUs too */
	bool no_children;           /* of the targets, only themselves */
	bool in_cgroup;             /* only what runs in this one, and in those below it */
	int cgroup_fd;              /* its directory; borrowed */
	bool targets_only; /* only processes added with sampler_add_target(), and their children */
	bool all_native;   /* keep the native frames of interpreters as well */
	bool off_cpu;      /* also where threads wait */
	bool no_samples;   /* nothing else */
	uint64_t off_min_ns; /* shorter waits are left out */
	bool stats;          /* measure the program's run time */
	int stats_fd;        /* of sampler_enable_stats(), taken; 0 or -1: it is not on yet */
	uint32_t max_chunks;
	uint32_t ring_bytes_per_cpu; /* 0: 4 MiB */
	const struct cpu_list *cpus; /* only these; NULL: all. Kept */
};

/* Have the kernel measure BPF programs' time while the descriptor is open. -1: not allowed. */
int sampler_enable_stats(void);

/* A record of the ring, of @len bytes; valid for the call. */
typedef void (*sampler_record_fn)(void *ctx, const void *record, size_t len);

/**
 * sampler_open() - load the programs and make their maps
 *
 * Nothing is sampled yet. Return: 0; -EPERM, -ENOENT (no BTF) or what the
 * kernel said, with a line that tells how to mend it.
 */
int sampler_open(struct sampler **out, const struct sampler_opts *opts, struct err *err);
void sampler_free(struct sampler *s);

DEFINE_FREEP(struct sampler, sampler_free)

/* Where the tables go: for unwind_tables_new(). */
void sampler_tables_memory(struct sampler *s, struct unwind_tables_memory *out);

/* Where virtual machines are described: VM_TABLE_MAX of each. */
void sampler_vm_tables(struct sampler *s, struct vm_tables *out);

/* Start sampling on every online CPU. */
int sampler_attach(struct sampler *s, struct err *err);
/**
 * sampler_update_cpus() - also on CPUs that have come online since
 *
 * An event does not survive its CPU's going offline: one that has not counted
 * since the last call is opened anew. Call it about once a second. @back gets
 * the CPUs that were gone and are back. Return: 0 or -errno.
 */
int sampler_update_cpus(struct sampler *s, struct cpu_list *back, struct err *err);
/* Stop sampling for a while, or go on; without sampler_update_cpus() meanwhile. 0 or -errno. */
int sampler_pause(struct sampler *s, bool pause);
/* Stop sampling; what is in the ring can still be read. */
void sampler_detach(struct sampler *s);

/*
 * Why there is no time off the CPU although it was asked for, and what to do; NULL: there is.
 * Valid as long as the sampler.
 */
const char *sampler_off_refusal(const struct sampler *s);

/* A thread's state off the CPU, as the kernel has it. */
typedef void (*sampler_thread_fn)(void *ctx, uint32_t tid, const struct off_thread *t);

/* All threads that are known, off or not. 0 or -errno. */
int sampler_off_threads(struct sampler *s, sampler_thread_fn fn, void *ctx);

/*
 * Hand out records of threads that have been off for long without a stack: RECORD_RAW
 * without a copy of it, each once. @since_ns: threads that sleep and are not known yet
 * are off since then; 0: leave them out. 0 or -errno.
 */
int sampler_off_asleep(struct sampler *s, uint64_t since_ns, sampler_record_fn fn, void *ctx);

/* One of them. 0 or -ENOENT. */
int sampler_off_thread(struct sampler *s, uint32_t tid, struct off_thread *out);

/* Forget a thread that is not there any more. */
void sampler_off_forget(struct sampler *s, uint32_t tid);

/* Read all that is in the ring. Number of records, or -errno. */
int sampler_consume(struct sampler *s, sampler_record_fn fn, void *ctx);
/* Becomes readable when the ring is more than half full. */
int sampler_fd(const struct sampler *s);

int sampler_add_target(struct sampler *s, uint32_t pid);
int sampler_put_process(struct sampler *s, uint32_t pid, const struct unwind_process *p);
/* Its mappings are not known for now: its samples come raw. */
void sampler_remove_process(struct sampler *s, uint32_t pid);
/* It has ended: it is no target any more either. */
void sampler_end_process(struct sampler *s, uint32_t pid);

struct sampler_stats {
	struct counters counts; /* of all CPUs */
	uint64_t
		run_ns; /* of the sampling programs; with sampler_opts.stats the kernel's account */
	uint64_t run_count;
	uint32_t n_cpus;
	uint64_t maps_bytes;   /* kernel memory of the BPF maps */
	uint64_t mapped_bytes; /* of which so much is in this process's RSS too */
};
int sampler_stats(const struct sampler *s, struct sampler_stats *out);

/* kernel.perf_event_max_sample_rate, or 0 if it can't be read. */
uint32_t sampler_max_freq(void);
