/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All programs that run or ran recently, by pid, and what is known about each. This is the data
 * that the parts of the process table share: process_table.c applies events to it,
 * program_maps.c reads and publishes mappings, program_identity.c matches records with programs.
 *
 * Each program that runs under a pid has a struct program of its own. Earlier programs are
 * chained behind the newest one until all of their samples have surely arrived. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "process/executables.h"
#include "process/mapping_set.h"
#include "process/process.h"
#include "process/process_rules.h"
#include "process/runtimes.h"

struct file_table;
struct langs;
struct replaced;
struct sampler;
struct unwind_tables;

struct program {
	struct process info; /* first, because callers of the process table see only this */
	struct mapping_set *maps;
	struct replaced *replaced; /* owned */
	struct executable_key exe;
	char *jitdump; /* NULL: none was seen */
	struct program *older;
	uint32_t n_threads; /* besides the main thread; valid if all_threads_seen */
	bool all_threads_seen;
	bool main_thread_ended;
	/* The main thread existed when last checked, and no event of its end was seen since. */
	bool main_thread_alive;
	bool is_stale;       /* /proc must be read before the mappings are right */
	bool has_unread;     /* a file of the mappings was not read */
	bool is_unconfirmed; /* the mappings were just read, and may be those of a later program */
	bool has_records;
	bool is_named;          /* its name need not be read from /proc */
	bool is_swept_away;     /* marked as ended by a sweep; a record may show that it runs */
	uint32_t sweep;         /* number of the last sweep that found it */
	bool dirty;             /* listed in programs.dirty */
	bool unmapped_is_final; /* see struct unwind_process */
	struct runtimes runtimes;
	uint64_t next_reread_ns;
	struct selection selection; /* the last decision about it, or one that it inherited */
	bool is_undecided;          /* a decision is due */
};

/* For program_selection.h. */
struct program_decisions {
	struct process_rules rules;
	struct {
		VEC(uint32_t);
	} undecided;         /* pids of programs to decide about; may have ended */
	size_t next;         /* of the undecided ones */
	size_t cursor;       /* slot that is decided about again next */
	uint64_t recheck_ns; /* when that was done last */
};

struct programs {
	struct file_table *files; /* this and the next three are borrowed */
	struct unwind_tables *tables;
	struct sampler *sampler;
	struct langs *langs; /* may be NULL */
	struct {
		VEC(struct program *);
	} slots; /* newest program by slot; NULL: free */
	struct {
		VEC(uint32_t);
	} free_slots;
	struct index by_pid; /* maps to a slot */
	struct mapping_budget mappings;
	struct executables executables;
	struct program_decisions selection;
	struct {
		VEC(uint32_t);
	} dirty;                 /* pids of programs to publish */
	void (*sync)(void *ctx); /* may be NULL */
	void *sync_ctx;
	uint32_t n_sweeps;
	uint64_t next_sweep_ns;
	struct process_table_stats stats;
};

void programs_fini(struct programs *p);

/* Returns the newest program of @pid; NULL if none is known. */
struct program *programs_get(const struct programs *p, uint32_t pid);

/* Returns the program that ran as @pid at @time_ns, or else the oldest known; NULL: none is. */
struct program *programs_at(struct programs *p, uint32_t pid, uint64_t time_ns);

/* Returns the program that began at @start_ns, or the last one of its process if @any_program. */
const struct program *programs_from(const struct programs *p, uint32_t pid, uint64_t start_ns,
				    bool any_program);

/* Adds a new program under @pid and chains the previous one behind it. NULL if memory ran out. */
struct program *programs_add(struct programs *p, uint32_t pid, uint64_t start_ns);

/*
 * Adds what runs as @pid now, without an event. Its mappings and its name are read when they are
 * needed. NULL if memory ran out.
 */
struct program *programs_add_stale(struct programs *p, uint32_t pid, uint64_t start_ns);

/* Notes that the program ended at @time_ns, unless it has ended before. */
void programs_end(struct programs *p, struct program *e, uint64_t time_ns);

/* Makes the next publication include the program. */
void programs_mark_dirty(struct programs *p, struct program *e);

/* The program has started or changed: it is decided about soon, if there are rules. */
void programs_mark_undecided(struct programs *p, struct program *e);

/* Applies all events that have happened, if the table has a callback for this. */
void programs_apply_events(struct programs *p);

/* Copies the name, and zeros after it, because threads are compared by their bytes. */
void program_set_comm(struct program *e, const char *comm);

/* See process_table_mark_files() and process_table_reap(). */
void programs_mark_files(struct programs *p);
void programs_reap(struct programs *p, uint64_t now_ns);
