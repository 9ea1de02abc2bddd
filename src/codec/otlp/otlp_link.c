/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/otlp/otlp_link.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "codec/otlp/otlp_dictionary.h"

enum { TRACE_BYTES = 16, SPAN_BYTES = 8 };

static bool is_id(struct wire w, size_t len)
{
	static const uint8_t none[TRACE_BYTES];

	return wire_len(w) == len && memcmp(w.p, none, len) != 0;
}

/* Makes a label of an id in hexadecimal, in the order of its bytes, as in W3C's traceparent. */
static int make_label(struct otlp_dictionary *d, const char *key, struct wire id,
		      struct profile_label *out)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * TRACE_BYTES];
	size_t len = wire_len(id);
	int r;

	for (size_t i = 0; i < len; i++) {
		text[2 * i] = digits[id.p[i] >> 4];
		text[2 * i + 1] = digits[id.p[i] & 15];
	}
	*out = (struct profile_label){ 0 };
	r = profile_add_string(d->p, key, strlen(key), &out->key);
	if (r == 0)
		r = profile_add_string(d->p, text, 2 * len, &out->str);
	return proto_read_check(&d->at, r);
}

int otlp_link_labels(struct otlp_dictionary *d, uint64_t i,
		     struct profile_label out[OTLP_LINK_LABELS], size_t *out_n)
{
	const struct proto_parts *links = &d->tables[OTLP_DICT_LINK];
	struct wire_field f;
	struct wire w, trace = { 0 }, span = { 0 };
	int r;

	*out_n = 0;
	if (!i || i >= links->len)
		return 0;
	for (w = links->data[i]; (r = wire_next(&w, &f)) > 0;) {
		if (f.number == OTLP_LINK_TRACE && f.type == WIRE_LEN)
			trace = f.bytes;
		else if (f.number == OTLP_LINK_SPAN && f.type == WIRE_LEN)
			span = f.bytes;
	}
	if (r < 0)
		return proto_read_error(&d->at, r, "malformed or truncated link");
	if (is_id(trace, TRACE_BYTES))
		r = make_label(d, "trace_id", trace, &out[(*out_n)++]);
	if (r == 0 && is_id(span, SPAN_BYTES))
		r = make_label(d, "span_id", span, &out[(*out_n)++]);
	return r;
}
