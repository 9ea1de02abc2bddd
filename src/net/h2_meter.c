/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nghttp2 limits some kinds of frames, each in its own way, and ignores others: nine bytes of an
 * unknown kind cost the server as much as a part of a body. So the lengths of all frames are
 * followed here. A frame costs FRAME_COST, and earns what it is worth: a request pays for a few
 * frames more, and the data of a body for the frame that carries them. Bytes that the client
 * receives pay for the windows that it opens meanwhile.
 *
 * Requests are not limited here: streams, queues and the limits of tenants are for that.
 */
#include "net/h2_meter.h"

enum {
	FRAME_COST = 256, /* as much as a byte of DATA earns is 1 */
	REQUEST_EARNS = 8 * FRAME_COST,
	BYTES_SENT_PER_UNIT = 4, /* a frame for each KiB that the client receives */
	MAX_ALLOWANCE = H2_METER_BURST * FRAME_COST,
	MS_PER_S = 1000,
	PREFACE_LEN = 24,
	TYPE_AT = 3,
	TYPE_DATA = 0,
	TYPE_HEADERS = 1,
};

static void earn(struct h2_meter *m, int64_t units)
{
	m->allowance += units;
	if (m->allowance > MAX_ALLOWANCE)
		m->allowance = MAX_ALLOWANCE;
}

void h2_meter_init(struct h2_meter *m, int64_t now_ms)
{
	*m = (struct h2_meter){ .skip = PREFACE_LEN,
				.allowance = MAX_ALLOWANCE,
				.refilled_ms = now_ms };
}

/* The length is that of the payload. */
static void count_frame(struct h2_meter *m)
{
	const size_t len = (size_t)m->head[0] << 16 | (size_t)m->head[1] << 8 | m->head[2];

	if (m->head[TYPE_AT] == TYPE_HEADERS)
		earn(m, REQUEST_EARNS);
	else if (m->head[TYPE_AT] == TYPE_DATA)
		earn(m, len < FRAME_COST ? (int64_t)len : FRAME_COST);
	m->allowance -= FRAME_COST;
	m->skip = len;
	m->head_len = 0;
}

/* An interval of more than a burst's worth refills no more than that. */
static void refill(struct h2_meter *m, int64_t now_ms)
{
	const int64_t full_ms = (int64_t)H2_METER_BURST * MS_PER_S / H2_METER_PER_SECOND;
	int64_t passed_ms = now_ms - m->refilled_ms;

	m->refilled_ms = now_ms;
	passed_ms = passed_ms < full_ms ? passed_ms : full_ms;
	earn(m, passed_ms * H2_METER_PER_SECOND * FRAME_COST / MS_PER_S);
}

bool h2_meter_feed(struct h2_meter *m, const void *data, size_t len, int64_t now_ms)
{
	const uint8_t *at = data, *end = at + len;

	refill(m, now_ms);
	while (at < end) {
		size_t n = (size_t)(end - at);

		if (m->skip) {
			n = n < m->skip ? n : m->skip;
			m->skip -= n;
			at += n;
			continue;
		}
		m->head[m->head_len++] = *at++;
		if (m->head_len == sizeof(m->head))
			count_frame(m);
		if (m->allowance < 0)
			return false;
	}
	return true;
}

void h2_meter_sent(struct h2_meter *m, size_t len)
{
	earn(m, (int64_t)(len / BYTES_SENT_PER_UNIT));
}
