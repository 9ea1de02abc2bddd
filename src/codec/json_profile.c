/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_profile.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/frame_kind.h"

enum { MAX_KEY = 64 };

int json_profile_no_memory(struct json_profile *jp)
{
	return err_set(jp->err, -ENOMEM, "no memory to read the profile");
}

int json_profile_kept(struct json_profile *jp, int r)
{
	return r < 0 ? json_profile_no_memory(jp) : 0;
}

int json_profile_room(struct json_profile *jp, size_t n, size_t limit, const char *things)
{
	if (n < limit)
		return 0;
	return err_set(jp->err, -EFBIG, "there are more than %zu %s", limit, things);
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
		return err_set(err, -EFBIG, "it has more than %zu bytes", jp->limits.bytes);
	return json_profile_kept(jp, profile_new(&jp->p));
}

void json_profile_fini(struct json_profile *jp)
{
	json_read_fini(&jp->j);
	profile_free(jp->p);
}

/* The JSON reader's errors get their place in the file. */
static int checked(struct json_profile *jp, int r)
{
	if (r == -ENOMEM)
		return json_profile_no_memory(jp);
	if (r < 0)
		return err_set(jp->err, r, "byte %zu: this is not what %s has here",
			       json_read_at(&jp->j), jp->format);
	return r;
}

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

static void begin(struct json_profile *jp, const void *data, size_t len)
{
	json_read_fini(&jp->j);
	json_read_init(&jp->j, data, len);
}

int json_profile_walk(struct json_profile *jp, const void *data, size_t len, json_member_fn fn,
		      void *ctx)
{
	int r;

	begin(jp, data, len);
	r = json_profile_members(jp, fn, ctx);
	return r < 0 ? r : checked(jp, json_read_end(&jp->j));
}

int json_profile_walk_array(struct json_profile *jp, const void *data, size_t len, json_item_fn fn,
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

int json_profile_skip(struct json_profile *jp)
{
	return checked(jp, json_read_skip(&jp->j));
}

int json_profile_number(struct json_profile *jp, double *out)
{
	return checked(jp, json_read_number(&jp->j, out));
}

int json_profile_round(struct json_profile *jp, double v, int64_t *out)
{
	if (!(v > -9.2e18 && v < 9.2e18))
		return err_set(jp->err, -EBADMSG, "byte %zu: the number is too large",
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
	return json_profile_kept(jp, r);
}

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
	if (jp->n_in_stacks > jp->limits.things)
		return err_set(jp->err, -EFBIG, "its stacks have more than %u frames in all",
			       jp->limits.things);
	return 0;
}

int json_profile_add_sample(struct json_profile *jp, const struct profile_sample *s)
{
	int r = json_profile_room(jp, profile_n_samples(jp->p), jp->limits.samples, "samples");

	return r < 0 ? r : json_profile_kept(jp, profile_add_sample(jp->p, s));
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

uint8_t json_profile_kind(const char *label)
{
	for (int k = 1; k < PROFILE_FRAME_MAX; k++)
		if (!strcmp(label, profile_frame_kind_label((enum profile_frame_kind)k)))
			return (uint8_t)k;
	return PROFILE_FRAME_UNKNOWN;
}
