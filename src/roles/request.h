/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A request to a child of a pool (pool.h), and its reply. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roles/message.h"

enum {
	ROLE_PAYERS = 2,
	ROLE_PATIENCE = 10,
};

struct role_request {
	uint32_t kind;
	const void *data; /* copied before the call returns */
	size_t len;
	const int *fds; /* borrowed during the call */
	size_t n_fds;
	/*
	 * The limits of the job, from when the child can run it: time, in case it hangs, and CPU
	 * time (0: the same).
	 */
	unsigned int timeout_ms, cpu_ms;
	/*
	 * The thread that samples waits for the result. The caller waits for at most twice
	 * timeout_ms and no more than a second beyond it, else for ROLE_PATIENCE times that, also
	 * if others keep the child from the CPUs, which does not count as the job's time
	 * (budget.h).
	 */
	bool is_urgent;
	uint64_t *waited_ns; /* that time is added to it when the exchange ends; may be NULL */
	/*
	 * A CLOCK_MONOTONIC time from which nobody needs the result, or 0. Any thread may set it at
	 * any time. NULL: there is none.
	 */
	const _Atomic uint64_t *until_ns;
	/*
	 * Failures are charged to payers[0], the object (a device, a process), and to payers[1],
	 * its owner (a user), whose first three are free. 0: no payer.
	 */
	uint64_t payers[ROLE_PAYERS];
	/*
	 * The user for whom the child works; 0: none. A user's requests are refused while
	 * max_abandoned_by_owner children that worked for that user hang. Once half of
	 * max_abandoned hang, one is enough. The last quarter is reserved for requests without
	 * an owner.
	 */
	uint64_t owner;

	/* Receives each PART, valid during the call. A negative result kills the child. */
	int (*part)(void *ctx, uint32_t kind, const void *data, size_t len);
	/*
	 * Answers a QUESTION: returns the answer's result, 0 or -errno, and a descriptor in
	 * *@out_fd or -1, which the pool closes. NULL: questions are garbage.
	 */
	int (*answer)(void *ctx, uint32_t kind, const void *data, size_t len, int *out_fd);
	void *ctx; /* of part() and answer(), which run inside role_exchange_poll() */
};

/* Borrowed until role_exchange_end(). The caller keeps a descriptor by setting its place to -1. */
struct role_reply {
	int32_t result;
	const void *data; /* aligned to 8 */
	size_t len;
	int *fds;
	size_t n_fds;
};
