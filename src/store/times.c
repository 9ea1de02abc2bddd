/* SPDX-License-Identifier: Apache-2.0 */
/* Varints: the first as milliseconds after the window's time (zigzag), then differences. */
#include "store/times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/wire.h"
#include "profile/profile.h"

static void times_fini(struct times *t)
{
	vec_fini(t);
}

static int gather(const struct profile *p, const struct window_entry *e, size_t n,
		  int64_t window_ns, struct times *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct profile_sample s = profile_sample(p, e[i].sample);

		if (out->len + s.n_times > TIMES_MAX)
			return -EFBIG;
		for (uint32_t k = 0; r == 0 && k < s.n_times; k++)
			if (s.times[k] <= INT64_MAX)
				r = vec_push(out, ((int64_t)s.times[k] - window_ns) / CLOCK_MS_NS);
	}
	return r;
}

static int cmp_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int times_write(const struct profile *p, const struct window_entry *e, size_t n, int64_t window_ns,
		struct buf *out)
{
	_cleanup_(times_fini) struct times t = { 0 };
	int r = gather(p, e, n, window_ns, &t);

	if (r < 0 || !t.len)
		return r == -EFBIG ? 0 : r;
	qsort(t.data, t.len, sizeof(*t.data), cmp_times);
	wire_put_varint(out, (uint64_t)t.data[0] << 1 ^ (t.data[0] < 0 ? UINT64_MAX : 0));
	for (size_t i = 1; i < t.len; i++)
		wire_put_varint(out, (uint64_t)t.data[i] - (uint64_t)t.data[i - 1]);
	return buf_error(out);
}

int times_read(struct times *out, const void *data, size_t len, int64_t window_ns)
{
	struct wire w = wire_of(data, len);
	int64_t ms = 0, ns;
	uint64_t v;
	int r;

	out->len = 0;
	while ((r = wire_varint(&w, &v)) > 0) {
		int64_t step = out->len ? (int64_t)v : (int64_t)(v >> 1) ^ -(int64_t)(v & 1);

		if (__builtin_add_overflow(ms, step, &ms) ||
		    __builtin_mul_overflow(ms, (int64_t)CLOCK_MS_NS, &ns) ||
		    __builtin_add_overflow(ns, window_ns, &ns) || out->len == TIMES_MAX)
			return -EBADMSG;
		r = vec_push(out, ns);
		if (r < 0)
			return r;
	}
	return r;
}
