/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is how often a stack was seen, its depth and its addresses, leaf first; one of no
 * samples ends them. The mappings that follow are read first, since places are in them. The
 * handler of the signal may tell the leaf twice, by its context and by its walk: once is enough.
 */
#include "codec/gperftools_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/limits.h"
#include "codec/text_reading.h"
#include "profile/profile.h"

enum { WORD = 8, HEADER_WORDS_MIN = 3, HEADER_WORDS_MAX = 64, LINE_MAX_LEN = 4096 };

struct mapped {
	uint64_t start, limit;
	uint32_t id; /* the profile's */
};

struct reader {
	struct profile *p;
	struct codec_limits limits;
	struct err *err;
	const uint8_t *data;
	size_t len, at; /* in bytes */
	int64_t period_ns;
	struct {
		VEC(struct mapped);
	} mappings;
	struct {
		VEC(uint32_t);
	} ids; /* of the stack */
};

static void reader_fini(struct reader *rd)
{
	vec_fini(&rd->mappings);
	vec_fini(&rd->ids);
	profile_free(rd->p);
}

static uint64_t word_at(const uint8_t *data, size_t at)
{
	uint64_t v;

	memcpy(&v, data + at, sizeof(v));
	return v;
}

bool gperftools_is(const void *data, size_t len)
{
	uint64_t n = len >= 5 * WORD ? word_at(data, WORD) : 0;

	return n >= HEADER_WORDS_MIN && n <= HEADER_WORDS_MAX && !word_at(data, 0) &&
	       !word_at(data, 2 * WORD);
}

static int no_memory(struct reader *rd)
{
	return err_set(rd->err, -ENOMEM, "no memory to read the profile");
}

static int bad(struct reader *rd, size_t at, const char *why)
{
	return err_set(rd->err, -EBADMSG, "byte %zu: %s", at, why);
}

/* The next word: 0, or it is cut short. */
static int take(struct reader *rd, uint64_t *out)
{
	if (rd->len - rd->at < WORD)
		return bad(rd, rd->at, "it is cut short");
	*out = word_at(rd->data, rd->at);
	rd->at += WORD;
	return 0;
}

static int read_header(struct reader *rd)
{
	uint64_t n_words, period_us;

	if (!gperftools_is(rd->data, rd->len))
		return bad(rd, 0, "this is no CPU profile of gperftools");
	n_words = word_at(rd->data, WORD);
	period_us = word_at(rd->data, 3 * WORD);
	if (!period_us || period_us > INT32_MAX)
		return bad(rd, 3 * (size_t)WORD, "the period is no number of microseconds");
	if (rd->len < (2 + n_words) * WORD)
		return bad(rd, rd->len, "it is cut short");
	rd->period_ns = (int64_t)period_us * 1000;
	rd->at = (2 + n_words) * WORD;
	return 0;
}

/* Pass over the records, to the mappings. */
static int skip_records(struct reader *rd)
{
	uint64_t count = 0, depth = 0;
	int r;

	do {
		size_t at = rd->at;

		r = take(rd, &count);
		if (r == 0)
			r = take(rd, &depth);
		if (r < 0)
			return r;
		if (!depth || depth > rd->limits.depth)
			return bad(rd, at + WORD, "a stack has no frames, or too many");
		if ((rd->len - rd->at) / WORD < depth)
			return bad(rd, rd->len, "it is cut short");
		rd->at += depth * WORD;
	} while (count);
	return 0;
}

/* A line of /proc/PID/maps; others are left out. */
static int read_mapping(struct reader *rd, struct text line)
{
	struct profile_mapping m = { 0 };
	char text[LINE_MAX_LEN], exec = '-';
	int path = 0;
	uint32_t id;

	if (line.len >= sizeof(text))
		return 0;
	memcpy(text, line.s, line.len);
	text[line.len] = '\0';
	if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*x:%*x %*u %n", &m.start,
		   &m.limit, &exec, &m.file_off, &path) != 4 ||
	    !path || exec != 'x' || m.start >= m.limit || !text[path])
		return 0;
	if (rd->mappings.len == rd->limits.things)
		return err_set(rd->err, -EFBIG, "there are too many mappings");
	if (profile_add_string(rd->p, text + path, strlen(text + path), &m.file) < 0 ||
	    profile_add_mapping(rd->p, &m, &id) < 0 ||
	    vec_push(&rd->mappings, (struct mapped){ m.start, m.limit, id }) < 0)
		return no_memory(rd);
	return 0;
}

static int read_mappings(struct reader *rd)
{
	struct text text = { (const char *)rd->data + rd->at, rd->len - rd->at };
	int r = 0;

	while (r == 0 && text.len)
		r = read_mapping(rd, text_take_line(&text));
	return r;
}

static int add_place(struct reader *rd, uint64_t address)
{
	struct profile_location l = { .mapping = PROFILE_NONE,
				      .address = address,
				      .kind = PROFILE_FRAME_NATIVE };
	uint32_t id;

	for (size_t i = 0; i < rd->mappings.len; i++)
		if (address >= rd->mappings.data[i].start && address < rd->mappings.data[i].limit)
			l.mapping = rd->mappings.data[i].id;
	if (profile_add_location(rd->p, &l, &id) < 0 || vec_push(&rd->ids, id) < 0)
		return no_memory(rd);
	return 0;
}

/* A stack that is known to be whole. */
static int read_stack(struct reader *rd, uint64_t count, uint64_t depth)
{
	int64_t values[2];
	struct profile_sample s = { .values = values };
	uint64_t leaf = word_at(rd->data, rd->at);

	if (count > INT64_MAX || __builtin_mul_overflow((int64_t)count, rd->period_ns, &values[1]))
		return bad(rd, rd->at - 2 * (size_t)WORD, "its count is too large");
	values[0] = (int64_t)count;
	rd->ids.len = 0;
	for (uint64_t i = 0; i < depth; i++) {
		/* of callers these are return addresses */
		uint64_t address = word_at(rd->data, rd->at + i * WORD) - (i > 0);
		int r = i == 1 && address + 1 == leaf ? 0 : add_place(rd, address);

		if (r < 0)
			return r;
	}
	rd->at += depth * WORD;
	if (profile_n_samples(rd->p) == rd->limits.samples)
		return err_set(rd->err, -EFBIG, "there are too many stacks");
	if (profile_add_stack(rd->p, rd->ids.data, rd->ids.len, &s.stack) < 0 ||
	    profile_add_sample(rd->p, &s) < 0)
		return no_memory(rd);
	return 0;
}

static int read_stacks(struct reader *rd)
{
	uint64_t count = 0, depth = 0;
	int r;

	do {
		r = take(rd, &count);
		if (r == 0)
			r = take(rd, &depth);
		if (r == 0 && count)
			r = read_stack(rd, count, depth);
	} while (r == 0 && count);
	return r;
}

static int begin(struct reader *rd)
{
	struct profile_meta *meta;

	if (profile_new(&rd->p) < 0)
		return no_memory(rd);
	meta = profile_meta(rd->p);
	meta->period = rd->period_ns;
	if (profile_add_sample_type(rd->p, "samples", "count") < 0 ||
	    profile_add_sample_type(rd->p, "cpu", "nanoseconds") < 0 ||
	    profile_add_string(rd->p, "cpu", 3, &meta->period_type.type) < 0 ||
	    profile_add_string(rd->p, "nanoseconds", 11, &meta->period_type.unit) < 0)
		return no_memory(rd);
	return 0;
}

int gperftools_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = {
		.data = data,
		.len = len,
		.limits = limits ? *limits : codec_limits_default(),
		.err = err,
	};
	size_t records;
	int r = read_header(&rd);

	records = rd.at;
	if (r == 0)
		r = begin(&rd);
	if (r == 0)
		r = skip_records(&rd);
	if (r == 0)
		r = read_mappings(&rd);
	rd.at = records;
	if (r == 0)
		r = read_stacks(&rd);
	if (r == 0)
		*out = steal_ptr(&rd.p);
	return r;
}
