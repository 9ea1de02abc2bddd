/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/otlp/otlp_layout.h"

#include "codec/otlp/otlp_fields.h"

/* Without fields 3 and 4, is field 2 the values (old) or attributes next to timestamps (new)? */
static void vote_on_field_2(struct otlp_votes *votes, const struct wire_field *f, size_t n_times,
			    size_t n_attributes)
{
	struct wire_nums it = wire_nums(f, WIRE_VARINT);
	size_t n = 0;
	uint64_t v;

	while (wire_nums_next(&it, &v) > 0) {
		n++;
		if (v == 0 || v >= n_attributes) {
			votes->may_be_old++;
			return;
		}
	}
	if (!n_times)
		votes->may_be_old++;
	else if (n != n_times)
		votes->may_be_new++;
}

int otlp_vote(struct otlp_votes *votes, struct wire sample, size_t n_attributes)
{
	struct wire_field f, two = { 0 };
	size_t n_times = 0;
	bool sure = false;
	int r;

	while ((r = wire_next(&sample, &f)) > 0) {
		bool packed = f.type == WIRE_LEN;

		if (f.number == OTLP_SAMPLE_1_9_VALUES && packed)
			two = f;
		if (f.number == OTLP_SAMPLE_TIMES && packed)
			n_times += wire_len(f.bytes) / 8;
		if (f.number != 3 && f.number != 4)
			continue;
		sure = true;
		/* Values and attributes are packed, a link is one number. */
		if ((f.number == OTLP_SAMPLE_VALUES) == packed)
			votes->is_new++;
		else
			votes->is_old++;
	}
	if (r == 0 && !sure && two.number)
		vote_on_field_2(votes, &two, n_times, n_attributes);
	return r;
}

bool otlp_is_old_layout(const struct otlp_votes *votes)
{
	if (votes->is_new || votes->is_old)
		return votes->is_old > votes->is_new;
	return votes->may_be_old > votes->may_be_new;
}
