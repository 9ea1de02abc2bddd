/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The role cameo-reader: processes without privileges, network or file system, which read files and
 * memory of other programs (roles/sandbox.h, SANDBOX_READER). They receive a descriptor that is
 * open for reading only, and keep nothing between two jobs but what they can compute again, so any
 * of them may be killed at any time.
 *
 * The parent's side of each job is a *_client.h.
 */
#include "roles/role.h"

enum reader_job {
	READER_JIT = 1,   /* jit_message.h */
	READER_TABLE,     /* table_message.h */
	READER_FACTS,     /* facts_message.h */
	READER_SAME,      /* facts_message.h */
	READER_PLACE,     /* place_message.h */
	READER_TASKS,     /* tasks_message.h */
	READER_ALLOCATOR, /* allocator_message.h */
	READER_HEAP,      /* heap_message.h */
	READER_PROFILE,   /* profile_message.h */
	/* lang_message.h */
	READER_LANG_DETECT,
	READER_LANG_REGIONS,
	READER_LANG_ASK,
	READER_LANG_CONTEXT,
};

extern const struct role reader_role;

/*
 * Works in the role and exits, if this process was started for it; returns otherwise. main() must
 * call it first in every program that opens a pool of reader_role.
 */
void reader_main(int argc, char **argv);
