/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * READER_TABLE, in the parent, without waiting: each request belongs to a number of the caller
 * (a file id). Requests wait until a reader is free (reader/fair_queue.h). One thread.
 *
 *	table_client_request(c, &request)              any number
 *	table_client_poll(c, wait_ms)                  calls done() for those that are finished
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "reader/fair_queue.h"
#include "reader/table_message.h"

struct flat_table;
struct role_pool;
struct table_client;

struct table_client_opts {
	struct role_pool *pool;  /* of reader_role; borrowed until table_client_free() */
	unsigned int n_readers;  /* that work on tables at a time; at most TABLE_READERS_MAX */
	size_t table_bytes;      /* limit of a table */
	unsigned int timeout_ms; /* of a table */
	unsigned int cpu_ms;     /* CPU time of a table */
	/* Returns the descriptor of @file, borrowed; -1 if it is gone. */
	int (*open)(void *ctx, uint32_t file);
	/*
	 * Opens a candidate for the debug file of @file. Returns the same values as
	 * debugfile_open_candidate().
	 */
	int (*open_debug)(void *ctx, uint32_t file, const struct table_need *need);
	/*
	 * The request for @file is finished. @result is 0, with a checked @table that is valid
	 * during the call, or -errno: -ENOEXEC or -E2BIG if the file has no table; others if a
	 * limit was reached, the reader failed, or its owner's files are refused for a while
	 * because readers failed too often (-ETIME).
	 */
	void (*done)(void *ctx, uint32_t file, int result, const struct flat_table *table);
	void *ctx;
};

enum { TABLE_READERS_MAX = 8 };

/* Returns 0 or -errno. */
int table_client_new(struct table_client **out, const struct table_client_opts *opts);
void table_client_free(struct table_client *c);

DEFINE_FREEP(struct table_client, table_client_free)

/* Requests a table, unless that was done already. Returns 0 or -ENOMEM. */
int table_client_request(struct table_client *c, const struct fair_request *request);

/* Returns true until done() is called for @file, or table_client_cancel(). */
bool table_client_is_pending(const struct table_client *c, uint32_t file);
size_t table_client_n_pending(const struct table_client *c);

/* The number @file gets another meaning: done() is not called for it. */
void table_client_cancel(struct table_client *c, uint32_t file);

/* Handles what readers sent, for which it waits at most @wait_ms. Starts what waits. */
void table_client_poll(struct table_client *c, unsigned int wait_ms);

/* An epoll descriptor, readable when table_client_poll() has something to do. */
int table_client_fd(const struct table_client *c);
