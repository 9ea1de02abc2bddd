/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/reader.h"

#include "reader/allocator_job.h"
#include "reader/facts_job.h"
#include "reader/heap_job.h"
#include "reader/heap_message.h"
#include "reader/jit_job.h"
#include "reader/jit_message.h"
#include "reader/lang_job.h"
#include "reader/lang_message.h"
#include "reader/place_job.h"
#include "reader/place_message.h"
#include "reader/profile_job.h"
#include "reader/profile_message.h"
#include "reader/table_job.h"
#include "reader/table_message.h"
#include "reader/tasks_job.h"
#include "reader/tasks_message.h"

static const struct role_job jobs[] = {
	{ READER_JIT, sizeof(struct jit_request), reader_jit_job },
	{ READER_TABLE, sizeof(struct table_request), reader_table_job },
	{ READER_LANG_DETECT, sizeof(struct lang_detect_request), reader_lang_detect_job },
	{ READER_LANG_REGIONS, sizeof(struct lang_regions_request), reader_lang_regions_job },
	{ READER_LANG_ASK, sizeof(struct lang_ask_request), reader_lang_ask_job },
	{ READER_LANG_CONTEXT, sizeof(struct lang_context_request), reader_lang_context_job },
	{ READER_FACTS, 0, reader_facts_job },
	{ READER_SAME, 0, reader_same_job },
	{ READER_PLACE, sizeof(struct place_request) + 1, reader_place_job },
	{ READER_TASKS, sizeof(struct tasks_request), reader_tasks_job },
	{ READER_ALLOCATOR, 0, reader_allocator_job },
	{ READER_HEAP, sizeof(struct heap_request), reader_heap_job },
	{ READER_PROFILE, sizeof(struct profile_request), reader_profile_job },
};

const struct role reader_role = {
	.name = "cameo-reader",
	.sandbox = SANDBOX_READER,
	.jobs = jobs,
	.n_jobs = sizeof(jobs) / sizeof(*jobs),
	.init = reader_lang_init,
};

void reader_main(int argc, char **argv)
{
	const struct role *const roles[] = { &reader_role };

	role_main(argc, argv, roles, 1);
}
