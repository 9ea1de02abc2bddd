/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes of the machine and their executable mappings: read from /proc at the start,
 * updated from side-band events afterwards, and published to the map that the BPF program
 * walks with. A process that ended, or that has executed another program, is remembered for a
 * few seconds, because samples of it may still be queued.
 *
 * Events have an order but no identity, and records have an identity (struct program_id). A program
 * gets its identity from the first record that can only be about it, and only then its mappings are
 * published, under that identity. From then on a record finds its program by identity alone.
 *
 * Use: process_table_scan() once, then process_table_handle() for each event in order of time
 * and process_table_publish() before samples are read. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "process/process.h"
#include "process/process_rules.h"
#include "process/sideband.h"

struct file_table;
struct langs;
struct process_table;
struct sampler;
struct unwind_process;
struct unwind_tables;

/* All arguments are borrowed until process_table_free(). Returns 0 or -ENOMEM. */
int process_table_new(struct process_table **out, struct file_table *files,
		      struct unwind_tables *tables, struct sampler *sampler);
void process_table_free(struct process_table *p);

/* Limits the memory of all mappings together. */
void process_table_set_mappings_max(struct process_table *p, size_t bytes);

/*
 * From now on, queries language runtimes for the regions of their generated code. @langs is
 * borrowed.
 */
void process_table_set_langs(struct process_table *p, struct langs *langs);

DEFINE_FREEP(struct process_table, process_table_free)

/*
 * @sync applies all events that have happened before it is called. The table calls it after it has
 * read /proc, to find out if the expected program was still running then.
 */
void process_table_set_sync(struct process_table *p, void (*sync)(void *ctx), void *ctx);

/*
 * Restricts the table to this process (may be called several times) and its later children.
 * Returns 0 or -errno.
 */
int process_table_follow(struct process_table *p, uint32_t pid);

/*
 * Decides by @rules, which are copied, which processes are profiled, from now on and for all that
 * are known. With sampler_opts.by_rules.
 */
void process_table_set_rules(struct process_table *p, const struct process_rules *rules);

/* Decides about the programs for which that is due. Call it in each turn. */
void process_table_select(struct process_table *p, uint64_t now_ns);

/*
 * Returns true if the rules exclude @program, or NULL for one that is unknown, from what @flag
 * (enum select_flags) stands for. The kernel does so only once it knows the decision.
 */
bool process_table_excludes(struct process_table *p, const struct process *program, uint32_t flag);

/* Reads all running processes, or those followed. Returns 0 or -errno. */
int process_table_scan(struct process_table *p);

/* Marks all processes for rereading, because events may have been lost. */
void process_table_reread_all(struct process_table *p);

/*
 * Marks the processes for rereading that have files which were not read. Returns false if there are
 * none.
 */
bool process_table_reread_unread(struct process_table *p);

/* Applies an event to the table. */
void process_table_handle(struct process_table *p, const struct sideband_event *ev);

/*
 * Publishes all changes since the last call to the BPF program. Processes that have to be
 * reread are withdrawn instead: their next sample triggers the reread.
 */
void process_table_publish(struct process_table *p, uint64_t now_ns);

/*
 * Returns the program that ran as @pid at @time_ns, NULL if it was never seen. Borrowed until
 * process_table_reap().
 */
const struct process *process_table_find(struct process_table *p, uint32_t pid, uint64_t time_ns);

/**
 * process_table_identify() - find the program that a record is about
 *
 * All events before @time_ns must have been applied. @is_sure means that the record was not taken
 * in the middle of an exec. Then the program of that time has the record's identity if its own is
 * still unknown. If the identity shows that an event was lost, the table corrects itself.
 *
 * Return: the program, borrowed until process_table_reap(); NULL if nothing is known about it.
 */
const struct process *process_table_identify(struct process_table *p, uint32_t pid,
					     uint64_t time_ns, const struct program_id *id,
					     bool is_sure);

/*
 * Counts the process of @program in n_recorded when its first record is used. @program may be NULL.
 */
void process_table_count_recorded(struct process_table *p, const struct process *program);

/*
 * Returns what to add to virtual addresses of runtime @vm's file to get addresses in the
 * program's process; 0 if unknown.
 */
uint64_t process_table_vm_bias(const struct process_table *p, const struct process *program,
			       uint32_t vm);

/* Returns false if process_table_was_replaced() is false for every file, as for most programs. */
bool process_table_has_replaced(const struct process *program);

/*
 * Returns true if @file was replaced at its addresses before @time_ns and the BPF program did not
 * know it then, so that frames in @file of a stack that it walked may be of other code.
 */
bool process_table_was_replaced(const struct process *program, uint32_t file, uint64_t time_ns);

/*
 * Stores the program's mappings, ready to be walked, in *@out, reading them from /proc if
 * needed. Returns 0, -ESRCH if the program ended before it was read, or -ENOSPC if the memory
 * limit is reached.
 */
int process_table_mappings(struct process_table *p, const struct process *program, uint64_t now_ns,
			   struct unwind_process *out);

/*
 * Path, as the process sees it, of the jitdump file that the program which began at @start_ns has
 * mapped; NULL if none. Borrowed.
 */
const char *process_table_jitdump(const struct process_table *p, uint32_t pid, uint64_t start_ns);

/*
 * Makes the BPF program stop sending raw samples of @program for addresses outside its mappings.
 * Call it when such an address was not found although all events had been applied. Returns true if
 * the mappings were read again instead, in case an event was lost: try once more. The effect lasts
 * until the mappings of the process change.
 */
bool process_table_ignore_unmapped(struct process_table *p, const struct process *program,
				   uint64_t now_ns);

/*
 * Returns true if the program that began as @pid at @start_ns still ran at @time_ns or, with
 * @any_program, if its process did, whatever it ran. Events up to @time_ns must have been applied.
 * Anything read of the process before @time_ns is then the program's, or the process's.
 */
bool process_table_ran_until(const struct process_table *p, uint32_t pid, uint64_t start_ns,
			     uint64_t time_ns, bool any_program);

/*
 * Applies all events, and returns true if the program that began as @pid at @start_ns still runs.
 * Anything read of the process before is then the program's. Do not call it while events are being
 * applied.
 */
bool process_table_still_runs(struct process_table *p, uint32_t pid, uint64_t start_ns);

/*
 * Compares the table with the processes that exist. This corrects events that were lost unnoticed,
 * and identifies programs whose identity is unknown. Takes at most a twentieth of the time: calls
 * that come too early do nothing.
 */
void process_table_sweep(struct process_table *p);

/* Calls file_table_mark() for all files that processes have, or recently had, mapped. */
void process_table_mark_files(struct process_table *p);

/* Removes programs that ended more than 3 s before @now_ns. */
void process_table_reap(struct process_table *p, uint64_t now_ns);

/* Returns true if a program runs as @pid, as far as the table knows. */
bool process_table_runs(const struct process_table *p, uint32_t pid);

/*
 * Calls @fn for each file that a running program has mapped as code (FILE_ID_NONE excluded), after
 * the mappings of programs for which that is due were read. Several mappings of a file may be
 * reported. Do not call it while events are being applied.
 */
typedef void (*process_table_file_fn)(void *ctx, const struct process *program, uint32_t file);
void process_table_each_file(struct process_table *p, uint64_t now_ns, process_table_file_fn fn,
			     void *ctx);

void process_table_stats(const struct process_table *p, struct process_table_stats *out);
