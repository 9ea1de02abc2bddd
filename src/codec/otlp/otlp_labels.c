/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One list serves both directions. Lists in which pid and comm map to NULL are used when the
 * resource has process.pid, as in the agent's requests: repeating them in each sample would add
 * nothing.
 */
#include "codec/otlp/otlp_labels.h"

#include <string.h>

#define THREAD_LABELS                                                                              \
	{ "thread", "thread.name" }, { "tid", "thread.id" },                                       \
	{                                                                                          \
		"cpu", "cpu.logical_number"                                                        \
	}

const struct otlp_rename otlp_labels[] = {
	THREAD_LABELS,
	{ "pid", "process.pid" },
	{ "comm", "process.executable.name" },
};

const size_t otlp_n_labels = sizeof(otlp_labels) / sizeof(otlp_labels[0]);

const struct otlp_rename otlp_thread_labels[] = { THREAD_LABELS,
						  { "pid", NULL },
						  { "comm", NULL } };

const size_t otlp_n_thread_labels = sizeof(otlp_thread_labels) / sizeof(otlp_thread_labels[0]);

const char *otlp_label_of(const char *attribute)
{
	for (size_t i = 0; i < otlp_n_labels; i++)
		if (!strcmp(otlp_labels[i].to, attribute))
			return otlp_labels[i].from;
	return attribute;
}
