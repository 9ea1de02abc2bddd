/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of the JSON reader have no text; checked() adds the kind of file and the byte offset, so
 * that a user can find the place with `head -c`. An error that a callback recorded is more precise
 * and stays, because err_set() keeps the first.
 */
#include "codec/common/json_profile.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/common/frame_kind.h"

enum { MAX_KEY = 64 };

int json_profile_no_memory(struct json_profile *jp)
{
	return err_set(jp->err, -ENOMEM, "out of memory while reading the profile");
}

int json_profile_check(struct json_profile *jp, int r)
{
	return r < 0 ? json_profile_no_memory(jp) : 0;
}

int json_profile_check_limit(struct json_profile *jp, size_t n, size_t limit, const char *entries)
{
	if (n < limit)
		return 0;
	return err_set(jp->err, -EFBIG, "more than %zu %s", limit, entries);
}

int json_profile_init(struct json_profile *jp, size_t len, const struct codec_limits *limits,
		      const char *format, struct err *err)
{
	*jp = (struct json_profile){
		.limits = limits ? *limits : codec_limits_default(),
		.err = err,
		.format = format,
	};
	if (len > jp->limits.bytes)
		return err_set(err, -EFBIG, "file exceeds the limit of %zu bytes",
			       jp->limits.bytes);
	return json_profile_check(jp, profile_new(&jp->p));
}

void json_profile_fini(struct json_profile *jp)
{
	json_read_fini(&jp->j);
	profile_free(jp->p);
}

/* Adds the position to an error of the JSON reader. */
static int checked(struct json_profile *jp, int r)
{
	if (r == -ENOMEM)
		return json_profile_no_memory(jp);
	if (r < 0)
		return err_set(jp->err, r, "byte %zu: malformed %s", json_read_at(&jp->j),
			       jp->format);
	return r;
}

/*
 * Keys are truncated to MAX_KEY - 1 bytes, more than any key of a format has, so callbacks get a
 * bounded text.
 */
int json_profile_members(struct json_profile *jp, json_member_fn fn, void *ctx)
{
	char key[MAX_KEY];
	int r = checked(jp, json_read_open(&jp->j, '{'));

	while (r == 0 && (r = checked(jp, json_read_key(&jp->j))) > 0) {
		strncpy(key, (const char *)jp->j.text.data, sizeof(key) - 1);
		key[sizeof(key) - 1] = '\0';
		r = fn(ctx, key);
	}
	return r;
}

int json_profile_items(struct json_profile *jp, json_item_fn fn, void *ctx)
{
	int r = checked(jp, json_read_open(&jp->j, '['));

	while (r == 0 && (r = checked(jp, json_read_item(&jp->j))) > 0)
		r = fn(ctx);
	return r;
}

/* Each pass starts a reader of its own; the buffer of the previous one is freed. */
static void begin(struct json_profile *jp, const void *data, size_t len)
{
	json_read_fini(&jp->j);
	json_read_init(&jp->j, data, len);
}

int json_profile_read_object(struct json_profile *jp, const void *data, size_t len,
			     json_member_fn fn, void *ctx)
{
	int r;

	begin(jp, data, len);
	r = json_profile_members(jp, fn, ctx);
	return r < 0 ? r : checked(jp, json_read_end(&jp->j));
}

int json_profile_read_array(struct json_profile *jp, const void *data, size_t len, json_item_fn fn,
			    void *ctx)
{
	int r;

	begin(jp, data, len);
	r = json_profile_items(jp, fn, ctx);
	return r < 0 ? r : checked(jp, json_read_end(&jp->j));
}

bool json_profile_is_array(const void *data, size_t len)
{
	struct json_read j;

	json_read_init(&j, data, len);
	return json_read_peek(&j) == '[';
}

static size_t skip_space(const uint8_t *data, size_t len, size_t i)
{
	while (i < len && data[i] && strchr(" \t\r\n", data[i]))
		i++;
	return i;
}

/*
 * A protobuf message may begin with a newline and a brace (the tag and length of its first
 * field), so a brace after space counts only with a quote after it. A folded stack may begin
 * with a bracket ("[unknown]"), so a bracket counts only with an object or its end after it.
 */
bool json_profile_is_json(const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t i = skip_space(p, len, 0), inner;

	if (i == len)
		return false;
	if (p[i] == '{')
		return i == 0 || (len - i > 1 && p[i + 1] == '"');
	inner = skip_space(p, len, i + 1);
	return p[i] == '[' && inner < len && (p[inner] == '{' || p[inner] == ']');
}

int json_profile_skip(struct json_profile *jp)
{
	return checked(jp, json_read_skip(&jp->j));
}

int json_profile_number(struct json_profile *jp, double *out)
{
	return checked(jp, json_read_number(&jp->j, out));
}

/* 9.2e18 is a double below INT64_MAX; the comparison is written so that NaN fails it too. */
int json_profile_round(struct json_profile *jp, double v, int64_t *out)
{
	if (!(v > -9.2e18 && v < 9.2e18))
		return err_set(jp->err, -EBADMSG, "byte %zu: number out of range",
			       json_read_at(&jp->j));
	*out = (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
	return 0;
}

int json_profile_int(struct json_profile *jp, int64_t *out)
{
	double v = 0;
	int r = json_profile_number(jp, &v);

	return r < 0 ? r : json_profile_round(jp, v, out);
}

int json_profile_text(struct json_profile *jp, char *to, size_t len)
{
	int r = checked(jp, json_read_string(&jp->j));

	if (r < 0)
		return r;
	strncpy(to, (const char *)jp->j.text.data, len - 1);
	to[len - 1] = '\0';
	return 0;
}

int json_profile_string(struct json_profile *jp, uint32_t *out)
{
	int r = checked(jp, json_read_string(&jp->j));

	if (r < 0)
		return r;
	r = profile_add_string(jp->p, (const char *)jp->j.text.data, jp->j.text.len, out);
	return json_profile_check(jp, r);
}

/* A line or column; 0, for unknown, if it does not fit. */
static uint32_t position(int64_t v)
{
	return v > 0 && v <= INT32_MAX ? (uint32_t)v : 0;
}

int json_profile_add_frame(struct json_profile *jp, const struct json_frame *f, uint32_t *out)
{
	const struct profile_function function = {
		.name = f->name,
		.system_name = f->name,
		.file = f->file,
		.start_line = position(f->start_line),
	};
	struct profile_line line = { .line = position(f->line), .column = position(f->column) };
	struct profile_location l = {
		.mapping = f->mapping,
		.address = f->address,
		.kind = f->kind ? f->kind
				: (uint8_t)frame_kind_guess("", profile_string(jp->p, f->file)),
		.n_lines = 1,
		.lines = &line,
	};

	if (profile_add_function(jp->p, &function, &line.function) < 0 ||
	    profile_add_location(jp->p, &l, out) < 0)
		return json_profile_no_memory(jp);
	return 0;
}

/* The profile has stacks leaf first, JSON formats root first: @stack is reversed for the call. */
int json_profile_add_stack(struct json_profile *jp, struct json_ids *stack, uint32_t *out)
{
	uint32_t n = profile_n_stacks(jp->p);
	int r;

	vec_reverse(stack);
	r = profile_add_stack(jp->p, stack->data, stack->len, out);
	vec_reverse(stack);
	if (r < 0)
		return json_profile_no_memory(jp);
	if (profile_n_stacks(jp->p) > n)
		jp->n_in_stacks += stack->len;
	if (jp->n_in_stacks > jp->limits.entries)
		return err_set(jp->err, -EFBIG, "stacks exceed the limit of %u frames in total",
			       jp->limits.entries);
	return 0;
}

int json_profile_add_sample(struct json_profile *jp, const struct profile_sample *s)
{
	int r = json_profile_check_limit(jp, profile_n_samples(jp->p), jp->limits.samples,
					 "samples");

	if (r == 0)
		r = json_profile_check(jp, profile_add_sample(jp->p, s));
	return r < 0 ? r : codec_account(&jp->account, &jp->limits, jp->p, jp->err);
}

static int add_label(struct json_profile *jp, struct json_thread *t, const char *key,
		     struct profile_label value)
{
	if (profile_add_string(jp->p, key, strlen(key), &value.key) < 0)
		return json_profile_no_memory(jp);
	t->labels[t->n_labels++] = value;
	return 0;
}

int json_profile_label_thread(struct json_profile *jp, struct json_thread *t)
{
	int r;

	t->n_labels = 0;
	r = add_label(jp, t, "pid", (struct profile_label){ .num = t->pid });
	if (r == 0)
		r = add_label(jp, t, "tid", (struct profile_label){ .num = t->tid });
	if (r == 0 && t->process)
		r = add_label(jp, t, "comm", (struct profile_label){ .str = t->process });
	if (r == 0 && t->name)
		r = add_label(jp, t, "thread", (struct profile_label){ .str = t->name });
	return r;
}
