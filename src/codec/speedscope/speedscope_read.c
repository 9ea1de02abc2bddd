/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three passes over the file: for the frames, for the types of the profiles and for their
 * samples. The stacks of a profile are stored until its weights are known. An evented profile
 * gives a sample for the time between each two of its events.
 *
 * In a file that this program wrote each profile is a sample type. In others each profile is a
 * thread, whose name becomes a label, and profiles with the same unit share a sample type. Times
 * are converted to whole nanoseconds, as other programs write fractions of seconds.
 *
 * The exporter's name is what distinguishes the two: "cameo" is written by speedscope_write.c and
 * nothing else. Members may come in any order, and the exporter may follow the profiles, so it is
 * found in the first pass.
 */
#include "codec/speedscope/speedscope.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/common/json_profile.h"
#include "profile/profile.h"
#include "profile/unit.h"

enum { SPEEDSCOPE_MAX_TYPES = 64, SPEEDSCOPE_MAX_NAME = 256 };

/* A profile of the file. */
struct part {
	char unit[16];
	uint32_t name;  /* string id */
	size_t type;    /* index of the sample type */
	double factor;  /* converts weights to the unit of the sample type */
	bool is_thread; /* several parts have this type */
};

/* The entry ("O") or exit ("C") of a frame. */
struct event {
	char kind[4];
	int64_t frame;
	double at;
};

struct reader {
	struct json_profile jp;
	bool has_frames;
	bool by_type;            /* written by this program: each profile is a sample type */
	struct json_frame frame; /* being read */
	struct event event;
	double last_at;  /* time of the previous event */
	size_t n_events; /* of the current profile */
	size_t n_read;   /* profiles whose samples were read */
	struct {
		VEC(struct part);
	} parts;
	struct json_ids locations;     /* location ids, by frame of the file */
	struct json_ids stack, stacks; /* the open frames, root first; the stacks of samples */
	struct {
		VEC(double);
	} weights;
	char name[SPEEDSCOPE_MAX_NAME], unit[SPEEDSCOPE_MAX_NAME], kind[SPEEDSCOPE_MAX_NAME];
};

static void reader_fini(struct reader *rd)
{
	json_profile_fini(&rd->jp);
	vec_fini(&rd->locations);
	vec_fini(&rd->stack);
	vec_fini(&rd->stacks);
	vec_fini(&rd->weights);
	vec_fini(&rd->parts);
}

static int read_frame_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	struct json_frame *f = &rd->frame;
	int c = json_read_peek(&rd->jp.j);

	if (!strcmp(key, "name"))
		return json_profile_string(&rd->jp, &f->name);
	if (!strcmp(key, "file") && c == '"')
		return json_profile_string(&rd->jp, &f->file);
	if (!strcmp(key, "line") && c == 0)
		return json_profile_int(&rd->jp, &f->line);
	if (!strcmp(key, "col") && c == 0)
		return json_profile_int(&rd->jp, &f->column);
	return json_profile_skip(&rd->jp);
}

static int read_frame(void *ctx)
{
	struct reader *rd = ctx;
	uint32_t id;
	int r = json_profile_check_limit(&rd->jp, rd->locations.len, rd->jp.limits.entries,
					 "frames");
	if (r < 0)
		return r;
	rd->frame = (struct json_frame){ .mapping = PROFILE_NONE };
	r = json_profile_members(&rd->jp, read_frame_member, rd);
	if (r == 0)
		r = json_profile_add_frame(&rd->jp, &rd->frame, &id);
	if (r == 0 && vec_push(&rd->locations, id) < 0)
		r = json_profile_no_memory(&rd->jp);
	return r;
}

static int read_shared(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (strcmp(key, "frames") != 0 || rd->has_frames)
		return json_profile_skip(&rd->jp);
	rd->has_frames = true;
	return json_profile_items(&rd->jp, read_frame, rd);
}

/* Pushes frame @i of the file onto the stack. */
static int push_frame(struct reader *rd, int64_t i)
{
	struct err *err = rd->jp.err;

	if (i < 0 || (uint64_t)i >= rd->locations.len)
		return err_set(err, -EBADMSG, "sample %zu: frame %lld does not exist",
			       rd->stacks.len, (long long)i);
	if (rd->stack.len == rd->jp.limits.depth)
		return err_set(err, -EFBIG, "sample %zu: more than %u frames", rd->stacks.len,
			       rd->jp.limits.depth);
	return json_profile_check(&rd->jp, vec_push(&rd->stack, rd->locations.data[i]));
}

/* Stores the current stack for a sample. */
static int add_stack(struct reader *rd)
{
	uint32_t id;
	int r = json_profile_check_limit(&rd->jp, rd->stacks.len, rd->jp.limits.samples, "samples");
	if (r < 0)
		return r;
	r = json_profile_add_stack(&rd->jp, &rd->stack, &id);
	if (r == 0 && vec_push(&rd->stacks, id) < 0)
		r = json_profile_no_memory(&rd->jp);
	return r;
}

static int add_weight(struct reader *rd, double v)
{
	return json_profile_check(&rd->jp, vec_push(&rd->weights, v));
}

static int read_stack_item(void *ctx)
{
	struct reader *rd = ctx;
	int64_t i = 0;
	int r = json_profile_int(&rd->jp, &i);

	return r < 0 ? r : push_frame(rd, i);
}

static int read_stack(void *ctx)
{
	struct reader *rd = ctx;
	int r;

	rd->stack.len = 0;
	r = json_profile_items(&rd->jp, read_stack_item, rd);
	return r < 0 ? r : add_stack(rd);
}

static int read_weight(void *ctx)
{
	struct reader *rd = ctx;
	double v = 0;
	int r = json_profile_number(&rd->jp, &v);

	return r < 0 ? r : add_weight(rd, v);
}

static int read_event_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (!strcmp(key, "type"))
		return json_profile_text(&rd->jp, rd->event.kind, sizeof(rd->event.kind));
	if (!strcmp(key, "frame"))
		return json_profile_int(&rd->jp, &rd->event.frame);
	if (!strcmp(key, "at"))
		return json_profile_number(&rd->jp, &rd->event.at);
	return json_profile_skip(&rd->jp);
}

static int bad_event(struct reader *rd, const char *why)
{
	return err_set(rd->jp.err, -EBADMSG, "profile %zu, event %zu: %s", rd->n_read, rd->n_events,
		       why);
}

/* Events must nest: a stack cannot represent anything else. */
static int leave_frame(struct reader *rd)
{
	int64_t i = rd->event.frame;

	if (i < 0 || (uint64_t)i >= rd->locations.len || !rd->stack.len ||
	    rd->stack.data[rd->stack.len - 1] != rd->locations.data[i])
		return bad_event(rd, "exits a frame that is not the innermost one");
	rd->stack.len--;
	return 0;
}

/*
 * The time since the previous event belongs to the stack that was open, before this event changes
 * it.
 */
static int read_event(void *ctx)
{
	struct reader *rd = ctx;
	const struct event *e = &rd->event;
	int r;

	rd->event = (struct event){ .at = rd->last_at, .frame = -1 };
	r = json_profile_members(&rd->jp, read_event_member, rd);
	if (r < 0)
		return r;
	if (rd->n_events && e->at < rd->last_at)
		return bad_event(rd, "earlier than the previous event");
	if (rd->stack.len && e->at > rd->last_at) {
		r = add_stack(rd);
		if (r == 0)
			r = add_weight(rd, e->at - rd->last_at);
		if (r < 0)
			return r;
	}
	rd->last_at = e->at;
	if (!strcmp(e->kind, "O"))
		r = push_frame(rd, e->frame);
	else if (!strcmp(e->kind, "C"))
		r = leave_frame(rd);
	else
		r = bad_event(rd, "type is neither O nor C");
	rd->n_events++;
	return r;
}

static int read_type_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (!strcmp(key, "type"))
		return json_profile_text(&rd->jp, rd->kind, sizeof(rd->kind));
	if (!strcmp(key, "name"))
		return json_profile_text(&rd->jp, rd->name, sizeof(rd->name));
	if (!strcmp(key, "unit"))
		return json_profile_text(&rd->jp, rd->unit, sizeof(rd->unit));
	return json_profile_skip(&rd->jp);
}

/* Reads type, name and unit of a profile and skips its samples. */
static int read_type(void *ctx)
{
	struct reader *rd = ctx;
	struct part part = { .factor = 1 };
	int r;

	rd->kind[0] = rd->name[0] = rd->unit[0] = '\0';
	r = json_profile_members(&rd->jp, read_type_member, rd);
	if (r < 0)
		return r;
	if (strcmp(rd->kind, "sampled") != 0 && strcmp(rd->kind, "evented") != 0)
		return err_set(rd->jp.err, -ENOTSUP, "profile %zu is neither sampled nor evented",
			       rd->parts.len);
	r = json_profile_check_limit(&rd->jp, rd->parts.len,
				     rd->by_type ? SPEEDSCOPE_MAX_TYPES : rd->jp.limits.entries,
				     "profiles");
	if (r < 0)
		return r;
	if (!strcmp(rd->unit, "none") || !rd->unit[0])
		snprintf(rd->unit, sizeof(rd->unit), "count");
	snprintf(part.unit, sizeof(part.unit), "%.*s", (int)sizeof(part.unit) - 1, rd->unit);
	if (profile_add_string(rd->jp.p, rd->name, strlen(rd->name), &part.name) < 0 ||
	    vec_push(&rd->parts, part) < 0)
		return json_profile_no_memory(&rd->jp);
	return 0;
}

/* The first part that has the same sample type as part @i, possibly itself. */
static size_t first_of_type(const struct reader *rd, size_t i)
{
	size_t k = 0;

	while (!rd->by_type && k < i && strcmp(rd->parts.data[k].unit, rd->parts.data[i].unit) != 0)
		k++;
	return rd->by_type ? i : k;
}

/*
 * Units of time are converted to nanoseconds, others are kept. Threads of one type are named after
 * the unit, because the profile's name is then the thread's.
 */
static int add_type(struct reader *rd, struct part *part)
{
	double ns = rd->by_type ? 0 : profile_unit_ns(part->unit);
	const char *unit = ns > 0 ? "nanoseconds" : part->unit;
	const char *name = profile_string(rd->jp.p, part->name);
	int r;

	if (ns > 0)
		part->factor = ns;
	if (part->is_thread)
		name = ns > 0 ? "cpu" : !strcmp(unit, "count") ? "samples" : "space";
	part->type = profile_n_sample_types(rd->jp.p);
	r = json_profile_check_limit(&rd->jp, part->type, SPEEDSCOPE_MAX_TYPES, "units");
	if (r < 0)
		return r;
	return json_profile_check(&rd->jp, profile_add_sample_type(rd->jp.p, name, unit));
}

static int add_types(struct reader *rd)
{
	int r = 0;

	for (size_t i = 0; i < rd->parts.len; i++) {
		size_t first = first_of_type(rd, i);

		if (first != i)
			rd->parts.data[i].is_thread = rd->parts.data[first].is_thread = true;
	}
	for (size_t i = 0; r == 0 && i < rd->parts.len; i++) {
		struct part *part = &rd->parts.data[i];
		size_t first = first_of_type(rd, i);

		if (first == i)
			r = add_type(rd, part);
		part->type = rd->parts.data[first].type;
		part->factor = rd->parts.data[first].factor;
	}
	return r;
}

static int read_samples_member(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	if (!strcmp(key, "samples"))
		return json_profile_items(&rd->jp, read_stack, rd);
	if (!strcmp(key, "weights"))
		return json_profile_items(&rd->jp, read_weight, rd);
	if (!strcmp(key, "events"))
		return json_profile_items(&rd->jp, read_event, rd);
	return json_profile_skip(&rd->jp);
}

/* Runs when both arrays of the profile have been read, in whatever order they came. */
static int add_samples(struct reader *rd, const struct part *part)
{
	struct profile_label label = { .str = part->name };
	int64_t values[SPEEDSCOPE_MAX_TYPES] = { 0 };

	if (profile_add_string(rd->jp.p, "thread", strlen("thread"), &label.key) < 0)
		return json_profile_no_memory(&rd->jp);
	for (size_t i = 0; i < rd->stacks.len; i++) {
		struct profile_sample s = { .stack = rd->stacks.data[i], .values = values };
		double weight = rd->weights.data[i] * part->factor;
		int r = json_profile_round(&rd->jp, weight, &values[part->type]);

		if (r < 0)
			return r;
		if (part->is_thread && label.str) {
			s.labels = &label;
			s.n_labels = 1;
		}
		r = json_profile_add_sample(&rd->jp, &s);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_samples(void *ctx)
{
	struct reader *rd = ctx;
	int r;

	rd->stacks.len = rd->weights.len = rd->stack.len = rd->n_events = 0;
	rd->last_at = 0;
	r = json_profile_members(&rd->jp, read_samples_member, rd);
	if (r < 0)
		return r;
	if (rd->stacks.len != rd->weights.len)
		return err_set(rd->jp.err, -EBADMSG, "profile %zu has %zu samples but %zu weights",
			       rd->n_read, rd->stacks.len, rd->weights.len);
	return add_samples(rd, &rd->parts.data[rd->n_read++]);
}

static int find_shared(void *ctx, const char *key)
{
	struct reader *rd = ctx;
	int r;

	if (!strcmp(key, "exporter") && json_read_peek(&rd->jp.j) == '"') {
		r = json_profile_text(&rd->jp, rd->name, sizeof(rd->name));
		rd->by_type = !strcmp(rd->name, "cameo");
		return r;
	}
	return strcmp(key, "shared") ? json_profile_skip(&rd->jp)
				     : json_profile_members(&rd->jp, read_shared, rd);
}

static int find_types(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	return strcmp(key, "profiles") ? json_profile_skip(&rd->jp)
				       : json_profile_items(&rd->jp, read_type, rd);
}

static int find_samples(void *ctx, const char *key)
{
	struct reader *rd = ctx;

	return strcmp(key, "profiles") ? json_profile_skip(&rd->jp)
				       : json_profile_items(&rd->jp, read_samples, rd);
}

int speedscope_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { 0 };
	int r = json_profile_init(&rd.jp, len, limits, "speedscope file", err);

	if (r == 0)
		r = json_profile_read_object(&rd.jp, data, len, find_shared, &rd);
	if (r == 0 && !rd.has_frames)
		r = err_set(err, -EBADMSG, "not a speedscope file: no \"shared.frames\" array");
	if (r == 0)
		r = json_profile_read_object(&rd.jp, data, len, find_types, &rd);
	if (r == 0)
		r = add_types(&rd);
	if (r == 0)
		r = json_profile_read_object(&rd.jp, data, len, find_samples, &rd);
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.jp.p);
	return 0;
}
