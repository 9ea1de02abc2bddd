/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the message of a process context, and makes labels of a thread context with its names.
 *
 * An input is the length of the message (2 bytes), the message, and the context.
 */
#include <stdlib.h>
#include <string.h>

#include "lang/context/labels.h"
#include "lang/context/process_context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The labels of a text must be as many as were put into it, in ascending order of their keys. */
static void check(const struct context_set *set)
{
	const char *key, *value, *last = "";
	uint32_t n = 0;
	size_t at = 0;

	while (context_set_next(set->text, set->len, &at, &key, &value)) {
		if (strcmp(key, last) < 0)
			abort();
		last = key;
		n++;
	}
	if (n != set->n || n > CONTEXT_SET_MAX || at != set->len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct process_context process;
	static struct context_set set;
	struct context c = { 0 };
	size_t n;

	if (len < 2)
		return 0;
	n = data[0] | (size_t)data[1] << 8;
	if (n > len - 2)
		return 0;
	if (process_context_parse(data + 2, n, &process.names) == 0 &&
	    process_context_check(&process) < 0)
		abort();
	data += 2 + n;
	len -= 2 + n;
	memcpy(&c, data, len < sizeof(c) ? len : sizeof(c));
	if (!context_is_valid(&c, len < sizeof(c) ? len : sizeof(c)))
		return 0;
	context_set_make(&c, &process.names, &set);
	check(&set);
	return 0;
}
