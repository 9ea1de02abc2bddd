/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The objects and users that caused failures recently, and until when their requests are refused.
 * The table has a fixed size: when it is full, the entry that is refused for the shortest time is
 * replaced. One thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>

enum { PAYERS_MAX = 512 };

struct payer {
	uint64_t key; /* 0: free */
	uint64_t until_ns;
	uint32_t n_failures;
};

struct payers {
	struct payer all[PAYERS_MAX];
};

/* Returns true if @key is refused at @now_ns (CLOCK_MONOTONIC). Key 0 never is. */
bool payers_is_refused(const struct payers *p, uint64_t key, uint64_t now_ns);

/*
 * Charges @key for a failure. Failures number @free and before have no effect; each one after
 * doubles the time of refusal, from 1 s to 5 min. They are forgotten ten minutes after its end.
 */
void payers_charge(struct payers *p, uint64_t key, uint32_t free, uint64_t now_ns);

/* Forgets the failures of @key. */
void payers_forgive(struct payers *p, uint64_t key);
