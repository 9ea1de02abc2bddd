/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The link of a sample to its trace and span as the labels trace_id and span_id. */
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct otlp_dictionary;

enum { OTLP_LINK_LABELS = 2 };

/*
 * Writes the labels of link @i of the dictionary, *@out_n in number. There are none for link 0, for
 * ids of another length or of zeros, and for a link that the dictionary lacks, as a sample is
 * complete without it. Returns 0, or -EBADMSG or -ENOMEM with the reason in the reader's err.
 */
int otlp_link_labels(struct otlp_dictionary *d, uint64_t i,
		     struct profile_label out[OTLP_LINK_LABELS], size_t *out_n);
