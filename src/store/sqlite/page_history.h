/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The checksum of each page that this process has read from or written to a file that is open. A
 * checksum within a page cannot show that another program has written an older copy of the file
 * over it; here such a page differs from what it was. All connections to a file share its history,
 * which is forgotten with the last one. Any thread; 8 bytes per page.
 */
#include <stdbool.h>
#include <stdint.h>

struct page_history;

/* Returns 0, -ENOMEM, or -errno if there is no such file. */
int page_history_open(struct page_history **out, const char *path);
void page_history_close(struct page_history *h); /* or NULL */

/* Is @sum that of the page @number (from 1), as far as it is known? Without memory it is. */
bool page_history_is(struct page_history *h, uint64_t number, uint64_t sum);

/* A page is about to be written (then anything may be read), and it was. */
void page_history_forget(struct page_history *h, uint64_t number);
void page_history_set(struct page_history *h, uint64_t number, uint64_t sum);

/* The file has @n_pages now. */
void page_history_truncate(struct page_history *h, uint64_t n_pages);
