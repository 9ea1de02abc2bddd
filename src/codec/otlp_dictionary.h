/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The dictionary of an OTLP request: its tables, interned into a profile. What
 * an index of the file stands for is looked up here and nowhere else.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/limits.h"
#include "codec/otlp_fields.h"
#include "codec/reading.h"
#include "profile/profile.h"

struct otlp_ids {
	VEC(uint32_t); /* by index in the file: our id */
};

/* What an attribute is as a label; those with values that no label can have are not usable. */
struct otlp_attribute_entry {
	struct profile_label label;
	bool usable;
};

struct otlp_dictionary {
	struct profile *p; /* what is interned into; the caller's */
	struct codec_limits limits;
	struct reading at;
	struct wire_parts tables[OTLP_DICT_STACK + 1];
	struct otlp_ids strings, mappings, functions, locations, stacks;
	struct {
		VEC(struct otlp_attribute_entry);
	} attributes;
	bool *symbolized;      /* by mapping: has it locations with lines? */
	struct otlp_ids stack; /* being read */
	struct {
		VEC(struct profile_line);
	} lines; /* of the location being read */
};

void otlp_dictionary_fini(struct otlp_dictionary *d);

/* Cut the message into its tables; then read them. 0, -EBADMSG, -EFBIG, -ENOMEM. */
int otlp_dictionary_cut(struct otlp_dictionary *d, struct wire w);
int otlp_dictionary_read(struct otlp_dictionary *d);

/* What an index stands for: 0, or -EBADMSG when there is no such entry. */
int otlp_string(struct otlp_dictionary *d, uint64_t i, uint32_t *out);
int otlp_stack(struct otlp_dictionary *d, uint64_t i, uint32_t *out);

/* The attributes in a repeated field of indices, one after the other: 1, 0 or -EBADMSG. */
int otlp_next_attribute(struct otlp_dictionary *d, struct wire_nums *it,
			const struct otlp_attribute_entry **out);

/* An AnyValue that a label can have: text or a number. Lists and bytes are not usable. */
int otlp_any_value(struct otlp_dictionary *d, struct wire w, struct otlp_attribute_entry *out);

/* Intern a text of the file: 0 or -ENOMEM. */
int otlp_add_text(struct otlp_dictionary *d, const void *s, size_t len, uint32_t *out);
