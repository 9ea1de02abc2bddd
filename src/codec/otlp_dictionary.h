/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The dictionary of an OTLP request: its tables, interned into a profile. What
 * an index of the file stands for is looked up here and nowhere else. An entry
 * is read when it is first looked up, once for each profile interned into: a
 * request may have a profile for each process, but one dictionary.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/limits.h"
#include "codec/otlp_fields.h"
#include "codec/reading.h"
#include "profile/profile.h"

/* What an entry is in the profile of the turn; of another turn: not read yet. */
struct otlp_id {
	uint32_t turn, id;
};

/* What an attribute is as a label; those with values that no label can have are not usable. */
struct otlp_attribute_entry {
	struct profile_label label;
	bool usable;
	uint32_t turn;
};

struct otlp_dictionary {
	struct profile *p; /* what is interned into; the caller's */
	struct codec_limits limits;
	struct reading at;
	struct wire_parts tables[OTLP_DICT_STACK + 1];
	struct otlp_id *ids[OTLP_DICT_STACK + 1]; /* by table and index in the file */
	struct otlp_attribute_entry *attributes;
	uint32_t turn;
	bool own_labels;  /* labels have our names, not OpenTelemetry's */
	bool *symbolized; /* by mapping: has it locations with lines? */
	struct {
		VEC(uint32_t);
	} stack; /* being read */
	struct {
		VEC(struct profile_line);
	} lines; /* of the location being read */
};

void otlp_dictionary_fini(struct otlp_dictionary *d);

/* Cut the message into its tables; then make room for what they are. 0, -EBADMSG, -EFBIG, -ENOMEM.
 */
int otlp_dictionary_cut(struct otlp_dictionary *d, struct wire w);
int otlp_dictionary_open(struct otlp_dictionary *d);

/* From now on intern into @p. */
void otlp_dictionary_into(struct otlp_dictionary *d, struct profile *p);

/* Read everything, used or not. */
int otlp_dictionary_read(struct otlp_dictionary *d);

/* What an index stands for: 0; -EBADMSG when there is no such entry or it is none; -ENOMEM. */
int otlp_string(struct otlp_dictionary *d, uint64_t i, uint32_t *out);
int otlp_stack(struct otlp_dictionary *d, uint64_t i, uint32_t *out);
size_t otlp_n_attributes(const struct otlp_dictionary *d);

/* The attributes in a repeated field of indices, one after the other: 1, 0 or -EBADMSG. */
int otlp_next_attribute(struct otlp_dictionary *d, struct wire_nums *it,
			const struct otlp_attribute_entry **out);

/* An AnyValue that a label can have: text or a number. Lists and bytes are not usable. */
int otlp_any_value(struct otlp_dictionary *d, struct wire w, struct otlp_attribute_entry *out);

/* The key of a label, as it is called here. 0 or -ENOMEM. */
int otlp_label_key(struct otlp_dictionary *d, uint32_t *io_key);

/* Intern a text of the file: 0 or -ENOMEM. */
int otlp_add_text(struct otlp_dictionary *d, const void *s, size_t len, uint32_t *out);
