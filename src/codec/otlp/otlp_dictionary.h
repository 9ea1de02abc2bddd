/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The dictionary of an OTLP request, whose entries are interned into a profile. All indices of
 * the file are resolved here. A request may have one profile per process but has one dictionary,
 * so an entry is read when it is first looked up for a profile. Functions return 0, or -EBADMSG,
 * -EFBIG or -ENOMEM with the reason in the reader's err.
 *
 * Generations avoid clearing the arrays of ids for each profile: a request may have thousands of
 * profiles and a dictionary of a million entries. An id is valid if its generation is that of the
 * current profile.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/common/limits.h"
#include "codec/common/proto_read.h"
#include "codec/otlp/otlp_fields.h"
#include "profile/profile.h"

/* The id of an entry in a profile. It is valid only in the generation in which it was read. */
struct otlp_id {
	uint32_t generation, id;
};

/* An attribute as a label. One whose value a label cannot have (a list) is not usable. */
struct otlp_attribute_entry {
	struct profile_label label;
	bool usable;
	uint32_t generation;
};

/* Zero-initialize it and set limits, at.err and rename_labels before otlp_dictionary_split(). */
struct otlp_dictionary {
	struct profile *p; /* entries are interned into it; borrowed */
	struct codec_limits limits;
	struct proto_read at;
	struct proto_parts tables[OTLP_DICT_STACK + 1];
	struct otlp_id *ids[OTLP_DICT_STACK + 1]; /* by table and index in the file */
	struct otlp_attribute_entry *attributes;
	uint32_t generation; /* counts the profiles */
	bool rename_labels;  /* to this program's names, see otlp_labels.h */
	bool *symbolized;    /* by mapping: does it have locations with lines? */
	struct {
		VEC(uint32_t);
	} stack; /* locations of the stack being read */
	struct {
		VEC(struct profile_line);
	} lines; /* of the location being read */
};

void otlp_dictionary_fini(struct otlp_dictionary *d);

/*
 * Split the message into its tables, whose sizes are limited; then allocate the arrays of ids.
 * Parts are borrowed from the message, which must outlive the dictionary. Splitting several
 * messages appends their tables.
 */
int otlp_dictionary_split(struct otlp_dictionary *d, struct wire w);
int otlp_dictionary_open(struct otlp_dictionary *d);

/* Interns into @p from now on. All ids of the previous profile become invalid. @p is borrowed. */
void otlp_dictionary_set_profile(struct otlp_dictionary *d, struct profile *p);

/* Reads all entries, whether or not samples refer to them. */
int otlp_dictionary_read(struct otlp_dictionary *d);

/*
 * Look up an entry by its index in the file. *out is an id of the current profile. An index beyond
 * its table is -EBADMSG, never ignored.
 */
int otlp_string(struct otlp_dictionary *d, uint64_t i, uint32_t *out);
int otlp_stack(struct otlp_dictionary *d, uint64_t i, uint32_t *out);
size_t otlp_n_attributes(const struct otlp_dictionary *d);

/* Advances in a repeated field of attribute indices. Returns 1, 0 at the end, or an error. */
int otlp_next_attribute(struct otlp_dictionary *d, struct wire_nums *it,
			const struct otlp_attribute_entry **out);

/*
 * Reads an AnyValue. Text and numbers are usable as labels, lists and bytes are not. Doubles become
 * text, because labels hold only text and integers.
 */
int otlp_any_value(struct otlp_dictionary *d, struct wire w, struct otlp_attribute_entry *out);

/* Replaces an attribute's key by this program's name for it if rename_labels is set. */
int otlp_label_key(struct otlp_dictionary *d, uint32_t *io_key);

/* Interns text from the file. */
int otlp_add_text(struct otlp_dictionary *d, const void *s, size_t len, uint32_t *out);
