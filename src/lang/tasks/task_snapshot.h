/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tasks of one process at one time: goroutines, asyncio tasks. A task is what a program waits
 * in without a thread of its own. The readers of a runtime's structures (golang_tasks.h,
 * asyncio_tasks.h) fill a snapshot; reader/tasks_message.h sends it.
 *
 * Strings, frames and stacks are interned, so a snapshot of many equal tasks is small. Ids are
 * dense from 0; string 0 is "", stack 0 is empty. All strings are untrusted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/seqtab.h"

struct strtab;

enum task_state {
	TASK_RUNNABLE = 1, /* it could run, or is about to run for the first time */
	TASK_RUNNING,      /* on a thread; its stack is not read */
	TASK_SYSCALL,      /* its thread is in a system call or in C */
	TASK_WAITING,
	TASK_STATE_MAX,
};

/* The kind of event that can end a wait. */
enum task_wake {
	TASK_WAKE_UNKNOWN,
	TASK_WAKE_EVENT, /* a timer, I/O or the runtime itself */
	TASK_WAKE_TASK,  /* only another task */
	TASK_WAKE_MAX,
};

enum task_flags {
	TASK_SYSTEM = 1u << 0,  /* the runtime's own, which the program does not count */
	TASK_CHANGED = 1u << 1, /* it changed every time it was read, so its stack is missing */
};

/* No padding: it is sent unchanged. */
struct task {
	uint64_t id;        /* goid; the address of an asyncio task */
	uint64_t since_ns;  /* when the wait began, CLOCK_MONOTONIC; 0: not recorded */
	uint64_t place;     /* equal in two snapshots: the task has probably not run in between */
	uint64_t object;    /* address of the lock or channel that it waits for; 0: unknown */
	uint64_t waits_for; /* id of the task that it waits for; 0: none is known */
	uint32_t stack;
	uint32_t reason; /* string: "chan receive" */
	uint32_t name;   /* string: of the task; "" if it has none */
	uint8_t state;   /* enum task_state */
	uint8_t wake;    /* enum task_wake */
	uint8_t flags;   /* set of enum task_flags */
	uint8_t reserved;
};
_Static_assert(sizeof(struct task) == 56, "it is sent unchanged");

/* A frame of a stack; calls that were inlined are frames of their own. No padding. */
struct task_frame {
	uint32_t function, file; /* strings */
	uint32_t line;           /* 0: unknown */
	uint8_t kind;            /* enum profile_frame_kind */
	uint8_t is_library;      /* of the language's standard library or runtime */
	uint16_t reserved;
};

/* Counts of entries that were read, and of gaps. No padding. */
struct task_totals {
	uint64_t time_ns;   /* of the snapshot, CLOCK_MONOTONIC */
	uint64_t n_listed;  /* entries of the runtime's list, with those that have ended */
	uint64_t n_unread;  /* entries that were not read after the deadline or beyond TASKS_MAX */
	uint64_t n_invalid; /* entries that cannot be tasks: the memory is damaged or hostile */
	uint32_t one_in;    /* 1: all entries were read; N: about one in N, the same each time */
	uint32_t n_changed; /* tasks with TASK_CHANGED */
	uint32_t n_cut;     /* tasks whose stack is incomplete */
	uint32_t reserved;
};

enum {
	TASKS_MAX = 200000,     /* tasks of one snapshot; of more, a sample is read */
	TASK_FRAMES_MAX = 256,  /* frames of one stack; the outer ones are cut off */
	TASK_STRING_MAX = 4096, /* bytes of a string; longer ones are truncated */
	TASK_STACKS_MAX = 65536,
};

struct task_snapshot {
	char runtime[16], version[24]; /* "Go", "1.26.1" */
	struct task_totals totals;
	struct strtab *strings;
	struct seqtab frames; /* each entry is one struct task_frame */
	struct seqtab stacks; /* sequences of ids of frames, innermost first */
	struct {
		VEC(struct task);
	} tasks;
};

/* Return 0 or -ENOMEM. After an error the snapshot can still be freed. */
int task_snapshot_init(struct task_snapshot *s);
void task_snapshot_fini(struct task_snapshot *s);

/* Sets n_listed to @n, and one_in so that at most about @max entries are read. */
void task_totals_choose(struct task_totals *t, uint64_t n, uint32_t max);

/* Interns a string, truncated to TASK_STRING_MAX. Returns 0 or -ENOMEM. */
int task_snapshot_string(struct task_snapshot *s, const char *text, size_t len, uint32_t *out);

/* Interns a frame. Returns 0 or -ENOMEM. */
int task_snapshot_frame(struct task_snapshot *s, const struct task_frame *f, uint32_t *out);

/*
 * Interns a stack of ids of frames; too deep ones are cut to TASK_FRAMES_MAX, and the empty stack
 * replaces those beyond TASK_STACKS_MAX. Returns 0 or -ENOMEM.
 */
int task_snapshot_stack(struct task_snapshot *s, const uint32_t *frames, size_t n, uint32_t *out);

/*
 * Adds a task; one beyond TASKS_MAX is counted as unread instead, since a sample may have a few
 * more than it should. Returns 0 or -ENOMEM.
 */
int task_snapshot_add(struct task_snapshot *s, const struct task *t);

const struct task_frame *task_snapshot_frame_get(const struct task_snapshot *s, uint32_t id);
