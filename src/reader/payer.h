/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The payer of failures of readers (struct role_request, payers[1]). */
#include <stdint.h>
#include <sys/types.h>

/* The owner of the file that was read; nobody (0) if that is root. */
static inline uint64_t reader_payer(uid_t owner)
{
	return owner ? 1ULL << 61 | owner : 0;
}
