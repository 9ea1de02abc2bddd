/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parts of the targets that read tasks of an artificial process. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reader/tasks_message.h"

enum { PATCH = 10, TASKS = 64, READS_MAX = 200000 };

/* Replaces the words of @bytes that the input, {offset, word} pairs, names. */
static inline void patch(uint8_t *bytes, size_t n_bytes, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i + PATCH <= len; i += PATCH) {
		uint16_t at;

		memcpy(&at, data + i, sizeof(at));
		memcpy(bytes + at % (n_bytes - 8), data + i + 2, 8);
	}
}

/* Checks that @s survives the way to another process. */
static inline void check_message(const struct task_snapshot *s)
{
	struct buf b = { 0 };
	struct task_snapshot copy;
	int r = task_snapshot_init(&copy);

	assert(r == 0);
	tasks_message_put(&b, s);
	r = tasks_message_read(b.data, b.len, &copy);
	assert(r == 0 && copy.tasks.len == s->tasks.len);
	task_snapshot_fini(&copy);
	buf_fini(&b);
}
