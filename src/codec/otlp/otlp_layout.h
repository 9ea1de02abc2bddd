/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides which of two layouts the samples of an OTLP request have. In 1.8 and 1.9, field 3 is
 * packed attributes and field 4 a link; in 1.10, field 3 is a link and field 4 packed values. No
 * field states the version, so all samples vote.
 *
 * A sample without fields 3 and 4 votes by field 2: an index of an attribute is not 0 and below the
 * number of attributes, whereas values are often neither. Certain votes outvote any number of
 * probable ones, because exporters set links or attributes consistently.
 */
#include <stdbool.h>
#include <stddef.h>

#include "codec/common/wire.h"

/* Samples that are certainly or probably of the old layout (1.8, 1.9) or of the new one. */
struct otlp_votes {
	size_t is_old, is_new, may_be_old, may_be_new;
};

/*
 * Counts the vote of one sample; @n_attributes is the number of attributes in the dictionary.
 * Returns 0, or -EBADMSG if the sample is malformed or truncated.
 */
int otlp_vote(struct otlp_votes *votes, struct wire sample, size_t n_attributes);

/* The result of all votes; the new layout wins ties. */
bool otlp_is_old_layout(const struct otlp_votes *votes);
