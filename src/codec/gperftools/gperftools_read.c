/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is the number of samples, the depth and the addresses of a stack, leaf first; a record
 * of no samples is the last one. The mappings follow, but are read first, as locations refer to
 * them. The signal handler of gperftools may store the leaf twice, once from the signal's context
 * and once from its walk: the second is dropped. The header is the number 0, the number of further
 * header words (at least 3), the version 0, the sampling period in microseconds and padding.
 */
#include "codec/gperftools/gperftools_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/common/format_codec.h"
#include "codec/common/limits.h"
#include "codec/common/text_read.h"
#include "codec/gperftools/address_map.h"
#include "profile/profile.h"

enum { WORD = 8, HEADER_WORDS_MIN = 3, HEADER_WORDS_MAX = 64, LINE_MAX_LEN = 4096 };

struct reader {
	struct profile *p;
	struct codec_limits limits;
	struct err *err;
	const uint8_t *data;
	size_t len, at; /* bytes */
	int64_t period_ns;
	struct address_map mappings;
	struct {
		VEC(uint32_t);
	} ids; /* locations of the stack being read */
};

static void reader_fini(struct reader *rd)
{
	address_map_fini(&rd->mappings);
	vec_fini(&rd->ids);
	profile_free(rd->p);
}

/*
 * Reads a word in the host's byte order, which is little-endian on all machines that Cameo
 * supports. The caller has checked the length.
 */
static uint64_t word_at(const uint8_t *data, size_t at)
{
	uint64_t v;

	memcpy(&v, data + at, sizeof(v));
	return v;
}

enum format_match gperftools_detect(const void *data, size_t len)
{
	uint64_t n = len >= 5 * WORD ? word_at(data, WORD) : 0;

	if (n < HEADER_WORDS_MIN || n > HEADER_WORDS_MAX || word_at(data, 0) ||
	    word_at(data, 2 * WORD))
		return FORMAT_MATCH_NONE;
	return FORMAT_MATCH_CERTAIN;
}

static int no_memory(struct reader *rd)
{
	return err_set(rd->err, -ENOMEM, "out of memory while reading the profile");
}

static int bad(struct reader *rd, size_t at, const char *why)
{
	return err_set(rd->err, -EBADMSG, "byte %zu: %s", at, why);
}

/* Consumes a word; -EBADMSG at the end of the data. */
static int take(struct reader *rd, uint64_t *out)
{
	if (rd->len - rd->at < WORD)
		return bad(rd, rd->at, "truncated");
	*out = word_at(rd->data, rd->at);
	rd->at += WORD;
	return 0;
}

static int read_header(struct reader *rd)
{
	uint64_t n_words, period_us;

	if (!gperftools_detect(rd->data, rd->len))
		return bad(rd, 0, "not a gperftools CPU profile: bad header");
	n_words = word_at(rd->data, WORD);
	period_us = word_at(rd->data, 3 * WORD);
	if (!period_us || period_us > INT32_MAX)
		return bad(rd, 3 * (size_t)WORD,
			   "sampling period is not between 1 and 2^31 - 1 us");
	if (rd->len < (2 + n_words) * WORD)
		return bad(rd, rd->len, "truncated");
	rd->period_ns = (int64_t)period_us * 1000;
	rd->at = (2 + n_words) * WORD;
	return 0;
}

/*
 * Checks the records and moves after them, to the mappings. read_stacks() relies on these checks
 * when it walks the same records again.
 */
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
			return bad(rd, at + WORD, "stack depth is 0 or too large");
		if ((rd->len - rd->at) / WORD < depth)
			return bad(rd, rd->len, "truncated");
		rd->at += depth * WORD;
	} while (count);
	return 0;
}

/* Reads a line of /proc/PID/maps. Lines of another form and data mappings are skipped. */
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
	if (rd->mappings.ranges.len == rd->limits.entries)
		return err_set(rd->err, -EFBIG, "more than %u mappings", rd->limits.entries);
	if (profile_add_string(rd->p, text + path, strlen(text + path), &m.file) < 0 ||
	    profile_add_mapping(rd->p, &m, &id) < 0 ||
	    address_map_add(&rd->mappings, m.start, m.limit, id) < 0)
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

static int add_location(struct reader *rd, uint64_t address)
{
	struct profile_location l = {
		.mapping = address_map_find(&rd->mappings, address, PROFILE_NONE),
		.address = address,
		.kind = PROFILE_FRAME_NATIVE,
	};
	uint32_t id;

	if (profile_add_location(rd->p, &l, &id) < 0 || vec_push(&rd->ids, id) < 0)
		return no_memory(rd);
	return 0;
}

/* Reads a stack, which skip_records() has checked to lie within the data. */
static int read_stack(struct reader *rd, uint64_t count, uint64_t depth)
{
	int64_t values[2];
	struct profile_sample s = { .values = values };
	uint64_t leaf = word_at(rd->data, rd->at);

	if (count > INT64_MAX || __builtin_mul_overflow((int64_t)count, rd->period_ns, &values[1]))
		return bad(rd, rd->at - 2 * (size_t)WORD, "number of samples is too large");
	values[0] = (int64_t)count;
	rd->ids.len = 0;
	for (uint64_t i = 0; i < depth; i++) {
		/* Return addresses of callers lie after the call, perhaps in the next line. */
		uint64_t address = word_at(rd->data, rd->at + i * WORD) - (i > 0);
		int r = i == 1 && address + 1 == leaf ? 0 : add_location(rd, address);

		if (r < 0)
			return r;
	}
	rd->at += depth * WORD;
	if (profile_n_samples(rd->p) == rd->limits.samples)
		return err_set(rd->err, -EFBIG, "more than %u stacks", rd->limits.samples);
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
	if (r == 0 && address_map_build(&rd.mappings, PROFILE_NONE) < 0)
		r = no_memory(&rd);
	rd.at = records;
	if (r == 0)
		r = read_stacks(&rd);
	if (r == 0)
		*out = steal_ptr(&rd.p);
	return r;
}

const struct format_codec gperftools_codec = { .detect = gperftools_detect,
					       .read = gperftools_read };
