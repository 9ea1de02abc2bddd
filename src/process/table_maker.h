/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests the unwind tables of mapped files from readers (reader/table_client.h) when a walk first
 * needs them, and publishes them. A reader that fails is replaced and counted; walks end in the
 * file with that reason (FILE_TABLE_FAILED) until another attempt is due: after one second, then
 * after two, and so on up to four minutes. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct mapped_file;
struct role_pool;
struct table_maker;
struct unwind_tables;

struct table_maker_opts {
	struct unwind_tables *tables;
	struct role_pool *readers; /* of reader_role */
	unsigned int n_readers;    /* that make tables at a time */
	size_t table_bytes;        /* limit of one table */
	int own_root;              /* root directory of this process */
	/* Returns the file with this id, NULL if there is none. */
	struct mapped_file *(*find)(void *ctx, uint32_t id);
	void *ctx;
};

/* The objects that @opts refers to are borrowed until table_maker_free(). Returns 0 or -errno. */
int table_maker_new(struct table_maker **out, const struct table_maker_opts *opts);
void table_maker_free(struct table_maker *m);

DEFINE_FREEP(struct table_maker, table_maker_free)

/**
 * table_maker_need() - have the unwind table of file @id made unless it exists
 *
 * That can take hundreds of milliseconds for a large file. The call that requests it waits for it
 * until @until_ns; later calls do not wait.
 *
 * Return: true if the state of the table is final for now; false if it is still being made.
 */
bool table_maker_need(struct table_maker *m, uint32_t id, uint64_t until_ns);

/* Returns true while the table of file @id is being made. */
bool table_maker_is_pending(const struct table_maker *m, uint32_t id);

/* Publishes the tables that were made since, and waits at most @wait_ms for one. */
void table_maker_poll(struct table_maker *m, unsigned int wait_ms);

/* A descriptor that is readable when table_maker_poll() has something to do. */
int table_maker_fd(const struct table_maker *m);

/* Retries tables that failed when they are due. Call it about once a second. */
void table_maker_retry(struct table_maker *m, uint64_t now_ns);

/* Call this before the file with this id is removed. */
void table_maker_forget(struct table_maker *m, uint32_t id);

/* The number of requests that readers failed. */
uint64_t table_maker_n_failed(const struct table_maker *m);
