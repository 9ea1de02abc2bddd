/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The labels that Pyroscope's Java agent sends next to a recording: each event may have a number,
 * its context, and this protobuf message maps contexts to labels.
 *
 *	message Context { map<int64, int64> labels = 1; }    // ids of strings
 *	message LabelsSnapshot { map<int64, Context> contexts = 1; map<int64, string> strings = 2; }
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;

struct jfr_label {
	int64_t context, key, value; /* key and value are ids of strings */
};

struct jfr_label_string {
	int64_t id;
	const char *s; /* borrowed from the message; not NUL-terminated */
	size_t len;
};

/* A zeroed struct has no labels. */
struct jfr_labels {
	struct {
		VEC(struct jfr_label); /* in the order of contexts */
	} labels;
	struct {
		VEC(struct jfr_label_string); /* in the order of ids */
	} strings;
};

/*
 * Reads an untrusted message, from which @out borrows. Returns 0; -EBADMSG with the reason in @err;
 * -EFBIG for more than @max labels or strings; -ENOMEM. The caller frees @out, on errors too.
 */
int jfr_labels_read(struct jfr_labels *out, const void *data, size_t len, size_t max,
		    struct err *err);
void jfr_labels_fini(struct jfr_labels *l);

/* Returns the labels of a context, *@out_n in number. */
const struct jfr_label *jfr_labels_of(const struct jfr_labels *l, int64_t context, size_t *out_n);

/* Returns a string, or NULL if the message has none of this id. */
const struct jfr_label_string *jfr_labels_string(const struct jfr_labels *l, int64_t id);
