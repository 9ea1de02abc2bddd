/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pages of a stopped process's memory, copied when a word of them is first read, with a note of
 * each 8-byte word that was read. A capture stores those words and no others. One thread.
 *
 * A whole page is copied even if one word is needed, which takes one system call per page instead
 * of one per word; process_pages_scrub() then removes the rest. The process must stay stopped
 * meanwhile, or words of one page may be of different times.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum {
	PROCESS_PAGE = 4096,
	PROCESS_PAGE_WORDS = PROCESS_PAGE / 8,
	PROCESS_PAGES_MAX = 1 << 14, /* 64 MiB; a walk reads less than one */
};

struct process_page {
	uint64_t at;                            /* address, a multiple of PROCESS_PAGE */
	uint64_t read[PROCESS_PAGE_WORDS / 64]; /* bit N % 64 of [N / 64]: word N was read */
	uint8_t data[PROCESS_PAGE];
};

struct process_pages;

/* An empty set that copies from process @pid with process_vm_readv(). Returns 0 or -ENOMEM. */
int process_pages_new(struct process_pages **out, int pid);
void process_pages_free(struct process_pages *p);

DEFINE_FREEP(struct process_pages, process_pages_free)

/*
 * Reads @len bytes at @addr; @pages is a struct process_pages, as struct lang_process and struct
 * unwind_walk_input pass it. Returns 0; -EFAULT if a page cannot be read or there are too many.
 */
int process_pages_read(void *pages, uint64_t addr, void *dst, size_t len);

/* Sorts the pages by address and sets every word that was not read to zero; call last. */
void process_pages_scrub(struct process_pages *p);
size_t process_pages_count(const struct process_pages *p);
/* Borrowed. */
const struct process_page *process_pages_at(const struct process_pages *p, size_t i);
