/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A deadline that another thread may set while it is waited for: a CLOCK_MONOTONIC time. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Returns true from *@until_ns on; false if that is 0 or @until_ns is NULL. */
static inline bool deadline_is_past(const _Atomic uint64_t *until_ns)
{
	uint64_t ns = until_ns ? atomic_load(until_ns) : 0;

	return ns && clock_monotonic_ns() >= ns;
}
