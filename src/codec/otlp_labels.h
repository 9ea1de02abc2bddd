/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the semantic conventions of OpenTelemetry call the labels that tell
 * whose a sample is: thread, tid, cpu, pid, comm.
 */
#include <stddef.h>

#include "codec/otlp_write.h"

extern const struct otlp_rename otlp_labels[];
extern const size_t otlp_n_labels;

/* The same where the resource says which process it is: samples have no pid and comm. */
extern const struct otlp_rename otlp_thread_labels[];
extern const size_t otlp_n_thread_labels;

/* The label that an attribute is called so for; @attribute itself when there is none. */
const char *otlp_label_of(const char *attribute);
