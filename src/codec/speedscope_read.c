/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a JSON object come in any order, so the file is walked through
 * three times: for the frames, for the types of the profiles, and for their
 * samples. Of a profile, stacks are kept until its weights are known.
 *
 * A profile is a sample type in what we write; elsewhere it is a thread, whose
 * name becomes a label, and profiles of one unit are of one type. Times are
 * turned into whole nanoseconds, since others write fractions of seconds.
 */
#include "codec/speedscope_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "codec/frame_kind.h"
#include "codec/limits.h"
#include "profile/profile.h"
#include "profile/unit.h"

enum { SPEEDSCOPE_MAX_TYPES = 64, SPEEDSCOPE_MAX_NAME = 256 };

struct frame {
	struct profile_function function;
	int64_t line;
};

/* What a profile of the file becomes. */
struct part {
	char unit[16];
	uint32_t name;  /* string of the profile */
	size_t type;    /* sample type */
	double factor;  /* of its weights */
	bool is_thread; /* one of several of its type */
};

struct reader {
	struct profile *p;
	struct codec_limits limits;
	struct err *err;
	struct json_read j;
	bool has_frames;
	bool by_type;       /* written by us: each profile is a type */
	struct frame frame; /* being read */
	size_t n_read;      /* profiles whose samples were read */
	struct {
		VEC(struct part);
	} parts; /* by profile of the file */
	struct {
		VEC(uint32_t);
	} locations, /* by frame of the file */
		stack, stacks;
	struct {
		VEC(double);
	} weights;
	char name[SPEEDSCOPE_MAX_NAME], unit[SPEEDSCOPE_MAX_NAME], kind[SPEEDSCOPE_MAX_NAME];
};

/* What to do with the value of one member, whose key is in the reader's text. */
typedef int (*member_fn)(struct reader *rd, const char *key);

static void reader_fini(struct reader *rd)
{
	json_read_fini(&rd->j);
	vec_fini(&rd->locations);
	vec_fini(&rd->stack);
	vec_fini(&rd->stacks);
	vec_fini(&rd->weights);
	vec_fini(&rd->parts);
	profile_free(rd->p);
}

static int no_memory(struct reader *rd)
{
	return err_set(rd->err, -ENOMEM, "no memory to read the profile");
}

/* The JSON reader's errors get their place in the file. */
static int checked(struct reader *rd, int r)
{
	if (r == -ENOMEM)
		return no_memory(rd);
	if (r < 0)
		return err_set(rd->err, r,
			       "byte %zu: this is not what speedscope's format has here",
			       json_read_at(&rd->j));
	return r;
}

static int each_member(struct reader *rd, member_fn fn)
{
	char key[SPEEDSCOPE_MAX_NAME];
	int r = checked(rd, json_read_open(&rd->j, '{'));

	if (r < 0)
		return r;
	while ((r = checked(rd, json_read_key(&rd->j))) > 0) {
		/* a longer key is none that is looked for */
		strncpy(key, (const char *)rd->j.text.data, sizeof(key) - 1);
		key[sizeof(key) - 1] = '\0';
		r = fn(rd, key);
		if (r < 0)
			return r;
	}
	return r;
}

static int each_item(struct reader *rd, int (*fn)(struct reader *rd))
{
	int r = checked(rd, json_read_open(&rd->j, '['));

	if (r < 0)
		return r;
	while ((r = checked(rd, json_read_item(&rd->j))) > 0) {
		r = fn(rd);
		if (r < 0)
			return r;
	}
	return r;
}

static int skip(struct reader *rd)
{
	return checked(rd, json_read_skip(&rd->j));
}

static int round_to_int(struct reader *rd, double v, int64_t *out)
{
	if (!(v > -9.2e18 && v < 9.2e18))
		return err_set(rd->err, -EBADMSG, "byte %zu: the number is too large",
			       json_read_at(&rd->j));
	*out = (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
	return 0;
}

/* A number without a fraction, rounded if need be. */
static int read_int(struct reader *rd, int64_t *out)
{
	double v;
	int r = checked(rd, json_read_number(&rd->j, &v));

	return r < 0 ? r : round_to_int(rd, v, out);
}

static int read_text(struct reader *rd, char *to)
{
	int r = checked(rd, json_read_string(&rd->j));

	if (r < 0)
		return r;
	strncpy(to, (const char *)rd->j.text.data, SPEEDSCOPE_MAX_NAME - 1);
	to[SPEEDSCOPE_MAX_NAME - 1] = '\0';
	return 0;
}

static int read_interned(struct reader *rd, uint32_t *out)
{
	int r = checked(rd, json_read_string(&rd->j));

	if (r < 0)
		return r;
	r = profile_add_string(rd->p, (const char *)rd->j.text.data, rd->j.text.len, out);
	return r < 0 ? no_memory(rd) : 0;
}

static int read_frame_member(struct reader *rd, const char *key)
{
	struct frame *f = &rd->frame;
	int c = json_read_peek(&rd->j);

	if (!strcmp(key, "name"))
		return read_interned(rd, &f->function.name);
	if (!strcmp(key, "file") && c == '"')
		return read_interned(rd, &f->function.file);
	if (!strcmp(key, "line") && c == 0)
		return read_int(rd, &f->line);
	return skip(rd);
}

static int add_frame(struct reader *rd)
{
	struct frame *f = &rd->frame;
	struct profile_line line = { 0 };
	struct profile_location l = { .mapping = PROFILE_NONE, .n_lines = 1, .lines = &line };
	uint32_t id;

	line.line = f->line > 0 && f->line <= INT32_MAX ? (uint32_t)f->line : 0;
	l.kind = (uint8_t)frame_kind_guess("", profile_string(rd->p, f->function.file));
	f->function.system_name = f->function.name;
	if (profile_add_function(rd->p, &f->function, &line.function) < 0 ||
	    profile_add_location(rd->p, &l, &id) < 0 || vec_push(&rd->locations, id) < 0)
		return no_memory(rd);
	return 0;
}

static int read_frame(struct reader *rd)
{
	int r;

	if (rd->locations.len == rd->limits.things)
		return err_set(rd->err, -EFBIG, "there are more than %u frames", rd->limits.things);
	rd->frame = (struct frame){ 0 };
	r = each_member(rd, read_frame_member);
	return r < 0 ? r : add_frame(rd);
}

static int read_shared(struct reader *rd, const char *key)
{
	if (strcmp(key, "frames") != 0 || rd->has_frames)
		return skip(rd);
	rd->has_frames = true;
	return each_item(rd, read_frame);
}

static int read_stack_item(struct reader *rd)
{
	int64_t i = 0;
	int r = read_int(rd, &i);

	if (r < 0)
		return r;
	if (i < 0 || (uint64_t)i >= rd->locations.len)
		return err_set(rd->err, -EBADMSG, "sample %zu: frame %lld does not exist",
			       rd->stacks.len, (long long)i);
	if (rd->stack.len == rd->limits.depth)
		return err_set(rd->err, -EFBIG, "sample %zu: it has more than %u frames",
			       rd->stacks.len, rd->limits.depth);
	return vec_push(&rd->stack, rd->locations.data[i]) < 0 ? no_memory(rd) : 0;
}

static int read_stack(struct reader *rd)
{
	uint32_t *ids, id;
	size_t n;
	int r;

	rd->stack.len = 0;
	r = each_item(rd, read_stack_item);
	if (r < 0)
		return r;
	if (rd->stacks.len == rd->limits.samples)
		return err_set(rd->err, -EFBIG, "there are more than %u samples",
			       rd->limits.samples);
	ids = rd->stack.data;
	n = rd->stack.len;
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t swap = ids[i];

		ids[i] = ids[n - 1 - i];
		ids[n - 1 - i] = swap;
	}
	if (profile_add_stack(rd->p, ids, n, &id) < 0 || vec_push(&rd->stacks, id) < 0)
		return no_memory(rd);
	return 0;
}

static int read_weight(struct reader *rd)
{
	double v = 0;
	int r = checked(rd, json_read_number(&rd->j, &v));

	if (r < 0)
		return r;
	return vec_push(&rd->weights, v) < 0 ? no_memory(rd) : 0;
}

static int read_type_member(struct reader *rd, const char *key)
{
	if (!strcmp(key, "type"))
		return read_text(rd, rd->kind);
	if (!strcmp(key, "name"))
		return read_text(rd, rd->name);
	if (!strcmp(key, "unit"))
		return read_text(rd, rd->unit);
	return skip(rd);
}

static int read_type(struct reader *rd)
{
	struct part part = { .factor = 1 };
	int r;

	rd->kind[0] = rd->name[0] = rd->unit[0] = '\0';
	r = each_member(rd, read_type_member);
	if (r < 0)
		return r;
	if (strcmp(rd->kind, "sampled") != 0)
		return err_set(rd->err, -ENOTSUP, "profile %zu is not a sampled one",
			       rd->parts.len);
	if (rd->parts.len == (rd->by_type ? SPEEDSCOPE_MAX_TYPES : rd->limits.things))
		return err_set(rd->err, -EFBIG, "there are more than %zu profiles", rd->parts.len);
	if (!strcmp(rd->unit, "none") || !rd->unit[0])
		snprintf(rd->unit, sizeof(rd->unit), "count");
	snprintf(part.unit, sizeof(part.unit), "%.*s", (int)sizeof(part.unit) - 1, rd->unit);
	if (profile_add_string(rd->p, rd->name, strlen(rd->name), &part.name) < 0 ||
	    vec_push(&rd->parts, part) < 0)
		return no_memory(rd);
	return 0;
}

/* The first part that is of the same type as part @i, perhaps itself. */
static size_t first_alike(const struct reader *rd, size_t i)
{
	size_t k = 0;

	while (!rd->by_type && k < i && strcmp(rd->parts.data[k].unit, rd->parts.data[i].unit) != 0)
		k++;
	return rd->by_type ? i : k;
}

static int add_type(struct reader *rd, struct part *part)
{
	double ns = rd->by_type ? 0 : profile_unit_ns(part->unit);
	const char *unit = ns > 0 ? "nanoseconds" : part->unit;
	const char *name = profile_string(rd->p, part->name);

	if (ns > 0)
		part->factor = ns;
	if (part->is_thread)
		name = ns > 0 ? "cpu" : !strcmp(unit, "count") ? "samples" : "space";
	part->type = profile_n_sample_types(rd->p);
	if (part->type == SPEEDSCOPE_MAX_TYPES)
		return err_set(rd->err, -EFBIG, "there are more than %d units",
			       SPEEDSCOPE_MAX_TYPES);
	return profile_add_sample_type(rd->p, name, unit) < 0 ? no_memory(rd) : 0;
}

static int add_types(struct reader *rd)
{
	int r = 0;

	for (size_t i = 0; i < rd->parts.len; i++) {
		size_t first = first_alike(rd, i);

		if (first != i)
			rd->parts.data[i].is_thread = rd->parts.data[first].is_thread = true;
	}
	for (size_t i = 0; r == 0 && i < rd->parts.len; i++) {
		struct part *part = &rd->parts.data[i];
		size_t first = first_alike(rd, i);

		if (first == i)
			r = add_type(rd, part);
		part->type = rd->parts.data[first].type;
		part->factor = rd->parts.data[first].factor;
	}
	return r;
}

static int read_samples_member(struct reader *rd, const char *key)
{
	if (!strcmp(key, "samples"))
		return each_item(rd, read_stack);
	if (!strcmp(key, "weights"))
		return each_item(rd, read_weight);
	return skip(rd);
}

static int read_samples(struct reader *rd)
{
	const struct part *part = &rd->parts.data[rd->n_read];
	struct profile_label label = { .str = part->name };
	int64_t values[SPEEDSCOPE_MAX_TYPES] = { 0 };
	int r;

	if (profile_add_string(rd->p, "thread", strlen("thread"), &label.key) < 0)
		return no_memory(rd);
	rd->stacks.len = rd->weights.len = 0;
	r = each_member(rd, read_samples_member);
	if (r < 0)
		return r;
	if (rd->stacks.len != rd->weights.len)
		return err_set(rd->err, -EBADMSG, "profile %zu has %zu samples and %zu weights",
			       rd->n_read, rd->stacks.len, rd->weights.len);
	for (size_t i = 0; i < rd->stacks.len; i++) {
		struct profile_sample s = { .stack = rd->stacks.data[i], .values = values };

		if (part->is_thread && label.str) {
			s.labels = &label;
			s.n_labels = 1;
		}
		r = round_to_int(rd, rd->weights.data[i] * part->factor, &values[part->type]);
		if (r < 0)
			return r;
		if (profile_add_sample(rd->p, &s) < 0)
			return no_memory(rd);
	}
	rd->n_read++;
	return 0;
}

static int find_shared(struct reader *rd, const char *key)
{
	int r;

	if (!strcmp(key, "exporter") && json_read_peek(&rd->j) == '"') {
		r = read_text(rd, rd->name);
		rd->by_type = !strcmp(rd->name, "cameo");
		return r;
	}
	return strcmp(key, "shared") ? skip(rd) : each_member(rd, read_shared);
}

static int find_types(struct reader *rd, const char *key)
{
	return strcmp(key, "profiles") ? skip(rd) : each_item(rd, read_type);
}

static int find_samples(struct reader *rd, const char *key)
{
	return strcmp(key, "profiles") ? skip(rd) : each_item(rd, read_samples);
}

/* Walk through the whole file. */
static int walk(struct reader *rd, const void *data, size_t len, member_fn fn)
{
	int r;

	json_read_fini(&rd->j);
	json_read_init(&rd->j, data, len);
	r = each_member(rd, fn);
	return r < 0 ? r : checked(rd, json_read_end(&rd->j));
}

int speedscope_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = {
		.limits = limits ? *limits : codec_limits_default(),
		.err = err,
	};
	int r;

	if (len > rd.limits.bytes)
		return err_set(err, -EFBIG, "it has more than %zu bytes", rd.limits.bytes);
	if (profile_new(&rd.p) < 0)
		return no_memory(&rd);
	r = walk(&rd, data, len, find_shared);
	if (r == 0 && !rd.has_frames)
		return err_set(err, -EBADMSG, "it has no frames: not a file of speedscope's");
	if (r == 0)
		r = walk(&rd, data, len, find_types);
	if (r == 0)
		r = add_types(&rd);
	if (r == 0)
		r = walk(&rd, data, len, find_samples);
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.p);
	return 0;
}
