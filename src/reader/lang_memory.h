/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Descriptors of the memory of processes, for readers. A descriptor belongs to one program
 * permanently: its memory is gone after an exec or exit, so a pid that is used again cannot be
 * mistaken. The most recently used ones are kept. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct lang_process;

enum { LANG_MEMORIES_MAX = 32 };

struct lang_memory {
	uint32_t pid;
	uint64_t start_ns;
	int fd;            /* -1: this entry is free */
	uint64_t used;     /* value of the clock at the last use */
	bool has_answered; /* for the caller: a reader has read it before */
};

struct lang_memories {
	struct lang_memory all[LANG_MEMORIES_MAX];
	uint64_t clock;
};

void lang_memories_init(struct lang_memories *m);
void lang_memories_fini(struct lang_memories *m);

/**
 * lang_memories_get() - find or open the memory of a process
 *
 * The opener (base/regular_file.h) opens /proc/PID/mem, also that of a process whose main thread
 * has ended. Without @p->is_current, which program it belongs to is not certain, and it is opened
 * again each time.
 *
 * Return: an entry, valid until the next call; NULL if the process does not run @p's program any
 * more, or its memory cannot be opened.
 */
struct lang_memory *lang_memories_get(struct lang_memories *m, const struct lang_process *p);
