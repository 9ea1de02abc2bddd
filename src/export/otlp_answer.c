/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parser for the few messages of OTLP responses that matter: partial success
 * (opentelemetry/proto/collector/profiles), google.rpc.Status and google.rpc.RetryInfo. Unknown
 * fields are skipped, and parsing stops at malformed data with the fields read so far.
 */
#include "export/otlp_answer.h"

#include <string.h>

#include "codec/common/wire.h"

enum {
	RESPONSE_PARTIAL = 1,
	PARTIAL_REJECTED = 1,
	PARTIAL_MESSAGE = 2,
	STATUS_MESSAGE = 2,
	STATUS_DETAILS = 3,
	ANY_TYPE = 1,
	ANY_VALUE = 2,
	RETRY_INFO_DELAY = 1,
	DURATION_SECONDS = 1,
	DURATION_NANOS = 2,
	DAY_S = 86400,
};

/* Truncates; the text stays unchecked until sink_end(). */
static void copy_message(struct otlp_answer *out, struct wire w)
{
	size_t len = wire_len(w) < OTLP_MESSAGE_LEN - 1 ? wire_len(w) : OTLP_MESSAGE_LEN - 1;

	memcpy(out->message, w.p, len);
	out->message[len] = 0;
}

void otlp_answer_read(const void *data, size_t len, struct otlp_answer *out)
{
	struct wire w = wire_of(data, len), partial;
	struct wire_field f, g;

	while (wire_next(&w, &f) > 0) {
		if (f.number != RESPONSE_PARTIAL || f.type != WIRE_LEN)
			continue;
		partial = f.bytes;
		while (wire_next(&partial, &g) > 0) {
			if (g.number == PARTIAL_REJECTED && g.type == WIRE_VARINT)
				out->rejected = (int64_t)g.value > 0 ? g.value : 0;
			else if (g.number == PARTIAL_MESSAGE && g.type == WIRE_LEN)
				copy_message(out, g.bytes);
		}
	}
}

/* Reads a google.protobuf.Duration. The delay is limited to one day. */
static void read_delay(struct wire w, struct otlp_answer *out)
{
	struct wire_field f;
	int64_t s = 0, ns = 0;

	while (wire_next(&w, &f) > 0) {
		if (f.number == DURATION_SECONDS && f.type == WIRE_VARINT)
			s = (int64_t)f.value;
		else if (f.number == DURATION_NANOS && f.type == WIRE_VARINT)
			ns = (int64_t)f.value;
	}
	if (s < 0 || ns < 0 || ns >= 1000000000)
		return;
	out->retry_ms = s >= DAY_S ? DAY_S * 1000LL : s * 1000 + ns / 1000000;
}

/* Reads a google.protobuf.Any. Its type is a URL that ends in the name of the message. */
static void read_detail(struct wire w, struct otlp_answer *out)
{
	static const char type[] = "google.rpc.RetryInfo";
	struct wire value = { 0 }, name = { 0 };
	struct wire_field f;

	while (wire_next(&w, &f) > 0) {
		if (f.number == ANY_TYPE && f.type == WIRE_LEN)
			name = f.bytes;
		else if (f.number == ANY_VALUE && f.type == WIRE_LEN)
			value = f.bytes;
	}
	if (wire_len(name) < sizeof(type) - 1 ||
	    memcmp(name.end - (sizeof(type) - 1), type, sizeof(type) - 1) != 0)
		return;
	out->may_retry = true;
	while (wire_next(&value, &f) > 0)
		if (f.number == RETRY_INFO_DELAY && f.type == WIRE_LEN)
			read_delay(f.bytes, out);
}

void otlp_answer_read_status(const void *data, size_t len, struct otlp_answer *out)
{
	struct wire w = wire_of(data, len);
	struct wire_field f;

	while (wire_next(&w, &f) > 0) {
		if (f.number == STATUS_MESSAGE && f.type == WIRE_LEN)
			copy_message(out, f.bytes);
		else if (f.number == STATUS_DETAILS && f.type == WIRE_LEN)
			read_detail(f.bytes, out);
	}
}

static int hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *d = c ? strchr(digits, c | 0x20) : NULL;

	return d ? (int)(d - digits) : -1;
}

void otlp_answer_read_message(const char *s, struct otlp_answer *out)
{
	size_t n = 0;

	while (*s && n < OTLP_MESSAGE_LEN - 1) {
		char c = *s++;

		if (c == '%' && hex(s[0]) >= 0 && hex(s[1]) >= 0) {
			c = (char)(hex(s[0]) << 4 | hex(s[1]));
			s += 2;
		}
		out->message[n++] = c ? c : '?';
	}
	out->message[n] = 0;
}
