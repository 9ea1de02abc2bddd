/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The names that OpenTelemetry's semantic conventions give to the labels thread, tid, cpu, pid
 * and comm.
 */
#include <stddef.h>

#include "codec/otlp/otlp_write.h"

extern const struct otlp_rename otlp_labels[];
extern const size_t otlp_n_labels;

/* These drop pid and comm, for requests whose resource identifies the process. */
extern const struct otlp_rename otlp_thread_labels[];
extern const size_t otlp_n_thread_labels;

/* The attribute of a resource with the name of its profiles, as Pyroscope has it: "mutex". */
#define OTLP_PROFILE_NAME "cameo.profile.name"

/* The label for an attribute key; @attribute itself if the conventions above do not name it. */
const char *otlp_label_of(const char *attribute);
