/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pauses between attempts to send. They are random, so that the agents of a fleet do not all retry
 * at the same moment when their back end recovers. No state except the random generator; any
 * thread.
 */
#include <stdint.h>

/*
 * The pause after a failure that followed @n_failures others: between half and one and a half
 * times @first_ms, which doubles up to 64 times. If the back end requested a longer pause,
 * @requested_ms, it is that and up to a quarter more.
 */
uint64_t retry_pause_ms(unsigned int first_ms, unsigned int n_failures, int64_t requested_ms);

/* The pause between two items of a backlog. */
uint64_t retry_pause_backlog_ms(void);
