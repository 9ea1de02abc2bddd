/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a window holds, for those that write it down. */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "export/export.h"

struct export_series {
	struct profile *profile;
	struct export_label *labels; /* owned, and so are their texts */
	size_t n_labels;
	uint8_t id[16]; /* random: the same whenever it is sent */
};

struct export_window {
	int64_t start_ns, end_ns;
	struct {
		VEC(struct export_series);
	} series;
};

/* The value of a label, or NULL. */
const char *export_label(const struct export_series *s, const char *name);

/* Bytes it holds, for budgets. */
size_t export_window_bytes(const struct export_window *w);

enum { EXPORT_ID_TEXT_LEN = 37 };

/* "0b5c...-...": the id as a UUID. */
void export_id_text(const uint8_t id[16], char out[EXPORT_ID_TEXT_LEN]);
