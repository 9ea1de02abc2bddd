/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes metrics in the Prometheus text format 0.0.4. Errors of memory stick to the buffer. */
#include <stdint.h>

struct buf;

/* The lines HELP and TYPE ("counter" or "gauge"). */
void metric_head(struct buf *out, const char *name, const char *type, const char *help);

/* A label value as one line of UTF-8, with backslashes and quotes escaped. */
void metric_value(struct buf *out, const char *s);

/* One value of a metric with a label. */
void metric_labelled(struct buf *out, const char *name, const char *label, const char *value,
		     uint64_t v);

/* A whole metric without labels. */
void metric_number(struct buf *out, const char *name, const char *type, double value,
		   const char *help);
void metric_counter(struct buf *out, const char *name, uint64_t value, const char *help);
void metric_gauge(struct buf *out, const char *name, uint64_t value, const char *help);
