/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes of the machine and their executable mappings, from /proc at
 * the start and from the side-band afterwards, kept in step with the map that
 * the walk reads. A process that ended, or that runs another program now, is
 * remembered for a few seconds: its samples may still be on their way.
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/sideband.h"
#include "base/cleanup.h"
#include "bpf/shared/abi.h"

struct files;
struct langs;
struct procs;
struct sampler;
struct unwind_tables;

struct process {
	uint32_t pid;
	uint32_t ppid; /* 0: not known */
	uint64_t start_ns,
		end_ns; /* CLOCK_MONOTONIC, of this program in this process; end 0: runs */
	char comm[16];
	uint32_t exe; /* file id of the main program, 0 if not known */
};

int procs_new(struct procs **out, struct files *files, struct unwind_tables *tables,
	      struct sampler *sampler);
void procs_free(struct procs *p);

/* Virtual machines are asked for their code from now on. */
void procs_set_langs(struct procs *p, struct langs *langs);

DEFINE_FREEP(struct procs, procs_free)

/* Only these processes and their later children are followed; others are left out. */
int procs_follow(struct procs *p, uint32_t pid);

/* Read what runs now: every process, or those followed. Number of them, or -errno. */
int procs_scan(struct procs *p);

/* What happened may have been missed: all processes are to be read again. */
void procs_reread_all(struct procs *p);

/* Take in what happened. */
void procs_handle(struct procs *p, const struct sideband_event *ev);

/* Tell the kernel of all changes since the last call. */
void procs_publish(struct procs *p, uint64_t now_ns);

/* The process that @pid was at @time_ns; NULL if it was never seen. Borrowed until procs_reap(). */
const struct process *procs_find(struct procs *p, uint32_t pid, uint64_t time_ns);

/* What is added to the addresses of virtual machine @vm's file in the process; 0: not known. */
uint64_t procs_vm_bias(const struct procs *p, uint32_t pid, uint32_t vm);

/*
 * Its mappings, ready to be walked: read from /proc if it was not known.
 * 0, -ESRCH when it has gone unseen, -ENOSPC over the memory limit.
 */
int procs_mappings(struct procs *p, uint32_t pid, uint64_t time_ns, uint64_t now_ns,
		   struct unwind_process *out);

/* Path of the jitdump that @pid has mapped, as it sees it; NULL if none was seen. Borrowed. */
const char *procs_jitdump(const struct procs *p, uint32_t pid);

/*
 * An address of @pid was looked up in vain although everything that happened
 * was taken in: until its mappings change, more of these are not worth the
 * agent's attention.
 */
void procs_unmapped_is_final(struct procs *p, uint32_t pid);

/* files_mark() all files that processes have mapped, or had until lately. */
void procs_mark_files(struct procs *p);

/* Forget what ended more than a few seconds ago. */
void procs_reap(struct procs *p, uint64_t now_ns);

struct procs_stats {
	uint32_t n_running;
	uint64_t n_seen;
	uint64_t n_sideband_lost;
};
void procs_stats(const struct procs *p, struct procs_stats *out);
