/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/otlp_labels.h"

#include <string.h>

#define OF_THREADS                                                                                 \
	{ "thread", "thread.name" }, { "tid", "thread.id" },                                       \
	{                                                                                          \
		"cpu", "cpu.logical_number"                                                        \
	}

const struct otlp_rename otlp_labels[] = {
	OF_THREADS,
	{ "pid", "process.pid" },
	{ "comm", "process.executable.name" },
};

const size_t otlp_n_labels = sizeof(otlp_labels) / sizeof(otlp_labels[0]);

const struct otlp_rename otlp_thread_labels[] = { OF_THREADS, { "pid", NULL }, { "comm", NULL } };

const size_t otlp_n_thread_labels = sizeof(otlp_thread_labels) / sizeof(otlp_thread_labels[0]);

const char *otlp_label_of(const char *attribute)
{
	for (size_t i = 0; i < otlp_n_labels; i++)
		if (!strcmp(otlp_labels[i].to, attribute))
			return otlp_labels[i].from;
	return attribute;
}
