/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The texts of waits: of states, and of frames that stand for a missing stack or waker. */
#include <stdint.h>

#include "bpf/shared/offcpu.h"

/*
 * Payload of a FRAME_ERROR word that replaces a missing stack. The values continue those of
 * enum walk_error.
 */
enum {
	OFFCPU_ERR_NO_STACK = WALK_ERR_MAX, /* not captured, because there were too many waits */
	OFFCPU_ERR_NEW_THREAD,              /* the thread has not run yet */
	OFFCPU_ERR_NO_WAKER,                /* a wait has ended, but its waker was not recorded */
	OFFCPU_ERR_NOT_WOKEN,               /* a wait has not ended yet */
	OFFCPU_ERR_MORE_WAKERS,             /* a chain of wakers exceeds its limits */
	OFFCPU_ERR_MAX,
};

/* Text of such a frame, in brackets. A constant string. */
const char *offcpu_error_text(uint64_t why);
/* Value of the "state" label. A constant string, "" for OFF_NONE. */
const char *offcpu_state_text(enum off_state state);
