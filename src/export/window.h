/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The content of a window, for the encoders of sinks. It is filled by one thread and constant
 * afterwards; encoders only read it.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "export/export.h"

struct export_series {
	struct profile *profile;
	struct export_label *labels; /* owned, with their strings */
	size_t n_labels;
	uint8_t id[16]; /* random; the same in every attempt and for every sink */
};

struct export_window {
	int64_t start_ns, end_ns;
	struct {
		VEC(struct export_series);
	} series;
};

/* The value of a label; NULL: the series does not have it. */
const char *export_label(const struct export_series *s, const char *name);

enum { EXPORT_ID_TEXT_LEN = 37 };

/* Formats an id as a UUID. */
void export_id_text(const uint8_t id[16], char out[EXPORT_ID_TEXT_LEN]);
